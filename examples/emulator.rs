//! A Table service on a port of this machine, in memory: for any program that takes a connection string.
//!
//! ```text
//! cargo run --release --example emulator -- --port 10002 --account contoso:AAECAwQ=
//! ```

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the command line"
)]

use std::error::Error;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::process::ExitCode;

use azure_table::{Emulator, EmulatorServer, ServiceModel};
use azure_table_examples::finish;

const USAGE: &str = "\
Usage: emulator [OPTIONS]

Serves Azure Table storage from memory on 127.0.0.1 until Ctrl-C.

Options:
  --port <N>            Port to listen on, 0 for any that is free [default: 10002]
  --account <NAME:KEY>  One more account besides devstoreaccount1; KEY is base64
  --model <MODEL>       Take time and throttle as the service does: today or 2010 [default: neither]
  --help                Print this text";

/// What the command line asks for.
struct Options {
    port: u16,
    /// Names and keys.
    accounts: Vec<(String, String)>,
    model: Option<ServiceModel>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("error: {why}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    finish(serve(options).await)
}

/// The options; `None` where help is asked for.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options {
        port: 10_002,
        accounts: Vec::new(),
        model: None,
    };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--port" => {
                options.port = value()?.parse().map_err(|_| "--port needs a number from 0 to 65535")?;
            }
            "--account" => {
                let value = value()?;
                let (name, key) = value.split_once(':').ok_or("--account needs NAME:KEY")?;
                options.accounts.push((name.to_owned(), key.to_owned()));
            }
            "--model" => {
                options.model = Some(match value()?.as_str() {
                    "today" => ServiceModel::today(),
                    "2010" => ServiceModel::in_2010(),
                    _ => return Err("--model needs today or 2010".to_owned()),
                });
            }
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(Some(options))
}

async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let mut emulator = Emulator::new();
    for (name, key) in &options.accounts {
        emulator = emulator.with_account(name, key)?;
    }
    if let Some(model) = options.model {
        emulator = emulator.with_service_model(model);
    }
    let server = match EmulatorServer::bind(emulator, (Ipv4Addr::LOCALHOST, options.port)).await {
        Ok(server) => server,
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            return Err(format!("port {} is in use; choose another one with --port", options.port).into());
        }
        Err(error) => return Err(error.into()),
    };

    println!(
        "Table service on http://{}, Ctrl-C stops it. Connection strings:",
        server.address()
    );
    println!("{}", server.connection_string());
    for (name, _) in &options.accounts {
        println!("{}", server.connection_string_of(name).unwrap_or_default());
    }
    server
        .serve_until(async {
            // Without a signal handler Ctrl-C ends the process all the same.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending().await
            }
        })
        .await;
    println!("stopped");
    Ok(())
}
