//! The examples as a user starts them.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod blogs;
mod composite_keys;
mod concurrent_updates;
mod cors;
mod csv_import;
mod delete_channel;
#[cfg(feature = "entra")]
mod entra;
mod expenses;
mod from_azure_data_tables;
#[cfg(feature = "functions")]
mod functions_handler;
mod heartbeat_and_logs;
mod latest_first;
mod online_store;
mod partition_granularity;
mod people_index;
#[expect(unreachable_pub, reason = "a module of the crate of tests, too")]
#[path = "../../../tests/src/process.rs"]
mod process;
mod quickstart;
mod read_modify_write;
mod readme;
mod retry_policies;
mod sas;
mod schema_upgrade;
mod sealed_property;
#[cfg(feature = "stress")]
mod stress;
mod summary_row;
mod table_basics;
#[cfg(feature = "telemetry")]
mod telemetry;
#[cfg(feature = "web")]
mod web_pages;
#[cfg(feature = "web")]
mod web_service;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

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
    command
}

/// Runs an example once for all tests. Returns its standard output, after a check of the README's excerpts.
fn output(name: &'static str) -> String {
    static OUTPUTS: Mutex<BTreeMap<&str, Arc<OnceLock<String>>>> = Mutex::new(BTreeMap::new());
    let output = Arc::clone(OUTPUTS.lock().unwrap().entry(name).or_default());
    output.get_or_init(|| new_output(name)).clone()
}

fn new_output(name: &str) -> String {
    let output = process::output(&mut program(name), name);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {}\n{error}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    readme::check(name, &text);
    text
}

/// Returns the words of the line that begins with these words.
fn line<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let start: Vec<&str> = start.split_whitespace().collect();
    let found = lines.find(|words| words.starts_with(&start));
    assert!(found.is_some(), "no line begins with {start:?}\n{text}");
    found.unwrap()
}
