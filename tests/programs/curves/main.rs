//! The cost of one unit in each dimension in which the client and the emulator grow, as a table and as plots.
//!
//! `cargo bench -p azure-table-tests --features programs --bench curves` takes about four minutes of CPU time, with
//! `-- --quick` less than one. It exits with 1 if a bar is missed: per unit, the largest size costs at most 1.2 times
//! the smallest. The table lists the exceptions and their reasons. Other programs on the machine evict its memory from
//! the processor's cache, which affects the CPU times of large sizes first. A dimension that misses a bar is therefore
//! measured again, at most twice.
//!
//! Each group of curves has a file. `measure.rs` measures, `curve.rs` checks the bars, `chart.rs` draws, and
//! `canned.rs` replaces the service.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the command line that says what failed by panicking"
)]

mod batches;
mod bulk;
mod canned;
mod chart;
mod clients;
mod curve;
mod emulator;
mod entities;
mod filters;
mod measure;
mod reads;
mod retries;
mod rows;
mod streams;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use crate::curve::Curve;
use crate::measure::Sweep;

const USAGE: &str = "\
Usage: curves [OPTIONS]

Prints and draws the cost of one unit as the number of units grows.

Options:
  --only <NAME>  Measure the dimensions whose name contains NAME; may be repeated
  --quick        Leave out the largest sizes, and measure fewer rounds
  --list         Print the names of the dimensions
  --plots <DIR>  Write the plots here, as SVG [default: target/curves]
  --help         Print this text";

/// A dimension: its name, which begins with its group, and the function that measures its curves.
type Dimension = (&'static str, fn(&Sweep) -> Vec<Curve>);

/// The groups, each with the plots of one file.
const GROUPS: [(&str, &[Dimension]); 9] = [
    ("bulk", &bulk::DIMENSIONS),
    ("reads", &reads::DIMENSIONS),
    ("streams", &streams::DIMENSIONS),
    ("entities", &entities::DIMENSIONS),
    ("filters", &filters::DIMENSIONS),
    ("batches", &batches::DIMENSIONS),
    ("retries", &retries::DIMENSIONS),
    ("emulator", &emulator::DIMENSIONS),
    ("clients", &clients::DIMENSIONS),
];

/// The attempts of a dimension to hold its bars.
const ATTEMPTS: usize = 3;

struct Options {
    only: Vec<String>,
    plots: PathBuf,
    is_quick: bool,
    is_list: bool,
}

fn main() -> ExitCode {
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
    match measure(&options) {
        0 => ExitCode::SUCCESS,
        missed => {
            eprintln!("error: {missed} bars are missed");
            ExitCode::FAILURE
        }
    }
}

/// Returns the options, or `None` for `--help`.
fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
    let mut options = Options {
        only: Vec::new(),
        plots: PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/curves")),
        is_quick: false,
        is_list: false,
    };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--only" => options
                .only
                .push(arguments.next().ok_or("--only needs a name: see --list")?),
            "--plots" => options.plots = arguments.next().ok_or("--plots needs a folder")?.into(),
            // From `cargo bench`
            "--bench" => {}
            "--quick" => options.is_quick = true,
            "--list" => options.is_list = true,
            other => return Err(format!("unknown argument {other}")),
        }
    }
    let is_known = |name: &&String| {
        let mut all = GROUPS.iter().flat_map(|(_, dimensions)| *dimensions);
        all.any(|(dimension, _)| dimension.contains(name.as_str()))
    };
    match options.only.iter().find(|name| !is_known(name)) {
        Some(unknown) => Err(format!("no dimension is named {unknown}: see --list")),
        None => Ok(Some(options)),
    }
}

/// Measures, prints and draws. Returns the number of missed bars.
fn measure(options: &Options) -> usize {
    let started = Instant::now();
    let sweep = Sweep::new(options.is_quick);
    let is_wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| name.contains(only));
    if !options.is_list {
        std::fs::create_dir_all(&options.plots).unwrap();
        println!("{}", Curve::heading());
    }
    let mut missed = 0;
    for (group, dimensions) in GROUPS {
        let mut curves = Vec::new();
        for (name, dimension) in dimensions.iter().filter(|(name, _)| is_wanted(name)) {
            if options.is_list {
                println!("{name}");
                continue;
            }
            let mut measured = Vec::new();
            for _ in 0..ATTEMPTS {
                measured = dimension(&sweep);
                if measured.iter().all(Curve::is_held) {
                    break;
                }
            }
            measured.iter().for_each(|curve| println!("{}", curve.line(name)));
            missed += measured.iter().filter(|curve| !curve.is_held()).count();
            curves.extend(measured.into_iter().map(|curve| (*name, curve)));
        }
        if !curves.is_empty() {
            chart::draw(&options.plots.join(format!("{group}.svg")), group, &curves).unwrap();
        }
    }
    if !options.is_list {
        println!(
            "\nplots in {}, {:.0} s",
            options.plots.display(),
            started.elapsed().as_secs_f64()
        );
    }
    missed
}
