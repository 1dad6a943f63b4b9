//! Runs all cases of one operation and one fault.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::telemetry::OperationContext;
use azure_table::transport::Transport;
use azure_table::{Emulator, LocationMode, TableClient, TableServiceClient};

use super::check::Case;
use super::model::{Cell, ROWS, State, Subject, key};
use super::operation::{Entry, Given, On, Origin, Promise};
use super::operations::{policy, properties, retention};
use super::options::{Between, Inspector, Options};
use super::report::Report;
use super::{TABLES, operation};
use azure_table_tests::canned::BearerToken;
use azure_table_tests::scenario::{ALL_ARRIVED, LAG, MODES, Mode, Scenario, ledger};

pub(crate) const LOCATIONS: [LocationMode; 4] = [
    LocationMode::PrimaryOnly,
    LocationMode::PrimaryThenSecondary,
    LocationMode::SecondaryThenPrimary,
    LocationMode::SecondaryOnly,
];
/// The time between two cases, by the service's clock. The client uses a row's age to decide if a lost write left it
/// unchanged, and allows for 30 s between the service's clocks, and two more.
const STEP: Duration = Duration::from_secs(33);

/// A client with a token. One for all cases, because it has its own HTTPS transport.
static BY_TOKEN: LazyLock<TableServiceClient> = LazyLock::new(|| {
    let endpoint = "https://devstoreaccount1.table.core.windows.net";
    TableServiceClient::new(endpoint, BearerToken(TOKEN)).unwrap()
});

/// The token that the emulator accepts.
const TOKEN: &str = "a-token";

pub(crate) struct CaseRunner<'a> {
    pub(crate) entry: &'a Entry,
    scenario: Scenario,
    between: Between,
    pub(crate) emulator: Emulator,
    clock: EmulatorClock,
    applied: Arc<AtomicU64>,
    truth: TableServiceClient,
    rows: TableClient<Cell>,
    pub(crate) state: State,
    values: i64,
}

impl<'a> CaseRunner<'a> {
    pub(crate) async fn new(entry: &'a Entry, scenario: usize, between: Between) -> Self {
        let clock = EmulatorClock::system();
        let emulator = Emulator::new().shared_clock(clock.clone()).token(TOKEN);
        let emulator = emulator.secondary_lag(LAG);
        let applied = Arc::default();
        let truth = TableServiceClient::from_transport(emulator.clone());
        let rows = truth.table("Things").unwrap();
        rows.create_table().await.unwrap();
        // The secondary has the table before the first case.
        clock.advance(LAG * 2);
        let mut state = State::default();
        state.read(entry.subject, &truth).await.unwrap();
        Self {
            entry,
            scenario: Scenario::all(&emulator.clone().page_size(2), &applied).swap_remove(scenario),
            between,
            emulator,
            clock,
            applied,
            truth,
            rows,
            state,
            values: 0,
        }
    }

    pub(crate) fn value(&mut self) -> i64 {
        self.values += 1;
        self.values
    }

    /// Changes something, so that the secondary differs. Leaves about half of the rows or tables.
    pub(crate) async fn prepare(&mut self, promise: &Promise) {
        let reads = matches!(promise, Promise::Read(_));
        let value = self.value();
        if matches!(promise, Promise::Selected(_)) {
            for _ in 0..2 {
                let row = *fastrand::choice(&ROWS).unwrap();
                let cell = Cell::new(row, value * 4 + fastrand::i64(0..3), fastrand::bool().then_some(0));
                let etag = self.rows.insert_or_replace(&cell).await.unwrap();
                self.state.put(&cell, etag);
            }
            return;
        }
        let all: Vec<&str> = match self.entry.subject {
            Subject::Rows => ROWS.to_vec(),
            Subject::Tables | Subject::Contents => TABLES.to_vec(),
            Subject::Policies if reads || fastrand::bool() => {
                let policies = (0..3).filter(|_| fastrand::bool()).map(|id| policy(id, value));
                self.rows.set_access_policies(policies).await.unwrap();
                return self.read().await;
            }
            Subject::Properties if reads => {
                self.truth.set_properties(properties(retention(value))).await.unwrap();
                return self.read().await;
            }
            Subject::Policies | Subject::Properties => return,
        };
        let exists = |state: &State, name: &str| state.rows.contains_key(name) || state.tables.contains_key(name);
        let there = all.iter().filter(|name| exists(&self.state, name)).count();
        let name = match there {
            _ if reads => *fastrand::choice(&all).unwrap(),
            _ if there < 2 => all.iter().find(|name| !exists(&self.state, name)).unwrap(),
            _ if there + 1 >= all.len() => all.iter().find(|name| exists(&self.state, name)).unwrap(),
            _ => return,
        };
        let is_there = exists(&self.state, name);
        match (self.entry.subject, is_there) {
            (Subject::Rows, true) => {
                self.rows.delete(key(name)).await.unwrap();
                self.state.rows.remove(name);
            }
            (Subject::Rows, false) => {
                let cell = Cell::new(name, value, Some(0));
                let etag = self.rows.insert(&cell).await.unwrap();
                self.state.put(&cell, etag);
            }
            (_, true) => {
                self.truth.dynamic_table(name).unwrap().delete_table().await.unwrap();
                self.state.tables.remove(name);
            }
            (_, false) => {
                self.truth.dynamic_table(name).unwrap().create_table().await.unwrap();
                self.state.tables.insert(name.to_owned(), Vec::new());
            }
        }
    }

    pub(crate) async fn read(&mut self) {
        self.state.read(self.entry.subject, &self.truth).await.unwrap();
    }

    /// Returns the state of the secondary.
    async fn secondary(&self) -> State {
        let mut state = State::default();
        let secondary = self.truth.location_mode(LocationMode::SecondaryOnly);
        state.read(self.entry.subject, &secondary).await.unwrap();
        state
    }

    pub(crate) async fn case(&mut self, mode: Mode, location: LocationMode, seed: u64, report: &mut Report) {
        // The waits of the client and the choice of the operation.
        fastrand::seed(seed ^ (MODES.iter().position(|known| *known == mode).unwrap() as u64) << 32);
        self.prepare(&self.choose(0).promise).await;
        self.clock.advance(STEP);
        let value = self.value();
        let chosen = self.choose(value);
        let is_of_copy = matches!(&chosen.promise, Promise::Read(read) if read.origin == Origin::Any);
        let secondary = match is_of_copy && location != LocationMode::PrimaryOnly {
            true => Some(self.secondary().await),
            false => None,
        };
        self.applied.store(0, Ordering::Relaxed);
        let ledger = ledger(&self.emulator.clone().page_size(2), &self.applied);
        let faults = self.scenario.over(ledger, mode, seed);
        let inspector = Inspector::new((self.between)(faults.clone()));
        let context = OperationContext::new();
        let options = Options::choose(self.entry, location, seed, &context);
        let on = self.client(&inspector, &options);
        let started = tokio::time::Instant::now();
        let reported = (chosen.run)(on).await;
        let elapsed = started.elapsed();
        tokio::time::sleep(ALL_ARRIVED).await;
        let before = self.state.clone();
        if self.applied.load(Ordering::Relaxed) > 0 {
            self.read().await;
        }
        let (sent, story) = (inspector.sent(), context.diagnostics());
        assert_eq!(story.omitted(), 0);
        let log = faults.log();
        let case = Case {
            promise: &chosen.promise,
            reported: &reported,
            before: &before,
            after: &self.state,
            secondary: secondary.as_ref(),
            location,
            applied: self.applied.load(Ordering::Relaxed),
            log: &log,
            sent: &sent,
            attempts: story.attempts(),
            elapsed,
            options: &options,
            is_late: self.scenario.applies_late(),
        };
        let hits = log.iter().filter(|record| record.fault().is_some()).count();
        let verdict = case.check(self.entry).map_err(|broken| (broken, format!("{case:#?}")));
        let (operation, fault) = (self.entry.name, self.scenario.name);
        report.tell(operation, fault, (mode, location, seed), hits, verdict);
    }

    pub(crate) fn choose(&self, value: i64) -> operation::Chosen {
        (self.entry.choose)(&Given {
            state: &self.state,
            value,
            inserts: self.entry.inserts,
        })
    }

    /// Returns the client that the operation needs.
    pub(crate) fn service(&self, transport: impl Transport + 'static) -> TableServiceClient {
        match self.entry.by_token {
            true => BY_TOKEN.transport(transport),
            false => self.truth.transport(transport),
        }
    }

    fn client(&self, inspector: &Inspector, options: &Options) -> On {
        let service = self.service(inspector.clone()).with(options.of_client());
        let mut of_table = options.of_table().clone();
        if !self.entry.has_call {
            of_table = of_table.with(options.of_call());
        }
        On {
            table: service.table("Things").unwrap().with(&of_table),
            service,
            of_table,
            call: options.of_call().clone(),
        }
    }

    /// The rest is unchanged, because nothing was applied.
    pub(crate) async fn finish(mut self) {
        let known = self.state.clone();
        self.read().await;
        assert_eq!(self.state, known, "{}, {}", self.entry.name, self.scenario.name);
    }
}
