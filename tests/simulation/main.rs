//! The service model and the bulk against what is known of the service, as a table and as plots.
//!
//! `cargo run --release --example simulation` takes about a minute. Everything runs on a paused clock of one thread, so that
//! minutes of the service are over in seconds and each run prints the same figures. Ends with exit code 1 where a bar is
//! missed. What is run, and what it is held to, is `azure_table_tests::load`; how it is drawn is `chart.rs`.

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

use azure_table_tests::load::study::{FIGURE_8, FIGURE_15, Figure};
use azure_table_tests::load::{Check, ManyWrites};

const USAGE: &str = "\
Usage: simulation [OPTIONS]

Prints the figures of the emulator's service model and of a bulk on it, and draws them.

Options:
  --plots <DIR>  Where the plots are written, as SVG [default: target/simulation]
  --help         Print this text";

/// For how long the workers of a figure are watched.
const SECONDS: u64 = 300;

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

/// Where the plots go; `None` where help is asked for.
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
    let begun = Instant::now();
    std::fs::create_dir_all(plots)?;
    println!(
        "here: by the emulator, {SECONDS} s for each number of workers; told: by the study of 2010, or the limit\n"
    );
    println!("{}", Check::heading());
    let mut missed = 0;
    for (figure, file) in [(FIGURE_15, "figure-15.svg"), (FIGURE_8, "figure-8.svg")] {
        missed += study(&figure, &plots.join(file)).await?;
    }
    let partitions = [
        ManyWrites::one_partition_of_today(240_000),
        ManyWrites::one_partition_of_2010(240_000),
    ];
    missed += bulks(&partitions, &plots.join("one-partition.svg")).await?;
    let account = [ManyWrites::account_of_today(1_000_000)];
    missed += bulks(&account, &plots.join("account.svg")).await?;
    println!("\nplots in {}, {:.0} s", plots.display(), begun.elapsed().as_secs_f64());
    Ok(missed)
}

async fn study(figure: &Figure, file: &Path) -> Result<usize, Box<dyn Error>> {
    let (mut missed, mut measured) = (0, Vec::new());
    for point in figure.points {
        let run = figure.run(point.workers, SECONDS).await;
        missed += print(&figure.checks(point, &run));
        measured.push(run);
    }
    plots::figure(figure, &measured, file)?;
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
