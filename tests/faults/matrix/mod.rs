//! Every operation × every fault × {once, always, at random}: what the client says is true of the table.
//!
//! The emulator is behind the faults, tokio's clock is paused, and a map is the model of the table. Cases of one operation
//! and one fault share an emulator and go on from the state that the last one left; whatever became of it, the next one
//! begins with what is there. `AZURE_TABLE_FAULT_SEEDS` says how many random cases there are of each pair: 195 by
//! default, 1,000 for the whole matrix.

mod judge;
pub(crate) mod model;
mod operation;
pub(crate) mod scenario;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use azure_table::testing::Faults;
use azure_table::{Emulator, EmulatorClock, LocationMode, OperationContext, TableClient, TableServiceClient};

use self::judge::{Broken, Case};
use self::model::{Cell, PARTITION, State};
use self::operation::{Kind, Operation, ROWS, TABLES};
use self::scenario::{BlindResend, Ledger, Mode, Scenario};

const SEEDS: u64 = 195;
const TIMEOUT: Duration = Duration::from_secs(20);
/// From one case to the next, by the service's clock. The client tells by a row's age whether a lost write left it as it was,
/// and allows for three seconds.
const STEP: Duration = Duration::from_millis(3_500);
/// Cases on one emulator: its clock must not get 15 minutes ahead of the client's.
const MOST_CASES: u64 = 240;

/// What the client is made of.
type Client = fn(&TableServiceClient, Faults) -> TableServiceClient;

#[derive(Default)]
struct Report {
    cases: u64,
    faults: u64,
    broken: Vec<(Kind, Broken, String)>,
}

/// All cases of one operation and one fault.
struct Unit {
    kind: Kind,
    scenario: Scenario,
    emulator: Emulator,
    clock: EmulatorClock,
    applied: Arc<AtomicU64>,
    truth: TableServiceClient,
    rows: TableClient<Cell>,
    state: State,
    values: i64,
}

impl Unit {
    async fn new(kind: Kind, scenario: usize) -> Self {
        let clock = EmulatorClock::system();
        let emulator = Emulator::new().with_clock(clock.clone());
        let applied = Arc::default();
        let truth = TableServiceClient::on(emulator.clone());
        let rows = truth.table("Things").unwrap();
        rows.create_table().await.unwrap();
        Self {
            kind,
            scenario: Scenario::all(&emulator.clone().with_page_size(2), &applied).swap_remove(scenario),
            emulator,
            clock,
            applied,
            state: State::default(),
            truth,
            rows,
            values: 0,
        }
    }

    fn value(&mut self) -> i64 {
        self.values += 1;
        self.values
    }

    /// Leaves about half of the rows or tables there, so that there is something to make and to find.
    async fn prepare(&mut self) {
        if self.kind.is_of_policies() {
            return;
        }
        let (all, there): (&[&str], Vec<&String>) = if self.kind.is_of_tables() {
            (
                &TABLES,
                self.state.tables.iter().filter(|name| *name != "Things").collect(),
            )
        } else {
            (&ROWS, self.state.rows.keys().collect())
        };
        let missing = all.iter().find(|name| there.iter().all(|there| there != *name));
        let surplus = there.first().map(|name| (*name).clone());
        match (missing.copied(), surplus) {
            (Some(name), _) if there.len() < 2 => {
                if self.kind.is_of_tables() {
                    self.truth.dynamic_table(name).unwrap().create_table().await.unwrap();
                } else {
                    let cell = Cell::new(name, self.value(), Some(0));
                    self.rows.insert(&cell).await.unwrap();
                }
            }
            (_, Some(name)) if there.len() + 1 >= all.len() => {
                if self.kind.is_of_tables() {
                    self.truth.dynamic_table(name).unwrap().delete_table().await.unwrap();
                } else {
                    self.rows.delete((PARTITION, name)).await.unwrap();
                }
            }
            _ => return,
        }
        self.state = self.read().await;
    }

    /// The state now: rows, tables or policies, whichever the operation is about.
    async fn read(&self) -> State {
        let mut state = self.state.clone();
        if self.kind.is_of_tables() {
            state.read_tables(&self.truth).await.unwrap();
        } else if self.kind.is_of_policies() {
            state.read_policies(&self.rows).await.unwrap();
        } else {
            state.read_rows(&self.rows).await.unwrap();
        }
        state
    }

    async fn case(&mut self, mode: Mode, seed: u64, client: Client, report: &mut Report) {
        // The waits of the client and the choice of the operation.
        fastrand::seed(seed);
        self.prepare().await;
        self.clock.advance(STEP);
        let value = self.value();
        let operation = Operation::choose(self.kind, &self.state, value);
        self.applied.store(0, Ordering::Relaxed);
        let ledger = Ledger::new(&self.emulator.clone().with_page_size(2), &self.applied);
        let faults = self.scenario.over(ledger, mode, seed);
        let service = client(&self.truth, faults.clone());
        let table = service.table("Things").unwrap();
        let context = OperationContext::new();
        let begun = tokio::time::Instant::now();
        let outcome = operation.run(&service, &table, TIMEOUT, &context).await;
        let elapsed = begun.elapsed();
        let after = self.read().await;
        let log = faults.log();
        let case = Case {
            kind: self.kind,
            operation: &operation,
            outcome: &outcome,
            before: &self.state,
            after: &after,
            applied: self.applied.load(Ordering::Relaxed),
            sent: faults.requests(),
            own: log.iter().filter(|record| record.kind() == self.kind.request()).count() as u64,
            told: context.attempts().len() as u64,
            elapsed,
            timeout: TIMEOUT,
        };
        report.cases += 1;
        report.faults += log.iter().filter(|record| record.fault().is_some()).count() as u64;
        if let Err(broken) = case.judge() {
            let text = format!(
                "{:?}, {}, {mode:?}, seed {seed}: {broken:?}: {case:#?}",
                self.kind, self.scenario.name
            );
            report.broken.push((self.kind, broken, text));
        }
        self.state = after;
    }
}

/// Runs the cases of these kinds and scenarios on all cores, a runtime with a paused clock on each.
fn run(seeds: u64, only: &[&str], client: Client) -> Report {
    let scenarios = Scenario::all(&Emulator::new(), &Arc::default());
    let mut units = Vec::new();
    for kind in Kind::ALL {
        for (index, scenario) in scenarios.iter().enumerate() {
            if scenario.concerns(kind) && (only.is_empty() || only.contains(&scenario.name)) {
                for first in (0..=seeds).step_by(MOST_CASES as usize) {
                    units.push((kind, index, first..seeds.min(first + MOST_CASES)));
                }
            }
        }
    }
    let (next, total) = (AtomicUsize::new(0), Mutex::new(Report::default()));
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let mut report = Report::default();
        while let Some((kind, index, seeds)) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
            runtime.block_on(async {
                let mut unit = Unit::new(*kind, *index).await;
                if seeds.start == 0 {
                    unit.case(Mode::Once, 0, client, &mut report).await;
                    unit.case(Mode::Always, 0, client, &mut report).await;
                }
                for seed in seeds.clone() {
                    unit.case(Mode::Random, seed, client, &mut report).await;
                }
            });
        }
        let mut total = total.lock().unwrap();
        total.cases += report.cases;
        total.faults += report.faults;
        total.broken.append(&mut report.broken);
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    total.into_inner().unwrap()
}

/// The client as users have it.
fn straight(service: &TableServiceClient, faults: Faults) -> TableServiceClient {
    service.over(faults)
}

#[test]
fn what_the_client_says_is_true_whatever_goes_wrong() {
    let seeds = std::env::var("AZURE_TABLE_FAULT_SEEDS").map_or(SEEDS, |seeds| seeds.parse().unwrap());
    let begun = Instant::now();
    let report = run(seeds, &[], straight);
    let (cases, broken) = (report.cases, report.broken.len());
    println!(
        "{cases} cases, {} faults, {broken} failures, {:.1} s",
        report.faults,
        begun.elapsed().as_secs_f64()
    );
    for (_, _, text) in report.broken.iter().take(3) {
        println!("{text}");
    }
    let kinds = |found: &(Kind, Broken, String)| format!("{:?}: {:?}", found.0, found.1);
    let kinds: BTreeSet<String> = report.broken.iter().map(kinds).collect();
    if !kinds.is_empty() {
        println!("{kinds:#?}");
    }
    assert_eq!(broken, 0, "of {cases} cases");
    assert!(seeds < SEEDS || cases >= 100_000, "{cases} cases");
}

/// Reads go to the copy in the second region, which has all that the first has; writes and what became of them never do.
#[test]
fn nor_does_it_matter_where_is_read() {
    for mode in [LocationMode::PrimaryThenSecondary, LocationMode::SecondaryThenPrimary] {
        let client = match mode {
            LocationMode::PrimaryThenSecondary => |service: &TableServiceClient, faults| {
                service.over(faults).location_mode(LocationMode::PrimaryThenSecondary)
            },
            _ => |service: &TableServiceClient, faults| {
                service.over(faults).location_mode(LocationMode::SecondaryThenPrimary)
            },
        };
        let report = run(20, &[], client);
        println!(
            "{mode:?}: {} cases, {} faults, {} failures",
            report.cases,
            report.faults,
            report.broken.len()
        );
        assert!(report.broken.is_empty(), "{mode:?}: {}", report.broken[0].2);
    }
}

/// The matrix can fail: with a retry that sends every failed write again it does.
#[test]
fn a_blind_repetition_of_writes_is_found() {
    let report = run(20, &["answer lost", "500 after applying"], |service, faults| {
        service.over(BlindResend(faults))
    });
    let may_not_be_repeated = [
        Kind::Insert,
        Kind::Replace,
        Kind::Merge,
        Kind::Delete,
        Kind::Patch,
        Kind::Batch,
        Kind::WriteViaBatch,
        Kind::InsertEcho,
        Kind::CreateTable,
        Kind::DeleteTable,
    ];
    for kind in may_not_be_repeated {
        let is_found = |found: &(Kind, Broken, String)| (found.0, found.1) == (kind, Broken::DenialIsNotTrue);
        assert!(report.broken.iter().any(is_found), "{kind:?} was sent again unseen");
    }
}
