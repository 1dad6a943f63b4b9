//! `aztable`: tables of Azure Storage and Cosmos DB on the command line.
//!
//! A command is a file in `command/`: its options, and `run`. It uses the public interface of `azure-table` alone.
//! `session.rs` has what a command needs: connections (`connection.rs`, places in `place.rs`), the terminal, signals.
//! Long commands share `rows/` (files and their formats), `position.rs` and `tally.rs`.

mod arguments;
mod backup;
mod command;
mod connection;
mod failure;
mod files;
mod interrupt;
mod ledger;
mod pair;
mod place;
mod position;
mod row_selection;
mod row_writer;
mod rows;
mod session;
mod shape;
mod terminal;
mod ui;
mod value;

use std::error::Error as _;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::{ContextKind, ErrorKind};
use serde_json::json;

use crate::arguments::Arguments;
use crate::connection::{AccountOptions, Connections};
use crate::failure::Failure;
use crate::ledger::no_rows_left;
use crate::place::{AccountPlace, SECRET, has_secret};
use crate::session::Session;
use crate::terminal::say;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return rejected(&error),
    };
    let terminal = arguments.terminal;
    let run = async {
        let session = Session::new(arguments.account, terminal)?;
        Box::pin(command::run(arguments.command, &session)).await?;
        no_rows_left(session.unread.into_inner())
    };
    let Err(failure) = run.await else {
        return ExitCode::SUCCESS;
    };
    // A secret may stand where a path is expected.
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let secrets = words.filter(|word| has_secret(word));
    let text = secrets.fold(failure.to_string(), |text, secret| text.replace(&secret, "…"));
    match terminal.json {
        // As other tools: whoever closed the pipe has read enough.
        _ if failure.code() == Failure::CLOSED => {}
        true => terminal.event("error", &json!({ "text": text })),
        false => say(format!("error: {text}")),
    }
    failure.code().into()
}

/// Prints the error of clap, or its help. It repeats words of the command line, but no secret.
fn rejected(error: &clap::Error) -> ExitCode {
    let has_secret = std::env::args_os().any(|word| has_secret(&word.to_string_lossy()));
    match (error.source(), error.get(ContextKind::InvalidArg)) {
        _ if has_secret => say(format!("error: {SECRET}")),
        // Without the value, whatever it is.
        (Some(why), Some(argument)) => say(format!("error: {argument}: {why}")),
        // Whoever closed the pipe has read enough.
        _ => drop(error.print()),
    }
    let is_alone = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let connections = || Connections::new(AccountOptions::default());
    if is_alone && let Ok(account) = connections().and_then(|opened| opened.described(&AccountPlace::Default)) {
        say(format!("\nTABLE alone is at {account}"));
    }
    match error.use_stderr() {
        true => Failure::USAGE.into(),
        false => ExitCode::SUCCESS,
    }
}
