//! The log of requests at the control port, and what the port does with many bodies at once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use azure_table::DynamicEntity;
use azure_table_wire::account::signature::{SigningKey, canonicalized_resource, shared_key};
use serde_json::Value;

use crate::Running;
use crate::control::{Port, ROWS, ask, service};
use crate::process::LIMIT;

/// Waits until a condition holds.
fn poll(what: &str, is_met: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_met() {
        assert!(started.elapsed() < LIMIT, "{what}: still waiting after {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn requests_are_logged_and_followed() {
    let (running, port) = Port::start();
    let service = service(&running);
    service.list_tables().await.unwrap();
    let line = &port.lines("GET /requests")[0];
    assert_eq!(
        (&line["number"], &line["method"], &line["status"]),
        (&1.into(), &"GET".into(), &200.into())
    );
    assert_eq!(line["target"], "/devstoreaccount1/Tables");

    let mut stream = TcpStream::connect(&port.0).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
        .write_all(format!("GET /requests?follow HTTP/1.1\r\nHost: {}\r\n\r\n", port.0).as_bytes())
        .unwrap();
    let mut reader = BufReader::new(stream);
    let mut next = |text: &str| {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(reader.read_line(&mut line).unwrap(), 0);
        }
    };
    next("\"number\":1,");
    service.dynamic_table("Blogs").unwrap().create_table().await.unwrap();
    next("\"number\":2,");
    port.ok("DELETE /requests", "");
    assert_eq!(port.ok("GET /requests", ""), "");
    // Only the newest are kept.
    let blogs = service.dynamic_table("Blogs").unwrap();
    for _ in 0..1_010 {
        blogs.get(("p", "r")).await.unwrap();
    }
    let kept = port.lines("GET /requests");
    assert_eq!((kept.len(), &kept[0]["number"]), (1_000, &13.into()));
    assert_eq!(port.rejected("GET /requests?follow=perhaps", "").0, 400);
}

#[tokio::test]
async fn log_shows_conditions_preferences_and_the_operations_of_a_batch() {
    let (running, port) = Port::start();
    let blogs = service(&running).dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    let row = |key: &str| DynamicEntity::new("p", key);
    blogs.insert(&row("1")).await.unwrap();
    blogs.delete(("p", "1")).await.unwrap();
    let mut batch = blogs.batch();
    batch.insert(&row("2")).unwrap();
    batch.insert_or_merge(&row("3")).unwrap();
    batch.submit().await.unwrap();
    let log = port.lines("GET /requests");
    assert_eq!(
        (&log[1]["prefer"], &log[1]["ifMatch"]),
        (&"return-no-content".into(), &Value::Null)
    );
    assert_eq!(log[2]["ifMatch"], "*");
    let operations = log[3]["batch"].as_array().unwrap();
    let shown = |n: usize, name: &str| operations[n][name].as_str().unwrap();
    for (n, method, key) in [(0, "POST", "2"), (1, "PATCH", "3")] {
        let found = ["method", "table", "partitionKey", "rowKey"].map(|name| shown(n, name));
        assert_eq!(found, [method, "Blogs", "p", key]);
        assert_eq!(operations[n]["status"], 204);
    }
}

/// Returns a batch of inserts, each with a PartitionKey of this length.
fn inserts(count: usize, length: usize) -> String {
    let key = "k".repeat(length);
    let insert = |n: usize| {
        format!(
            "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nPOST \
             /devstoreaccount1/Blogs HTTP/1.1\r\nContent-Type: application/json\r\n\r\n\
             {{\"PartitionKey\":\"{key}\",\"RowKey\":\"{n}\"}}\r\n"
        )
    };
    let inserts: String = (0..count).map(insert).collect();
    format!("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n{inserts}--c--\r\n--b--\r\n")
}

/// Returns the texts in a value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn long_requests_have_short_lines_in_the_log() {
    let (running, port) = Port::start();
    let (_, tables) = running.connection_string.split_once("TableEndpoint=http://").unwrap();
    let address = tables.split('/').next().unwrap().replace("localhost", "127.0.0.1");
    let path = "/devstoreaccount1/$batch";
    let date = httpdate::fmt_http_date(std::time::SystemTime::now());
    let kind = "multipart/mixed; boundary=b";
    let to_sign = shared_key(
        "POST",
        "",
        kind,
        &date,
        canonicalized_resource("devstoreaccount1", path, None),
    );
    let signature = SigningKey::development().sign(&to_sign.concat());
    let authorization = format!("SharedKey devstoreaccount1:{signature}");
    let headers = [
        ("Content-Type", kind),
        ("x-ms-version", "2019-02-02"),
        ("x-ms-date", &date),
    ];
    let signed = [&headers[..], &[("Authorization", &authorization)]].concat();
    let batch = |headers: &[_], length| ask(&address, &format!("POST {path}"), headers, &inserts(101, length)).0;
    assert_eq!([batch(&headers, 3_000), batch(&signed, 3_000)], [404, 202]);
    let long = "x".repeat(3_000);
    let conditions = [("If-Match", &*long), ("Prefer", &*long)];
    ask(&address, &format!("{long} /devstoreaccount1/{long}"), &conditions, "");
    port.ok(
        "PUT /faults",
        "{\"fault\":\"failBatchPart\",\"status\":409,\"code\":\"EntityAlreadyExists\"}",
    );
    assert_eq!([batch(&headers, 9), batch(&signed, 9)], [202, 202]);
    let log = port.lines("GET /requests");
    for (n, is_accepted) in [(0, false), (1, true), (3, false), (4, true)] {
        assert_eq!(log[n]["batch"].is_array(), is_accepted, "{n}: {}", log[n]["batch"]);
    }
    assert_eq!(log[1]["batch"].as_array().unwrap().len(), 100);
    for line in &log {
        let longest = texts(line).into_iter().map(str::len).max().unwrap();
        assert!(longest <= 1_000, "{longest}");
    }
    for name in ["method", "target", "ifMatch", "prefer"] {
        assert_eq!(log[2][name].as_str().map(str::len), Some(1_000), "{name}");
    }
}

#[tokio::test]
async fn length_of_the_log_is_an_option() {
    let running = Running::start(&["--port=0", "--control=0", "-q", "--control-requests=3"]);
    let port = Port::of(&running);
    for _ in 0..5 {
        service(&running).list_tables().await.unwrap();
    }
    let numbers: Vec<_> = port
        .lines("GET /requests")
        .iter()
        .map(|line| line["number"].as_u64())
        .collect();
    assert_eq!(numbers, [Some(3), Some(4), Some(5)]);
}

#[test]
fn request_is_logged_when_its_client_gives_up() {
    let (running, port) = Port::start();
    port.ok("PUT /faults", "{\"fault\":\"hangRequest\"}");
    let (_, address) = running.connection_string.split_once("TableEndpoint=http://").unwrap();
    let (address, _) = address.split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let batch = inserts(1, 9);
    let request = format!(
        "POST /devstoreaccount1/$batch HTTP/1.1\r\nHost: {address}\r\nContent-Type: multipart/mixed; \
         boundary=b\r\nContent-Length: {}\r\n\r\n{batch}",
        batch.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    poll("the request that hangs", || port.lines("GET /faults")[0]["hits"] != 0);
    assert_eq!(port.ok("GET /requests", ""), "");
    drop(stream);
    poll("its line in the log", || !port.lines("GET /requests").is_empty());
    let logged = &port.lines("GET /requests")[0];
    assert_eq!(
        (&logged["target"], &logged["status"], &logged["why"]),
        (
            &"/devstoreaccount1/$batch".into(),
            &Value::Null,
            &"the connection closed before the response".into()
        )
    );
    assert_eq!(logged["batch"], Value::Null, "nothing shows who sent it");
}

#[test]
fn large_bodies_wait_for_each_other_and_small_ones_do_not() {
    let (_running, port) = Port::start();
    let announce = |mib: usize| {
        let mut stream = TcpStream::connect(&port.0).unwrap();
        let head = format!(
            "POST /tables/Big HTTP/1.1\r\nHost: {}\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n",
            port.0,
            mib << 20
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let is_read = |stream: &mut TcpStream, within: Duration| {
        stream.set_read_timeout(Some(within)).unwrap();
        let mut response = [0; 12];
        stream.read_exact(&mut response).map(|()| response).ok()
    };
    let mut first = announce(200);
    assert_eq!(is_read(&mut first, LIMIT).as_ref(), Some(b"HTTP/1.1 100"));
    port.ok("POST /tables/Small", ROWS);
    let mut second = announce(100);
    assert_eq!(is_read(&mut second, Duration::from_millis(200)), None);
    drop(first);
    assert_eq!(is_read(&mut second, LIMIT).as_ref(), Some(b"HTTP/1.1 100"));
    let mut too_long = announce(257);
    assert_eq!(is_read(&mut too_long, LIMIT).as_ref(), Some(b"HTTP/1.1 413"));
}
