//! The web service for programs: its statuses on both transports, and the events of both sides.

#[path = "../../web_service/page_token.rs"]
mod page_token;
#[path = "../../web_service/service.rs"]
mod service;

use azure_table::transport::ReqwestTransport;
use azure_table::{Continuation, Emulator, EmulatorServer, NoRetry, RunningEmulator, TableClient, TableServiceClient};
use tokio::net::TcpListener;

use self::page_token::PageTokens;
use self::service::{Note, client, router, shared_options};
use crate::{output, process, program};

/// The service on a port, its table, and the emulator below.
struct Site {
    url: String,
    notes: TableClient<Note>,
    _emulator: RunningEmulator,
}

impl Site {
    async fn new(connect: impl FnOnce(TableServiceClient) -> TableServiceClient) -> Self {
        let emulator = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
        let emulator = emulator.spawn();
        let service = TableServiceClient::from_connection_string(emulator.connection_string()).unwrap();
        let notes = connect(service).retry(NoRetry).table::<Note>("Notes").unwrap();
        notes.create_table().await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/notes/secret-id", listener.local_addr().unwrap());
        let routes = router(notes.clone(), PageTokens::new([1; 64]));
        tokio::spawn(async { axum::serve(listener, routes).await });
        Self {
            url,
            notes,
            _emulator: emulator,
        }
    }

    async fn put(&self, client: &reqwest::Client, etag: Option<&str>, text: &'static str) -> (u16, String) {
        let mut request = client.put(&self.url).body(text);
        if let Some(etag) = etag {
            request = request.header("if-match", etag);
        }
        let response = request.send().await.unwrap();
        let etag = response
            .headers()
            .get("etag")
            .map(|etag| etag.to_str().unwrap().to_owned());
        (response.status().as_u16(), etag.unwrap_or_default())
    }

    async fn get(&self, client: &reqwest::Client) -> (u16, String) {
        let response = client.get(&self.url).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }
}

/// Puts and gets a note, and compares the statuses with those of the guide.
async fn visit(connect: impl FnOnce(TableServiceClient) -> TableServiceClient, client: &reqwest::Client) {
    let site = Site::new(connect).await;
    assert_eq!(site.get(client).await.0, 404);
    let (status, first) = site.put(client, None, "first").await;
    assert_eq!(status, 204);
    assert_eq!(site.get(client).await, (200, "first".to_owned()));
    let (status, second) = site.put(client, Some(&first), "second").await;
    assert!(status == 204 && second != first, "{status} {second}");
    assert_eq!(site.put(client, Some(&first), "third").await.0, 412);
    assert_eq!(site.get(client).await, (200, "second".to_owned()));
    assert_eq!(site.put(client, Some("no etag"), "third").await.0, 400);
    assert_eq!(site.put(client, Some("*"), "third").await.0, 400);

    site.notes.delete_table().await.unwrap();
    assert_eq!(site.get(client).await.0, 500, "a missing table is no missing note");
    assert_eq!(site.put(client, None, "fourth").await.0, 500);
    assert_eq!(site.put(client, Some(&second), "fifth").await.0, 500);
}

#[tokio::test]
async fn client_of_the_program_serves_both() {
    let client = client().unwrap();
    let shared = shared_options(client.clone());
    visit(|service| service.client_options(shared).unwrap(), &client).await;
    let transport = ReqwestTransport::from_client(client.clone());
    visit(|service| service.transport(transport), &client).await;
}

#[tokio::test]
async fn link_of_a_page_is_valid_for_its_list_alone() {
    let client = client().unwrap();
    let site = Site::new(|service| service).await;
    let url = |path: &str| site.url.replace("notes/secret-id", path);
    for id in ["aa", "ab", "ac", "ba"] {
        client
            .put(url(&format!("notes/{id}")))
            .body("a note")
            .send()
            .await
            .unwrap();
    }
    let list = async |path: String| {
        let page = client.get(url(&path)).send().await.unwrap();
        let link = page.headers().get("link").map(|link| link.to_str().unwrap());
        let token = link.map(|link| {
            link.strip_prefix("<?page=")
                .unwrap()
                .split_once('>')
                .unwrap()
                .0
                .to_owned()
        });
        (page.status().as_u16(), token, page.text().await.unwrap())
    };
    let (status, token, ids) = list("lists/a".into()).await;
    let token = token.expect("a link to the next page");
    assert_eq!((status, &*ids), (200, "aa ab"));
    assert_eq!(list(format!("lists/a?page={token}")).await, (200, None, "ac".into()));

    assert_eq!(
        list(format!("lists/b?page={token}")).await.0,
        400,
        "the list of another letter"
    );
    let (position, signature) = token.split_once('.').unwrap();
    let start = Continuation::default();
    for forged in [
        format!("{start}.{signature}"),
        position.to_owned(),
        format!("{position}."),
        format!("{token}A"),
    ] {
        assert_eq!(list(format!("lists/a?page={forged}")).await.0, 400, "{forged}");
    }
    let other = PageTokens::new([2; 64]).sign("a", &position.parse().unwrap());
    assert_eq!(list(format!("lists/a?page={other}")).await.0, 400, "another key");
}

#[test]
fn program_prints_its_requests_and_the_events_of_both_sides() {
    let requests = |text: &str| {
        let lines = text
            .lines()
            .filter(|line| line.starts_with("GET") || line.starts_with("PUT"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let events = |text: &str, span: &str, status: &str| {
        let mut ended = text.lines().filter(|line| line.contains("finished processing request"));
        ended.any(|line| line.contains(span) && line.contains(status))
    };
    let expected = [
        "GET 404 Not Found",
        "PUT 204 No Content",
        "PUT with If-Match 204 No Content",
        "PUT with If-Match 412 Precondition Failed",
        "GET 200 OK second half",
        "GET the list 200 OK keeper kick-off",
        "GET the next page 200 OK kit",
    ];
    let text = output("web_service");
    assert_eq!(requests(&text), expected);
    for status in ["status=404", "status=412", "status=200"] {
        assert!(events(&text, "visit{method=", status), "{status}\n{text}");
        assert!(events(&text, ":table request{method=", status), "{status}\n{text}");
    }
    // Neither span has the id of the note, which is its key.
    assert!(!text.contains("uri=") && !text.contains("RowKey="), "{text}");

    let mut command = program("web_service");
    let printed = process::output(command.arg("client"), "web_service");
    let text = String::from_utf8(printed.stdout).unwrap();
    assert_eq!(requests(&text), expected);
    assert!(!text.contains("table request"), "{text}");
}
