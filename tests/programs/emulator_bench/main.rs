//! The emulator against Azurite on one machine: requests per second, CPU, start-up, and the cost of a million entities.
//!
//! ```sh
//! tests/external/azurite/run true && cargo bench -p azure-table-tests --bench emulator
//! ```
//!
//! Arguments select the measurements: `memory`, `start`, `insert`, `read`, `page`, `batch`, `in-process`, `slow`,
//! `disk`.
//!
//! The first command installs Azurite. Each server is a separate process on the second core. This process sends the
//! requests from the first core: prepared and signed, over connections that stay open. It reads each response to its
//! end and checks the status.
//!
//! Servers alternate in 7 rounds, and the medians are compared. The A/A ratio compares two processes of the emulator.
//! CPU is the CPU time of the server's process (`/proc`). Other programs on the machine change the rates, and less so
//! the CPU per request. Each part takes at most 25 seconds, `disk` about three minutes. The bench runs on Linux, with
//! `taskset` and Node.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a bench prints figures and stops where it stands"
)]

mod disk;
mod load;
mod memory;
mod process;
mod slow;
mod sockets;

use std::time::Duration;

use azure_table::Emulator;
use azure_table::transport::Transport;

use crate::load::Scenario;
use crate::process::Server;
use crate::sockets::Measured;

const ROUNDS: usize = 7;
/// The time of one measurement of a server in one round.
const WINDOW: Duration = Duration::from_millis(900);
const STARTS: usize = 5;

fn main() {
    process::pin(std::process::id(), process::GENERATOR_CORE);
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|known| known == name);
    if is_wanted("memory") {
        memory::print();
    }
    if is_wanted("start") {
        starts();
    }
    for scenario in Scenario::ALL {
        if is_wanted(scenario.short_name()) {
            compare(scenario);
        }
    }
    if is_wanted("in-process") {
        in_process();
    }
    if is_wanted("slow") {
        slow::print();
    }
    if is_wanted("disk") {
        disk::print();
    }
}

/// The time from the start of a process to its first response.
fn starts() {
    let time = |start: fn() -> Server| {
        let times = (0..STARTS).map(|_| start().started_in.as_secs_f64() * 1_000.0);
        median(times.collect())
    };
    let (ours, azurite) = (time(Server::emulator), time(Server::azurite));
    println!(
        "start to first response: emulator {ours:.1} ms, Azurite {azurite:.0} ms, 1/{:.0} (bar 1/20)",
        azurite / ours
    );
}

/// The same requests to all servers.
fn compare(scenario: Scenario) {
    let servers = [Server::emulator(), Server::azurite(), Server::emulator()];
    for server in &servers {
        load::prepare(server.port);
    }
    let mut runs: [Vec<Measured>; 3] = Default::default();
    for round in 0..ROUNDS {
        for (server, runs) in servers.iter().zip(&mut runs) {
            let mut load = scenario.load(server.port, round);
            load.check(server.port);
            runs.push(sockets::run(server, &mut load, scenario.connections(), WINDOW));
        }
    }
    let [ours, azurite, again] = runs.each_ref().map(|runs| of_medians(runs));
    println!(
        "{:24} emulator {:8.0}/s {:7.1} µs CPU | Azurite {:6.0}/s {:7.0} µs CPU | rate {:5.1} × (bar 10) | CPU 1/{:.1} (bar 1/15) | A/A {:.2} | {} and {} bytes a response",
        scenario.name(),
        ours.per_second,
        ours.cpu_micros,
        azurite.per_second,
        azurite.cpu_micros,
        ours.per_second / azurite.per_second,
        azurite.cpu_micros / ours.cpu_micros,
        ours.per_second / again.per_second,
        ours.bytes,
        azurite.bytes,
    );
}

/// The same point reads without a port.
fn in_process() {
    let server = Server::emulator();
    load::prepare(server.port);
    let emulator = Emulator::new();
    load::prepare_in_process(&emulator);
    let requests = load::reads_in_process();
    let mut load = Scenario::PointRead.load(server.port, 0);
    let (mut alone, mut many, mut direct) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(sockets::run(&server, &mut load, 1, WINDOW).per_second);
        many.push(sockets::run(&server, &mut load, Scenario::PointRead.connections(), WINDOW).per_second);
        let started = std::time::Instant::now();
        let mut count = 0;
        while started.elapsed() < WINDOW / 2 {
            for request in &requests {
                let response = futures::executor::block_on(emulator.send(request.clone())).unwrap();
                assert_eq!(response.status(), 200);
            }
            count += requests.len();
        }
        direct.push(count as f64 / started.elapsed().as_secs_f64());
    }
    let (alone, many, direct) = (median(alone), median(many), median(direct));
    println!(
        "point reads in process   {direct:8.0}/s, one after another; over HTTP {alone:.0}/s one after another: {:.1} × (bar 5); over HTTP {many:.0}/s on {} connections: {:.1} ×",
        direct / alone,
        Scenario::PointRead.connections(),
        direct / many,
    );
}

fn of_medians(runs: &[Measured]) -> Measured {
    let of = |part: fn(&Measured) -> f64| median(runs.iter().map(part).collect());
    Measured {
        p99_micros: of(|run| run.p99_micros),
        per_second: of(|run| run.per_second),
        cpu_micros: of(|run| run.cpu_micros),
        bytes: runs.first().map_or(0, |run| run.bytes),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
