//! Compares the service of an account with the emulator, on the account of whoever runs it.
//!
//! `cargo run --release -p azure-table-tests --example verify -- --help` lists the options. The conformance suite and
//! the probes run on the emulator first, and then in the same way on the service. A probe decides a line of
//! `unknowns.md`, and `probes` has their tables.
//!
//! `run.rs` owns the order of events, `guard.rs` counts the requests and notes the tables, `side.rs` sends the probes,
//! `compare.rs` compares their responses, and `report.rs` prints the result.

#![expect(clippy::print_stderr, reason = "a program")]

mod account;
mod compare;
mod conformance;
mod guard;
mod mask;
mod options;
mod probe;
mod probes;
mod record;
mod report;
mod run;
mod sas;
mod side;
mod signer;
mod stop;
mod tables;

use std::io::Write as _;
use std::process::ExitCode;

use options::{HELP, Options};
use run::Exit;
use stop::Stop;

#[tokio::main]
async fn main() -> ExitCode {
    let options = match Options::parse(std::env::args_os().skip(1), |name| std::env::var(name).ok()) {
        Ok(Some(options)) => options,
        Ok(None) => {
            let _ = std::io::stdout().write_all(HELP.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("verify: {why}");
            return ExitCode::from(Exit::Usage as u8);
        }
    };
    // The report has the message of a failed function.
    std::panic::set_hook(Box::new(|_| {}));
    azure_table_tests::report::quiet();
    let stop = Stop::default();
    tokio::spawn(on_signals(stop.clone()));
    let ran = run::run(&options, None, &stop, &mut std::io::stdout()).await;
    if let Err(why) = &ran {
        eprintln!("verify: {why}");
    }
    // A pending read of the terminal would keep the runtime waiting.
    std::process::exit(Exit::of(&ran) as i32)
}

/// Stops the run at the first SIGINT or SIGTERM, and ends the process at the second.
async fn on_signals(stop: Stop) {
    let signals = async |()| {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut terminate = signal(SignalKind::terminate())?;
            tokio::select! {
                stopped = tokio::signal::ctrl_c() => stopped,
                _ = terminate.recv() => Ok(()),
            }
        }
        #[cfg(not(unix))]
        tokio::signal::ctrl_c().await
    };
    if signals(()).await.is_err() {
        return;
    }
    eprintln!("verify: stopping; a second signal ends without a cleanup");
    stop.stop();
    if signals(()).await.is_ok() {
        let left = stop.file().map_or("no table was created".to_owned(), |file| {
            format!("the tables that are left are in {}", file.display())
        });
        eprintln!("verify: ended at once; {left}");
        std::process::exit(Exit::NotFinished as i32);
    }
}
