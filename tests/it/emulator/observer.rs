//! The notifications of an emulator's observer.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use azure_table::emulator::SeedEntities as _;
use azure_table::transport::Transport as _;
use azure_table::{
    AccountKey, DateTime, DynamicEntity, Emulator, TableName, TablePermissions, TableSas, TableServiceClient,
};
use azure_table_tests::errors::assert_contains;
use azure_table_tests::network::serve;
use azure_table_tests::process::LIMIT;
use http::Request;

use super::signed::{ACCOUNT, KEY, ask, shared_key};

/// An emulator, and the lines of its responses, without time and duration.
fn watched() -> (Emulator, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&lines);
    let emulator = Emulator::new().observer(move |request| {
        assert!(request.duration < LIMIT);
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
    let (running, service) = serve(emulator).await;
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    blogs.insert(&DynamicEntity::new("p", "a b")).await.unwrap();
    blogs.get(("p", "a b")).await.unwrap().unwrap();
    blogs.get(("p", "missing")).await.unwrap();
    let mut batch = blogs.batch();
    batch.insert(&DynamicEntity::new("p", "a b")).unwrap();
    batch.submit().await.unwrap_err();

    let sas = read_sas(DateTime::now() + LIMIT);
    let token = sas.sign(service.account_key().unwrap()).unwrap();
    let (endpoint, token) = (service.endpoint(), token.expose());
    let connection = format!("TableEndpoint={endpoint};SharedAccessSignature={token}");
    let by_sas = TableServiceClient::from_connection_string(&connection).unwrap();
    let blogs = by_sas.dynamic_table("Blogs").unwrap();
    blogs.query().page_size(5).all().await.unwrap();
    running.stop().await;

    let expected = [
        "POST /devstoreaccount1/Tables 204",
        "POST /devstoreaccount1/Blogs 204",
        "GET /devstoreaccount1/Blogs(PartitionKey='p',RowKey='a b') 200",
        "GET /devstoreaccount1/Blogs(PartitionKey='p',RowKey='missing') 404 ResourceNotFound",
        "POST /devstoreaccount1/$batch 202 EntityAlreadyExists 1 operation",
        "GET /devstoreaccount1/Blogs()?$top=5 200",
    ];
    assert_eq!(*lines.lock().unwrap(), expected);
}

fn read_sas(expiry: DateTime) -> TableSas {
    let table = TableName::new("Blogs").unwrap();
    TableSas::new(&table).permissions(TablePermissions::READ).expiry(expiry)
}

/// Returns the reason at the end of the only line.
fn reason(lines: &Mutex<Vec<String>>) -> String {
    let lines = std::mem::take(&mut *lines.lock().unwrap());
    assert_eq!(lines.len(), 1, "{lines:?}");
    let reason = lines[0]
        .split_once(" (")
        .map_or("", |(_, why)| why.trim_end_matches(')'));
    reason.to_owned()
}

#[tokio::test]
async fn observer_receives_the_reason_of_a_rejection() {
    let (emulator, lines) = watched();
    let emulator = emulator.account(ACCOUNT, KEY).unwrap();
    emulator.seed("Blogs", [DynamicEntity::new("p", "r")]).unwrap();
    let unread = "$filter: not understood from byte 7 on";
    let top = "$top: \"abc\" is not a number from 0 to 1000";
    for (method, path, why) in [
        ("GET", "Blogs()?$filter=Rating%20is%205", unread),
        ("GET", "Blogs()?$filter=(A%20eq%201", unread),
        ("GET", "Blogs()?$top=abc", top),
        ("DELETE", "Blogs(PartitionKey='p',RowKey='r')", "no If-Match"),
    ] {
        assert_eq!(ask(&emulator, method, path, &[], "").await.status(), 400, "{path}");
        assert_eq!(reason(&lines), why);
    }

    let ago = |age: u64| httpdate::fmt_http_date(SystemTime::now() - Duration::from_secs(age));
    let (now, old) = (&*ago(0), &*ago(6 * 366 * 86_400));
    let good = |date: &str| shared_key(ACCOUNT, "GET", ["", ""], date, "/Tables");
    let wrong = good(now).replace("SharedKey contoso:", "SharedKey contoso:AAAA");
    let other = "Authorization names another account than the address";
    let scheme = "Authorization is neither SharedKey nor SharedKeyLite";
    for (account, authorization, date, why) in [
        ("nobody", &*good(now), now, "no account \"nobody\""),
        (ACCOUNT, &wrong, now, "the signature does not match the account's key"),
        (ACCOUNT, &good(old), old, "x-ms-date is 6 years old"),
        (
            ACCOUNT,
            "SharedKey c2VjcmV0",
            now,
            "Authorization is not ACCOUNT:SIGNATURE",
        ),
        (ACCOUNT, "SharedKey c2VjcmV0:x", now, other),
        (ACCOUNT, "Basic c2VjcmV0", now, scheme),
        (ACCOUNT, &good("yesterday"), "yesterday", "x-ms-date cannot be read"),
    ] {
        let request = Request::get(format!("https://{account}.table.core.windows.net/Tables"))
            .header("authorization", authorization)
            .header("x-ms-version", "2019-02-02")
            .header("x-ms-date", date);
        let response = emulator.send(request.body("".into()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 403);
        let body = String::from_utf8_lossy(response.body()).into_owned();
        assert_contains(&body, "Server failed to authenticate the request.");
        assert!(!body.contains("account"), "the live service says no more: {body}");
        assert_eq!(reason(&lines), why);
    }
}

#[tokio::test]
async fn observer_receives_the_reason_of_an_invalid_signature() {
    let (emulator, lines) = watched();
    let service = TableServiceClient::from_transport(emulator.clone());
    let key = service.account_key().unwrap();
    let from_now = |seconds: u64| DateTime::now() + Duration::from_secs(seconds);
    let expired = read_sas(DateTime::now() - Duration::from_secs(7_300));
    let early = read_sas(from_now(9_000)).start(from_now(4_000));
    let other = AccountKey::new("devstoreaccount1", KEY).unwrap();
    let wrong = "the signature does not match the account's key";
    for (token, why) in [
        (expired.sign(key), "the signature expired 2 hours ago"),
        (early.sign(key), "the signature becomes valid in 1 hour"),
        (read_sas(from_now(60)).sign(&other), wrong),
    ] {
        let uri = format!("{}/Blogs()?{}", service.endpoint(), token.unwrap().expose());
        let request = Request::get(uri).header("x-ms-version", "2019-02-02");
        let response = emulator.send(request.body("".into()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 403);
        assert_eq!(reason(&lines), why);
    }
}
