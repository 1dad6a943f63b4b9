//! Purges: their batches, rows that others delete, and instances that take the ID again.

use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, Spy};
use azure_table::{DynamicEntity, Emulator, Error, Result, TableServiceClient};
use azure_table_tests::promises::Place;
use futures::future::{join, join3};
use tokio::time::Instant;

use super::{ID, histories, histories_behind, is_first, payloads, steps, stored};
use crate::kit::{Claim, check, claim};
use crate::systems::durable_execution::{Histories, Status};

pub(crate) const CLAIMS: [Claim; 3] = [
    claim!("a purge skips rows that another one deleted", twice).explored(10, "24 / 4,156"),
    claim!("a purge and a checkpoint exclude each other", against_a_checkpoint).explored(7, "9 / 599"),
    claim!("a purge leaves a later instance's events", against_a_start)
        .callers(3)
        .explored(12, "452 / 1,989+")
        .bound(2_000),
];
check!(CLAIMS);

async fn purge(place: &Place, name: &str) -> Result<Option<u64>> {
    match histories(place, name).open(ID).await? {
        Some((history, _)) => history.purge().await,
        None => Ok(None),
    }
}

/// Returns the rows of the instance, also those that are not part of its history.
async fn rows(place: &Place) -> usize {
    let table = place.table_behind::<DynamicEntity>();
    table.query().partition(ID).count().await.unwrap() as usize
}

/// Starts the instance, with events.
async fn started(place: &Place, events: usize) {
    let history = histories_behind(place).start(ID).await.unwrap().unwrap();
    let old = history.checkpoint(Status::Running, &steps("old", events)).await;
    assert!(is_first(old).unwrap());
}

/// Two workers that complete a purge, whose worker has crashed.
async fn twice(place: Place) {
    started(&place, 3).await;
    let mut mark = DynamicEntity::new(ID, "$instance");
    mark.insert("Status", "Purging");
    let table = place.table_behind::<DynamicEntity>();
    table.merge(&mark).unconditionally().await.unwrap();
    let (a, b) = join(purge(&place, "a"), purge(&place, "b")).await;
    let deleted: u64 = [&a, &b].into_iter().flatten().flatten().sum();
    assert!(deleted <= 3, "{deleted} rows were deleted");
    let is_purged = [&a, &b].iter().any(|result| matches!(result, Ok(Some(_))));
    assert!(!is_purged || rows(&place).await == 0, "a complete purge leaves rows");
    // Another one completes it.
    while let Some((history, _)) = histories_behind(&place).open(ID).await.unwrap() {
        history.purge().await.unwrap();
    }
    assert_eq!(rows(&place).await, 0);
}

async fn against_a_checkpoint(place: Place) {
    started(&place, 1).await;
    let write = async {
        match histories(&place, "b").open(ID).await? {
            Some((history, _)) => is_first(history.checkpoint(Status::Completed, &steps("new", 1)).await),
            None => Ok(false),
        }
    };
    // The number of events that the purge has seen, and its result.
    let purge = async {
        let (history, events) = histories(&place, "a").open(ID).await?.unwrap();
        Ok::<_, Error>((events.len(), history.purge().await))
    };
    let (purged, written) = join(purge, write).await;
    let (seen, purged) = match purged {
        Ok((seen, purged)) => (seen, purged),
        Err(_) => return,
    };
    match stored(&place).await {
        None => {
            assert!(!matches!(written, Ok(true)) || seen == 2, "the checkpoint is lost");
            assert_eq!(rows(&place).await, 0, "events without a header");
        }
        Some((instance, _)) if instance.status == Status::Purging => {
            assert!(purged.is_err(), "a complete purge leaves rows");
        }
        Some((_, events)) => {
            assert!(!matches!(purged, Ok(Some(_))), "a complete purge leaves rows");
            assert_eq!(payloads(&events).contains(&"new"), events.len() == 2);
        }
    }
}

/// Two purges of the old instance, and a new one with its ID.
async fn against_a_start(place: Place) {
    started(&place, 1).await;
    let start = async {
        let Some(history) = histories(&place, "c").start(ID).await? else {
            return Ok(false);
        };
        is_first(history.checkpoint(Status::Running, &steps("new", 1)).await)
    };
    let purge_old = async |name| match histories(&place, name).open(ID).await? {
        Some((history, _)) if history.instance().status != Status::Pending => history.purge().await,
        _ => Ok(None),
    };
    let execution = stored(&place).await.unwrap().0.execution;
    let (_, _, written) = join3(purge_old("a"), purge_old("b"), start).await;
    let current = stored(&place)
        .await
        .filter(|(instance, _)| instance.execution != execution);
    if let Some((instance, events)) = current.filter(|(instance, _)| instance.status != Status::Purging) {
        assert_eq!(instance.events, events.len() as i64, "its events were deleted");
        assert!(!matches!(written, Ok(true)) || payloads(&events) == ["new"]);
    }
}

/// Returns the histories of a new table, and one that counts requests.
async fn counted(events: usize) -> (Spy, Histories) {
    let spy = Spy::new(Emulator::new());
    let table = TableServiceClient::from_transport(spy.clone())
        .dynamic_table("Rows")
        .unwrap();
    table.create_table().await.unwrap();
    let histories = Histories::new(&table);
    let history = histories.start(ID).await.unwrap().unwrap();
    let completed = history.checkpoint(Status::Completed, &steps("a", events)).await;
    assert!(is_first(completed).unwrap());
    spy.clear();
    (spy, histories)
}

#[tokio::test]
async fn purge_deletes_100_rows_per_request() {
    for (events, deletes) in [(0, 0), (1, 1), (50, 1), (100, 1), (101, 2), (250, 3), (1_001, 11)] {
        let (spy, histories) = counted(events).await;
        let (history, _) = histories.open(ID).await.unwrap().unwrap();
        spy.clear();
        assert_eq!(history.purge().await.unwrap(), Some(events as u64));
        // The mark, the pages of keys, the deletes, the header.
        assert_eq!(
            spy.exchanges().len(),
            1 + (events / 1_000 + 1) + deletes + 1,
            "{events} events"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn purge_sends_batches_in_parallel() {
    let faults = Faults::new(Emulator::new());
    let table = TableServiceClient::from_transport(faults.clone())
        .dynamic_table("Rows")
        .unwrap();
    table.create_table().await.unwrap();
    let history = Histories::new(&table).start(ID).await.unwrap().unwrap();
    let completed = history.checkpoint(Status::Completed, &steps("a", 500)).await;
    let history = completed.unwrap().unwrap();
    let second = Duration::from_secs(1);
    faults.add(FaultRule::new(Fault::DelayResponse(second)).on(OperationKind::Batch));
    let started = Instant::now();
    assert_eq!(history.purge().await.unwrap(), Some(500));
    // One second for the mark, one for the five batches of deletes.
    assert!(started.elapsed() < second * 3, "{:?}", started.elapsed());
}

#[tokio::test]
async fn calls_have_the_documented_cost() {
    let (spy, histories) = counted(0).await;
    let mut costs = Vec::new();
    let mut count = |call: &str| {
        costs.push((call.to_owned(), spy.exchanges().len()));
        spy.clear();
    };
    let history = histories.start("other").await.unwrap().unwrap();
    count("start");
    let history = history.checkpoint(Status::Running, &steps("a", 99)).await.unwrap();
    count("checkpoint of 99");
    let history = history
        .unwrap()
        .checkpoint(Status::Running, &steps("a", 100))
        .await
        .unwrap();
    count("checkpoint of 100");
    histories.open("other").await.unwrap().unwrap();
    count("open");
    history.unwrap().restart(&steps("a", 1)).await.unwrap().unwrap();
    count("restart");
    let expected = [
        ("start", 1),
        ("checkpoint of 99", 1),
        ("checkpoint of 100", 2),
        ("open", 1),
        ("restart", 1),
    ];
    assert_eq!(costs, expected.map(|(call, requests)| (call.to_owned(), requests)));
}
