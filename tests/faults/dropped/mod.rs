//! A future that is dropped, as by `select!`, at each point of its operation.
//!
//! For every operation and point: nothing is sent afterwards, the state is as before or as after one application, and
//! the permits of `max_in_flight` are free for the next call.

mod operations;

use std::time::Duration;

use azure_table::service::RecreateProgress;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{DynamicEntity, Emulator, TableServiceClient};
use operations::{Client, OPERATIONS, Operation, Whole, account, state};
use tokio::time::{sleep, timeout};

/// Before a retry, and before a throttled bulk continues.
const SOON: Duration = Duration::from_millis(50);
/// Longer than anything that a client might still do.
const LATE: Duration = Duration::from_secs(3_600);

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
        let busy = ResponseTemplate::new(503).code("ServerBusy").message("Busy.");
        let faults = [
            Fault::HangRequest,
            Fault::HangResponse,
            Fault::Reset,
            Fault::LoseResponse,
            Fault::Respond(busy),
        ];
        let at = |number| faults.clone().map(|fault| Self::AtRequest(number, fault));
        let at = (1..=requests).flat_map(at);
        [Self::BeforeFirstPoll, Self::BeforeItsTurn]
            .into_iter()
            .chain(at)
            .collect()
    }

    /// Nothing of this operation can have been applied. Operations that are not atomic have several requests in flight.
    fn is_before_all(&self, operation: &Operation) -> bool {
        match self {
            Self::BeforeFirstPoll | Self::BeforeItsTurn => true,
            Self::AtRequest(_, Fault::HangResponse | Fault::LoseResponse) => false,
            Self::AtRequest(number, _) => *number == 1 && operation.is_whole == Whole::Yes,
        }
    }
}

/// Starts the operation, and drops it at the point.
async fn drop_at(point: &Point, operation: &Operation, client: &Client, faults: &Faults) {
    let mut running = (operation.start)(client.clone());
    match point {
        Point::BeforeFirstPoll => drop(running),
        Point::BeforeItsTurn => {
            let hang = faults.add(FaultRule::new(Fault::HangRequest));
            let others: Vec<_> = [&client.service, &client.service, &client.delegator, &client.delegator]
                .map(|service| tokio::spawn(service.dynamic_table("Things").unwrap().get(("a", "x"))))
                .into_iter()
                .collect();
            sleep(SOON).await;
            hang.disable();
            let requests = faults.requests();
            assert!(timeout(SOON, &mut running).await.is_err());
            assert_eq!(faults.requests(), requests);
            drop(running);
            others.iter().for_each(|other| other.abort());
        }
        Point::AtRequest(number, fault) => {
            let rule = faults.add(FaultRule::new(fault.clone()).nth(*number));
            assert!(timeout(SOON, &mut running).await.is_err(), "it ended");
            assert_eq!(rule.hits(), 1);
            drop(running);
            rule.disable();
        }
    }
}

/// Two concurrent calls: a permit that is not returned would make them sequential.
async fn assert_places_are_free(client: &Client, faults: &Faults, said: &str) {
    let time = Duration::from_secs(1);
    let slow = faults.add(FaultRule::new(Fault::DelayResponse(time)));
    for service in [&client.service, &client.delegator] {
        let table = service.dynamic_table("Things").unwrap();
        let both = async { tokio::join!(table.get(("a", "x")), table.get(("a", "y"))) };
        let both = timeout(time + SOON, both).await;
        assert!(matches!(both, Ok((Ok(None), Ok(None)))), "{said}: a place is taken");
    }
    slow.disable();
}

#[tokio::test(start_paused = true)]
async fn dropped_operation_sends_nothing_more_and_is_applied_at_most_once() {
    let mut drops = 0;
    for operation in OPERATIONS {
        let emulator = account().await;
        let faults = Faults::new(emulator.clone());
        let before = state(&emulator).await;
        let outcome = (operation.start)(Client::over(faults.clone())).await;
        assert_eq!(outcome, Ok(()), "{}", operation.name);
        let (after, requests) = (state(&emulator).await, faults.requests());
        assert!(requests > 0, "{}", operation.name);

        for point in Point::all(requests) {
            let said = format!("{} dropped at {point:?}", operation.name);
            let emulator = account().await;
            let faults = Faults::new(emulator.clone());
            let client = Client::over(faults.clone());
            drop_at(&point, operation, &client, &faults).await;
            let requests = faults.requests();
            sleep(LATE).await;
            assert_eq!(faults.requests(), requests, "{said}: it goes on");
            let left = state(&emulator).await;
            assert_places_are_free(&client, &faults, &said).await;

            if point.is_before_all(operation) {
                assert_eq!(left, before, "{said}");
            }
            if operation.is_whole == Whole::Yes {
                assert!(left == before || left == after, "{said}: {left:#?}");
            }
            for name in before.keys().chain(after.keys()).chain(left.keys()) {
                // A table that is recreated is missing in between.
                let is_between = operation.name == "recreate_table" && !left.contains_key(name);
                let now = left.get(name);
                assert!(
                    now == before.get(name) || now == after.get(name) || is_between,
                    "{said}: {name} is {now:?}"
                );
            }
            drops += 1;
        }
    }
    println!("{} operations, dropped at {drops} points", OPERATIONS.len());
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
    let recreate = table
        .recreate_table(Duration::from_secs(120))
        .on_progress(move |progress| {
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
#[tokio::test(start_paused = true)]
async fn dropped_send_of_a_writer_takes_nothing() {
    let emulator = Emulator::new();
    let faults = Faults::new(emulator.clone());
    let table = TableServiceClient::from_transport(faults.clone())
        .dynamic_table("Things")
        .unwrap();
    table.create_table().await.unwrap();
    let slow = faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_secs(5))).on_writes());
    let mut writer = table.bulk().batch_size(1).writer().max_pending(1);
    writer.insert(&DynamicEntity::new("p", "1")).await.unwrap();
    let second = DynamicEntity::new("p", "2");
    assert!(timeout(SOON, writer.insert(&second)).await.is_err());
    slow.disable();
    writer.insert(&DynamicEntity::new("p", "3")).await.unwrap();
    // Dropping a flush or a drive loses nothing.
    let flush = timeout(Duration::ZERO, writer.flush()).await;
    assert!(flush.is_err() || flush.unwrap().is_ok());
    assert!(timeout(SOON, writer.run_pending()).await.is_err());
    assert_eq!(writer.close().await.unwrap().applied(), 2);
    let rows = table.query().keys().all().await.unwrap();
    assert_eq!(rows.iter().map(|key| key.row_key()).collect::<Vec<_>>(), ["1", "3"]);
}

/// The owner of the write still knows what was in flight, and nothing else sends it.
#[tokio::test(start_paused = true)]
async fn finished_outcomes_report_what_was_sent() {
    for fault in [Fault::HangRequest, Fault::HangResponse] {
        let emulator = Emulator::new();
        let faults = Faults::new(emulator.clone());
        let service = TableServiceClient::from_transport(faults.clone()).max_in_flight(2);
        let table = service.dynamic_table("Things").unwrap();
        table.create_table().await.unwrap();
        faults.add(FaultRule::new(fault.clone()).on_writes().nth(2));
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
        let stored = table.query().count().await.unwrap();
        assert_eq!(stored, if matches!(fault, Fault::HangResponse) { 4 } else { 2 });
    }
}
