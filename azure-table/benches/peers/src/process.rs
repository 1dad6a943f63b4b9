//! The server's process.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A server in a separate process, which ends when this value is dropped.
pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts the program `server`, which is next to this one.
    pub fn start(arguments: &[&str]) -> Self {
        let program = std::env::current_exe().expect("a path").with_file_name("server");
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`cargo build --release` makes the server");
        let mut address = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut address).expect("a line");
        let address = address.trim().to_owned();
        Self { child, address }
    }

    /// Returns host and port.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
