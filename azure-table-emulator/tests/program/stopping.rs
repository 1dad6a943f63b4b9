//! The ends of the program: signals, and the end of its standard input, alone and together.

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use crate::process::wait_for;
use crate::{Running, emulator, send};

#[test]
fn end_of_standard_input_stops_it_if_wanted() {
    let mut command = emulator(&["--port=0", "--stop-on-eof"]);
    command.stdin(Stdio::piped());
    let mut running = Running::of(command);
    let input = running.child.stdin.take();
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(running.child.try_wait().unwrap(), None, "its input is open");
    drop(input);
    let id = running.child.id();
    let status = wait_for(id, "the end of its input", move || running.child.wait().unwrap());
    assert_eq!(status.code(), Some(0));

    // The input of this one is empty from the start.
    let running = Running::start(&["--port=0"]);
    std::thread::sleep(Duration::from_millis(100));
    let (code, said) = running.end("-TERM");
    assert_eq!(
        (code, said.contains("end of standard input")),
        (Some(0), false),
        "{said}"
    );
}

/// Runs the cases beside each other: most of their time is spent waiting.
fn at_once<T: Send, const N: usize>(cases: [T; N], run: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            let run = &run;
            scope.spawn(move || run(case));
        }
    });
}

/// Starts one with a snapshot and a request that is never answered.
fn busy(options: &[&str]) -> (Running, PathBuf, TcpStream) {
    let file = std::env::temp_dir().join(format!("azure-table-{}.json", azure_table::Guid::random()));
    let arguments = [
        &["--port=0", "--control=0", "--snapshot", file.to_str().unwrap()],
        options,
    ]
    .concat();
    let mut command = emulator(&arguments);
    command.stdin(Stdio::piped());
    let running = Running::of(command);
    fs::remove_file(&file).unwrap();
    let pending = running.send_hanging_request();
    (running, file, pending)
}

/// Repeats an end until it has the expected exit code: 0 if its signals count as one, 130 if the second one stops it at
/// once. The program measures the time between them, which on a busy machine differs from the time between their sends.
fn ends_with(expected: i32, end: impl Fn() -> (PathBuf, (Option<i32>, String))) {
    let is_expected = || {
        let (file, (code, said)) = end();
        let is_stored = fs::remove_file(&file).is_ok();
        match code {
            Some(0) => assert!(is_stored && said.ends_with("stopped\n"), "{said}"),
            _ => assert_eq!(code, Some(130), "{said}"),
        }
        code == Some(expected) && is_stored == (expected == 0)
    };
    assert!((0..10).any(|_| is_expected()), "the code is never {expected}");
}

#[test]
fn ends_within_half_a_second_are_one_and_lose_no_snapshot() {
    // A key press reaches it through a terminal, npm and a shell. A harness that it ends sends SIGTERM.
    let pairs = [
        ("-INT", "-INT"),
        ("-INT", "-TERM"),
        ("-TERM", "-HUP"),
        ("-HUP", "-TERM"),
    ];
    at_once(pairs, |(first, second)| {
        ends_with(0, || {
            let (mut running, file, _pending) = busy(&[]);
            running.signal(first);
            (file, running.end(second))
        });
    });
}

#[test]
fn later_signal_stops_it_at_once() {
    at_once(
        [("-INT", "-INT"), ("-INT", "-TERM"), ("-HUP", "-TERM")],
        |(first, second)| {
            ends_with(130, || {
                let (mut running, file, _pending) = busy(&[]);
                running.signal(first);
                // After 3 s it stops by itself.
                std::thread::sleep(Duration::from_millis(1_500));
                (file, running.end(second))
            });
        },
    );
}

#[test]
fn later_end_of_its_starter_loses_no_snapshot() {
    // Also a signal right after the end of standard input.
    at_once([true, false], |input_ends_first| {
        ends_with(0, || {
            let (mut running, file, _pending) = busy(&["--stop-on-eof"]);
            let (id, input) = (running.child.id(), running.child.stdin.take());
            if input_ends_first {
                drop(input);
                running.wait_until_stopping();
            } else {
                std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_millis(800));
                    drop(input);
                    send("-HUP", id);
                });
            }
            (file, running.end("-INT"))
        });
    });
}

#[test]
fn end_waits_for_no_connection_without_a_complete_request() {
    let half = "POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\n{";
    for sent in ["", "GET /devstoreaccount1/Tab", half] {
        let running = Running::start(&["--port=0"]);
        let _client = running.send(sent);
        let (code, said) = running.end("-TERM");
        assert_eq!(code, Some(0), "{said}");
        // It says so after 3 s, and stops.
        assert!(!said.contains("not answered"), "{sent}: {said}");
    }
}
