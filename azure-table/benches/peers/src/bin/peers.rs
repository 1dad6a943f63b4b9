//! CPU time and elapsed time of each operation, as multiples of the floor's. Exits with 1 if a bar is missed.
//!
//! Client and server are processes on the same core, so that no call waits for a sleeping core. The clients alternate,
//! and the medians of their CPU time (user and system) are compared. The orders of all rounds leave the cache, so least
//! code and azure-table each have one set that both of their clients write. A/A is the floor against itself: a bar counts as
//! missed only beyond bar × A/A.

use std::process::ExitCode;
use std::time::Instant;

use azure_table_peers::floor::Floor;
use azure_table_peers::older::Older;
use azure_table_peers::ours::Ours;
use azure_table_peers::process::Server;
use azure_table_peers::{Operation, Peer};
use cpu_time::ProcessTime;
use lexopt::prelude::{Long, ValueExt as _};
use tokio::runtime::Runtime;

/// The highest multiple of the floor that is accepted.
fn bar(operation: Operation) -> f64 {
    match operation {
        Operation::Get | Operation::GetInFlight | Operation::Insert | Operation::Merge => 1.05,
        Operation::Page | Operation::Row => 0.95,
        Operation::Batch => 0.80,
        Operation::Bulk => 1.0,
    }
}

/// The multiple for the transport without reqwest, if it differs.
fn lean_bar(operation: Operation) -> f64 {
    match operation {
        Operation::Get | Operation::GetInFlight | Operation::Insert | Operation::Merge => 0.85,
        other => bar(other),
    }
}

/// The times of one client in ns per unit.
#[derive(Default)]
struct Times {
    cpu: Vec<f64>,
    elapsed: Vec<f64>,
}

impl Times {
    fn measure(&mut self, runtime: &Runtime, peer: &impl Peer, operation: Operation, is_warm: bool) {
        // Otherwise a client that opens a connection per request runs out of ports.
        let units = operation.units();
        let (cpu, elapsed) = (ProcessTime::now(), Instant::now());
        let is_able = runtime.block_on(peer.run(operation, units));
        if is_warm && is_able {
            self.cpu.push(cpu.elapsed().as_nanos() as f64 / units as f64);
            self.elapsed.push(elapsed.elapsed().as_nanos() as f64 / units as f64);
        }
    }
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<ExitCode, lexopt::Error> {
    let (mut rounds, mut with_others, mut only) = (7, true, None);
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("rounds") => rounds = arguments.value()?.parse()?,
            Long("without-others") => with_others = false,
            Long("only") => only = Some(arguments.value()?.string()?),
            // The arguments that cargo passes.
            Long("bench") => {}
            _ => return Err(argument.unexpected()),
        }
    }
    core_affinity::set_for_current(core_affinity::CoreId { id: 0 });
    let server = Server::start(&["--core", "0"]);
    let address = server.address();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let (floor, ours) = (Floor::new(address), Ours::new(address));
    let (counting, lean) = (floor.counting(), ours.lean(address));
    let (older, pooled) = (Older::new(address, false), Older::new(address, true));

    let mut missed = 0;
    println!(
        "| CPU | floor | A/A | azure-table | bar | on hyper | bar | against counting | azure_data_tables | pooled | elapsed |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for operation in Operation::ALL {
        if only
            .as_ref()
            .is_some_and(|only| !operation.name().starts_with(only.as_str()))
        {
            continue;
        }
        let mut times: [Times; 7] = Default::default();
        let [least, again, own, on_hyper, counted, old, old_pooled] = &mut times;
        for round in 0..=rounds {
            let is_warm = round > 0;
            least.measure(&runtime, &floor, operation, is_warm);
            own.measure(&runtime, &ours, operation, is_warm);
            again.measure(&runtime, &floor, operation, is_warm);
            on_hyper.measure(&runtime, &lean, operation, is_warm);
            if matches!(operation, Operation::Batch | Operation::Bulk) {
                counted.measure(&runtime, &counting, operation, is_warm);
            }
            if with_others {
                old.measure(&runtime, &older, operation, is_warm);
                old_pooled.measure(&runtime, &pooled, operation, is_warm);
            }
        }
        let [least, again, own, on_hyper, counted, old, old_pooled] = times.each_ref().map(|times| median(&times.cpu));
        let noise = (again / least).max(least / again);
        let mut verdict = |time: f64, bar: f64| {
            let is_missed = time / least > bar * noise;
            missed += usize::from(is_missed);
            format!("{bar:.2} {}", if is_missed { "missed" } else { "held" })
        };
        let (verdict, lean_verdict) = (verdict(own, bar(operation)), verdict(on_hyper, lean_bar(operation)));
        let ratio = |time: f64| {
            if time.is_nan() {
                String::new()
            } else {
                format!("{:.2}", time / least)
            }
        };
        println!(
            "| {} | {least:.0} ns | {:.3} | {:.3} | {verdict} | {:.3} | {lean_verdict} | {} | {} | {} | {:.2} |",
            operation.name(),
            again / least,
            own / least,
            on_hyper / least,
            if counted.is_nan() {
                String::new()
            } else {
                format!("{:.2}", own / counted)
            },
            ratio(old),
            ratio(old_pooled),
            median(&times[2].elapsed) / median(&times[0].elapsed),
        );
    }
    Ok(ExitCode::from(u8::from(missed > 0)))
}
