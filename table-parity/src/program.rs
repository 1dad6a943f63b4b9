//! The program: the chosen way, its end, and signals.

use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

// Without a panic: a closed terminal must not stop the cleanup.
use azure_table_tests::report::print;
use futures::FutureExt as _;

use crate::command_line::{CommandLine, Rejected, Way};
use crate::service::output::{Exit, Streams};
use crate::service::stop::Stop;
use crate::{comparison, parity, suite};

/// Runs the program by the arguments of the process.
#[tokio::main]
pub async fn main() -> ExitCode {
    let arguments = match CommandLine::of(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(Rejected::Help(text)) => {
            let _ = std::io::stdout().write_all(text.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(Rejected::Mistake(why)) => {
            print(&format!("table-parity: {why}"));
            return ExitCode::from(Exit::Usage as u8);
        }
    };
    suite::hide_panics();
    azure_table_tests::report::quiet();
    let stop = Stop::default();
    tokio::spawn(on_signals(stop.clone()));
    let exit = match AssertUnwindSafe(run(arguments, &stop)).catch_unwind().await {
        Ok(ran) => {
            if let Err(why) = &ran {
                print(&format!("table-parity: {why}"));
            }
            Exit::of(&ran)
        }
        Err(_) => {
            let left = left_tables(&stop);
            print(&format!("table-parity: a bug of the program, shown above; {left}"));
            Exit::NotFinished
        }
    };
    // A pending read of the terminal would keep the runtime waiting.
    std::process::exit(exit as i32)
}

async fn run(arguments: CommandLine, stop: &Stop) -> Result<(Exit, ()), String> {
    let streams = Streams {
        out: &mut std::io::stdout(),
        log: &mut std::io::stderr(),
    };
    let exit = match arguments.way {
        Some(Way::Account(arguments)) => {
            let options = comparison::options::Options::of(*arguments, |name| std::env::var(name).ok())?;
            comparison::run::run(&options, None, stop, streams).await?.0
        }
        Some(Way::Page { results }) => {
            let named = |why: String| format!("{}: {why}", results.display());
            let text = std::fs::read_to_string(&results).map_err(|e| named(e.to_string()))?;
            let page = parity::page::page(&parity::json::read(&text).map_err(named)?);
            streams
                .out
                .write_all(page.as_bytes())
                .map_err(|e| format!("standard output: {e}"))?;
            Exit::NoDifference
        }
        None => {
            let options = parity::options::Options::of(arguments.facts)?;
            parity::run::run(&options, None, stop, streams).await?.0
        }
    };
    Ok((exit, ()))
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
    print("table-parity: stopping; a second signal ends without a cleanup");
    stop.stop();
    if signals(()).await.is_ok() {
        print(&format!("table-parity: ended at once; {}", left_tables(&stop)));
        std::process::exit(Exit::NotFinished as i32);
    }
}
