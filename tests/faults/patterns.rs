//! Every promise of a pattern × every fault × {once, always, at random}.
//!
//! The promises are those of the explorations. They run each order with a lost request or response. This module adds
//! the other faults, and several per run. tokio's clock is paused, and the emulator's follows it.
//!
//! `AZURE_TABLE_FAULT_SEEDS` is the number of random runs of each pair.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::transport::{BoxFuture, Transport, TransportError};
use azure_table::{CallOptions, DateTime, Emulator, TableServiceClient};
use azure_table_tests::explorations::patterns::{Place, Promise, promises};
use bytes::Bytes;
use http::{Request, Response};
use tokio::time::Instant;

use super::matrix::scenario::{Mode, Scenario};

/// The number of random runs of each promise and fault.
const SEEDS: u64 = 1;
/// The timeout of a call. All calls of a promise fit into the time of a lease and of an item.
const TIMEOUT: Duration = Duration::from_secs(3);

/// An emulator whose clock follows tokio's.
#[derive(Clone, Debug)]
pub(crate) struct Following {
    emulator: Emulator,
    started: (DateTime, Instant),
}

impl Following {
    /// Begins at the current time.
    pub(crate) fn new(emulator: &Emulator) -> Self {
        let at = DateTime::now();
        Self {
            emulator: emulator.clone(),
            started: (at, Instant::now()),
        }
    }
}

impl Transport for Following {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let (at, instant) = self.started;
        self.emulator.clock().set(at + instant.elapsed());
        self.emulator.send(request)
    }
}

/// Omits faults of the service's own clock: no promise holds with them.
fn scenarios() -> Vec<Scenario> {
    let all = Scenario::all(&Emulator::new(), &Arc::new(AtomicU64::new(0)));
    let is_of_clock = |name: &str| name.starts_with("date") || name.starts_with("clock") || name == "mixed";
    all.into_iter().filter(|scenario| !is_of_clock(scenario.name)).collect()
}

fn hold(promise: &Promise, scenario: &Scenario, mode: Mode, seed: u64) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    fastrand::seed(seed);
    runtime.block_on(async {
        let emulator = Emulator::new().shared_clock(EmulatorClock::fixed(DateTime::now()));
        let following = Following::new(&emulator);
        let faults = scenario.over(following.clone(), mode, seed);
        let service = TableServiceClient::from_transport(faults.clone()).with(&CallOptions::new().timeout(TIMEOUT));
        let sound = TableServiceClient::from_transport(following);
        let place = Place::behind_faults(&emulator, service, sound, mode == Mode::Once);
        (promise.hold)(place).await;
        faults.log().iter().filter(|record| record.fault().is_some()).count()
    })
}

#[test]
fn promises_of_patterns_hold_under_every_fault() {
    let seeds = std::env::var("AZURE_TABLE_FAULT_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let (mut runs, mut hits, mut broken) = (0, 0, Vec::new());
    for promise in promises() {
        for scenario in scenarios() {
            let once = [(Mode::Once, 0), (Mode::Always, 0)];
            for (mode, seed) in once.into_iter().chain((0..seeds).map(|seed| (Mode::Random, seed))) {
                let reported = std::panic::AssertUnwindSafe(|| hold(promise, &scenario, mode, seed));
                match std::panic::catch_unwind(reported) {
                    Ok(met) => hits += met,
                    Err(_) => broken.push(format!("{}: {}, {mode:?}, seed {seed}", promise.name, scenario.name)),
                }
                runs += 1;
            }
        }
    }
    azure_table_tests::report::print(&format!("patterns: {runs} runs, {hits} faults, {} wrong", broken.len()));
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(hits > runs, "the faults were not met: {hits} in {runs} runs");
}
