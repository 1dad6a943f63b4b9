//! The web service for programs: its statuses on both transports, and the events of its layers.

#[path = "../../web_service/service.rs"]
mod service;

use azure_table::transport::{HttpTransport, ReqwestTransport, Transport};
use azure_table::{Emulator, EmulatorServer, NoRetry, RunningEmulator, TableClient, TableServiceClient};
use tokio::net::TcpListener;

use self::service::{Note, client, layered, router};
use crate::{output, process, program};

/// The service on a port, its table, and the emulator below.
struct Site {
    url: String,
    notes: TableClient<Note>,
    _emulator: RunningEmulator,
}

impl Site {
    async fn new(transport: impl Transport) -> Self {
        let emulator = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await.unwrap();
        let emulator = emulator.spawn();
        let service = TableServiceClient::from_connection_string(emulator.connection_string()).unwrap();
        let notes = service
            .transport(transport)
            .retry(NoRetry)
            .table::<Note>("Notes")
            .unwrap();
        notes.create_table().await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/notes/secret-id", listener.local_addr().unwrap());
        let routes = router(notes.clone());
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
async fn visit(transport: impl Transport, client: &reqwest::Client) {
    let site = Site::new(transport).await;
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
async fn layers_under_the_client_change_no_status() {
    visit(layered(HttpTransport::builder().build().unwrap()), &client().unwrap()).await;
}

#[tokio::test]
async fn client_of_the_program_serves_both() {
    let client = client().unwrap();
    visit(ReqwestTransport::from_client(client.clone()), &client).await;
}

#[test]
fn program_prints_its_requests_and_the_events_of_both_layers() {
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
