//! The notifications of an emulator's observer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::transport::Transport as _;
use azure_table::{
    AccountKey, DateTime, DynamicEntity, Emulator, EmulatorServer, TablePermissions, TableSas, TableServiceClient,
};
use http::Request;

use super::signed::{ACCOUNT, KEY, ask, shared_key};

/// An emulator, and the lines of its responses, without time and duration.
fn watched() -> (Emulator, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let emulator = Emulator::new().observer(move |request| {
        assert!(request.duration < Duration::from_secs(60));
        let mut request = request.clone();
        request.duration = Duration::ZERO;
        let line = request.to_string().replace(" 0 µs", "");
        let (_, line) = line.split_once(' ').unwrap();
        seen.lock().unwrap().push(line.to_owned());
    });
    (emulator, lines)
}

#[tokio::test]
async fn requests_over_http_are_shown_without_signatures() {
    let (emulator, lines) = watched();
    let server = EmulatorServer::bind(emulator, "127.0.0.1:0").await.unwrap();
    let service = TableServiceClient::from_connection_string(&server.connection_string()).unwrap();
    let running = server.spawn();
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    blogs.insert(&DynamicEntity::new("p", "a b")).await.unwrap();
    blogs.get(("p", "a b")).await.unwrap().unwrap();
    blogs.get(("p", "missing")).await.unwrap();
    let mut batch = blogs.batch();
    batch.insert(&DynamicEntity::new("p", "a b")).unwrap();
    batch.submit().await.unwrap_err();

    let expiry = DateTime::now() + Duration::from_secs(60);
    let sas = TableSas::new(blogs.name())
        .permissions(TablePermissions::READ)
        .expiry(expiry);
    let token = sas.sign(service.account_key().unwrap()).unwrap();
    let connection = format!(
        "TableEndpoint={};SharedAccessSignature={}",
        service.endpoint(),
        token.expose()
    );
    let by_sas = TableServiceClient::from_connection_string(&connection).unwrap();
    by_sas
        .dynamic_table("Blogs")
        .unwrap()
        .query()
        .page_size(5)
        .all()
        .await
        .unwrap();
    running.stop().await;

    let lines = lines.lock().unwrap();
    assert_eq!(
        *lines,
        [
            "POST /devstoreaccount1/Tables 204",
            "POST /devstoreaccount1/Blogs 204",
            "GET /devstoreaccount1/Blogs(PartitionKey='p',RowKey='a b') 200",
            "GET /devstoreaccount1/Blogs(PartitionKey='p',RowKey='missing') 404 ResourceNotFound",
            "POST /devstoreaccount1/$batch 202 EntityAlreadyExists 1 operation",
            "GET /devstoreaccount1/Blogs()?$top=5 200",
        ]
    );
}

/// Returns the reasons that follow the lines of rejections.
fn reasons(lines: &Mutex<Vec<String>>) -> Vec<String> {
    let lines = std::mem::take(&mut *lines.lock().unwrap());
    let reason = |line: &String| line.split_once(" (").map(|(_, why)| format!("({why}"));
    lines.iter().map(|line| reason(line).unwrap_or_default()).collect()
}

#[tokio::test]
async fn observer_receives_the_reason_of_a_rejection() {
    let (emulator, lines) = watched();
    let emulator = emulator.account(ACCOUNT, KEY).unwrap();
    emulator.seed("Blogs", [DynamicEntity::new("p", "r")]).unwrap();
    for (method, path) in [
        ("GET", "Blogs()?$filter=Rating%20is%205"),
        ("GET", "Blogs()?$filter=(A%20eq%201"),
        ("GET", "Blogs()?$top=abc"),
        ("DELETE", "Blogs(PartitionKey='p',RowKey='r')"),
    ] {
        assert_eq!(ask(&emulator, method, path, &[], "").await.status(), 400, "{path}");
    }
    assert_eq!(
        reasons(&lines),
        [
            "($filter: not understood from byte 7 on)",
            "($filter: not understood from byte 7 on)",
            "($top: \"abc\" is not a number from 0 to 1000)",
            "(no If-Match)",
        ]
    );

    let ago = |age: Duration| {
        let time = std::time::SystemTime::now() - age;
        httpdate::fmt_http_date(time)
    };
    let (now, old) = (ago(Duration::ZERO), ago(Duration::from_secs(6 * 366 * 86_400)));
    let good = |date: &str| shared_key(ACCOUNT, "GET", ["", ""], date, "/Tables");
    let wrong = good(&now).replace("SharedKey contoso:", "SharedKey contoso:AAAA");
    for (account, authorization, date) in [
        ("nobody", good(&now), &now),
        (ACCOUNT, wrong, &now),
        (ACCOUNT, good(&old), &old),
        (ACCOUNT, "SharedKey c2VjcmV0".to_owned(), &now),
        (ACCOUNT, "SharedKey c2VjcmV0:x".to_owned(), &now),
        (ACCOUNT, "Basic c2VjcmV0".to_owned(), &now),
        (ACCOUNT, good("yesterday"), &"yesterday".to_owned()),
    ] {
        let request = Request::get(format!("https://{account}.table.core.windows.net/Tables"))
            .header("authorization", authorization)
            .header("x-ms-version", "2019-02-02")
            .header("x-ms-date", date);
        let response = emulator.send(request.body("".into()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 403);
        let body = String::from_utf8_lossy(response.body()).into_owned();
        assert!(body.contains("Server failed to authenticate the request."), "{body}");
        assert!(!body.contains("account"), "the live service says no more: {body}");
    }
    let reported = reasons(&lines);
    assert_eq!(
        reported,
        [
            "(no account \"nobody\")",
            "(the signature does not match the account's key)",
            "(x-ms-date is 6 years old)",
            "(Authorization is not ACCOUNT:SIGNATURE)",
            "(Authorization names another account than the address)",
            "(Authorization is neither SharedKey nor SharedKeyLite)",
            "(x-ms-date cannot be read)",
        ]
    );
}

#[tokio::test]
async fn observer_receives_the_reason_of_an_invalid_signature() {
    let (emulator, lines) = watched();
    let service = TableServiceClient::from_transport(emulator.clone());
    let key = service.account_key().unwrap();
    let blogs = service.dynamic_table("Blogs").unwrap();
    let sas = |expiry: DateTime| {
        TableSas::new(blogs.name())
            .permissions(TablePermissions::READ)
            .expiry(expiry)
    };
    let expired = sas(DateTime::now() - Duration::from_secs(7_300)).sign(key).unwrap();
    let early = sas(DateTime::now() + Duration::from_secs(9_000)).start(DateTime::now() + Duration::from_secs(4_000));
    let early = early.sign(key).unwrap();
    let other = sas(DateTime::now() + Duration::from_secs(60))
        .sign(&AccountKey::new("devstoreaccount1", KEY).unwrap())
        .unwrap();
    for token in [&expired, &early, &other] {
        let uri = format!("{}/Blogs()?{}", service.endpoint(), token.expose());
        let request = Request::get(uri).header("x-ms-version", "2019-02-02");
        let response = emulator.send(request.body("".into()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 403);
    }
    assert_eq!(
        reasons(&lines),
        [
            "(the signature expired 2 hours ago)",
            "(the signature becomes valid in 1 hour)",
            "(the signature does not match the account's key)",
        ]
    );
}
