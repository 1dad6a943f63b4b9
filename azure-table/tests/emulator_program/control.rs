//! The control port as a program in any language uses it: each route over raw HTTP, and what a client of tables sees.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use azure_table::emulator::EmulatorSnapshot;
use azure_table::{DynamicEntity, ErrorKind, Guid, NoRetry, TableServiceClient};
use serde_json::Value;

use crate::{Running, emulator};

/// Sends a request, and returns the status, the head and the body of the answer.
pub(crate) fn ask(address: &str, request: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut head = format!(
        "{request} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    if !headers.iter().any(|(name, _)| *name == "Host") {
        head += &format!("Host: {address}\r\n");
    }
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_ascii_lowercase(), body.to_owned())
}

/// The control port of a program, without a token.
struct Port(String);

impl Port {
    fn of(running: &Running) -> Self {
        Self(running.control().to_owned())
    }

    fn start() -> (Running, Self) {
        let running = Running::start(&["--port=0", "--control=0", "--quiet"]);
        let port = Self::of(&running);
        (running, port)
    }

    /// Sends a request that succeeds.
    fn ok(&self, request: &str, body: &str) -> String {
        let (status, _, answer) = ask(&self.0, request, &[], body);
        assert!(matches!(status, 200 | 204), "{request}: {status} {answer}");
        answer
    }

    /// Sends a request that is rejected, and returns its status and error.
    fn refused(&self, request: &str, body: &str) -> (u16, String) {
        let (status, _, answer) = ask(&self.0, request, &[], body);
        let error: Value = serde_json::from_str(&answer).unwrap();
        (status, error["error"].as_str().unwrap().to_owned())
    }

    fn json(&self, request: &str, body: &str) -> Value {
        serde_json::from_str(&self.ok(request, body)).unwrap()
    }

    fn lines(&self, request: &str) -> Vec<Value> {
        let text = self.ok(request, "");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn service(running: &Running) -> TableServiceClient {
    let service = TableServiceClient::from_connection_string(&running.connection_string).unwrap();
    service.retry(NoRetry)
}

const ROWS: &str = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"Rating\":5}\n\n\
                    {\"PartitionKey\":\"p\",\"RowKey\":\"2\",\"Views@odata.type\":\"Edm.Int64\",\"Views\":\"12\"}\n";

#[test]
fn port_tells_that_it_is_alive_and_shows_a_page() {
    let (_running, port) = Port::start();
    assert_eq!(port.json("GET /health", "")["status"], "alive");
    assert_eq!(port.json("GET /ready", "")["status"], "ready");
    let (status, head, body) = ask(&port.0, "GET /", &[], "");
    assert_eq!(status, 200);
    assert!(
        head.contains("content-security-policy: default-src 'none'; script-src 'sha256-"),
        "{head}"
    );
    assert!(body.starts_with("<!doctype html>"));
    for elsewhere in ["http://", "https://", "src=\"", "innerHTML"] {
        assert!(!body.contains(elsewhere), "{elsewhere}");
    }
    let (status, head, body) = ask(&port.0, "HEAD /tables", &[], "");
    assert_eq!((status, body.as_str()), (200, ""), "{head}");
    assert_eq!(port.refused("GET /table", "").0, 404);
    let (status, head, _) = ask(&port.0, "PATCH /faults", &[], "");
    assert!(
        status == 405 && head.contains("allow: get, put, post, delete"),
        "{head}"
    );
}

#[tokio::test]
async fn tables_are_seeded_listed_read_and_deleted() {
    let running = Running::start(&["--port=0", "--control=0", "-q", "--account=contoso:AAECAwQFBgc="]);
    let port = Port::of(&running);
    assert_eq!(port.json("POST /tables/Blogs", ROWS)["entities"], 2);
    let blogs = service(&running).dynamic_table("Blogs").unwrap();
    let row = blogs.get(("p", "1")).await.unwrap().unwrap();
    assert_eq!(row.property::<i32>("Rating").unwrap(), 5);
    // An upsert: the other row stays.
    port.ok(
        "POST /tables/blogs",
        "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"Rating\":6}",
    );
    port.ok("POST /tables/Blogs?account=contoso", ROWS);
    let tables = port.lines("GET /tables");
    let named: Vec<_> = tables
        .iter()
        .map(|it| (it["account"].as_str(), it["table"].as_str()))
        .collect();
    assert_eq!(
        named,
        [
            (Some("contoso"), Some("Blogs")),
            (Some("devstoreaccount1"), Some("Blogs"))
        ]
    );
    assert_eq!(port.lines("GET /tables?account=contoso").len(), 1);
    let rows = port.lines("GET /tables/Blogs");
    assert_eq!(
        (rows.len(), &rows[0]["Rating"], &rows[1]["Views"]),
        (2, &6.into(), &"12".into())
    );
    assert_eq!(port.lines("GET /tables/Blogs?limit=1&account=contoso").len(), 1);
    // What it returns can be sent back.
    let lines = port.ok("GET /tables/Blogs", "");
    assert_eq!(port.json("POST /tables/Copy", &lines)["entities"], 2);

    for (request, body, status, why) in [
        (
            "GET /tables/Nope",
            "",
            404,
            "table \"Nope\" of account \"devstoreaccount1\" does not exist",
        ),
        ("DELETE /tables/Nope", "", 404, "does not exist"),
        (
            "DELETE /tables?account=nobody",
            "",
            400,
            "account \"nobody\" does not exist, the accounts are contoso, devstore",
        ),
        ("GET /tables/Blogs?limit=x", "", 400, "limit: \"x\""),
        (
            "GET /tables/Blogs?limt=1",
            "",
            400,
            "limt: GET /tables/Blogs has no such parameter, it has account, limit",
        ),
        (
            "POST /tables/Blogs?account=x",
            ROWS,
            400,
            "account \"x\" does not exist, the accounts are contoso, devstore",
        ),
        ("POST /tables/a-b", ROWS, 400, "a-b"),
        (
            "POST /tables/New",
            "{\"PartitionKey\":\"p\"}",
            400,
            "line 1: RowKey is missing",
        ),
        (
            "POST /tables/New",
            "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n{\"PartitionKey\":\"p\",\"RowKey\":2}",
            400,
            "line 2, column 30: property \"RowKey\": expected Edm.String, found the number 2",
        ),
    ] {
        let (found, error) = port.refused(request, body);
        assert!(found == status && error.contains(why), "{request}: {found} {error}");
    }
    // All lines or none.
    assert!(!port.ok("GET /tables", "").contains("New"));

    port.ok("DELETE /tables/Copy", "");
    port.ok("DELETE /tables?account=contoso", "");
    assert_eq!(port.lines("GET /tables").len(), 1);
    port.ok("DELETE /tables", "");
    assert_eq!(port.ok("GET /tables", ""), "");
    blogs.create_table().await.unwrap();
}

#[test]
fn snapshot_is_read_and_restored() {
    let (_running, port) = Port::start();
    port.ok("POST /tables/Blogs", ROWS);
    let text = port.ok("GET /snapshot", "");
    assert_eq!(text.parse::<EmulatorSnapshot>().unwrap().entity_count(), 2);
    port.ok("DELETE /tables", "");
    port.ok("PUT /snapshot", &text);
    assert_eq!(port.ok("GET /snapshot", ""), text);
    let (status, error) = port.refused("PUT /snapshot", "{\"azure-table-snapshot\":1}\n{\"table\":\"Blogs\"}\n");
    assert_eq!(
        (status, error.as_str()),
        (400, "line 2: a table, but no account before it")
    );
    assert_eq!(port.ok("GET /snapshot", ""), text);
}

#[tokio::test]
async fn faults_act_and_are_counted() {
    let (running, port) = Port::start();
    let service = service(&running);
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    let row = |key: &str| DynamicEntity::new("p", key);

    let rule = "{\"fault\":\"respond\",\"status\":503,\"code\":\"ServerBusy\",\"headers\":{\"Retry-After\":\"7\"},\
                \"operations\":[\"insert\"],\"table\":\"Blogs\",\"first\":1}";
    port.ok("PUT /faults", rule);
    let busy = blogs.insert(&row("1")).await.unwrap_err();
    assert_eq!((busy.status(), busy.code()), (Some(503), Some("ServerBusy")));
    assert_eq!(busy.retry_after(), Some(Duration::from_secs(7)));
    blogs.insert(&row("1")).await.unwrap();

    port.ok(
        "POST /faults",
        "{\"fault\":\"loseResponse\",\"operations\":[\"writes\"],\"atMost\":1}",
    );
    let lost = blogs.insert(&row("2")).await.unwrap_err();
    assert!(lost.may_have_applied(), "{lost}");
    let rules = port.lines("GET /faults");
    assert_eq!((&rules[0]["matched"], &rules[0]["hits"]), (&3.into(), &1.into()));
    assert_eq!((&rules[1]["matched"], &rules[1]["hits"]), (&1.into(), &1.into()));
    assert!(blogs.get(("p", "2")).await.unwrap().is_some());

    // The lines that are read can be sent back.
    let lines = port.ok("GET /faults", "");
    port.ok("PUT /faults", &lines);
    port.ok("PUT /faults", "{\"fault\":\"loseRequest\"} {\"fault\":\"hangRequest\"}");
    blogs.insert(&row("3")).await.unwrap_err();
    let id = port.lines("GET /faults")[0]["id"].as_u64().unwrap();
    port.ok(&format!("DELETE /faults/{id}"), "");
    assert_eq!(port.refused(&format!("DELETE /faults/{id}"), "").0, 404);
    let hanging = blogs.insert(&row("3")).timeout(Duration::from_millis(200)).await;
    assert_eq!(hanging.unwrap_err().kind(), ErrorKind::Timeout);
    port.ok("DELETE /faults", "");
    assert_eq!(port.ok("GET /faults", ""), "");
    blogs.insert(&row("3")).await.unwrap();

    // A cut response announces all of its bytes.
    port.ok("PUT /faults", "{\"fault\":\"cutResponse\",\"bytes\":5}");
    let (_, tables) = running.connection_string.split_once("http://").unwrap();
    let (status, head, body) = ask(
        tables.split('/').next().unwrap(),
        "GET /devstoreaccount1/Tables",
        &[],
        "",
    );
    let length: usize = head
        .split("content-length: ")
        .nth(1)
        .unwrap()
        .split('\r')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(status == 403 && body.len() == 5 && length > 5, "{head}\n{body}");
    let lost = blogs.get(("p", "3")).await.unwrap_err();
    assert_eq!(lost.status(), None, "{lost}");
    port.ok(
        "PUT /faults",
        "{\"fault\":\"failBatchPart\",\"status\":409,\"code\":\"EntityAlreadyExists\",\"message\":\"0:It exists.\"}",
    );
    let mut batch = blogs.batch();
    batch.insert(&row("4")).unwrap();
    let failed = batch.submit().await.unwrap_err();
    assert_eq!(
        (failed.status(), failed.code()),
        (Some(409), Some("EntityAlreadyExists"))
    );

    let log = port.lines("GET /requests");
    let of = |status: Option<u16>, why: &str| {
        let found = log
            .iter()
            .filter(|line| line["status"].as_u64() == status.map(u64::from));
        found
            .filter(|line| line["why"].as_str().is_some_and(|it| it.contains(why)))
            .count()
    };
    assert_eq!(of(Some(503), "injected fault: response of a rule"), 1, "{log:?}");
    assert_eq!(of(None, "injected fault: the answer was lost"), 1, "{log:?}");
    assert_eq!(
        of(None, "injected fault: the answer broke off after 5 of "),
        2,
        "{log:?}"
    );
}

#[test]
fn faults_that_mean_nothing_are_rejected() {
    let (_running, port) = Port::start();
    port.ok("PUT /faults", "{\"fault\":\"loseRequest\"}");
    for (rule, why) in [
        ("", "body: it has no rule"),
        ("{}", "rule 1: missing field `fault`"),
        (
            "[{\"fault\":\"loseRequest\"}]",
            "rule 1: expected a JSON object, found an array",
        ),
        (
            "{\"fault\":\"loseRequest\"}\n{\"fault\":\"respond\",\"status\":\"503\"}",
            "rule 2: status: invalid type: string \"503\", expected u16",
        ),
        (
            "{\"fault\":\"loseRequest\",\"operations\":[\"insert\",1]}",
            "operations[1]: invalid type",
        ),
        (
            "{\"fault\":\"respond\",\"status\":500,\"headers\":{\"a\":1}}",
            "headers.a: invalid type",
        ),
        ("{\"fault\":\"loseRequest\"} {", "rule 2: EOF while parsing"),
        (
            "{\"fault\":\"loseRequest\"} {\"fault\":\"reset\"}",
            "rule 2: fault: \"reset\" is none of loseRequest, lose",
        ),
        (
            "{\"fault\":\"loseRequest\",\"tabel\":\"T\"}",
            "unknown field `tabel`, expected one of `fault`",
        ),
        (
            "{\"fault\":\"loseRequest\",\"bytes\":1}",
            "bytes: loseRequest has no such member",
        ),
        ("{\"fault\":\"cutResponse\"}", "bytes: missing"),
        (
            "{\"fault\":\"delayRequest\"}",
            "milliseconds: missing, from 0 to 86400000",
        ),
        (
            "{\"fault\":\"delayRequest\",\"milliseconds\":86400001}",
            "milliseconds: 86400001, it must be 0 to 86400000",
        ),
        ("{\"fault\":\"respond\"}", "status: missing, from 200 to 599"),
        (
            "{\"fault\":\"respond\",\"status\":101}",
            "status: 101, it must be 200 to 599",
        ),
        (
            "{\"fault\":\"respond\",\"status\":500,\"message\":\"m\"}",
            "message: it needs a code",
        ),
        (
            "{\"fault\":\"respond\",\"status\":500,\"headers\":{\"a b\":\"\"}}",
            "headers: \"a b\" is no name",
        ),
        (
            "{\"fault\":\"respond\",\"status\":500,\"headers\":{\"a\":\"\\n\"}}",
            "headers: a: \"\\n\" is no value",
        ),
        (
            "{\"fault\":\"respond\",\"status\":500,\"headers\":{\"Content-Length\":\"1\"}}",
            "headers: Content-Length belongs",
        ),
        (
            "{\"fault\":\"loseRequest\",\"operations\":[\"upsert\"]}",
            "operations: \"upsert\" is none of reads, writes, insert",
        ),
        ("{\"fault\":\"loseRequest\",\"nth\":0}", "nth: 0, it must be 1 or more"),
        (
            "{\"fault\":\"loseRequest\",\"nth\":1,\"every\":2}",
            "nth, first, every, chance: 2 of them, the limit is 1",
        ),
        (
            "{\"fault\":\"loseRequest\",\"chance\":1.5}",
            "chance: 1.5, it must be 0 to 1",
        ),
        (
            &"{\"fault\":\"loseRequest\"}".repeat(101),
            "rules: 101, the limit is 100",
        ),
    ] {
        let (status, error) = port.refused("PUT /faults", rule);
        assert!(status == 400 && error.contains(why), "{rule}: {error}");
    }
    // None of them replaced the rule.
    assert_eq!(port.lines("GET /faults").len(), 1);
}

#[tokio::test]
async fn clock_is_set_advanced_and_reset() {
    let (running, port) = Port::start();
    let service = service(&running);
    assert_eq!(
        port.json("PUT /clock", "{\"now\":\"2030-01-01T00:00:00Z\"}")["now"],
        "2030-01-01T00:00:00Z"
    );
    // The client corrects its own clock by the first rejection; the Timestamp is that of the emulator's.
    let service = service.retry(azure_table::ExponentialRetry::default());
    let blogs = service.dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    assert!(
        port.lines("GET /tables/Blogs")[0]["Timestamp"]
            .as_str()
            .unwrap()
            .starts_with("2030-01-01T00:00:00")
    );
    let advanced = port.json("POST /clock/advance", "{\"seconds\":1.5}");
    assert_eq!(advanced["now"], "2030-01-01T00:00:01.5Z");
    // At the last time of all, rows would keep their ETags.
    let (status, error) = port.refused("PUT /clock", "{\"now\":\"9999-12-31T23:59:59Z\"}");
    assert!(
        status == 400 && error.contains("9999-12-31T23:59:59Z, the limit is 9000-01-01"),
        "{error}"
    );
    port.ok("PUT /clock", "{\"now\":\"8999-12-31T23:59:59Z\"}");
    let (status, error) = port.refused("POST /clock/advance", "{\"seconds\":2}");
    assert!(status == 400 && error.contains("9000-01-01T00:00:01Z"), "{error}");
    // What is read can be sent back.
    port.ok("PUT /clock", &advanced.to_string());
    port.ok("DELETE /clock", "");
    let clock = port.json("GET /clock", "");
    assert_eq!(
        clock["now"].as_str().unwrap()[..16],
        clock["system"].as_str().unwrap()[..16]
    );
    service.list_tables().await.unwrap();
    for (request, body, why) in [
        (
            "PUT /clock",
            "{\"now\":\"soon\"}",
            "now: expected a date and time such as",
        ),
        ("PUT /clock", "{\"time\":1}", "unknown field `time`"),
        (
            "POST /clock/advance",
            "{\"seconds\":-1}",
            "seconds: -1, it must be 0 to 3155760000",
        ),
        ("POST /clock/advance", "", "body: "),
    ] {
        let (status, error) = port.refused(request, body);
        assert!(status == 400 && error.contains(why), "{request} {body}: {error}");
    }
}

#[tokio::test]
async fn load_throttles_until_it_is_taken_away() {
    let running = Running::start(&["--port=0", "--control=0", "-q", "--model=today"]);
    let port = Port::of(&running);
    assert_eq!(port.json("GET /load", "")["model"], "today");
    let model = "{\"model\":\"today\",\"writeLatencyMilliseconds\":0,\"partitionEntitiesPerSecond\":1}";
    port.ok("PUT /load", model);
    let blogs = service(&running).dynamic_table("Blogs").unwrap();
    blogs.create_table().await.unwrap();
    blogs.insert(&DynamicEntity::new("p", "1")).await.unwrap();
    let throttled = blogs.insert(&DynamicEntity::new("p", "2")).await.unwrap_err();
    assert_eq!(throttled.code(), Some("ServerBusy"));
    let load = port.json("GET /load", "");
    assert_eq!(load["partitionEntitiesPerSecond"], 1);
    assert_eq!(
        (&load["load"]["acceptedRequests"], &load["load"]["throttledRequests"]),
        (&1.into(), &1.into())
    );
    port.ok("PUT /load", &load.to_string());
    port.ok("DELETE /load", "");
    assert_eq!(port.json("GET /load", "")["model"], Value::Null);
    for n in 3..30 {
        blogs.insert(&DynamicEntity::new("p", n.to_string())).await.unwrap();
    }
    for (body, why) in [
        ("{\"model\":\"2011\"}", "model: 2011: it must be today or 2010"),
        (
            "{\"maxWaitMilliseconds\":-1}",
            "maxWaitMilliseconds: -1, it must be 0 to 86400000",
        ),
        (
            "{\"accountEntitiesPerSecond\":0}",
            "accountEntitiesPerSecond: 0, it must be 1 to 4294967295",
        ),
        ("{\"speed\":1}", "unknown field `speed`"),
    ] {
        let (status, error) = port.refused("PUT /load", body);
        assert!(status == 400 && error.contains(why), "{body}: {error}");
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
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
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
    assert_eq!(port.refused("GET /requests?follow=perhaps", "").0, 400);
}

#[test]
fn request_is_logged_when_its_client_gives_up() {
    let (running, port) = Port::start();
    port.ok("PUT /faults", "{\"fault\":\"hangRequest\"}");
    let (_, address) = running.connection_string.split_once("TableEndpoint=http://").unwrap();
    let (address, _) = address.split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET /devstoreaccount1/Tables HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    while port.lines("GET /faults")[0]["hits"] == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(port.ok("GET /requests", ""), "");
    drop(stream);
    let logged = loop {
        if let Some(line) = port.lines("GET /requests").pop() {
            break line;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(
        (&logged["target"], &logged["status"], &logged["why"]),
        (
            &"/devstoreaccount1/Tables".into(),
            &Value::Null,
            &"the connection closed before the response".into()
        )
    );
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
    let is_read = |stream: &mut TcpStream, within: u64| {
        stream.set_read_timeout(Some(Duration::from_millis(within))).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).map(|()| answer).ok()
    };
    let mut first = announce(200);
    assert_eq!(is_read(&mut first, 10_000).as_ref(), Some(b"HTTP/1.1 100"));
    port.ok("POST /tables/Small", ROWS);
    let mut second = announce(100);
    assert_eq!(is_read(&mut second, 200), None);
    drop(first);
    assert_eq!(is_read(&mut second, 10_000).as_ref(), Some(b"HTTP/1.1 100"));
    let mut too_long = announce(257);
    assert_eq!(is_read(&mut too_long, 10_000).as_ref(), Some(b"HTTP/1.1 413"));
}

#[test]
fn changes_through_the_port_survive_a_kill() {
    let folder = std::env::temp_dir().join(format!("azure-table-{}", Guid::random()));
    let arguments = ["--port=0", "--control=0", "-q", "--data", folder.to_str().unwrap()];
    let restarted = |mut running: Running| {
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        drop(running);
        let running = Running::start(&arguments);
        let port = Port::of(&running);
        (running, port)
    };
    let running = Running::start(&arguments);
    let port = Port::of(&running);
    port.ok("POST /tables/Blogs", ROWS);
    port.ok("POST /tables/Old", ROWS);
    port.ok("DELETE /tables/Old", "");
    let (running, port) = restarted(running);
    let seeded = port.ok("GET /snapshot", "");
    assert_eq!(port.lines("GET /tables").len(), 1);
    assert_eq!(port.lines("GET /tables/Blogs").len(), 2);
    port.ok("DELETE /tables", "");
    let (running, port) = restarted(running);
    assert_eq!(port.ok("GET /tables", ""), "");
    port.ok("PUT /snapshot", &seeded);
    let (_running, port) = restarted(running);
    assert_eq!(port.ok("GET /snapshot", ""), seeded);
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn port_is_not_ready_after_a_failed_write_to_the_disk() {
    let folder = std::env::temp_dir().join(format!("azure-table-{}", Guid::random()));
    let program = emulator(&[]);
    let program = program.get_program().to_str().unwrap();
    // The limit of a file's size, in blocks of 512 bytes or 1 KiB, instead of a full disk.
    let limited = format!(
        "trap '' XFSZ; ulimit -f 8192; exec {program} --port 0 --control 0 -q --data {}",
        folder.display()
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &limited]);
    let running = Running::of(shell);
    let port = Port::of(&running);
    assert_eq!(port.json("GET /ready", "")["status"], "ready");
    let text = "x".repeat(30_000);
    let rows = (0..500).map(|n| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{n}\",\"Text\":\"{text}\"}}\n"));
    let (status, error) = port.refused("POST /tables/Big", &rows.collect::<String>());
    assert!(
        status == 503 && error.contains("its folder could not be written"),
        "{status} {error}"
    );
    let (status, error) = port.refused("GET /ready", "");
    assert!(
        status == 503 && error.contains("its folder could not be written"),
        "{status} {error}"
    );
    // As clients' reads: no answer shows what is not stored.
    for request in ["GET /tables", "GET /tables/Big", "GET /snapshot"] {
        let (status, error) = port.refused(request, "");
        assert!(
            status == 503 && error.contains("could not be written"),
            "{request}: {status} {error}"
        );
    }
    assert_eq!(port.json("GET /health", "")["status"], "alive");
    drop(running);
    fs::remove_dir_all(&folder).unwrap();
}
