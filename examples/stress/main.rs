//! The performance study of 2010 as a program: its Figures 3 to 15 on the emulator's service model, on an emulator over
//! HTTP, or on an account; and load of your own.
//!
//! `cargo run --release -p azure-table-examples --features stress --example stress -- figures` runs all figures on the
//! model of 2010, in virtual time, and compares them with the text. This takes about two minutes of CPU time. It exits
//! with 1 if a figure differs by more than a factor of 1.5. `-- --help` has the options.
//!
//! - `figures.rs` has the workloads, `post.rs` the statements of the text, `verdict.rs` the bound of a point;
//! - `vm.rs` is one VM with its workers, `service.rs` what they run on, `processes.rs` VMs as processes;
//! - `budget.rs` limits what an account may cost; `report.rs` prints, `picture.rs` draws.
//!
//! Source: "How to get the most out of Windows Azure Tables" (Windows Azure Storage Team, 2010).

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to a person")]

mod budget;
mod chart;
mod cpu;
mod entity;
mod figures;
mod measured;
mod options;
mod outcome;
mod picture;
mod post;
mod processes;
mod report;
mod service;
mod verdict;
mod vm;
mod workload;

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::process::ExitCode;
use std::time::Instant;

use azure_table::DateTime;
use azure_table_examples::finish;
use indicatif::{ProgressBar, ProgressStyle};

use crate::budget::Budget;
use crate::figures::{Figure, Series, Shows};
use crate::measured::Measured;
use crate::options::{Command, HELP, Options};
use crate::outcome::{Curve, Outcome, Point};
use crate::post::readings;
use crate::service::{Done, Place, Service, TABLE};
use crate::verdict::Verdict;
use crate::vm::Stop;

/// The run ended at a limit, or at Ctrl-C.
const PARTIAL: u8 = 3;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(processes::WORKER) {
        return finish(start(true, processes::work()));
    }
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("error: {why}\n\n`stress --help` has the options");
            return ExitCode::from(2);
        }
    };
    match start(!options.place.is_virtual(), Box::pin(run(&options))) {
        Ok(code) => code,
        Err(error) => finish(Err(error)),
    }
}

/// Runs `work` in real time, or in virtual time on this thread.
fn start<T>(is_real: bool, work: impl Future<Output = Result<T, Box<dyn Error>>>) -> Result<T, Box<dyn Error>> {
    let runtime = if is_real {
        tokio::runtime::Builder::new_multi_thread().enable_all().build()?
    } else {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()?
    };
    runtime.block_on(work)
}

async fn run(options: &Options) -> Done<ExitCode> {
    let figures = match options.command {
        Command::Load => vec![own_load(options)],
        _ => {
            let study = options.study();
            options.figures.iter().filter_map(|id| study.figure(id)).collect()
        }
    };
    if figures.iter().all(|figure| figure.series.is_empty()) {
        return Err("--points: no figure has such a point; `list` has them all".into());
    }
    if options.command == Command::List {
        report::list(&figures, options.place);
        return Ok(ExitCode::SUCCESS);
    }

    let mut budget = Budget::free();
    if options.place == Place::Account {
        budget = Budget::of_account(options.max_requests, options.max_cost, options.price);
        println!("{}", budget.plan(distinct(&figures)));
        if !options.is_agreed {
            return Err("nothing was sent: --yes starts the run".into());
        }
    }
    if let Some(folder) = &options.pictures {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    println!("running on the {}", options.place.name());

    let (started, stop) = (Instant::now(), Stop::default());
    let run = DateTime::now().unix_millis().to_string();
    let left = match options.place {
        Place::Account => format!("; the table {TABLE}{run} is left"),
        _ => String::new(),
    };
    stop_by_ctrl_c(stop.clone(), left);
    let service = Service::open(options.place, run, stop.clone()).await?;
    let mut session = Session {
        service,
        budget,
        stop,
        is_cut: false,
        measured: HashMap::new(),
        bar: bar(&figures),
    };
    let outcomes = session.all(&figures, options).await;
    session.bar.finish_and_clear();
    let closed = session.service.close().await;
    let outcomes = outcomes?;
    closed?;

    if let Some(file) = &options.json {
        report::write_json(&outcomes, options.place, &mut File::create(file)?)?;
    }
    let mut different = 0;
    if let (Place::Model(preset), Command::Figures) = (options.place, options.command) {
        different = report::readings(&readings(&outcomes, preset), preset);
    }
    if options.place == Place::Account {
        println!("sent       {}", session.budget.summary());
    }
    if let Some(folder) = &options.pictures {
        println!("pictures   in {}", folder.display());
    }
    println!("elapsed    {:.0} s", started.elapsed().as_secs_f64());
    let is_partial = session.stop.is_set() || session.is_cut;
    Ok(match (is_partial, different) {
        (true, _) => {
            println!("partial    a limit or Ctrl-C ended the run early");
            ExitCode::from(PARTIAL)
        }
        (false, 0) => ExitCode::SUCCESS,
        (false, _) => ExitCode::FAILURE,
    })
}

/// One run of the program over all of its points.
struct Session {
    service: Service,
    budget: Budget,
    stop: Stop,
    /// A limit ended a point, and the run.
    is_cut: bool,
    /// Points that several figures have are run once.
    measured: HashMap<String, Measured>,
    bar: ProgressBar,
}

impl Session {
    async fn all(&mut self, figures: &[Figure], options: &Options) -> Done<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        for figure in figures {
            let outcome = self.figure(figure, options.place).await?;
            if outcome.curves.iter().all(|curve| curve.points.is_empty()) {
                continue;
            }
            self.bar.suspend(|| report::figure(&outcome, options.place));
            if let Some(folder) = &options.pictures {
                picture::draw(&outcome, options.place, folder)?;
            }
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    async fn figure(&mut self, figure: &Figure, place: Place) -> Done<Outcome> {
        let mut curves = Vec::new();
        for series in &figure.series {
            let mut points = Vec::new();
            for (x, workload) in &series.points {
                if self.stop.is_set() || self.is_cut {
                    break;
                }
                self.bar
                    .set_message(format!("{}, {} {x}", report::heading(figure), series.name));
                let key = serde_json::to_string(workload)?;
                let measured = match self.measured.get(&key) {
                    Some(measured) => measured.clone(),
                    None => {
                        let measured = Box::pin(self.service.measure(workload, self.budget.left(), &self.bar)).await?;
                        self.budget.spend(measured.sent_requests);
                        self.is_cut |= measured.is_cut;
                        self.measured.insert(key, measured.clone());
                        measured
                    }
                };
                let verdict = Verdict::of(workload, &measured, place.targets());
                points.push(Point {
                    x: *x,
                    workload: workload.clone(),
                    measured,
                    verdict,
                });
            }
            curves.push(Curve {
                name: series.name,
                points,
            });
        }
        Ok(Outcome {
            figure: figure.clone(),
            curves,
        })
    }
}

/// The workload of `load`, as a figure of one point.
fn own_load(options: &Options) -> Figure {
    Figure {
        id: "load",
        title: "a workload of your own",
        x: "VMs",
        shows: Shows::Latencies,
        series: vec![Series {
            name: "load",
            points: vec![(options.workload.vms as f64, options.workload.clone())],
        }],
    }
}

/// Returns the workloads of all points, each once.
fn distinct(figures: &[Figure]) -> impl Iterator<Item = &workload::Workload> {
    let points = figures
        .iter()
        .flat_map(|figure| &figure.series)
        .flat_map(|series| &series.points);
    let by_text: HashMap<_, _> = points
        .filter_map(|(_, workload)| Some((serde_json::to_string(workload).ok()?, workload)))
        .collect();
    by_text.into_values()
}

/// A bar over the seconds of all points, on a terminal.
fn bar(figures: &[Figure]) -> ProgressBar {
    let seconds: f64 = distinct(figures).map(workload::Workload::duration).sum();
    let bar = ProgressBar::new(seconds as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} % {elapsed}  {msg}") {
        bar.set_style(style);
    }
    bar
}

/// The first Ctrl-C ends the run with what it has, the second one ends the process.
fn stop_by_ctrl_c(stop: Stop, left: String) {
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            eprintln!("\nending with what was measured; Ctrl-C again ends at once");
            stop.set();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            eprintln!("\nended at once{left}");
            std::process::exit(130);
        }
    });
}
