//! Who may use the control port: hosts, origins and the token, in raw requests; silent clients lock out nobody.

use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use azure_table::Guid;

use crate::control::{Port, ROWS, ask};
use crate::process::LIMIT;
use crate::{Running, emulator, failed};

const TOKEN: &str = "0123456789abcdef-token";

#[test]
fn foreign_hosts_and_origins_are_rejected() {
    let running = Running::start(&["--port=0", "--control=0", "-q", "--control-name=emulator"]);
    let address = running.control();
    let (_, port) = address.split_once(':').unwrap();
    let own = [
        address.to_owned(),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        format!("emulator:{port}"),
    ];
    for host in &own {
        let origin = format!("http://{host}");
        for headers in [
            &[("Host", host.as_str())][..],
            &[("Host", host), ("Origin", &origin), ("Sec-Fetch-Site", "same-origin")],
            &[("Host", host), ("Sec-Fetch-Site", "none")],
        ] {
            assert_eq!(ask(address, "GET /tables", headers, "").0, 200, "{headers:?}");
        }
    }
    let evil = format!("evil.example:{port}");
    let foreign_origin = format!("http://{evil}");
    let https = format!("https://{address}");
    let own_origin = format!("http://{address}");
    for headers in [
        &[("Host", evil.as_str())][..],
        &[("Host", "127.0.0.1")],
        &[("Host", "127.0.0.1:1")],
        &[("Host", "")],
        &[("Host", address), ("Host", &evil)],
        &[("Host", address), ("Origin", &foreign_origin)],
        &[("Host", address), ("Origin", "null")],
        &[("Host", address), ("Origin", "http://localhost:3000")],
        &[("Host", address), ("Origin", &https)],
        &[("Host", address), ("Origin", &own_origin), ("Origin", &foreign_origin)],
        &[
            ("Host", address),
            ("Sec-Fetch-Site", "same-origin"),
            ("Sec-Fetch-Site", "cross-site"),
        ],
        &[("Host", address), ("Sec-Fetch-Site", "cross-site")],
        &[("Host", address), ("Sec-Fetch-Site", "same-site")],
    ] {
        for request in ["GET /tables", "DELETE /tables", "GET /health"] {
            let (status, _, body) = ask(address, request, headers, "");
            assert_eq!(status, 403, "{request} {headers:?}");
            assert!(
                body.starts_with("{\"error\":\"Host: ") || body.starts_with("{\"error\":\"Origin: "),
                "{body}"
            );
        }
    }
    // A link of another site leads to the page.
    assert_eq!(ask(address, "GET /", &[("Sec-Fetch-Site", "cross-site")], "").0, 200);
    // An address in the request line counts in place of the header.
    assert_eq!(ask(address, &format!("GET {foreign_origin}/tables"), &[], "").0, 403);
}

#[test]
fn only_the_token_opens_the_port() {
    let file = std::env::temp_dir().join(format!("azure-table-{}.token", Guid::random()));
    fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let in_file = format!("--control-token=@{}", file.display());
    let mut in_environment = emulator(&["--port=0", "--control=0", "-q"]);
    in_environment.env("AZURE_TABLE_EMULATOR_CONTROL_TOKEN", TOKEN);
    for mut running in [
        Running::start(&["--port=0", "--control=0", "-q", &in_file]),
        Running::start(&["--port=0", "--control=0", "--control-host=0.0.0.0", "-q", &in_file]),
        Running::of(in_environment),
    ] {
        let address = running.control().to_owned();
        let of = |authorization: &str| ask(&address, "GET /tables", &[("Authorization", authorization)], "");
        assert_eq!(of(&format!("Bearer {TOKEN}")).0, 200);
        assert_eq!(of(&format!("bearer {TOKEN}")).0, 200);
        for wrong in [
            "Bearer",
            "Bearer ",
            "Bearer 0123456789abcdef-tokem",
            "Basic MDEyMw==",
            TOKEN,
            &format!("Bearer {TOKEN}0"),
        ] {
            let (status, head, body) = of(wrong);
            assert_eq!(status, 401, "{wrong}");
            assert!(head.contains("www-authenticate: bearer"), "{head}");
            assert!(
                body.starts_with("{\"error\":\"Authorization: ") && !body.contains("0123456789abcdef"),
                "{body}"
            );
        }
        for (request, status) in [
            ("GET /tables", 401),
            ("DELETE /tables", 401),
            ("GET /requests?follow", 401),
            ("GET /nothing", 401),
            ("GET /", 200),
            ("GET /health", 200),
        ] {
            assert_eq!(ask(&address, request, &[], "").0, status, "{request}");
        }
        // Before anything else: another site learns nothing about the token.
        let evil = [("Host", "evil.example"), ("Authorization", "Bearer x")];
        assert_eq!(ask(&address, "GET /tables", &evil, "").0, 403);
        assert!(running.introduction.contains(", with the token you gave\n"));
        assert!(!running.introduction.contains(TOKEN));
        let mut stderr = running.child.stderr.take().unwrap();
        let (_, said) = running.end("-TERM");
        let mut warned = String::new();
        stderr.read_to_string(&mut warned).unwrap();
        assert!(!said.contains(TOKEN) && !warned.contains(TOKEN), "{said}{warned}");
    }
    fs::remove_file(&file).unwrap();
}

#[test]
fn silent_clients_lock_out_nobody() {
    let running = Running::start(&["--port=0", "--control=0", "-q"]);
    let address = running.control();
    let connect = || {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    };
    let host = format!("Host: {address}\r\n");
    let mut follower = connect();
    write!(follower, "GET /requests?follow HTTP/1.1\r\n{host}\r\n").unwrap();
    let mut log = BufReader::new(follower);
    let mut next = |text: &str| {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(log.read_line(&mut line).unwrap(), 0, "the log ended before {text:?}");
        }
    };
    next("HTTP/1.1 200");
    let unfinished_head = "GET /health HTTP/1.1\r\n".to_owned();
    let unfinished_body = format!("PUT /clock HTTP/1.1\r\n{host}Content-Length: 9\r\n\r\n{{");
    let unsent_next_request = format!("GET /health HTTP/1.1\r\n{host}\r\n");
    let silent: [&str; 4] = ["", &unfinished_head, &unfinished_body, &unsent_next_request];
    let mut open = Vec::new();
    for sent in silent {
        for _ in 0..70 {
            let mut stream = connect();
            // The port may have closed it already.
            let _ = stream.write_all(sent.as_bytes());
            open.push(stream);
        }
        let mut stream = connect();
        write!(stream, "GET /health HTTP/1.1\r\n{host}Connection: close\r\n\r\n").unwrap();
        let mut response = String::new();
        let read = stream.read_to_string(&mut response);
        assert!(
            read.is_ok() && response.starts_with("HTTP/1.1 200"),
            "{sent:?}: {read:?}"
        );
    }
    // The first of the silent connections made room for the others, and the reader of the log did not.
    assert_eq!(open[0].read(&mut [0]).unwrap(), 0);
    let (_, endpoint) = running.connection_string.split_once("TableEndpoint=http://").unwrap();
    ask(
        endpoint.split('/').next().unwrap(),
        "GET /devstoreaccount1/Tables",
        &[],
        "",
    );
    next("\"target\":\"/devstoreaccount1/Tables\"");
}

#[test]
fn token_on_the_command_line_and_an_open_port_are_warned_of() {
    let token = format!("--control-token={TOKEN}");
    let mut running = Running::start(&["--port=0", "--control=0", "--control-host=0.0.0.0", "-q", &token]);
    let mut stderr = running.child.stderr.take().unwrap();
    running.end("-TERM");
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(
        said,
        "warning: all users of this machine can see the token of the control port in the list of processes: use \
         --control-token @FILE, or AZURE_TABLE_EMULATOR_CONTROL_TOKEN in the environment\nwarning: other machines can \
         reach the control port at 0.0.0.0, and its token is sent in clear over HTTP\n"
    );
}

#[test]
fn options_of_the_port_that_are_wrong_end_the_program() {
    let running = Running::start(&["--port=0", "--control=0", "-q"]);
    let taken = running.control().split(':').nth(1).unwrap();
    for (arguments, code, why) in [
        (
            &["--control=x"][..],
            2,
            "'x' for '--control <PORT>': it must be 0 to 65535",
        ),
        (&["--control-host=127.0.0.1"], 2, "need --control, the port"),
        (
            &["--control=0", "--control-host=nowhere"],
            2,
            "'nowhere' for '--control-host <ADDRESS>': it must be an address",
        ),
        (
            &["--control=0", "--control-host=0.0.0.0"],
            2,
            "--control-host 0.0.0.0: it is reachable from other machines; set --control-token @FILE",
        ),
        (
            &["--control=0", "--control-token=@/no/token"],
            2,
            "--control-token: /no/token: ",
        ),
        (
            &["--control=0", "--control-token=SECRET"],
            2,
            "--control-token: it has 6 bytes, it must have 16 or more",
        ),
        (&["--port=0", "--control", taken], 1, "is in use"),
    ] {
        let (found, said) = failed(arguments);
        assert!(
            found == Some(code) && said.contains(why),
            "{arguments:?}: {found:?} {said}"
        );
        assert!(!said.contains("SECRET"), "{said}");
    }
}

/// A body without a length takes memory as it arrives.
#[test]
fn unfinished_body_without_a_length_does_not_delay_others() {
    let (_running, port) = Port::start();
    let mut slow = TcpStream::connect(&port.0).unwrap();
    let head = format!(
        "POST /tables/Slow HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
        port.0
    );
    slow.write_all(format!("{head}2\r\n{{\"\r\n").as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    port.ok("POST /tables/Blogs", ROWS);
    // The response to the unfinished one comes after 30 s: the other did not wait for that.
    slow.set_nonblocking(true).unwrap();
    assert_eq!(slow.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

/// Two bodies that waited for each other's memory would both fail after 30 s, and delay all others.
#[test]
fn body_without_a_length_is_rejected_while_others_use_the_memory() {
    let (_running, port) = Port::start();
    let send = |request: &str| {
        let mut stream = TcpStream::connect(&port.0).unwrap();
        stream.write_all(request.replace("HOST", &port.0).as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.read_exact(&mut status).unwrap();
        (stream, String::from_utf8_lossy(&status).into_owned())
    };
    let long = "PUT /snapshot HTTP/1.1\r\nHost: HOST\r\nExpect: 100-continue\r\nContent-Length: 400000000\r\n\r\n";
    let (_long, status) = send(long);
    assert_eq!(status, "HTTP/1.1 100", "it has the memory");
    let (_, status) = send("POST /tables/B HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n");
    assert_eq!(status, "HTTP/1.1 503");
}

/// The port takes a snapshot of the length of its own, and rejects other bodies of that length at once.
#[test]
fn snapshot_may_be_longer_than_other_bodies() {
    let (_running, port) = Port::start();
    let announce = |request: &str| {
        let mut stream = TcpStream::connect(&port.0).unwrap();
        let head = format!(
            "{request} HTTP/1.1\r\nHost: {}\r\nContent-Length: 400000000\r\n\r\n",
            port.0
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let status = |mut stream: TcpStream, limit: Duration| {
        let mut status = [0; 12];
        stream.set_read_timeout(Some(limit)).unwrap();
        stream
            .read_exact(&mut status)
            .map(|()| String::from_utf8_lossy(&status).into_owned())
    };
    let rejected = status(announce("POST /tables/Blogs"), LIMIT);
    assert_eq!(rejected.unwrap(), "HTTP/1.1 413");
    let waits = status(announce("PUT /snapshot"), Duration::from_millis(500)).unwrap_err();
    assert!(
        [ErrorKind::WouldBlock, ErrorKind::TimedOut].contains(&waits.kind()),
        "{waits}"
    );
}
