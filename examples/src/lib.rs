//! What the examples share: where they run, and how they fail.
//!
//! The examples themselves stand beside this folder; `README.md` is their index.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "examples talk to a person")]

use std::error::Error;
use std::process::ExitCode;

use azure_table::{Emulator, Result, TableServiceClient};

/// Names the account that the examples work on. Without it they use an emulator in their own process.
pub const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";

/// The account that the environment names, or a fresh emulator; says which.
///
/// # Errors
/// The connection string cannot be used.
pub fn connect() -> Result<TableServiceClient> {
    match std::env::var(CONNECTION_STRING) {
        Ok(connection_string) => {
            let service = TableServiceClient::from_connection_string(&connection_string)?;
            println!(
                "account    {} at {}",
                service.account().unwrap_or_default(),
                service.endpoint()
            );
            Ok(service)
        }
        Err(_) => {
            println!("account    an emulator in this process (set {CONNECTION_STRING} for another)");
            Ok(TableServiceClient::on(Emulator::new()))
        }
    }
}

/// Ends the program: 0, or 1 after one line for the error and one for each of its causes.
pub fn finish(result: Result<(), Box<dyn Error>>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  caused by: {error}");
        cause = error.source();
    }
    ExitCode::FAILURE
}
