//! Invalid requests: the emulator rejects them with the live service's code, changes nothing, and continues.
//!
//! Bytes that are not HTTP concern the server, and are tested there.

use azure_table::Emulator;
use bytes::Bytes;

use super::signed::{ask, emulator, outcome};

const MIB: usize = 1 << 20;
const JSON: (&str, &str) = ("content-type", "application/json");
const BATCH: (&str, &str) = ("content-type", "multipart/mixed; boundary=b");
const ROW: &str = "Things(PartitionKey='p',RowKey='r')";

/// A service with one row.
async fn with_row() -> Emulator {
    let service = emulator();
    ask(&service, "POST", "Tables", &[JSON], r#"{"TableName":"Things"}"#).await;
    let row = r#"{"PartitionKey":"p","RowKey":"r","A":1}"#;
    let made = ask(&service, "POST", "Things", &[JSON], row).await;
    assert_eq!(made.status(), 201);
    service
}

/// Everything that the service stores.
async fn state(service: &Emulator) -> [Bytes; 2] {
    let minimal = ("accept", "application/json;odata=minimalmetadata");
    let tables = ask(service, "GET", "Tables", &[minimal], "").await;
    let rows = ask(service, "GET", "Things", &[minimal], "").await;
    assert_eq!((tables.status().as_u16(), rows.status().as_u16()), (200, 200));
    [tables.into_body(), rows.into_body()]
}

fn row(members: &str) -> Vec<u8> {
    format!(r#"{{"PartitionKey":"p","RowKey":"new",{members}}}"#).into_bytes()
}

#[tokio::test]
async fn bodies_that_are_not_entities_are_rejected() {
    let service = with_row().await;
    let before = state(&service).await;
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let invalid = [
        Vec::new(),
        b"{".to_vec(),
        b"null".to_vec(),
        b"\0\0\0\0".to_vec(),
        b"{\"PartitionKey\":\"p\",\"RowKey\":\"new\",\"A\":\"\xff\"}".to_vec(),
        b"{\"PartitionKey\":\"p\",\"RowKey\":\"new\",\"\xc3\":1}".to_vec(),
        [row("\"A\":1"), b"x".to_vec()].concat(),
        deep.clone().into_bytes(),
        objects.clone().into_bytes(),
        row(&format!("\"A\":{deep}")),
        row(&format!("\"odata.a\":{objects}")),
        row("\"A\":1e999"),
        row("\"A\":01"),
        row("\"A\":1,"),
        row("\"A\":\"\\ud800\""),
        row("\"A\":\"\\x\""),
        row("\"A\":\"\u{1}\""),
        row("\"A\":[1]"),
        row("\"A@odata.type\":\"Edm.Binary\",\"A\":\"?\""),
        row("\"A@odata.type\":\"Edm.Guid\",\"A\":\"x\""),
        row("\"A@odata.type\":5,\"A\":\"x\""),
    ];
    let large = format!("\"A\":\"{}\"", "x".repeat(4 * MIB - 42));
    let others = [
        (vec![b' '; 4 * MIB + 1], 413, "RequestBodyTooLarge"),
        (row(&large), 400, "EntityTooLarge"),
        (b"{}".to_vec(), 400, "PropertiesNeedValue"),
        (row("\"A\":1,\"A\":2"), 400, "DuplicatePropertiesSpecified"),
        (row("\"RowKey\":\"x\""), 400, "DuplicateKeyPropertySpecified"),
        (row("\"\":1"), 400, "PropertyNameInvalid"),
    ];
    let invalid = invalid.map(|body| (body, 400, "InvalidInput"));
    for (body, status, code) in invalid.into_iter().chain(others) {
        let shown = String::from_utf8_lossy(&body[..body.len().min(120)]).into_owned();
        let expected = (status, code.to_owned());
        let response = ask(&service, "POST", "Things", &[JSON], body.clone()).await;
        assert_eq!(outcome(&response), expected, "{shown}");
        // The same for a change of the row, except what concerns only the keys.
        if !matches!(code, "PropertiesNeedValue" | "DuplicateKeyPropertySpecified") {
            let response = ask(&service, "PUT", ROW, &[JSON, ("if-match", "*")], body).await;
            assert_eq!(outcome(&response), expected, "PUT {shown}");
        }
        assert!(state(&service).await == before, "{shown}");
    }
}

#[tokio::test]
async fn invalid_addresses_are_rejected() {
    let service = with_row().await;
    let before = state(&service).await;
    for (method, path, status, code) in [
        ("GET", "Things(PartitionKey='%ff',RowKey='r')", 400, "InvalidUri"),
        ("GET", "Things(PartitionKey='p',RowKey='%')", 400, "InvalidUri"),
        ("DELETE", "Things(PartitionKey='p',RowKey='r%zz')", 400, "InvalidUri"),
        ("DELETE", "Things(PartitionKey='p',RowKey='r'", 400, "InvalidUri"),
        ("DELETE", "Things(PartitionKey='p',RowKey=r)", 400, "InvalidInput"),
        ("DELETE", "Things(RowKey='r')", 400, "InvalidInput"),
        ("GET", "Things?$filter=%ff", 400, "InvalidInput"),
        ("GET", "Things?$filter=%E0%A4%A", 400, "InvalidInput"),
        ("GET", "Things?$filter=A%20eq", 400, "InvalidInput"),
        ("GET", "Things?$top=1e3", 400, "InvalidInput"),
        ("GET", "Things?NextPartitionKey=x", 400, "InvalidInput"),
        (
            "GET",
            "Things?NextPartitionKey=1!4!cA--&NextRowKey=",
            400,
            "InvalidInput",
        ),
        ("PUT", "Tables", 405, "MethodNotAllowed"),
        ("DELETE", "Things", 405, "MethodNotAllowed"),
        ("BREW", "Things", 405, "UnsupportedHttpVerb"),
        ("GET", "Things/x", 400, "InvalidUri"),
    ] {
        let response = ask(&service, method, path, &[("if-match", "*")], "").await;
        assert_eq!(outcome(&response), (status, code.to_owned()), "{method} {path}");
        assert!(state(&service).await == before, "{method} {path}");
    }
    let filter = format!("Things?$filter={}A%20eq%201{}", "(".repeat(5_000), ")".repeat(5_000));
    assert_eq!(ask(&service, "GET", &filter, &[], "").await.status(), 400);
}

/// Two inserts, a replace and a delete in a batch.
fn batch() -> String {
    let change = |line: &str, headers: &str, body: &str| {
        format!(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n{line} HTTP/1.1\r\n\
             Content-Type: application/json\r\nAccept: application/json\r\n{headers}\r\n{body}\r\n"
        )
    };
    let changes = [
        change("POST /Things", "", r#"{"PartitionKey":"p","RowKey":"1"}"#),
        change(&format!("PUT /{ROW}"), "If-Match: *\r\n", r#"{"A":2}"#),
        change("POST /Things", "", r#"{"PartitionKey":"p","RowKey":"2"}"#),
    ];
    format!(
        "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{}--c--\r\n--b--\r\n",
        changes.concat()
    )
}

/// A batch that is cut at any byte is applied as a whole or not at all.
#[tokio::test]
async fn a_batch_that_breaks_off_changes_nothing() {
    let whole = batch();
    let rows = |state: &[Bytes; 2]| String::from_utf8_lossy(&state[1]).matches("RowKey").count();
    // One SDK omits the last boundary, so the service does not require it.
    let closed = whole.find("--c--").unwrap() + 5;
    for end in 0..whole.len() {
        let service = with_row().await;
        let before = state(&service).await;
        let sent = whole[..end].to_owned();
        let response = ask(&service, "POST", "$batch", &[BATCH], sent.clone()).await;
        let after = state(&service).await;
        if after == before {
            let text = String::from_utf8_lossy(response.body());
            let is_rejected = response.status() == 400 || text.contains("HTTP/1.1 4");
            assert!(is_rejected, "{sent}: {response:?}");
        } else {
            assert_eq!(rows(&after), 3, "{sent}");
            assert!(end >= closed, "{sent}");
        }
    }
}

#[tokio::test]
async fn invalid_batches_are_rejected() {
    let service = with_row().await;
    let before = state(&service).await;
    let whole = batch();
    let too_long = format!("{}{}", whole, " ".repeat(4 * MIB));
    let head = "--c\nContent-Type: application/http\n\nPOST /Things HTTP/1.1\nAccept: application/json";
    let part = |row| format!("{head}\n\n{{\"PartitionKey\":\"p\",\"RowKey\":\"n{row}\"}}\n");
    let many: String = (0..101).map(part).collect();
    let many = format!("--b\nContent-Type: multipart/mixed; boundary=c\n\n{many}--c--\n--b--\n");
    let changed = |from, to| whole.replace(from, to).into_bytes();
    let unchanged = || whole.clone().into_bytes();
    let partitions = "CommandsInBatchActOnDifferentPartitions";
    for (content_type, body, status, code) in [
        (BATCH.1, too_long.into_bytes(), 413, "RequestBodyTooLarge"),
        (BATCH.1, many.into_bytes(), 202, "InvalidInput"),
        (BATCH.1, Vec::new(), 400, "InvalidInput"),
        (BATCH.1, b"\xff\xfe--b\r\n--b--".to_vec(), 400, "InvalidInput"),
        (BATCH.1, changed("boundary=c", "boundary=d"), 400, "InvalidInput"),
        (BATCH.1, changed("HTTP/1.1", "HTTP"), 400, "InvalidInput"),
        (BATCH.1, changed("\"A\":2", "\"A\":"), 202, "InvalidInput"),
        (
            BATCH.1,
            changed(r#""RowKey":"2""#, r#""RowKey":"1""#),
            202,
            "InvalidDuplicateRow",
        ),
        (BATCH.1, changed("POST /Things", "POST /%ff"), 202, "InvalidUri"),
        (BATCH.1, changed("PUT /Things", "PUT /Others"), 202, partitions),
        ("multipart/mixed", unchanged(), 400, "InvalidInput"),
        ("multipart/mixed; boundary=", unchanged(), 400, "InvalidInput"),
        ("application/json", unchanged(), 400, "InvalidInput"),
    ] {
        let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
        let response = ask(&service, "POST", "$batch", &[("content-type", content_type)], body).await;
        assert_eq!(outcome(&response), (status, code.to_owned()), "{content_type} {shown}");
        assert!(state(&service).await == before, "{content_type} {shown}");
    }
    let mut invalid = whole.clone().into_bytes();
    let at = whole.find("\"A\":2").unwrap() + 1;
    invalid[at] = 0xff;
    let response = ask(&service, "POST", "$batch", &[BATCH], invalid).await;
    let (status, code) = outcome(&response);
    assert!(matches!((status, &*code), (202 | 400, "InvalidInput")), "{response:?}");
    assert!(state(&service).await == before);
    let response = ask(&service, "POST", "$batch", &[BATCH], whole).await;
    assert_eq!(response.status(), 202);
    assert!(state(&service).await != before, "the good one is made");
}
