//! The end of the program by its standard input, and by a key press that reaches it twice.

use std::process::Stdio;
use std::time::{Duration, Instant};

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

#[test]
fn key_press_that_reaches_it_twice_is_one_signal() {
    let file = std::env::temp_dir().join(format!("azure-table-{}.json", azure_table::Guid::random()));
    let running = Running::start(&["--port=0", "--snapshot", file.to_str().unwrap()]);
    let _pending = running.send_half_a_request();
    send("-INT", running.child.id());
    std::thread::sleep(Duration::from_millis(50));
    let (code, said) = running.end("-INT");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(code, Some(0), "130 is the code of a second signal: {said}");
    assert!(said.ends_with("stopped\n"), "{said}");
}

#[test]
fn other_signal_stops_it_at_once() {
    let running = Running::start(&["--port=0"]);
    let _pending = running.send_half_a_request();
    send("-INT", running.child.id());
    std::thread::sleep(Duration::from_millis(50));
    let started = Instant::now();
    let (code, said) = running.end("-TERM");
    assert_eq!(code, Some(130), "{said}");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn hangup_beside_another_signal_loses_no_snapshot() {
    for (first, second) in [("-TERM", "-HUP"), ("-HUP", "-TERM")] {
        let file = std::env::temp_dir().join(format!("azure-table-{}.json", azure_table::Guid::random()));
        let running = Running::start(&["--port=0", "--snapshot", file.to_str().unwrap()]);
        let _pending = running.send_half_a_request();
        send(first, running.child.id());
        std::thread::sleep(Duration::from_millis(50));
        let (code, said) = running.end(second);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.ends_with("stopped\n"), "{said}");
    }
}

#[test]
fn end_of_standard_input_beside_a_signal_loses_no_snapshot() {
    // The end of its starter, which a signal or Ctrl-C ended too, may come before or long after its own signal.
    for ends_first in [false, true] {
        let file = std::env::temp_dir().join(format!("azure-table-{}.json", azure_table::Guid::random()));
        let mut command = emulator(&["--port=0", "--stop-on-eof", "--snapshot", file.to_str().unwrap()]);
        command.stdin(Stdio::piped());
        let mut running = Running::of(command);
        let _pending = running.send_half_a_request();
        let input = running.child.stdin.take();
        let ending = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(if ends_first { 0 } else { 800 }));
            drop(input);
        });
        if ends_first {
            std::thread::sleep(Duration::from_millis(200));
        }
        let (code, said) = running.end("-INT");
        ending.join().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.ends_with("stopped\n"), "{said}");
    }
}
