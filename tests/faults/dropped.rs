//! A future that is dropped, as by `select!`, at each point of its operation.
//!
//! For every operation of the matrix and every point: nothing is sent afterwards, the state is one that the operation
//! leads to, and the permits of `max_in_flight` are free for the next call.

use std::sync::Arc;
use std::time::Duration;

use azure_table::service::RecreateProgress;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{CallOptions, DynamicEntity, Emulator, LinearRetry, TableClient, TableServiceClient};
use tokio::time::{sleep, timeout};

use crate::matrix::case_runner::CaseRunner;
use crate::matrix::model::{State, Write};
use crate::matrix::operation::{Chosen, Entry, On, Promise, Reported, Wanted};
use crate::matrix::operations;
use crate::matrix::options::Inspector;
use crate::{busy, faulty};

/// Before a retry, and before a throttled bulk continues.
const SOON: Duration = Duration::from_millis(50);
/// Longer than anything that a client might still do.
const LATE: Duration = Duration::from_secs(3_600);
/// Each operation is chosen from this many, as the first one that succeeds.
const CHOICES: u64 = 20;

/// The point at which an operation is dropped.
#[derive(Clone, Debug)]
enum Point {
    BeforeFirstPoll,
    /// It waits for a permit of `max_in_flight`.
    BeforeItsTurn,
    /// At this request, in flight or in the wait after it.
    AtRequest(u64, Fault),
}

impl Point {
    /// Returns all points of an operation of this many requests.
    fn all(requests: u64) -> Vec<Self> {
        let faults = [
            Fault::HangRequest,
            Fault::HangResponse,
            Fault::Reset,
            Fault::LoseResponse,
            Fault::Respond(busy()),
        ];
        let at = |number| faults.clone().map(|fault| Self::AtRequest(number, fault));
        let at = (1..=requests).flat_map(at);
        let before = [Self::BeforeFirstPoll, Self::BeforeItsTurn];
        before.into_iter().chain(at).collect()
    }

    /// Returns `true` if nothing of the operation can have been applied. Several requests of a bulk are in flight.
    fn is_before_all(&self, entry: &Entry) -> bool {
        match self {
            Self::BeforeFirstPoll | Self::BeforeItsTurn => true,
            Self::AtRequest(_, Fault::HangResponse | Fault::LoseResponse) => false,
            Self::AtRequest(number, _) => *number == 1 && !entry.is_batch,
        }
    }
}

/// An operation on an account of its own. The same seed leads to the same rows and the same operation.
struct Case<'a> {
    runner: CaseRunner<'a>,
    faults: Faults,
    on: On,
    chosen: Chosen,
}

impl<'a> Case<'a> {
    async fn new(entry: &'a Entry, seed: u64) -> Self {
        fastrand::seed(seed);
        let mut runner = CaseRunner::new(entry, 0, |faults| Arc::new(faults)).await;
        for _ in 0..12 {
            runner.prepare(&runner.choose(0).promise).await;
        }
        let value = runner.value();
        let chosen = runner.choose(value);
        let faults = Faults::new(runner.emulator.clone().page_size(2));
        let service = runner.service(Inspector::new(Arc::new(faults.clone())));
        let retry = LinearRetry::new(Duration::from_secs(1), 3);
        let service = service.max_in_flight(2).retry(retry);
        let on = On {
            table: service.table("Things").unwrap(),
            service,
            of_table: CallOptions::new(),
            call: CallOptions::new(),
        };
        Self {
            runner,
            faults,
            on,
            chosen,
        }
    }

    /// Starts the operation, drops it at the point, and returns what it promised.
    async fn drop_at(&mut self, point: &Point) -> &Promise {
        let run = std::mem::replace(&mut self.chosen.run, Box::new(|_| unreachable!()));
        let mut running = run(self.on.clone());
        match point {
            Point::BeforeFirstPoll => drop(running),
            Point::BeforeItsTurn => {
                let hang = self.faults.add(FaultRule::new(Fault::HangRequest));
                let table = self.on.service.dynamic_table("Things").unwrap();
                let others = [(); 2].map(|()| tokio::spawn(table.get(("a", "x"))));
                sleep(SOON).await;
                hang.disable();
                let requests = self.faults.requests();
                assert!(timeout(SOON, &mut running).await.is_err());
                assert_eq!(self.faults.requests(), requests);
                drop(running);
                others.iter().for_each(|other| other.abort());
            }
            Point::AtRequest(number, fault) => {
                let rule = self.faults.add(FaultRule::new(fault.clone()).nth(*number));
                let ended = timeout(SOON, &mut running).await.is_ok();
                // Another of several concurrent requests can decide.
                assert!(!ended || self.runner.entry.is_concurrent, "it ended");
                assert_eq!(rule.hits(), 1);
                drop(running);
                rule.disable();
            }
        }
        &self.chosen.promise
    }

    /// Two concurrent calls: a permit that is not returned would make them sequential.
    async fn assert_places_are_free(&self, said: &str) {
        let time = Duration::from_secs(1);
        let slow = self.faults.add(FaultRule::new(Fault::DelayResponse(time)));
        let table = self.on.service.dynamic_table("Things").unwrap();
        let both = async { tokio::join!(table.get(("a", "x")), table.get(("a", "y"))) };
        let both = timeout(time + SOON, both).await;
        assert!(matches!(both, Ok((Ok(None), Ok(None)))), "{said}: a place is taken");
        slow.disable();
    }
}

/// Returns `true` if a part of the operation can have led from one state to the other.
fn leads_to(promise: &Promise, before: &State, left: &State) -> bool {
    let is_left = |state: &State| state.is(left, before);
    match promise {
        _ if left == before => true,
        Promise::Read(_) => false,
        Promise::Change(change) => change.after.as_ref().is_ok_and(is_left),
        Promise::Steps(states) => states.iter().any(is_left),
        // The writes of a row keep their order, and each may be missing.
        Promise::Each(writes) => {
            let mut rows = left.rows.keys().chain(before.rows.keys());
            rows.all(|row| {
                let (mut states, left) = (vec![before.only(row)], left.only(row));
                for write in writes.iter().filter(|write| write.row() == row) {
                    let written = |state: &State| write_to(state, write);
                    states.extend(states.iter().filter_map(written).collect::<Vec<_>>());
                }
                states.iter().any(|state| state.is(&left, before))
            })
        }
        Promise::Selected(wanted) => {
            let is_done = |row: &str| match wanted.iter().find(|(name, _)| name == row) {
                Some((_, Wanted::Gone)) => !left.rows.contains_key(row),
                Some((_, Wanted::Is(a, b))) => left.rows.get(row).is_some_and(|left| (left.a, left.b) == (*a, *b)),
                Some((_, Wanted::Unchanged)) | None => false,
            };
            let is_right = |(row, was): (&String, &_)| left.rows.get(row) == Some(was) || is_done(row);
            left.rows.keys().all(|row| before.rows.contains_key(row)) && before.rows.iter().all(is_right)
        }
    }
}

fn write_to(state: &State, write: &Write) -> Option<State> {
    let mut state = state.clone();
    state.write(write).ok().map(|()| state)
}

#[tokio::test(start_paused = true)]
async fn dropped_operation_sends_nothing_more_and_is_applied_at_most_once() {
    let (entries, mut drops) = (operations::all(), 0);
    for entry in &entries {
        let mut found = None;
        for seed in 0..CHOICES {
            let case = Case::new(entry, seed).await;
            let reported = (case.chosen.run)(case.on).await;
            if !matches!(reported, Reported::Failed(_)) && case.faults.requests() > 0 {
                found = Some((seed, case.faults.requests()));
                break;
            }
        }
        let (seed, requests) = found.unwrap_or_else(|| unreachable!("{}: no choice succeeds", entry.name));
        for point in Point::all(requests) {
            let said = format!("{} dropped at {point:?}", entry.name);
            let mut case = Case::new(entry, seed).await;
            let before = case.runner.state.clone();
            case.drop_at(&point).await;
            let requests = case.faults.requests();
            sleep(LATE).await;
            assert_eq!(case.faults.requests(), requests, "{said}: it goes on");
            case.runner.read().await;
            let left = &case.runner.state;
            if point.is_before_all(entry) {
                assert_eq!(*left, before, "{said}");
            }
            let promise = &case.chosen.promise;
            assert!(leads_to(promise, &before, left), "{said}: {before:#?} became {left:#?}");
            case.assert_places_are_free(&said).await;
            drops += 1;
        }
    }
    println!("{} operations, dropped at {drops} points", entries.len());
}

/// The wait between two attempts to create the table is one more point.
#[tokio::test(start_paused = true)]
async fn recreation_that_is_dropped_in_its_pause_creates_no_table() {
    let emulator = Emulator::new().deletion_time(Duration::from_secs(40));
    let faults = Faults::new(emulator);
    let service = TableServiceClient::from_transport(faults.clone());
    let table = service.dynamic_table("Other").unwrap();
    table.create_table().await.unwrap();
    let (sender, mut waits) = tokio::sync::mpsc::unbounded_channel();
    let recreate = table.recreate_table(Duration::from_secs(120));
    let recreate = recreate.on_progress(move |progress| {
        if matches!(progress, RecreateProgress::BeingDeleted { .. }) {
            sender.send(()).unwrap();
        }
    });
    tokio::select! {
        _ = recreate => panic!("it ended"),
        _ = waits.recv() => {}
    }
    let requests = faults.requests();
    sleep(LATE).await;
    assert_eq!(faults.requests(), requests);
    assert!(!table.table_exists().await.unwrap());
}

/// As the documentation of `Writer` says: an operation whose `send` is dropped was not accepted, the others are.
#[azure_table::test(start_paused)]
async fn dropped_send_of_a_writer_takes_nothing(table: TableClient, faults: Faults) {
    let row = |id: &str| DynamicEntity::new("p", id);
    let slow = faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(5))).on_writes());
    let mut writer = table.bulk().batch_size(1).writer().max_pending(1);
    writer.insert(&row("1")).await.unwrap();
    assert!(timeout(SOON, writer.insert(&row("2"))).await.is_err());
    slow.disable();
    writer.insert(&row("3")).await.unwrap();
    // Dropping a flush or a drive loses nothing.
    let flush = timeout(Duration::ZERO, writer.flush()).await;
    assert!(flush.is_err() || flush.unwrap().is_ok());
    assert!(timeout(SOON, writer.run_pending()).await.is_err());
    assert_eq!(writer.close().await.unwrap().applied(), 2);
    let rows = table.query().keys().all().await.unwrap();
    assert!(rows.iter().map(|key| key.row_key()).eq(["1", "3"]), "{rows:?}");
}

/// The owner of the write still knows what was in flight, and nothing else sends it.
#[tokio::test(start_paused = true)]
async fn finished_outcomes_report_what_was_sent() {
    for (fault, expected) in [(Fault::HangRequest, 2), (Fault::HangResponse, 4)] {
        let (faults, _, truth) = faulty::<DynamicEntity>(Emulator::new()).await;
        let service = TableServiceClient::from_transport(faults.clone()).max_in_flight(2);
        let table = service.dynamic_table("Table").unwrap();
        faults.add(FaultRule::new(fault).on_writes().nth(2));
        let many = (0..6).map(|id| DynamicEntity::new("p", id.to_string()));
        let bulk = table.bulk().batch_size(2).concurrency(1);
        let mut outcomes = bulk.insert(many).outcomes();
        let mut applied = 0;
        while let Ok(outcome) = timeout(SOON, outcomes.next()).await {
            applied += usize::from(outcome.is_some());
        }
        let report = outcomes.finish().unwrap();
        assert_eq!((applied, report.applied(), report.in_doubt()), (2, 2, 2));
        let requests = faults.requests();
        sleep(LATE).await;
        assert_eq!(faults.requests(), requests);
        assert_eq!(truth.query().count().await.unwrap(), expected);
    }
}
