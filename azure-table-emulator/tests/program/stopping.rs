//! The end of the program by its standard input, and by a key press that reaches it twice.

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

#[test]
fn key_press_that_reaches_it_twice_is_one_signal() {
    let file = std::env::temp_dir().join(format!("azure-table-{}.json", azure_table::Guid::random()));
    // Its own request in flight keeps it from ending between the two.
    let running = Running::start(&["--port=0", "--snapshot", file.to_str().unwrap()]);
    let (_, address) = running.connection_string.split_once("http://").unwrap();
    let (address, _) = address.split_once('/').unwrap();
    let mut client = std::net::TcpStream::connect(address).unwrap();
    let half = b"POST /devstoreaccount1/Tables HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\n{";
    std::io::Write::write_all(&mut client, half).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    send("-INT", running.child.id());
    std::thread::sleep(Duration::from_millis(50));
    let (code, said) = running.end("-INT");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(code, Some(0), "130 is the code of a second signal: {said}");
    assert!(said.ends_with("stopped\n"), "{said}");
}
