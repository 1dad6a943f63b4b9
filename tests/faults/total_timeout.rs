//! The timeout of a whole stream or bulk, with pages and batches that each meet their own timeout.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::bulk::LeftoverReason;
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{
    BulkReport, CallOptions, Continuation, DynamicEntity, Emulator, Error, ErrorKind, TableClient, TableOperation,
    TableServiceClient,
};
use azure_table_tests::entities::Numbered;
use azure_table_tests::errors::kind_in_doubt;
use futures::StreamExt;
use tokio::time::Instant;

use super::{busy, faulty};

const TOTAL: Duration = Duration::from_secs(10);

fn thing(shelf: &str, id: u32) -> Numbered {
    Numbered::new(shelf, id, 1)
}

/// A table with pages of two rows, ten rows in each of the partitions `a` and `b`: behind faults and without.
async fn fixture() -> (Faults, TableClient<Numbered>, TableClient<Numbered>) {
    let (faults, table, truth) = faulty(Emulator::new().page_size(2)).await;
    for shelf in ["a", "b"] {
        for id in 0..10 {
            truth.insert(&thing(shelf, id)).await.unwrap();
        }
    }
    (faults, table, truth)
}

/// The numbers of applied rows, and of those in doubt, rejected and not attempted.
fn counts(report: &BulkReport) -> [u64; 4] {
    [
        report.applied(),
        report.in_doubt(),
        report.rejected(),
        report.not_attempted(),
    ]
}

fn slow(time: u64) -> Fault {
    Fault::DelayResponse(Duration::from_secs(time))
}

#[track_caller]
fn assert_over(error: &Error, started: Instant) {
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.to_string().contains("`total_timeout` of 10s"), "{error}");
    assert_eq!(started.elapsed().as_millis(), TOTAL.as_millis());
}

/// Five pages of 3 s each are within a `timeout` of 4 s.
#[tokio::test(start_paused = true)]
async fn stream_ends_at_its_total_timeout() {
    let (faults, table, _) = fixture().await;
    faults.add(FaultRule::new(slow(3)).on_reads());
    let query = || table.query().partition("a").timeout(Duration::from_secs(4));
    assert_eq!(query().all().await.unwrap().len(), 10);
    for prefetch in [0, 1] {
        let query = || query().prefetch(prefetch).total_timeout(TOTAL);
        let started = Instant::now();
        assert_over(&query().all().await.unwrap_err(), started);
        let started = Instant::now();
        assert_over(&query().count().await.unwrap_err(), started);

        let started = Instant::now();
        let mut pages = query().pages();
        let mut last = Continuation::default();
        let error = loop {
            match pages.try_next().await {
                Ok(page) => last = page.unwrap().continuation().clone(),
                Err(error) => break error,
            }
        };
        assert_over(&error, started);
        assert_eq!(error.attempts(), 1, "the request in flight is part of the error");
        assert!(pages.try_next().await.unwrap().is_none());
        // Three pages of two rows arrived. The rest is read from there.
        let rest = table.query().partition("a").resume_from(last).all().await.unwrap();
        assert_eq!(rest.len(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn total_timeout_of_a_stream_starts_at_its_first_poll_and_includes_the_reader() {
    let (faults, table, _) = fixture().await;
    let mut rows = table.query().partition("a").prefetch(0).total_timeout(TOTAL).stream();
    tokio::time::sleep(TOTAL).await;
    let started = Instant::now();
    assert!(rows.try_next().await.unwrap().is_some());
    let requests = faults.requests();
    tokio::time::sleep(TOTAL).await;
    assert!(rows.try_next().await.unwrap().is_some(), "it came with the first page");
    assert_over(&rows.try_next().await.unwrap_err(), started);
    assert_eq!(faults.requests(), requests);
    assert!(rows.try_next().await.unwrap().is_none());
}

/// Neither failures nor throttling extend it.
#[tokio::test(start_paused = true)]
async fn retries_of_pages_count_toward_the_total_timeout() {
    let (faults, table, _) = fixture().await;
    faults.add(FaultRule::new(Fault::HangResponse).on(OperationKind::Query).nth(3));
    let started = Instant::now();
    let patient = CallOptions::new().attempt_timeout(Duration::from_secs(60));
    let query = table.query().partition("a").with(&patient);
    assert_over(&query.total_timeout(TOTAL).all().await.unwrap_err(), started);
}

#[azure_table::test(start_paused)]
async fn list_of_tables_ends_at_its_total_timeout(service: TableServiceClient, faults: Faults) {
    for name in ["One", "Two", "Three", "Four", "Five"] {
        service.dynamic_table(name).unwrap().create_table().await.unwrap();
    }
    faults.add(FaultRule::new(slow(3)).on_reads());
    let started = Instant::now();
    let list = service.list_tables().page_size(1).total_timeout(TOTAL);
    assert_over(&list.await.unwrap_err(), started);
}

#[tokio::test(start_paused = true)]
async fn parts_of_a_fan_out_and_a_scan_share_one_total_timeout() {
    let (faults, table, _) = fixture().await;
    faults.add(FaultRule::new(slow(3)).on_reads());
    for concurrency in [1, 2] {
        let started = Instant::now();
        let parts = table.query().fan_out().partitions(["a", "b"]).concurrency(concurrency);
        assert_over(&parts.total_timeout(TOTAL).all().await.unwrap_err(), started);

        let started = Instant::now();
        let scan = || table.query().scan().ranges(["b"]).concurrency(concurrency);
        let mut rows = scan().total_timeout(TOTAL).stream();
        let mut seen = 0;
        let error = loop {
            match rows.try_next().await {
                Ok(row) => seen += usize::from(row.is_some()),
                Err(error) => break error,
            }
        };
        assert_over(&error, started);
        assert_eq!(seen, concurrency * 6);
        let mut rest = scan().resume_from(rows.position().clone()).stream();
        while rest.try_next().await.unwrap().is_some() {
            seen += 1;
        }
        assert_eq!(seen, 20);
    }
}

/// Each key has its item, and those after the end cost no request.
#[tokio::test(start_paused = true)]
async fn keys_that_are_not_read_in_time_are_errors() {
    let (faults, table, _) = fixture().await;
    faults.add(FaultRule::new(slow(3)).on_reads());
    let started = Instant::now();
    let many = table.get_many((0..10).map(|id| ("a", id))).concurrency(2);
    let items: Vec<_> = many.total_timeout(TOTAL).collect().await;
    assert_eq!(started.elapsed(), TOTAL);
    assert_eq!((items.len(), faults.requests()), (10, 8));
    for (id, item) in items.iter().enumerate() {
        match item {
            Ok((_, row)) => assert_eq!(row.as_ref(), Some(&thing("a", id as u32))),
            Err(error) => {
                assert!(id >= 6);
                assert_over(error, started);
                assert_eq!(error.entity(), Some(("a", &*format!("{id:010}"))));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bulk_ends_at_its_total_timeout() {
    let (faults, table, truth) = fixture().await;
    faults.add(FaultRule::new(slow(3)).on_writes());
    let started = Instant::now();
    let many = (0..20).map(|id| thing("new", id));
    let bulk = table.bulk().batch_size(2).concurrency(1);
    let bulk = bulk.timeout(Duration::from_secs(4)).total_timeout(TOTAL);
    let interrupted = bulk.insert(many).await.unwrap_err();
    let error = interrupted.error();
    assert_over(error, started);
    assert_eq!((error.operation(), error.table()), (Some("bulk"), Some("Table")));
    let report = interrupted.report();
    assert_eq!(counts(report)[..3], [6, 2, 0]);
    for left in report.leftovers() {
        match left.reason() {
            LeftoverReason::InDoubt(error) => assert!(error.may_have_applied() && matches!(left.index(), 6 | 7)),
            LeftoverReason::NotAttempted => assert!(left.index() > 7, "{left}"),
            _ => panic!("{left}"),
        }
    }
    let requests = faults.requests();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(faults.requests(), requests, "nothing is sent afterwards");
    assert_eq!(truth.query().partition("new").count().await.unwrap(), 8);
    assert_eq!(kind_in_doubt(&Error::from(interrupted)), Some(ErrorKind::Timeout));
}

/// A pending source, a throttled partition and a wait before a retry do not extend it.
#[tokio::test(start_paused = true)]
async fn no_wait_of_a_bulk_exceeds_its_total_timeout() {
    let (faults, table, _) = fixture().await;
    let started = Instant::now();
    let silent = futures::stream::iter([TableOperation::insert(&thing("new", 1))]).chain(futures::stream::pending());
    let bulk = || table.bulk().total_timeout(TOTAL);
    let interrupted = bulk().write_stream(silent).await.unwrap_err();
    assert_over(interrupted.error(), started);
    assert_eq!(counts(interrupted.report()), [1, 0, 0, 0]);
    assert!(interrupted.report().leftovers().is_empty());

    let started = Instant::now();
    let throttled = faults.add(FaultRule::new(busy()).on_writes());
    let interrupted = bulk().insert([thing("new", 2)]).await.unwrap_err();
    assert_over(interrupted.error(), started);
    assert_eq!(counts(interrupted.report()), [0, 0, 0, 1]);
    throttled.disable();

    // All rows are written in time.
    assert_eq!(bulk().insert([thing("new", 2)]).await.unwrap().applied(), 1);
}

#[tokio::test(start_paused = true)]
async fn writer_accepts_no_more_after_its_total_timeout() {
    let (faults, table, _) = fixture().await;
    faults.add(FaultRule::new(slow(6)).on_writes());
    let started = Instant::now();
    let bulk = table.bulk().batch_size(1).partition_concurrency(1);
    let mut writer = bulk.writer().total_timeout(TOTAL);
    for id in 0..4 {
        writer.insert(&thing("new", id)).await.unwrap();
    }
    assert_over(&writer.flush().await.unwrap_err(), started);
    assert_over(&writer.insert(&thing("new", 9)).await.unwrap_err(), started);
    let interrupted = writer.close().await.unwrap_err();
    assert_over(interrupted.error(), started);
    assert_eq!(counts(interrupted.report()), [1, 1, 0, 2]);
}

/// The builder or the query sets the limit.
#[tokio::test(start_paused = true)]
async fn writes_by_query_end_at_their_total_timeout() {
    let (faults, table, truth) = fixture().await;
    faults.add(FaultRule::new(slow(3)).on_writes());
    let query = || table.query().partition("a");
    let update = |query| table.update_where(query, |thing: &mut Numbered| thing.count += 1);
    let of_query = update(query().total_timeout(TOTAL));
    for update_in_time in [of_query, update(query()).total_timeout(TOTAL)] {
        let started = Instant::now();
        let interrupted = update_in_time.await.unwrap_err();
        assert_over(interrupted.error(), started);
        assert_eq!(interrupted.error().operation(), Some("update where"));
        let report = interrupted.report();
        assert_eq!((report.applied(), report.in_doubt(), report.rejected()), (6, 2, 0));
        // The rows in doubt were written, and are not written again.
        let rest = update(query()).resume_from(interrupted.position());
        assert_eq!(rest.await.unwrap().applied(), 2);
    }
    let rows = truth.query().partition("a").all().await.unwrap();
    assert!(rows.iter().all(|row| row.count == 3), "{rows:?}");

    let started = Instant::now();
    let interrupted = table.delete_where(query()).total_timeout(TOTAL).await.unwrap_err();
    assert_over(interrupted.error(), started);
    let report = interrupted.report();
    assert_eq!((report.applied(), report.in_doubt()), (6, 2));
    faults.clear();
    faults.add(FaultRule::new(slow(6)).on_reads());
    let started = Instant::now();
    let upgrade = table.upgrade_where(table.query()).total_timeout(TOTAL);
    assert_over(upgrade.await.unwrap_err().error(), started);
}

/// The last progress report contains the outcomes of the end.
#[tokio::test(start_paused = true)]
async fn batches_of_several_partitions_end_together() {
    let (faults, table, _) = fixture().await;
    faults.add(FaultRule::new(slow(30)).on_writes());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = Arc::clone(&heard);
    let truth: TableClient<DynamicEntity> = table.typed();
    let started = Instant::now();
    let writes = truth.delete_where(truth.query().page_size(1_000)).total_timeout(TOTAL);
    let writes = writes.on_progress(move |report| hear.lock().unwrap().push(report.in_doubt()));
    let interrupted = writes.await.unwrap_err();
    assert_over(interrupted.error(), started);
    assert_eq!(interrupted.report().in_doubt(), 2);
    assert_eq!(heard.lock().unwrap().last(), Some(&2));
}
