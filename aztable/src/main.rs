//! `aztable`: tables of Azure Storage and Cosmos DB on the command line.
//!
//! A command is a file in `command/`: its options, and `run`. It uses the public interface of `azure-table` alone.
//! `session.rs` has what a command needs: connections (`connection.rs`, places in `place.rs`), the terminal, signals.
//! Long commands share `rows/` (files and their formats), `position.rs` and `tally.rs`.

#![expect(clippy::print_stderr, reason = "a program talks to a person")]

mod arguments;
mod backup;
mod command;
mod connection;
mod doubt;
mod failure;
mod interrupt;
mod pair;
mod place;
mod position;
mod row_selection;
mod row_writer;
mod rows;
mod session;
mod shape;
mod tally;
mod terminal;
mod ui;
mod value;

use std::process::ExitCode;

use clap::Parser as _;
use serde_json::json;

use crate::arguments::Arguments;
use crate::session::Session;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let terminal = arguments.terminal;
    let done = match Session::new(arguments.account, terminal) {
        Ok(session) => Box::pin(command::run(arguments.command, &session)).await,
        Err(failure) => Err(failure),
    };
    let Err(failure) = done else { return ExitCode::SUCCESS };
    match terminal.json {
        true => terminal.event("error", &json!({ "text": failure.to_string() })),
        false => eprintln!("error: {failure}"),
    }
    failure.code().into()
}
