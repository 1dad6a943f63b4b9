//! Bulk writes: the outcome of each operation, the order, and the leftovers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use azure_table::bulk::{Leftover, LeftoverReason};
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{
    BulkOutcome, BulkReport, CallOptions, DynamicEntity, ETag, EdmValue, Emulator, Error, ErrorKind, ExponentialRetry,
    NoRetry, TableClient, TableOperation, TableServiceClient, Versioned,
};
use azure_table_tests::entities::Numbered;
use azure_table_tests::errors::{assert_contains, kind_in_doubt};
use futures::{StreamExt, stream};
use proptest::prelude::*;
use tokio::time::Instant;

use crate::api::{create, create_with_faults};

fn row(group: &str, number: u32) -> Numbered {
    Numbered::new(group, number, 1)
}

fn rows(group: &str, numbers: std::ops::Range<u32>) -> Vec<Numbered> {
    numbers.map(|number| row(group, number)).collect()
}

/// The rows from 0 on, in turn in these partitions.
fn rows_in_turn(partitions: &[&str], count: u32) -> Vec<Numbered> {
    let groups = partitions.iter().cycle();
    (0..count)
        .zip(groups)
        .map(|(number, group)| row(group, number))
        .collect()
}

async fn is_pending_after(milliseconds: u64, work: impl Future) -> bool {
    tokio::time::timeout(Duration::from_millis(milliseconds), work)
        .await
        .is_err()
}

async fn count(table: &TableClient<Numbered>) -> usize {
    table.query().count().await.unwrap()
}

/// Returns the operations of all leftovers.
fn again(report: BulkReport) -> impl Iterator<Item = TableOperation> {
    let left = report.into_leftovers().into_iter();
    left.filter_map(Leftover::into_operation)
}

/// Creates a table: a client with faults, and one without them.
async fn readings() -> (Faults, TableClient<Numbered>, TableClient<Numbered>) {
    create_with_faults(Emulator::new(), "Readings").await
}

fn denied() -> FaultRule {
    FaultRule::new(ResponseTemplate::new(403).code("AuthorizationFailure"))
}

fn slow(milliseconds: u64) -> FaultRule {
    FaultRule::new(Fault::DelayResponse(Duration::from_millis(milliseconds)))
}

fn counts(report: &BulkReport) -> [u64; 4] {
    [
        report.applied(),
        report.rejected(),
        report.in_doubt(),
        report.not_attempted(),
    ]
}

/// A process that dies between two outcomes must record the rejections that its successor skips.
#[tokio::test]
async fn settled_operations_are_saved_after_their_outcomes_were_processed() {
    let (_, table, truth) = readings().await;
    truth.insert(&row("s", 3)).await.unwrap();
    let saved = AtomicU64::new(0);
    let write = table.bulk().batch_size(4).max_failures(10).insert(rows("s", 0..10));
    let mut outcomes = write
        .on_progress(|report| saved.store(report.settled(), Ordering::Relaxed))
        .outcomes();
    let mut processed = 0;
    while let Some(outcome) = outcomes.next().await {
        assert!(saved.load(Ordering::Relaxed) <= processed, "{outcome:?}");
        processed += 1;
    }
    assert_eq!((saved.load(Ordering::Relaxed), processed), (10, 10));
}

#[tokio::test]
async fn entities_of_several_partitions_are_sent_in_full_batches() {
    let (faults, table, truth) = readings().await;
    let many = rows_in_turn(&["a", "b", "c", "d"], 1_000);
    let report = table.bulk().insert(&many).await.unwrap();
    assert_eq!((counts(&report), report.settled()), ([1_000, 0, 0, 0], 1_000));
    assert_eq!(report.to_string(), "1000 applied");
    // 250 of each of four partitions: two full batches and one of 50.
    assert_eq!(faults.requests(), 4 * 3);
    let log = faults.log();
    assert!(log.iter().all(|sent| sent.kind() == Some(OperationKind::Batch)));
    assert_eq!(count(&truth).await, 1_000);

    // Accepts references, values, versions and keys.
    let read: Vec<Versioned<Numbered>> = truth.query().partition("a").versioned().all().await.unwrap();
    assert_eq!(table.bulk().replace(&read).await.unwrap().applied(), 250);
    let report = table.bulk().merge(read).await.unwrap();
    assert_eq!(counts(&report), [0, 250, 0, 0], "they have other versions by now");
    assert_rejected(&report.leftovers()[0], ErrorKind::ConditionNotMet);
    let keys = many.iter().map(|one| (&*one.group, one.number));
    assert_eq!(table.bulk().delete(keys).await.unwrap().applied(), 1_000);
}

#[track_caller]
fn assert_rejected(left: &Leftover<TableOperation>, kind: ErrorKind) {
    assert!(
        matches!(left.reason(), LeftoverReason::Rejected(e) if e.kind() == kind),
        "{left}"
    );
}

#[tokio::test]
async fn batch_size_and_bytes_can_be_lowered() {
    let (faults, table, _) = readings().await;
    let many = |n| rows("a", 0..n);
    let report = table.bulk().batch_size(20).insert(many(100)).await.unwrap();
    assert_eq!((report.applied(), faults.requests()), (100, 5));
    let report = table.bulk().batch_bytes(10_000).insert_or_merge(many(100));
    assert_eq!(report.await.unwrap().applied(), 100);
    let requests = faults.requests() - 5;
    assert!((3..6).contains(&requests), "{requests} of 10,000 bytes");
    // An operation that exceeds every batch is sent alone.
    let report = table.bulk().batch_bytes(1).insert_or_replace(many(3)).await.unwrap();
    assert_eq!((report.applied(), faults.requests() - 5 - requests), (3, 3));
}

#[tokio::test]
async fn failing_row_does_not_fail_the_others() {
    let (faults, table, truth) = readings().await;
    truth.insert(&row("a", 50)).await.unwrap();
    let many = rows("a", 0..100);
    let report = table.bulk().insert(&many).await.unwrap();
    assert_eq!((counts(&report), faults.requests()), ([99, 1, 0, 0], 2));
    let left = &report.leftovers()[0];
    assert_eq!(left.index(), 50);
    assert_eq!(left.operation().unwrap().keys(), Some(("a", "0000000050")));
    assert_rejected(left, ErrorKind::AlreadyExists);
    // The error does not name an index in a batch, because the caller did not build one.
    let text = left.to_string();
    assert!(text.starts_with("insert (\"a\", \"0000000050\"): "), "{text}");
    assert!(!text.contains("of the batch"), "{text}");

    // The error also mentions the leftovers.
    let hear = |so_far: &BulkReport| assert_eq!(so_far.leftovers().len() as u64, so_far.rejected());
    let report = table.bulk().insert(&many[50..51]).on_progress(hear).await.unwrap();
    assert_eq!((counts(&report), faults.requests()), ([0, 1, 0, 0], 3));

    // With another limit the bulk continues, and its leftovers can be sent again.
    let others = [rows("b", 0..50), many[..10].to_vec()].concat();
    let report = table.bulk().fail_whole_batches().insert(&others).await.unwrap();
    assert_eq!(counts(&report), [50, 10, 0, 0]);
    let report = table.bulk().write(again(report)).await.unwrap();
    assert_eq!(counts(&report), [0, 10, 0, 0]);
}

#[tokio::test]
async fn operations_that_cannot_be_sent_are_rejected_leftovers() {
    let (_, table, _) = readings().await;
    let many = [row("a", 1), row("a/", 2), row("a", 3)];
    let report = table.bulk().insert(many).await.unwrap();
    assert_eq!((counts(&report), report.settled()), ([2, 1, 0, 0], 3));
    let left = &report.leftovers()[0];
    assert_eq!((left.index(), left.operation().is_none()), (1, true));
    assert!(left.to_string().contains("'/'"), "{left}");
    let read = TableOperation::get::<Numbered>(("a", 1));
    let report = table.bulk().write([read]).await.unwrap();
    assert_eq!(counts(&report), [0, 1, 0, 0]);
    assert!(report.leftovers()[0].to_string().contains("`get_many`"));
}

#[tokio::test]
async fn row_beyond_a_limit_is_rejected_if_it_is_sent_alone() {
    let service = TableServiceClient::from_transport(Emulator::new());
    let table = service.dynamic_table("Rows").unwrap();
    table.create_table().await.unwrap();
    let row = |partition: &str, text: usize| {
        let mut row = DynamicEntity::new(partition, "1");
        row.insert("Text", "x".repeat(text));
        row
    };
    let rows = [row("a", 40_000), row("a", 1), row("b", 1)];
    let report = table.bulk().insert_or_replace(rows).await.unwrap();
    assert_eq!(counts(&report), [2, 1, 0, 0]);
    let error = report.leftovers()[0].error().unwrap();
    assert_contains(error, "`Text`: the text has 40000 UTF-16 units");
}

#[tokio::test]
async fn leftovers_can_be_stored_elsewhere() {
    let (_, table, truth) = readings().await;
    truth.insert(&row("a", 1)).await.unwrap();
    let rows = [Numbered::new("a", 1, 2), row("a", 2), row("/", 3)];
    let report = table.bulk().insert(rows).await.unwrap();
    let [exists, no_key] = report.leftovers() else {
        panic!("{report:?}");
    };
    assert_eq!((exists.index(), no_key.index()), (0, 2));
    let (reason, shown) = (exists.reason().to_string(), exists.to_string());
    assert_contains(&reason, "409 EntityAlreadyExists");
    assert!(shown.ends_with(&reason), "{shown}");
    assert!(shown.starts_with("insert (\"a\", \"0000000001\"): "), "{shown}");
    let shown = no_key.to_string();
    assert!(shown.starts_with("operation 2 of the source: "), "{shown}");
    assert!(no_key.operation().is_none());

    let entity = exists.operation().unwrap().entity().unwrap();
    assert_eq!(entity.to_entity::<Numbered>().unwrap(), Numbered::new("a", 1, 2));
    let line = serde_json::to_string(&entity).unwrap();
    assert_eq!(serde_json::from_str::<DynamicEntity>(&line).unwrap(), entity);
}

#[tokio::test]
async fn reason_of_leftovers_without_outcome_is_shown() {
    let (faults, table, _) = readings().await;
    faults.add(FaultRule::new(Fault::LoseResponse).first(1));
    let many = rows_in_turn(&["a", "b", "c", "d", "e", "f", "g"], 2_000);
    let write = table.bulk().concurrency(1).insert(many);
    let report = write.await.unwrap_err().into_parts().1;
    let left = report.leftovers();
    let shown = left[0].reason().to_string();
    assert!(shown.starts_with("in doubt: "), "{shown}");
    assert_eq!(left.last().unwrap().reason().to_string(), "not attempted");
}

#[test]
fn operation_returns_its_entity() {
    let mut row = DynamicEntity::new("p", "r");
    row.insert("Text", "it's \u{1f980}");
    row.insert("Count", i64::MIN);
    row.insert("Ratio", 5.0);
    let etag = || ETag::new("W/\"1\"");
    let mut with_etag = row.clone();
    with_etag.etag = Some(etag());
    for (operation, expected) in [
        (TableOperation::insert(&row), &row),
        (TableOperation::insert_or_merge(&with_etag), &row),
        (TableOperation::replace(&with_etag), &with_etag),
        (TableOperation::replace(&with_etag).unconditionally(), &row),
        (TableOperation::merge(&row).if_match(etag()), &with_etag),
    ] {
        assert_eq!(operation.entity().as_ref(), Some(expected), "{operation}");
    }
    let patch = TableOperation::patch::<Numbered>(("a", 1), [Numbered::COUNT.set(7)]);
    let patch = patch.entity().unwrap();
    assert_eq!(patch.get("count"), Some(&EdmValue::Int32(7)));
    assert_eq!(patch.properties.len(), 1);
    for without in [
        TableOperation::delete::<Numbered>(("a", 1)),
        TableOperation::get::<Numbered>(("a", 1)),
        TableOperation::insert(&DynamicEntity::new("/", "r")),
    ] {
        assert!(without.entity().is_none(), "{without}");
    }
}

/// The type of the entity needs no name.
#[tokio::test]
async fn versioned_entity_is_its_own_key_in_an_operation() {
    let (_, table, _) = readings().await;
    table.insert(&row("a", 1)).await.unwrap();
    let read = table.get(("a", 1)).versioned().await.unwrap().unwrap();
    let etag = table.insert_or_replace(&Numbered::new("a", 1, 2)).await.unwrap();
    let error = table.execute(TableOperation::delete(&read)).await.unwrap_err();
    assert_eq!(error.status(), Some(412), "{error}");
    let current = Versioned { etag, ..read };
    let patch = TableOperation::patch(&current, [Numbered::COUNT.set(3)]);
    table.execute(patch).await.unwrap();
    assert!(table.execute(TableOperation::get(&current)).await.unwrap().status() == 200);
    table.execute(TableOperation::delete(&row("a", 1))).await.unwrap();
    assert!(!table.exists(&current).await.unwrap());
}

/// The caller who read the outcomes deletes the source only if nothing failed.
#[tokio::test]
async fn failures_that_the_outcomes_yielded_are_an_error_of_the_report() {
    let (_, table, _) = readings().await;
    table.insert(&row("a", 7)).await.unwrap();
    let mut outcomes = table.bulk().insert(rows("a", 0..10)).outcomes();
    while outcomes.next().await.is_some() {}
    let report = outcomes.finish().unwrap();
    assert_eq!((counts(&report), report.leftovers().len()), ([9, 1, 0, 0], 0));
    let error = report.ensure_no_leftovers().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
}

#[tokio::test(start_paused = true)]
async fn error_of_a_report_is_the_first_in_doubt() {
    let (faults, table, _) = readings().await;
    for group in ["a", "b", "c"] {
        table.insert(&Numbered::new(group, 0, 2)).await.unwrap();
    }
    // Their repetitions find the rows of other inserts.
    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Insert).nth(2));
    faults.add(FaultRule::new(Fault::LoseResponse).on(OperationKind::Insert).nth(3));
    let rows = [row("a", 0), row("b", 0), row("c", 0), row("d", 0)];
    let retrying = CallOptions::new().retry(ExponentialRetry::default());
    let bulk = table.with(&retrying).bulk().concurrency(1);
    let report = bulk.insert(rows).await.unwrap();
    assert_eq!(counts(&report), [1, 1, 2, 0]);
    let error = report.ensure_no_leftovers().unwrap_err();
    assert!(error.may_have_applied(), "{error}");
    assert_eq!(error.entity().unwrap().0, "b");
}

#[tokio::test]
async fn too_many_failures_interrupt_a_bulk() {
    let (_, table, truth) = readings().await;
    truth.insert(&row("a", 0)).await.unwrap();
    let many = rows_in_turn(&["a", "b"], 300);
    let bulk = table.bulk().max_failures(0).batch_size(10).concurrency(1);
    let interrupted = bulk.insert(&many).await.unwrap_err();
    assert_eq!(interrupted.error().kind(), ErrorKind::AlreadyExists);
    assert_contains(&interrupted, "`.max_failures(..)` allows 0");
    assert_contains(&interrupted, "EntityAlreadyExists");
    let (_, report) = interrupted.into_parts();
    let [applied, rejected, unknown, not_attempted] = counts(&report);
    assert_eq!((rejected, unknown), (1, 0));
    assert!(applied + not_attempted < 300, "no more is read than is sent");
    assert_eq!(count(&truth).await as u64, applied + 1);
    // Applied operations and leftovers are together all that was read.
    let report = table.bulk().write(again(report)).await.unwrap();
    assert_eq!(report.applied(), not_attempted);
}

#[tokio::test]
async fn more_than_a_thousand_failures_interrupt_a_bulk_by_default() {
    let (_, table, truth) = readings().await;
    let many = rows_in_turn(&["a", "b", "c"], 1_001);
    assert_eq!(truth.bulk().insert(&many).await.unwrap().applied(), 1_001);
    assert_eq!(table.bulk().insert(&many[1..]).await.unwrap().rejected(), 1_000);
    let interrupted = table.bulk().insert(&many).await.unwrap_err();
    assert_eq!(interrupted.report().rejected(), 1_001);
    let unlimited = || table.bulk().max_failures(usize::MAX).insert(&many);
    assert_eq!(unlimited().await.unwrap().leftovers().len(), 1_001);
    let mut outcomes = unlimited().outcomes();
    while outcomes.next().await.is_some() {}
    assert!(outcomes.finish().unwrap().leftovers().is_empty(), "they were yielded");
}

#[tokio::test]
async fn debug_text_of_ended_bulk_shows_some_leftovers_and_their_number() {
    let (_, table, truth) = readings().await;
    truth.insert(&row("a", 4_000)).await.unwrap();
    let many = rows("a", 0..5_000);
    let bulk = table.bulk().max_failures(0).partition_concurrency(1);
    let interrupted = bulk.insert(&many).await.unwrap_err();
    let left = interrupted.report().leftovers().len();
    assert!(left > 3, "{left}");
    let text = format!("{interrupted:?}");
    assert!(text.len() < 3_000, "{text}");
    let rejected = text.find("EntityAlreadyExists").unwrap();
    assert!(rejected < text.find("NotAttempted").unwrap(), "{text}");
    assert!(text.contains(&format!("and {} more", left - 3)), "{text}");
}

#[tokio::test]
async fn error_of_no_single_operation_interrupts_a_bulk() {
    let (faults, table, _) = readings().await;
    faults.add(denied().nth(2));
    let many = rows("a", 0..1_000);
    let mut source = many.iter();
    let error = table.bulk().insert(&mut source).await.unwrap_err();
    assert_eq!(error.error().kind(), ErrorKind::Forbidden);
    let [applied, rejected, unknown, not_attempted] = counts(error.report());
    assert_eq!((applied, rejected, unknown), (100, 0, 0));
    let unread = source.len() as u64;
    assert_eq!(unread, 900 - not_attempted, "what was not read is still in the source");
    assert_eq!((error.report().settled(), faults.requests()), (100, 2));
    // Without the report, only the doubt says that rows were written.
    let error: Error = error.into();
    assert_eq!(kind_in_doubt(&error), Some(ErrorKind::Forbidden), "{error}");
    faults.add(denied());
    let error = Error::from(table.bulk().insert(&many).await.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Forbidden, "nothing was written: {error}");
}

/// Cosmos DB reports it as a missing row, without the index of an operation.
#[tokio::test]
async fn missing_table_ends_a_bulk_after_one_request() {
    for emulator in [Emulator::new(), Emulator::cosmos()] {
        let faults = Faults::new(emulator);
        let service = TableServiceClient::from_transport(faults.clone());
        let missing = service.table::<Numbered>("Missing").unwrap();
        for number in [1, 2, 150] {
            let many = rows("a", 0..number);
            let before = faults.requests();
            let bulk = || missing.bulk().concurrency(1);
            let upserts = many.iter().map(TableOperation::insert_or_merge);
            for interrupted in [
                bulk().insert(&many).await.unwrap_err(),
                bulk().batch_bytes(1_000_000).insert(&many).await.unwrap_err(),
                bulk().write(upserts).await.unwrap_err(),
            ] {
                assert_eq!(interrupted.report().rejected(), 0, "{interrupted}");
                assert_eq!(interrupted.error().batch_index(), None, "{interrupted}");
                assert_eq!(Error::from(interrupted).kind(), ErrorKind::TableNotFound);
            }
            assert_eq!(faults.requests() - before, 3, "{number} rows");
        }
        let replaced = [1, 2].map(|at| TableOperation::replace(&row("a", at)));
        let interrupted = missing.bulk().write(replaced).await.unwrap_err();
        assert_eq!(interrupted.error().kind(), ErrorKind::TableNotFound);

        // A missing row of a table that exists concerns no other row.
        missing.create_table().await.unwrap();
        let mixed = [
            TableOperation::replace(&row("a", 1)),
            TableOperation::insert(&row("a", 2)),
            TableOperation::delete::<Numbered>(("a", 3)),
        ];
        assert_eq!(counts(&missing.bulk().write(mixed).await.unwrap()), [1, 2, 0, 0]);
    }
}

#[tokio::test]
async fn lost_response_leaves_its_batch_in_doubt() {
    let (faults, table, truth) = readings().await;
    faults.add(FaultRule::new(Fault::LoseResponse).nth(1));
    let many = rows("a", 0..10_000);
    let mut source = many.iter();
    let error = table.bulk().insert(&mut source).await.unwrap_err();
    let [applied, rejected, in_doubt, _] = counts(error.report());
    assert_eq!((rejected, in_doubt), (0, 100));
    assert!(source.len() > 5_000, "the rest was not read: {}", source.len());
    assert!(matches!(error.report().leftovers()[0].reason(), LeftoverReason::InDoubt(e) if e.may_have_applied()));
    assert_eq!(count(&truth).await as u64, applied + 100);
}

#[tokio::test]
async fn bulk_reads_a_stream_that_may_fail() {
    #[derive(Debug)]
    enum Trouble {
        Source(u32),
        Table(Error),
    }
    impl From<Error> for Trouble {
        fn from(error: Error) -> Self {
            Self::Table(error)
        }
    }
    let (_, table, truth) = readings().await;
    let operations = stream::iter(0..250).then(|at| async move {
        tokio::task::yield_now().await;
        TableOperation::insert(&row("a", at))
    });
    let report = table.bulk().write_stream(operations).await.unwrap();
    assert_eq!(report.applied(), 250);

    let failing = stream::iter((0..10).map(|at| match at {
        7 => Err(Trouble::Source(at)),
        _ => Ok(TableOperation::insert_or_replace(&row("b", at))),
    }));
    let interrupted = table.bulk().write_try_stream(failing).await.unwrap_err();
    let (trouble, report) = interrupted.into_parts();
    assert!(matches!(trouble, Trouble::Source(7)), "{trouble:?}");
    assert_eq!(counts(&report), [7, 0, 0, 0]);
    assert_eq!(truth.query().partition("b").count().await.unwrap(), 7);

    // It is not known which operation was meant.
    let bad = stream::iter([Err(Error::invalid_input("no comma"))]);
    let write = table.bulk().write_try_stream(bad).unreadable_as_leftovers();
    let report = write.await.unwrap();
    let LeftoverReason::Rejected(error) = report.leftovers()[0].reason() else {
        panic!("{report:?}")
    };
    assert_eq!(error.operation(), Some("bulk"), "{error}");

    let denied = truth.with(&CallOptions::new().header("If-Match", "*"));
    let one = stream::iter([Ok::<_, Trouble>(TableOperation::insert(&row("c", 1)))]);
    let (trouble, _) = denied.bulk().write_try_stream(one).await.unwrap_err().into_parts();
    let is_rejected = matches!(&trouble, Trouble::Table(e) if e.kind() == ErrorKind::InvalidInput);
    assert!(is_rejected, "{trouble:?}");
}

/// Reads no more than there is room for, and keeps no more batches in flight than allowed.
#[tokio::test(start_paused = true)]
async fn source_is_read_only_while_there_is_room() {
    let (faults, table, _) = readings().await;
    faults.add(slow(50));
    let (read, most_ahead) = (AtomicU64::new(0), AtomicU64::new(0));
    let many = rows_in_turn(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], 10_000);
    let source = many.iter().inspect(|_| {
        read.fetch_add(1, Ordering::Relaxed);
    });
    let started = Instant::now();
    let bulk = table.bulk().max_pending(1_500).concurrency(4).insert(source);
    let write = bulk.on_progress(|report| {
        let ahead = read.load(Ordering::Relaxed) - report.applied();
        most_ahead.fetch_max(ahead, Ordering::Relaxed);
    });
    assert_eq!(write.await.unwrap().applied(), 10_000);
    // 1,500 operations wait and 400 are in flight.
    let most_ahead = most_ahead.into_inner();
    assert!(most_ahead <= 1_900, "{most_ahead}");
    // 100 batches, four in parallel.
    let elapsed = started.elapsed();
    assert!((1_250..1_400).contains(&elapsed.as_millis()), "{elapsed:?}");
    assert_eq!(faults.requests(), 100);
}

#[tokio::test(start_paused = true)]
async fn cancelled_bulk_reports_what_it_did() {
    let (faults, table, truth) = readings().await;
    faults.add(slow(50));
    let many = rows("a", 0..1_000);
    let mut outcomes = table.bulk().partition_concurrency(1).insert(&many).outcomes();
    let mut applied = 0;
    // Each wait is cancelled, and nothing is lost.
    while applied < 250 {
        match tokio::time::timeout(Duration::from_millis(7), outcomes.next()).await {
            Ok(Some(BulkOutcome::Applied(one))) => {
                assert_eq!(one.index(), applied);
                assert!(one.etag().is_some() && one.keys().0 == "a");
                applied += 1;
            }
            Ok(other) => panic!("{other:?}"),
            Err(_) => {}
        }
    }
    let report = outcomes.finish().unwrap();
    assert_eq!(
        counts(&report),
        [300, 0, 0, 700],
        "taken or not, a batch that ended is told"
    );
    assert_eq!(count(&truth).await, 300);

    let bulk = table.bulk().partition_concurrency(1);
    let mut outcomes = bulk.insert_or_replace(&many).outcomes();
    assert!(is_pending_after(7, outcomes.next()).await);
    let report = outcomes.finish().unwrap();
    assert_eq!(counts(&report), [0, 0, 100, 900], "what was on its way is in doubt");
    assert!(report.leftovers().iter().all(|left| left.operation().is_some()));
    assert_eq!(report.settled(), 0);
}

/// The report distinguishes operations that were applied, sent, or still waiting.
#[tokio::test(start_paused = true)]
async fn cancelled_bulk_reports_what_was_not_sent() {
    let (faults, table, truth) = readings().await;
    faults.add(slow(50));
    let many = ["a", "b", "c", "d"].map(|partition| rows(partition, 0..100)).concat();
    // The service applies one of four batches; the next is sent 100 ms later.
    let mut outcomes = table.bulk().concurrency(4).max_rate(1_000).insert(&many).outcomes();
    assert!(is_pending_after(35, outcomes.next()).await);
    let report = outcomes.finish().unwrap();
    assert_eq!(counts(&report), [0, 0, 100, 300]);

    // The bytes of the partition make three batches. One was applied and one is in flight.
    let bulk = table.bulk().batch_bytes(16_000);
    let mut outcomes = bulk.insert(rows("e", 0..100)).outcomes();
    assert!(is_pending_after(70, outcomes.next()).await);
    let report = outcomes.finish().unwrap();
    let [applied, rejected, unknown, not_attempted] = counts(&report);
    assert!((30..50).contains(&applied) && (30..50).contains(&unknown), "{report}");
    assert_eq!((rejected, applied + unknown + not_attempted), (0, 100));
    assert_eq!(report.settled(), applied);
    let stored = truth.query().partition("e").count().await.unwrap() as u64;
    assert!(
        (applied..=applied + unknown).contains(&stored),
        "{stored} rows, {report}"
    );
}

/// Throttled operations are sent again, no sooner than the service asks and no faster than the rate.
#[tokio::test(start_paused = true)]
async fn throttled_operations_are_sent_again_more_slowly() {
    let (faults, table, truth) = readings().await;
    let busy = ResponseTemplate::server_busy(Duration::from_secs(2));
    faults.add(FaultRule::new(busy).every(5).at_most(4));
    faults.add(slow(10));
    let many = rows("a", 0..2_000);
    let started = Instant::now();
    let report = table.bulk().concurrency(1).insert(&many).await.unwrap();
    assert_eq!((counts(&report), report.throttled()), ([2_000, 0, 0, 0], 4));
    assert_eq!(count(&truth).await, 2_000);
    let elapsed = started.elapsed();
    assert!((8..20).contains(&elapsed.as_secs()), "four waits of 2 s: {elapsed:?}");

    let started = Instant::now();
    let report = table.bulk().max_rate(500).insert_or_replace(&many).await.unwrap();
    assert_eq!(report.applied(), 2_000);
    let elapsed = started.elapsed();
    let is_at_rate = (3_800..4_000).contains(&elapsed.as_millis());
    assert!(is_at_rate, "2,000 at 500/s: {elapsed:?}");
}

/// A bulk ends if the service accepts nothing for a minute.
#[tokio::test(start_paused = true)]
async fn bulk_ends_after_a_minute_of_throttling() {
    let (faults, table, _) = readings().await;
    faults.add(FaultRule::new(ResponseTemplate::too_many_requests()).on_writes());
    let started = Instant::now();
    let error = table.bulk().insert([row("a", 1), row("b", 1)]).await.unwrap_err();
    assert_eq!(error.error().kind(), ErrorKind::Throttled);
    assert_eq!(counts(error.report()), [0, 0, 0, 2]);
    let elapsed = started.elapsed();
    assert!((60..75).contains(&elapsed.as_secs()), "{elapsed:?}");
    assert!(faults.requests() < 50, "{}", faults.requests());
}

/// A request that the service does not answer does not show that it accepts writes again.
#[tokio::test(start_paused = true)]
async fn failure_without_a_response_does_not_prolong_throttling() {
    let (faults, table, _) = readings().await;
    faults.add(FaultRule::new(ResponseTemplate::server_busy(Duration::ZERO)).on(OperationKind::Insert));
    faults.add(FaultRule::new(Fault::HangRequest).on(OperationKind::Delete));
    let options = CallOptions::new()
        .retry(NoRetry)
        .attempt_timeout(Duration::from_secs(50));
    let writes = [
        TableOperation::insert(&row("a", 1)),
        TableOperation::delete::<Numbered>(("b", 1)),
    ];
    let started = Instant::now();
    let error = table.bulk().with(&options).write(writes).await.unwrap_err();
    assert_eq!(counts(error.report()), [0, 0, 1, 1]);
    let elapsed = started.elapsed();
    assert!((60..75).contains(&elapsed.as_secs()), "{elapsed:?}");
}

/// Batches are sent when they are full, or when their first operation has waited long enough, while the writer is
/// driven.
#[tokio::test(start_paused = true)]
async fn writer_sends_full_batches_and_after_linger() {
    let (faults, table, truth) = readings().await;
    faults.add(slow(10));
    let mut writer = table.bulk().batch_size(10).writer().linger(Duration::from_millis(100));
    for at in 0..25 {
        writer.insert(&row("a", at)).await.unwrap();
    }
    assert_eq!(faults.requests(), 2, "two are full");
    for (milliseconds, requests, applied) in [(50, 2, 20), (70, 3, 25)] {
        is_pending_after(milliseconds, writer.run_pending()).await;
        assert_eq!((faults.requests(), writer.report().applied()), (requests, applied));
    }
    // The next operation starts a new wait.
    writer.insert_or_merge(&row("a", 0)).await.unwrap();
    is_pending_after(90, writer.run_pending()).await;
    assert_eq!(faults.requests(), 3);
    writer.flush().await.unwrap();
    assert_eq!((faults.requests(), writer.report().applied()), (4, 26));
    writer.insert(&row("b", 1)).await.unwrap();
    writer.insert(&row("a", 1)).await.unwrap();
    let report = writer.close().await.unwrap();
    assert_eq!(counts(&report), [27, 1, 0, 0]);
    let left = report.leftovers()[0].operation().unwrap();
    assert_eq!(left.keys(), Some(("a", "0000000001")));
    assert_eq!(count(&truth).await, 26);
}

#[tokio::test(start_paused = true)]
async fn writer_is_bounded_and_returns_a_report() {
    let (faults, table, _) = readings().await;
    let slow = faults.add(slow(1_000));
    let mut writer = table.bulk().batch_size(10).concurrency(1).writer().max_pending(20);
    let started = Instant::now();
    for at in 0..20 {
        writer.insert(&row("a", at)).await.unwrap();
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
    writer.insert(&row("a", 20)).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1), "it waits for room");
    slow.disable();
    writer.flush().await.unwrap();
    faults.add(Fault::NoConnection);
    let mut taken = 21;
    let error = loop {
        match writer.insert(&row("a", taken)).await {
            Ok(()) => taken += 1,
            Err(e) => break e,
        }
        is_pending_after(300, writer.run_pending()).await;
    };
    assert_eq!(error.kind(), ErrorKind::Connection);
    let interrupted = writer.close().await.unwrap_err();
    let left = u64::from(taken) - 21;
    assert_eq!(counts(interrupted.report()), [21, 0, 0, left]);
}

/// The bulk stops reading a source of operations that cannot be sent.
#[tokio::test]
async fn operations_that_cannot_be_sent_count_as_failures_before_more_is_read() {
    let (_, table, _) = readings().await;
    let mut read = 0;
    let endless = (0..).map(|at| {
        read += 1;
        row("a/", at)
    });
    let interrupted = table.bulk().max_failures(3).insert(endless).await.unwrap_err();
    assert_eq!(interrupted.report().rejected(), 4);
    assert!(read < 10, "{read}");
}

/// Until they are sent again, such deletes are in doubt, no matter how the bulk ends.
#[tokio::test(start_paused = true)]
async fn deletes_with_a_lost_response_stay_in_doubt_if_the_bulk_ends() {
    for is_given_up in [true, false] {
        let (faults, table, truth) = readings().await;
        let many = rows("a", 0..20);
        assert_eq!(truth.bulk().insert(&many).await.unwrap().applied(), 20);
        faults.add(FaultRule::new(Fault::LoseResponse).first(1));
        // The batch, its retry, and the single rows.
        let rule = if is_given_up { slow(10_000) } else { denied() };
        faults.add(rule.on(OperationKind::Delete));
        let patient = CallOptions::new().retry(ExponentialRetry::default());
        let mut outcomes = table.bulk().with(&patient).delete(&many).outcomes();
        assert_eq!(is_pending_after(5_000, outcomes.next()).await, is_given_up);
        let report = match outcomes.finish() {
            Ok(report) => report,
            Err(interrupted) => interrupted.into_parts().1,
        };
        assert_eq!((report.in_doubt(), report.not_attempted()), (20, 0), "{report}");
        assert_eq!(count(&truth).await, 0);
    }
}

/// Deletes whose response was lost are sent again one by one; a missing row is a success for them.
#[tokio::test(start_paused = true)]
async fn deletes_with_a_lost_response_are_sent_again_and_applied() {
    let (faults, table, truth) = readings().await;
    let many = rows("a", 0..100);
    assert_eq!(table.bulk().insert(&many).await.unwrap().applied(), 100);
    let before = faults.requests();
    faults.add(FaultRule::new(Fault::LoseResponse).first(1));
    let patient = CallOptions::new().retry(ExponentialRetry::default());
    let report = table.bulk().with(&patient).delete(&many).await.unwrap();
    assert_eq!(counts(&report), [100, 0, 0, 0]);
    assert!(faults.requests() - before < 110, "{}", faults.requests() - before);
    assert_eq!(count(&truth).await, 0);
    // A row that was missing before is reported as missing.
    let report = table.bulk().delete(&many).await.unwrap();
    assert_eq!(counts(&report), [0, 100, 0, 0]);
}

/// A wait that is too long fails at once, with its length.
#[tokio::test(start_paused = true)]
async fn too_long_retry_after_interrupts_a_bulk() {
    let (faults, table, _) = readings().await;
    for seconds in [91, u64::MAX] {
        let busy = ResponseTemplate::new(503).code("ServerBusy");
        let rule = faults.add(busy.header("Retry-After", seconds.to_string()));
        let started = Instant::now();
        let error = table.bulk().insert([row("a", 1)]).await.unwrap_err();
        assert_eq!(error.error().kind(), ErrorKind::Throttled);
        assert!(started.elapsed() < Duration::from_secs(1));
        rule.disable();
    }
}

/// Batches that are not full are sent together when the source is pending.
#[tokio::test(start_paused = true)]
async fn short_batches_are_sent_while_the_source_is_pending() {
    let (faults, table, _) = readings().await;
    faults.add(slow(100));
    let first = stream::iter((0..30).map(|n| TableOperation::insert(&row(&format!("p{n}"), 1))));
    let later = stream::once(async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        TableOperation::insert(&row("later", 1))
    });
    let started = Instant::now();
    let report = table.bulk().write_stream(first.chain(later)).await.unwrap();
    assert_eq!(report.applied(), 31);
    let elapsed = started.elapsed();
    assert!(elapsed < Duration::from_millis(1_200), "{elapsed:?}");
}

/// A first throttling response is not final just because nothing was sent for long.
#[tokio::test(start_paused = true)]
async fn minute_of_throttling_starts_at_the_first_rejection() {
    let (faults, table, _) = readings().await;
    let mut writer = table.writer();
    tokio::time::sleep(Duration::from_secs(600)).await;
    faults.add(FaultRule::new(ResponseTemplate::server_busy(Duration::ZERO)).first(2));
    writer.insert(&row("a", 1)).await.unwrap();
    let report = writer.close().await.unwrap();
    assert_eq!((counts(&report), report.throttled()), ([1, 0, 0, 0], 2));
}

#[derive(Clone, Debug)]
struct Step {
    kind: OperationKind,
    partition: u8,
    row: u8,
    property: &'static str,
    value: i32,
}

impl Step {
    fn operation(&self) -> TableOperation {
        let mut row = DynamicEntity::new(format!("p{}", self.partition), format!("r{}", self.row));
        row.insert(self.property, self.value);
        match self.kind {
            OperationKind::Insert => TableOperation::insert(&row),
            OperationKind::Replace => TableOperation::replace(&row).unconditionally(),
            OperationKind::Merge => TableOperation::merge(&row).unconditionally(),
            OperationKind::Delete => TableOperation::delete(&row),
            OperationKind::InsertOrReplace => TableOperation::insert_or_replace(&row),
            _ => TableOperation::insert_or_merge(&row),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kind = proptest::sample::select(vec![
        OperationKind::Insert,
        OperationKind::Replace,
        OperationKind::Merge,
        OperationKind::Delete,
        OperationKind::InsertOrReplace,
        OperationKind::InsertOrMerge,
    ]);
    let property = proptest::sample::select(vec!["A", "B"]);
    let step = (kind, 0..3_u8, 0..4_u8, property, any::<i32>());
    let step = step.prop_map(|(kind, partition, row, property, value)| Step {
        kind,
        partition,
        row,
        property,
        value,
    });
    proptest::collection::vec(step, 0..60)
}

/// The stored rows, without the properties that the service adds.
async fn stored(table: &TableClient) -> Vec<(String, String, Option<EdmValue>, Option<EdmValue>)> {
    let rows = table.query().all().await.unwrap();
    rows.into_iter()
        .map(|mut row| {
            let (a, b) = (row.remove("A"), row.remove("B"));
            (row.partition_key, row.row_key, a, b)
        })
        .collect()
}

proptest! {
    /// Any sequence of writes has the same result in a bulk as one by one: the same rows, the same failed operations.
    #[test]
    #[ignore = "takes long: see tests/README.md"]
    fn bulk_has_the_result_of_its_operations_one_by_one(
        steps in steps(),
        batch_size in 1..12_usize,
        concurrency in 1..4_usize,
        partition_concurrency in 1..4_usize,
        pending in 1..40_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let one = create::<DynamicEntity>(Emulator::new(), "Things").await;
            let all = create::<DynamicEntity>(Emulator::new(), "Things").await;
            let mut failed = Vec::new();
            for (index, step) in steps.iter().enumerate() {
                if one.execute(step.operation()).await.is_err() {
                    failed.push(index as u64);
                }
            }
            let bulk = all.bulk().batch_size(batch_size).concurrency(concurrency).max_pending(pending);
            let report = bulk
                .partition_concurrency(partition_concurrency)
                .write(steps.iter().map(Step::operation))
                .await
                .unwrap();
            prop_assert_eq!(stored(&one).await, stored(&all).await);
            let mut left: Vec<u64> = report.leftovers().iter().map(|left| left.index()).collect();
            left.sort_unstable();
            prop_assert_eq!(&left, &failed);
            prop_assert_eq!(report.applied() as usize, steps.len() - failed.len());
            prop_assert_eq!(report.settled() as usize, steps.len());
            Ok(())
        })?;
    }
}
