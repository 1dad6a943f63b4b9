//! The examples as a user starts them.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod show_table;

use std::process::{Command, Stdio};

/// An example, without a real account. Cargo builds the examples beside this test, unless a test is named by `--test`.
fn program(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap().join("examples");
    let program = folder.join(name);
    assert!(
        program.exists(),
        "{}: cargo build -p azure-table-examples --examples makes it",
        program.display()
    );
    let mut command = Command::new(program);
    command
        .env_remove("AZURE_STORAGE_CONNECTION_STRING")
        .stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
