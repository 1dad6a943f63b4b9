//! A promise of a pattern or a system, and where it is checked: in an exploration, under every fault, on a service.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::emulator::SeedEntities as _;
use azure_table::testing::{Faults, Simulation};
use azure_table::{DateTime, DynamicEntity, Emulator, ErrorKind, Guid, TableClient, TableServiceClient};
use futures::future::LocalBoxFuture;

use crate::scenario::late_network::LateNetwork;
use crate::scenario::{Mode, Scenario};

mod clock;
mod traffic;

use clock::following_tokio;
pub use clock::{Following, ReplacedClock, replace_wall_clock, wall_clock_follows_tokio};
pub use traffic::{Meter, Traffic};

/// The timeout of a call under faults. All calls of a promise fit into the time of a lease and of an item.
const TIMEOUT: Duration = Duration::from_secs(3);

/// The faults that can last longer than [`TIMEOUT`].
const SLOW: [&str; 9] = [
    "request late",
    "request too late",
    "request hangs",
    "answer late",
    "answer too late",
    "answer hangs",
    "drip",
    "drip too slow",
    "busy for a day",
];

const TABLE: &str = "Rows";

/// The time at which a run on an adverse service begins. It is fixed, because the Timestamps depend on it.
const ADVERSE_START: &str = "2026-06-15T00:00:00Z";

/// The seeds of each promise and adverse service of which one must let a call succeed. With fewer, none may.
pub const ADVERSE_SEEDS: u64 = 20;
/// The default number of seeds.
const FEW_SEEDS: u64 = 4;

/// A promise that holds in every order of the requests, and with any fault.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// The calls of its tasks.
    pub name: &'static str,
    /// Runs the calls, and checks their results and the stored rows.
    pub hold: Hold,
}

/// Defines promises: their names, and the functions that check them.
#[macro_export]
macro_rules! promises {
    ($($name:literal: $hold:path,)*) => {
        [$($crate::promises::Promise { name: $name, hold: |place| Box::pin($hold(place)) },)*]
    };
}

/// Runs the calls of a promise at a place.
pub type Hold = fn(Place) -> LocalBoxFuture<'static, ()>;

/// A service, and the client of each task.
#[derive(Debug)]
pub struct Place {
    to: To,
    /// The table of a system.
    table: String,
    /// At most one fault happens in total, so that a retried call succeeds.
    pub recovers: bool,
    /// No fault happens, or one that leaves a call the time for a retry. So no call fails because of it, except with
    /// [`InDoubt`](azure_table::ErrorKind::InDoubt) if another writer replaced the row that shows who wrote.
    pub retries_succeed: bool,
    /// No fault happens.
    pub is_faultless: bool,
    /// The service does its worst: its clocks differ by half a minute.
    pub is_adverse: bool,
    meter: Meter,
}

#[derive(Debug)]
enum To {
    Simulation(Simulation),
    /// The same, with tasks that are processes.
    Processes(Simulation),
    Emulator {
        emulator: Emulator,
        faulty: TableServiceClient,
        sound: TableServiceClient,
        behind: TableServiceClient,
    },
    Service(TableServiceClient),
}

impl Place {
    /// A place whose requests succeed, unless a fault is retried in vain.
    fn new(to: To) -> Self {
        Self {
            to,
            table: TABLE.to_owned(),
            recovers: true,
            retries_succeed: true,
            is_faultless: false,
            is_adverse: false,
            meter: Meter::default(),
        }
    }

    /// An emulator that the tasks and the checks access by these clients. Some call of a task may fail.
    fn of_emulator(emulator: &Emulator, faulty: TableServiceClient, sound: Following) -> Self {
        Self {
            recovers: false,
            retries_succeed: false,
            ..Self::new(To::Emulator {
                emulator: emulator.clone(),
                faulty,
                sound: TableServiceClient::from_transport(sound),
                behind: TableServiceClient::from_transport(emulator.clone()),
            })
        }
    }

    /// A run of an exploration.
    pub fn explored(simulation: Simulation) -> Self {
        create(simulation.emulator());
        Self::new(To::Simulation(simulation))
    }

    /// A run of an exploration whose tasks are processes, which may crash and then begin again.
    pub fn explored_with_crashes(simulation: Simulation) -> Self {
        Self {
            to: To::Processes(simulation.clone()),
            ..Self::explored(simulation)
        }
    }

    /// A run of an exploration on a service that does its worst.
    pub fn explored_on_adverse_service(simulation: Simulation) -> Self {
        Self {
            recovers: false,
            retries_succeed: false,
            is_adverse: true,
            ..Self::explored(simulation)
        }
    }

    /// An emulator without gate and faults, whose clock follows tokio's. All tasks share the client.
    pub fn on_emulator() -> Self {
        let emulator = following_tokio();
        create(&emulator);
        let sound = Following::new(&emulator);
        let service = TableServiceClient::from_transport(sound.clone());
        Self {
            recovers: true,
            retries_succeed: true,
            is_faultless: true,
            ..Self::of_emulator(&emulator, service, sound)
        }
    }

    /// A service without faults, such as Azurite. All tasks share the client. The table has a new name, and does not
    /// exist yet.
    pub fn on_service(service: TableServiceClient) -> Self {
        let id = Guid::random().to_string().replace('-', "");
        Self {
            table: format!("t{id}"),
            is_faultless: true,
            ..Self::new(To::Service(service))
        }
    }

    /// An emulator. All tasks access it by a client with faults, the body by one without.
    fn behind_faults(emulator: &Emulator, scenario: &Scenario, mode: Mode, seed: u64) -> (Self, Faults) {
        create(emulator);
        let following = Following::new(emulator);
        let faults = scenario.over(following.clone(), mode, seed);
        let faulty = TableServiceClient::from_transport(faults.clone()).timeout(TIMEOUT);
        let place = Self {
            recovers: mode == Mode::Once,
            retries_succeed: mode == Mode::Once && !SLOW.contains(&scenario.name),
            ..Self::of_emulator(emulator, faulty, following)
        };
        (place, faults)
    }

    /// An emulator that does its worst by a seed for all tasks, and behaves as usual for the body.
    fn on_adverse_service(emulator: &Emulator, seed: u64) -> Self {
        create(emulator);
        let following = |emulator: &Emulator| Following::from(emulator, ADVERSE_START.parse().unwrap());
        let adverse = following(&emulator.clone().adverse(seed));
        let faulty = TableServiceClient::from_transport(adverse).timeout(TIMEOUT);
        Self {
            is_adverse: true,
            ..Self::of_emulator(emulator, faulty, following(emulator))
        }
    }

    /// An emulator behind a network on which writes arrive late. Checks see it once they have arrived.
    fn on_late_network(emulator: &Emulator, seed: u64) -> Self {
        create(emulator);
        let following = Following::new(emulator);
        let network = LateNetwork::new(following.clone(), seed);
        let faulty = TableServiceClient::from_transport(network.clone());
        let mut place = Self::of_emulator(emulator, faulty, following);
        if let To::Emulator { behind, .. } = &mut place.to {
            *behind = TableServiceClient::from_transport(network.settled());
        }
        place
    }

    /// Returns the meter of this place.
    pub fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// Returns `true` in a run of an exploration, whose only faults are lost requests and responses.
    pub fn is_explored(&self) -> bool {
        matches!(self.to, To::Simulation(_) | To::Processes(_))
    }

    /// Returns the emulator.
    ///
    /// # Panics
    /// The place is another service.
    pub fn emulator(&self) -> &Emulator {
        self.try_emulator().unwrap()
    }

    /// Returns the emulator, or `None` if the place is another service.
    pub fn try_emulator(&self) -> Option<&Emulator> {
        match &self.to {
            To::Simulation(simulation) | To::Processes(simulation) => Some(simulation.emulator()),
            To::Emulator { emulator, .. } => Some(emulator),
            To::Service(_) => None,
        }
    }

    /// Returns `true` if time passes by itself: the place is a service, and tokio's clock is not paused.
    pub fn is_in_real_time(&self) -> bool {
        matches!(self.to, To::Service(_))
    }

    /// Returns a client without gate and faults, for rows that exist before and checks after.
    pub fn behind(&self) -> TableServiceClient {
        match &self.to {
            To::Service(service) => service.clone(),
            To::Emulator { behind, .. } => behind.clone(),
            To::Simulation(simulation) | To::Processes(simulation) => {
                TableServiceClient::from_transport(simulation.emulator().clone())
            }
        }
    }

    /// Returns the body's own client: with the gate, without the faults.
    pub fn service(&self) -> TableServiceClient {
        match &self.to {
            To::Simulation(simulation) | To::Processes(simulation) => simulation.service(),
            To::Emulator { sound, .. } => sound.clone(),
            To::Service(service) => service.clone(),
        }
    }

    /// Returns the client of a task.
    pub fn client(&self, name: &str) -> TableServiceClient {
        match &self.to {
            To::Simulation(simulation) | To::Processes(simulation) => {
                simulation.client(name).observer(self.meter.of(name))
            }
            To::Emulator { faulty, .. } => faulty.clone(),
            To::Service(service) => service.clone(),
        }
    }

    /// Returns `true` if the tasks are processes, which may crash. No other fault happens then.
    pub fn has_crashes(&self) -> bool {
        matches!(self.to, To::Processes(_))
    }

    /// Runs a task with the client of this name. A process runs it again after a crash, and keeps what it captures.
    pub async fn task<T>(&self, name: &str, live: impl AsyncFn(TableServiceClient) -> T) -> T {
        match &self.to {
            To::Processes(simulation) => simulation.process(name, live).await,
            _ => live(self.client(name)).await,
        }
    }

    /// Runs a task. Returns `None` if it is a process that crashed: it does not begin again.
    pub async fn task_once<T>(&self, name: &str, live: impl AsyncFnOnce(TableServiceClient) -> T) -> Option<T> {
        match &self.to {
            To::Processes(simulation) => simulation.process_once(name, live).await,
            _ => Some(live(self.client(name)).await),
        }
    }

    /// Lets the writes of crashed processes arrive, see [`arrive`](Self::arrive).
    pub async fn settle(&self) {
        if self.has_crashes() {
            self.arrive().await;
        }
    }

    /// Lets the writes that are in flight arrive, or never: reads every table in an ordered request.
    ///
    /// # Panics
    /// The tables cannot be listed, or a table that exists cannot be read.
    pub async fn arrive(&self) {
        for table in self.behind().list_tables().all().await.unwrap() {
            let rows = self.service().dynamic_table(table).unwrap();
            if let Err(e) = rows.query().keys().allow_table_scan().all().await {
                // A late write may have deleted the table.
                let is_deleted = e.kind() == ErrorKind::TableNotFound;
                assert!(is_deleted || self.is_adverse, "{e}");
            }
        }
    }

    /// Returns the table of a system for a task, see [`client`](Self::client).
    pub fn table<E>(&self, name: &str) -> TableClient<E> {
        self.client(name).table(self.table.as_str()).unwrap()
    }

    /// Returns the table of a system without gate and faults, see [`behind`](Self::behind).
    pub fn table_behind<E>(&self) -> TableClient<E> {
        self.behind().table(self.table.as_str()).unwrap()
    }

    /// Creates a table without the gate, and returns a client of it for each of two tasks.
    pub fn clients<E>(&self, table: &str) -> [TableClient<E>; 2] {
        self.emulator()
            .seed(table, std::iter::empty::<DynamicEntity>())
            .unwrap();
        ["a", "b"].map(|name| self.client(name).table(table).unwrap())
    }
}

/// Creates the table of a system.
fn create(emulator: &Emulator) {
    emulator.seed(TABLE, std::iter::empty::<DynamicEntity>()).unwrap();
}

/// The result of [`under_every_fault`].
#[derive(Debug, Default)]
pub struct FaultRuns {
    /// The runs of a promise with a fault.
    pub runs: usize,
    /// The requests that met a fault.
    pub hits: usize,
    /// The promises that were broken, with the fault.
    pub broken: Vec<String>,
}

/// Runs promises with every fault: once, always, and at random with this many seeds.
///
/// tokio's clock is paused, and the emulator's follows it.
pub fn under_every_fault<'a>(promises: impl Iterator<Item = &'a Promise>, seeds: u64) -> FaultRuns {
    let mut result = FaultRuns::default();
    for (number, promise) in promises.enumerate() {
        for (index, scenario) in scenarios().into_iter().enumerate() {
            if seeds == 0 && (number + index) % SHARE_WITHOUT_SEEDS != 0 {
                continue;
            }
            let once = [(Mode::Once, 0), (Mode::Always, 0)];
            for (mode, seed) in once.into_iter().chain((0..seeds).map(|seed| (Mode::Random, seed))) {
                match catch_unwind(AssertUnwindSafe(|| hold(promise, &scenario, mode, seed))) {
                    Ok(hits) => result.hits += hits,
                    Err(_) => {
                        let run = format!("{}: {}, {mode:?}, seed {seed}", promise.name, scenario.name);
                        result.broken.push(run);
                    }
                }
                result.runs += 1;
            }
        }
    }
    result
}

/// Without seeds, a promise meets one fault of this many.
const SHARE_WITHOUT_SEEDS: usize = 3;

/// Omits faults of the service's own clock, with which no promise holds, and late writes, which have a network of their
/// own.
fn scenarios() -> Vec<Scenario> {
    let all = Scenario::all(&Emulator::new(), &Arc::new(AtomicU64::new(0)));
    let omitted = ["date", "clock", "mixed", "applied"];
    all.into_iter()
        .filter(|scenario| !omitted.iter().any(|start| scenario.name.starts_with(start)))
        .collect()
}

/// Returns the seeds of adverse services: as many as `AZURE_TABLE_ADVERSE_SEEDS`, 4 by default.
pub fn adverse_seeds() -> Range<u64> {
    0..std::env::var("AZURE_TABLE_ADVERSE_SEEDS").map_or(FEW_SEEDS, |seeds| seeds.parse().unwrap())
}

thread_local! {
    /// The number of successful calls of the current promise.
    static SUCCEEDED: Cell<usize> = const { Cell::new(0) };
}

/// Counts the successful calls among these.
pub fn count<'a, T: 'a, E: 'a>(results: impl IntoIterator<Item = &'a Result<T, E>>) {
    let succeeded = results.into_iter().filter(|result| result.is_ok()).count();
    SUCCEEDED.set(SUCCEEDED.get() + succeeded);
}

/// The result of [`on_adverse_services`].
#[derive(Debug, Default)]
pub struct AdverseRuns {
    /// The broken promises with their service, and the seeds.
    pub broken: BTreeMap<String, Vec<u64>>,
    /// The promises for which no seed had a [counted](count) success. Empty for fewer than [`ADVERSE_SEEDS`].
    pub without_success: Vec<String>,
}

/// Runs promises on an adverse service with each seed, as Table storage and as Cosmos DB.
///
/// tokio's clock is paused, and the emulator's follows it.
pub fn on_adverse_services<'a>(promises: impl Iterator<Item = &'a Promise>, seeds: Range<u64>) -> AdverseRuns {
    on_services(promises, seeds, |service, seed| {
        let emulator = service().shared_clock(EmulatorClock::fixed(ADVERSE_START.parse().unwrap()));
        Place::on_adverse_service(&emulator, seed)
    })
}

/// Runs promises with each seed on a network on which writes arrive late, as Table storage and as Cosmos DB.
///
/// tokio's clock is paused, and the emulator's follows it.
pub fn on_late_networks<'a>(promises: impl Iterator<Item = &'a Promise>, seeds: Range<u64>) -> AdverseRuns {
    on_services(promises, seeds, |service, seed| {
        let emulator = service().shared_clock(EmulatorClock::fixed(DateTime::now()));
        Place::on_late_network(&emulator, seed)
    })
}

fn on_services<'a>(
    promises: impl Iterator<Item = &'a Promise>,
    seeds: Range<u64>,
    place: impl Fn(fn() -> Emulator, u64) -> Place,
) -> AdverseRuns {
    let mut runs = AdverseRuns::default();
    for promise in promises {
        for (name, service) in [("Storage", Emulator::new as fn() -> _), ("Cosmos DB", Emulator::cosmos)] {
            SUCCEEDED.set(0);
            let run = format!("{}, {name}", promise.name);
            for seed in seeds.clone() {
                let held = catch_unwind(AssertUnwindSafe(|| {
                    on_paused_clock(seed, async { (promise.hold)(place(service, seed)).await });
                }));
                if held.is_err() {
                    runs.broken.entry(run.clone()).or_default().push(seed);
                }
            }
            if SUCCEEDED.get() == 0 && seeds.end >= ADVERSE_SEEDS {
                runs.without_success.push(run);
            }
        }
    }
    runs
}

/// Runs a future on a paused clock of its own, with random numbers of a seed.
///
/// # Panics
/// The runtime cannot be created.
pub fn on_paused_clock<T>(seed: u64, run: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    fastrand::seed(seed);
    runtime.block_on(run)
}

fn hold(promise: &Promise, scenario: &Scenario, mode: Mode, seed: u64) -> usize {
    on_paused_clock(seed, async {
        let emulator = following_tokio();
        let (place, faults) = Place::behind_faults(&emulator, scenario, mode, seed);
        (promise.hold)(place).await;
        faults.log().iter().filter(|record| record.fault().is_some()).count()
    })
}
