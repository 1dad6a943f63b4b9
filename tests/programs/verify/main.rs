//! Compares the service of an account with the emulator, on the account of whoever runs it.
//!
//! `cargo run --release -p azure-table-tests --example verify -- --help` lists the options. The conformance suite and
//! the probes run on the emulator first, and then in the same way on the service. A probe decides a line of
//! `unknowns.md`, and `probes` has their tables.
//!
//! `run.rs` owns the order of events, `check.rs` rejects an unusable account, `guard.rs` counts the requests and notes
//! the tables in the file of `tables.rs`, `side.rs` sends the probes, `compare.rs` compares their responses, and
//! `report.rs` prints the result.

mod account;
mod check;
mod compare;
mod conformance;
mod guard;
mod mask;
mod options;
mod probe;
mod probes;
mod progress;
mod record;
mod report;
mod run;
mod sas;
mod side;
mod signer;
mod stop;
mod tables;

use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

// Without a panic: a closed terminal must not stop the cleanup.
use azure_table_tests::report::print;
use futures::FutureExt as _;
use options::{HELP, Options};
use run::{Exit, Streams};
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
            print(&format!("verify: {why}"));
            return ExitCode::from(Exit::Usage as u8);
        }
    };
    conformance::hide_panics();
    azure_table_tests::report::quiet();
    let stop = Stop::default();
    tokio::spawn(on_signals(stop.clone()));
    let streams = Streams {
        out: &mut std::io::stdout(),
        log: &mut std::io::stderr(),
    };
    let ran = AssertUnwindSafe(run::run(&options, None, &stop, streams));
    let exit = match ran.catch_unwind().await {
        Ok(ran) => {
            if let Err(why) = &ran {
                print(&format!("verify: {why}"));
            }
            Exit::of(&ran)
        }
        Err(_) => {
            print(&format!("verify: a bug in verify, shown above; {}", left_tables(&stop)));
            Exit::NotFinished
        }
    };
    // A pending read of the terminal would keep the runtime waiting.
    std::process::exit(exit as i32)
}

/// Returns a text about the tables that may be left.
fn left_tables(stop: &Stop) -> String {
    stop.file().map_or("no table was created".to_owned(), |file| {
        format!("delete the tables that are left with --cleanup {}", file.display())
    })
}

/// Stops the run at the first SIGINT, SIGTERM or SIGHUP, and ends the process at the second.
async fn on_signals(stop: Stop) {
    let signals = async |()| {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            let mut terminate = signal(SignalKind::terminate())?;
            let mut hang_up = signal(SignalKind::hangup())?;
            tokio::select! {
                stopped = tokio::signal::ctrl_c() => stopped,
                _ = terminate.recv() => Ok(()),
                _ = hang_up.recv() => Ok(()),
            }
        }
        #[cfg(not(unix))]
        tokio::signal::ctrl_c().await
    };
    if signals(()).await.is_err() {
        return;
    }
    print("verify: stopping; a second signal ends without a cleanup");
    stop.stop();
    if signals(()).await.is_ok() {
        print(&format!("verify: ended at once; {}", left_tables(&stop)));
        std::process::exit(Exit::NotFinished as i32);
    }
}
