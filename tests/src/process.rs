//! Waits for other processes, with a limit.
//!
//! The tests of the emulator's program and of the examples include this file by its path, without the crate around it.

use std::panic;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The maximum wait for anything that must happen: minutes, because other programs may need the machine too. Only a test
/// that would otherwise hang waits that long, so no assertion depends on the value.
pub const LIMIT: Duration = Duration::from_secs(300);

/// Waits for a process in another thread. Kills it after the limit, and panics with the name of the awaited event.
pub fn wait_for<T: Send + 'static>(process: u32, what: &str, wait: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, result) = mpsc::channel();
    let waiting = thread::spawn(move || sender.send(wait()));
    let result = result.recv_timeout(LIMIT);
    let is_late = matches!(result, Err(RecvTimeoutError::Timeout));
    if is_late {
        // Where there is no such command, the process keeps running; the test ends all the same.
        let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
    }
    assert!(!is_late, "{what}: still waiting after {LIMIT:?}");
    result.unwrap_or_else(|_| panic::resume_unwind(waiting.join().unwrap_err()))
}

/// Runs a program to its end, and returns its output.
pub fn output(command: &mut Command, what: &str) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(child.id(), what, || child.wait_with_output().unwrap())
}
