//! A Table service on a port of this machine, in memory or in a folder: for any program that takes a connection string.
//!
//! ```text
//! cargo run --release -p azure-table-emulator -- --port 10002 --account contoso:@key.txt
//! ```
//!
//! This file has the exit codes. Options are in `options.rs`, the life of the server in `serve.rs`, its first lines in
//! `introduction.rs`, all other lines in `output.rs`, signals in `stop.rs`, and the commands for a folder in
//! `folder.rs`. The control port is in `control.rs`. The library implements the service.

#![warn(clippy::print_stderr, clippy::too_many_lines)]

mod control;
mod folder;
mod introduction;
mod options;
mod output;
mod serve;
mod stop;
mod token;

use std::process::ExitCode;

use clap::Parser as _;

use crate::options::{Arguments, Command};
use crate::output::{Result, because, print_error};

/// The exit code for invalid options, as clap's.
const INVALID: u8 = 2;

// One thread: the tables are behind one lock, and passing requests to other threads costs more than processing them.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(why) => {
            // Help and version are printed here too. Ignores the error if nobody reads the output.
            let _ = why.print();
            return u8::try_from(why.exit_code()).unwrap_or(INVALID).into();
        }
    };
    let command = match Command::of(arguments) {
        Ok(command) => command,
        Err(why) => {
            print_error(format_args!("error: {why}\n\nFor more information, try '--help'."));
            return INVALID.into();
        }
    };
    match run(command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(because("error", &*error));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> Result<()> {
    match command {
        Command::Serve(options) => serve::serve(*options).await,
        Command::Folder(command, folder, profile) => folder::run(command, &folder, profile).await,
    }
}
