//! Bulks at the limits of a partition and of an account, as a table and as plots.
//!
//! `cargo program simulation` takes some seconds. Everything runs on a paused clock of one thread, so
//! that minutes of the service are over in seconds and each run prints the same figures. Ends with exit code 1 where a
//! bar is missed. The runs and their bars are `azure_table_tests::load`; how it is drawn is `chart.rs`. The figures of
//! the study of 2010 are in the example `stress`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the command line that says what failed by panicking"
)]

mod chart;
mod plots;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use azure_table_tests::load::{Check, ManyWrites};

const USAGE: &str = "\
Usage: simulation [OPTIONS]

Prints the figures of bulks on the emulator's service model, and draws them.

Options:
  --plots <DIR>  Where the plots are written, as SVG [default: target/simulation]
  --help         Print this text";

fn main() -> ExitCode {
    let plots = match parse(std::env::args().skip(1)) {
        Ok(Some(plots)) => plots,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("error: {why}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    match runtime.block_on(simulate(&plots)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            eprintln!("error: {missed} bars are missed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the plots; `None` if help is requested.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<PathBuf>, String> {
    let mut plots = PathBuf::from("target/simulation");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--plots" => plots = arguments.next().ok_or("--plots needs a folder")?.into(),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(Some(plots))
}

/// Runs all of it. How many bars are missed.
async fn simulate(plots: &Path) -> Result<usize, Box<dyn Error>> {
    let started = Instant::now();
    std::fs::create_dir_all(plots)?;
    println!("here: by the emulator; reference: the limit\n");
    println!("{}", Check::heading());
    let partitions = [
        ManyWrites::one_partition_of_today(240_000),
        ManyWrites::one_partition_of_2010(240_000),
    ];
    let mut missed = bulks(&partitions, &plots.join("one-partition.svg")).await?;
    let account = [ManyWrites::account_of_today(1_000_000)];
    missed += bulks(&account, &plots.join("account.svg")).await?;
    println!(
        "\nplots in {}, {:.0} s",
        plots.display(),
        started.elapsed().as_secs_f64()
    );
    Ok(missed)
}

async fn bulks(all: &[ManyWrites], file: &Path) -> Result<usize, Box<dyn Error>> {
    let (mut missed, mut runs) = (0, Vec::new());
    for writes in all {
        let run = writes.run().await;
        missed += print(&writes.checks(&run));
        runs.push((writes, run));
    }
    plots::bulks(&runs, file)?;
    Ok(missed)
}

/// Prints them. How many are missed.
fn print(checks: &[Check]) -> usize {
    checks.iter().for_each(|check| println!("{check}"));
    checks.iter().filter(|check| !check.is_held()).count()
}
