//! The control port as a program in any language uses it: its routes over raw HTTP, and what a client of tables sees.
//!
//! Faults are in `control_faults.rs`, the log in `control_requests.rs`, who may use it in `control_access.rs`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use azure_table::emulator::EmulatorSnapshot;
use azure_table::{DynamicEntity, Guid, NoRetry, TableServiceClient};
use serde_json::Value;

use crate::process::LIMIT;
use crate::{PROGRAM, Running};

/// Sends a request, and returns the status, the head and the body of the answer.
pub(crate) fn ask(address: &str, request: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
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
    let mut response = String::new();
    let read = stream.read_to_string(&mut response);
    assert!(read.is_ok(), "{request}: no response within {LIMIT:?}: {read:?}");
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_ascii_lowercase(), body.to_owned())
}

/// The control port of a program, without a token.
pub(crate) struct Port(pub(crate) String);

impl Port {
    pub(crate) fn of(running: &Running) -> Self {
        Self(running.control().to_owned())
    }

    pub(crate) fn start() -> (Running, Self) {
        let running = Running::start(&["--port=0", "--control=0", "--quiet"]);
        let port = Self::of(&running);
        (running, port)
    }

    /// Sends a request that succeeds.
    pub(crate) fn ok(&self, request: &str, body: &str) -> String {
        let (status, _, response) = ask(&self.0, request, &[], body);
        assert!(matches!(status, 200 | 204), "{request}: {status} {response}");
        response
    }

    /// Sends a request that is rejected, and returns its status and error.
    pub(crate) fn rejected(&self, request: &str, body: &str) -> (u16, String) {
        let (status, _, response) = ask(&self.0, request, &[], body);
        let error: Value = serde_json::from_str(&response).unwrap();
        (status, error["error"].as_str().unwrap().to_owned())
    }

    pub(crate) fn json(&self, request: &str, body: &str) -> Value {
        serde_json::from_str(&self.ok(request, body)).unwrap()
    }

    pub(crate) fn lines(&self, request: &str) -> Vec<Value> {
        let text = self.ok(request, "");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) fn service(running: &Running) -> TableServiceClient {
    let service = TableServiceClient::from_connection_string(&running.connection_string).unwrap();
    service.retry(NoRetry)
}

pub(crate) const ROWS: &str = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"Rating\":5}\n\n\
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
    assert_eq!(port.rejected("GET /table", "").0, 404);
    let (status, head, body) = ask(&port.0, "PATCH /faults", &[], "");
    let allowed = head
        .lines()
        .find_map(|line| line.strip_prefix("allow: "))
        .unwrap_or_default();
    assert!(
        body.starts_with("{\"error\":\"PATCH /faults: not a method of this path"),
        "{body}"
    );
    assert!(
        status == 405
            && ["get", "put", "post", "delete"]
                .iter()
                .all(|method| allowed.contains(method)),
        "{head}"
    );
}

#[test]
fn program_reads_the_routes_and_their_methods() {
    let (_running, port) = Port::start();
    let html = ["", "*/*", "text/html", "application/json, Text/HTML;q=0.9"];
    let json = [
        "*/*, application/json",
        "Application/JSON",
        "application/json;charset=utf-8",
    ];
    let all = html.map(|it| (it, "text/html")).into_iter();
    for (accept, kind) in all.chain(json.map(|it| (it, "application/json"))) {
        let (_, head, _) = ask(&port.0, "GET /", &[("Accept", accept)], "");
        assert!(head.contains(&format!("content-type: {kind}")), "{accept}: {head}");
    }
    let (_, _, text) = ask(&port.0, "GET /", &[("Accept", "application/json")], "");
    let routes: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(routes.len(), 11);
    for route in &routes {
        // A method that no path has: the header Allow lists the others.
        let path = route["path"].as_str().unwrap();
        let (status, head, _) = ask(&port.0, &format!("TRACE {path}"), &[], "");
        let allowed = head.lines().find_map(|line| line.strip_prefix("allow: ")).unwrap();
        let mut allowed: Vec<_> = allowed.split(',').filter(|method| *method != "head").collect();
        let mut methods: Vec<_> = route["methods"].as_array().unwrap().iter().collect();
        methods.sort_by_key(|method| method.as_str());
        allowed.sort_unstable();
        let methods: Vec<_> = methods
            .iter()
            .map(|it| it.as_str().unwrap().to_ascii_lowercase())
            .collect();
        assert_eq!(
            (status, methods),
            (405, allowed.iter().map(|it| (*it).to_owned()).collect()),
            "{path}"
        );
    }
    assert!(
        port.rejected("GET /nothing", "")
            .1
            .ends_with("/clock/advance, /requests")
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
            "limt: not a parameter of GET /tables/Blogs, which has account, limit",
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
        let (found, error) = port.rejected(request, body);
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
    let (status, error) = port.rejected("PUT /snapshot", "{\"azure-table-snapshot\":1}\n{\"table\":\"Blogs\"}\n");
    assert_eq!(
        (status, error.as_str()),
        (400, "line 2: a table, but no account before it")
    );
    assert_eq!(port.ok("GET /snapshot", ""), text);
}

#[tokio::test]
async fn clock_is_set_advanced_and_reset() {
    let (running, port) = Port::start();
    let service = service(&running);
    assert_eq!(
        port.json("PUT /clock", "{\"now\":\"2030-01-01T00:00:00Z\"}")["now"],
        "2030-01-01T00:00:00Z"
    );
    // The client corrects its own clock by the first rejection; the Timestamp comes from the emulator's clock.
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
    let (status, error) = port.rejected("PUT /clock", "{\"now\":\"9999-12-31T23:59:59Z\"}");
    assert!(
        status == 400 && error.contains("9999-12-31T23:59:59Z, it must be 1970-01-01T00:00:00Z to 9000-01-01"),
        "{error}"
    );
    // No `Date` header has an earlier time.
    let (status, error) = port.rejected("PUT /clock", "{\"now\":\"1969-12-31T23:59:59Z\"}");
    assert!(status == 400 && error.contains("it must be 1970-01-01"), "{error}");
    port.ok("PUT /clock", "{\"now\":\"8999-12-31T23:59:59Z\"}");
    let (status, error) = port.rejected("POST /clock/advance", "{\"seconds\":2}");
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
        let (status, error) = port.rejected(request, body);
        assert!(status == 400 && error.contains(why), "{request} {body}: {error}");
    }
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
    // The limit of a file's size, in blocks of 512 bytes or 1 KiB, instead of a full disk.
    let limited = format!(
        "trap '' XFSZ; ulimit -f 8192; exec {PROGRAM} --port 0 --control 0 -q --data {}",
        folder.display()
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &limited]);
    let running = Running::of(shell);
    let port = Port::of(&running);
    assert_eq!(port.json("GET /ready", "")["status"], "ready");
    let text = "x".repeat(30_000);
    let rows = (0..500).map(|n| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{n}\",\"Text\":\"{text}\"}}\n"));
    let (status, error) = port.rejected("POST /tables/Big", &rows.collect::<String>());
    assert!(
        status == 503 && error.contains("its folder could not be written"),
        "{status} {error}"
    );
    let (status, error) = port.rejected("GET /ready", "");
    assert!(
        status == 503 && error.contains("its folder could not be written"),
        "{status} {error}"
    );
    // As clients' reads: no answer shows what is not stored.
    for request in ["GET /tables", "GET /tables/Big", "GET /snapshot"] {
        let (status, error) = port.rejected(request, "");
        assert!(
            status == 503 && error.contains("could not be written"),
            "{request}: {status} {error}"
        );
    }
    assert_eq!(port.json("GET /health", "")["status"], "alive");
    drop(running);
    fs::remove_dir_all(&folder).unwrap();
}
