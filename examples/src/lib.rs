//! The account and the tables that an example runs on, and its exit code. The modules have what several programs share.
//!
//! The examples themselves stand beside this folder; `README.md` is their index.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "examples talk to a person")]

pub mod arguments;
pub mod columns;
pub mod crash;
pub mod earthquakes;
pub mod expense;
pub mod job;
pub mod steps;

use std::error::Error;
use std::process::ExitCode;

use azure_table::emulator::EmulatorClock;
use azure_table::testing::Faults;
use azure_table::transport::HttpTransport;
use azure_table::{DateTime, Emulator, EmulatorServer, Result, RunningEmulator, TableServiceClient};

/// Names the account that the examples work on. If it is unset or empty, they use an emulator in their own process.
pub const CONNECTION_STRING: &str = "AZURE_STORAGE_CONNECTION_STRING";

/// The result of a part of a program, whose error [`finish`] prints.
pub type Done<T> = Result<T, Box<dyn Error>>;

/// Connects to the account that the environment names, or to a fresh emulator, and prints which.
///
/// # Errors
/// The connection string cannot be used.
pub fn connect() -> Result<TableServiceClient> {
    match account()? {
        Some(service) => Ok(service),
        None => Ok(TableServiceClient::from_transport(Emulator::new())),
    }
}

/// Connects like [`connect`], with faults in front of the service.
///
/// # Errors
/// The connection string cannot be used, or no connection can be configured.
pub fn connect_with_faults() -> Result<(TableServiceClient, Faults)> {
    let (service, faults, _) = connect_with_clock()?;
    Ok((service, faults))
}

/// Connects like [`connect_with_faults`], and returns the clock of the emulator as well: it can be moved forward, so a
/// program need not wait.
///
/// # Errors
/// Those of [`connect_with_faults`].
pub fn connect_with_clock() -> Result<(TableServiceClient, Faults, Option<EmulatorClock>)> {
    if let Some(service) = account()? {
        let faults = Faults::new(HttpTransport::builder().build()?);
        return Ok((service.transport(faults.clone()), faults, None));
    }
    let emulator = Emulator::new();
    let clock = emulator.clock().clone();
    let faults = Faults::new(emulator);
    Ok((TableServiceClient::from_transport(faults.clone()), faults, Some(clock)))
}

/// Connects like [`connect`], for a service that another process reaches: the emulator is on a port.
///
/// The emulator stops when the second value is dropped.
///
/// # Errors
/// The connection string cannot be used, or no port is free.
pub async fn connect_on_port() -> Result<(TableServiceClient, Option<RunningEmulator>), Box<dyn Error>> {
    if let Some(service) = account()? {
        return Ok((service, None));
    }
    let server = EmulatorServer::bind(Emulator::new(), "127.0.0.1:0").await?.spawn();
    let service = TableServiceClient::from_connection_string(server.connection_string())?;
    Ok((service, Some(server)))
}

/// Returns `true` if the environment names no account.
pub fn is_emulated() -> bool {
    variable_of(CONNECTION_STRING).is_none()
}

/// Returns the value of a variable of the environment. An empty one counts as unset.
pub fn variable_of(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn account() -> Result<Option<TableServiceClient>> {
    let Some(connection_string) = variable_of(CONNECTION_STRING) else {
        println!("account    an emulator in this process (set {CONNECTION_STRING} for another)");
        return Ok(None);
    };
    let service = TableServiceClient::from_connection_string(&connection_string)?;
    println!(
        "account    {} at {}",
        service.account().unwrap_or_default(),
        service.endpoint()
    );
    Ok(Some(service))
}

/// Runs `work` on a client whose tables no other run shares, and deletes these tables.
///
/// The name of a deleted table is not free for at least 40 s, so each run has names of its own.
///
/// # Errors
/// The error of `work`, or else the first error of a deletion.
pub async fn on_own_tables(
    service: &TableServiceClient,
    work: impl AsyncFnOnce(&TableServiceClient) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let own = service.prefixed(&format!("Run{}", DateTime::now().unix_millis()))?;
    let result = Box::pin(work(&own)).await;
    let deleted = delete_tables(&own).await;
    result?;
    Ok(deleted?)
}

async fn delete_tables(service: &TableServiceClient) -> Result<()> {
    for name in service.list_tables().all().await? {
        service.dynamic_table(&name)?.delete_table().await?;
    }
    Ok(())
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
