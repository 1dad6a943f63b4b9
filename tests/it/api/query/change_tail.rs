//! A tail of changes: the rows that it yields, its positions, and its cost.

use std::time::Duration;

use azure_table::emulator::{EmulatorClock, PageEnds};
use azure_table::filter::AccessPath;
use azure_table::operation::OperationKind;
use azure_table::query::{ChangePosition, ChangeStream, Changes};
use azure_table::testing::{Fault, FaultRule, Faults, Spy};
use azure_table::{
    CallOptions, Column, DateTime, Emulator, ErrorKind, Key, KeyPrefix, LocationMode, NoRetry, TableClient,
    TableEntity, TableServiceClient,
};
use azure_table_tests::canned::{Canned, Step};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

#[derive(TableEntity, Debug, Clone, PartialEq)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: u32,
    rating: i32,
}

fn blog(channel: &str, id: u32, rating: i32) -> Blog {
    Blog {
        channel: channel.into(),
        id,
        rating,
    }
}

/// A table with a clock that the test advances.
struct Fixture {
    clock: EmulatorClock,
    faults: Faults,
    spy: Spy,
    truth: TableClient<Blog>,
    blogs: TableClient<Blog>,
}

async fn fixture(emulator: Emulator) -> Fixture {
    let clock = EmulatorClock::fixed(DateTime::now());
    let emulator = emulator.shared_clock(clock.clone());
    let truth = TableServiceClient::from_transport(emulator.clone())
        .table::<Blog>("Blogs")
        .unwrap();
    truth.create_table().await.unwrap();
    let spy = Spy::new(emulator);
    let faults = Faults::new(spy.clone());
    let service = TableServiceClient::from_transport(faults.clone()).retry(NoRetry);
    Fixture {
        clock,
        faults,
        spy,
        truth,
        blogs: service.table("Blogs").unwrap(),
    }
}

impl Fixture {
    async fn write(&self, channel: &str, id: u32, rating: i32) {
        self.truth.insert_or_replace(&blog(channel, id, rating)).await.unwrap();
    }
}

/// Returns the rows of the current poll and of the next ones, up to the end of the stream.
async fn rest(mut changes: ChangeStream<Blog>) -> String {
    let mut names = Vec::new();
    while let Some(changed) = changes.try_next().await.unwrap() {
        names.push(format!("{}{}={}", changed.channel, changed.id, changed.rating));
    }
    names.join(" ")
}

/// Returns the rows that arrive without a wait.
async fn next_rows(changes: &mut ChangeStream<Blog>) -> String {
    let mut names = Vec::new();
    while let Ok(changed) = tokio::time::timeout(Duration::from_millis(1), changes.try_next()).await {
        let changed = changed.unwrap().unwrap();
        names.push(format!("{}{}={}", changed.channel, changed.id, changed.rating));
    }
    names.join(" ")
}

/// azure-sdk-for-python#45046: `Timestamp gt` the last Timestamp that was seen returns its row again, once the time
/// went through a type with fewer digits.
#[tokio::test(start_paused = true)]
async fn last_row_is_not_yielded_again_by_each_poll() {
    let table = fixture(Emulator::new()).await;
    for id in 0..3 {
        table.write("a", id, 1).await;
    }
    let all = table.blogs.query().versioned().all().await.unwrap();
    let last = all.iter().map(|blog| blog.timestamp).max().unwrap();
    let in_millis = DateTime::from_unix_millis(last.unix_millis());
    let again = table
        .blogs
        .query()
        .filter(Column::<Blog, DateTime>::timestamp().gt(in_millis));
    assert!(
        again.count().await.unwrap() > 0,
        "a watermark in milliseconds returns them forever"
    );

    let mut changes = table.blogs.changes().interval(SECOND).max_polls(5).stream();
    for id in 0..3 {
        assert_eq!(changes.try_next().await.unwrap().unwrap().id, id);
    }
    assert_eq!(changes.try_next().await.unwrap(), None);
    let progress = changes.progress();
    assert_eq!((progress.polls, progress.changes), (5, 3));
    assert_eq!(
        (progress.rows, progress.duplicates),
        (5 * 3, 4 * 3),
        "the overlap returns them"
    );
}

#[tokio::test(start_paused = true)]
async fn inserts_and_updates_are_yielded_in_their_last_version_and_deletes_are_not() {
    let table = fixture(Emulator::new()).await;
    table.write("a", 1, 1).await;
    let mut changes = table.blogs.changes().stream();
    assert_eq!(next_rows(&mut changes).await, "a1=1");
    for rating in 2..5 {
        table.write("a", 1, rating).await;
    }
    table.write("b", 1, 1).await;
    table.write("c", 1, 1).await;
    table.truth.delete(("c", 1)).await.unwrap();
    tokio::time::advance(60 * SECOND).await;
    assert_eq!(next_rows(&mut changes).await, "a1=4 b1=1");
    // The same content has a new version.
    table.truth.delete(("b", 1)).await.unwrap();
    table.write("b", 1, 1).await;
    tokio::time::advance(60 * SECOND).await;
    assert_eq!(next_rows(&mut changes).await, "b1=1");
    let read = table.truth.get(("b", 1)).versioned().await.unwrap().unwrap();
    table.truth.merge(&read).await.unwrap();
    tokio::time::advance(60 * SECOND).await;
    let changed = changes.try_next().await.unwrap().unwrap();
    assert!(changed.etag != read.etag && changed.timestamp > read.timestamp);
}

#[tokio::test(start_paused = true)]
async fn changes_of_a_partition_a_prefix_a_range_and_a_filter() {
    let table = fixture(Emulator::new()).await;
    for (channel, id) in [("a", 1), ("ab", 1), ("ab", 2), ("b", 1), ("c", 1)] {
        table.write(channel, id, id as i32).await;
    }
    let query = || table.blogs.query();
    let partitions = |prefix: &str| KeyPrefix::<Blog>::from_text(prefix, "").unwrap();
    for (changes, expected) in [
        (query().partition("ab").changes(), "ab1=1 ab2=2"),
        (query().key_prefix(Key::prefix(("ab", 2)).unwrap()).changes(), "ab2=2"),
        (
            query().between(partitions("ab"), partitions("b")).changes(),
            "ab1=1 ab2=2 b1=1",
        ),
        (query().filter(Blog::RATING.ge(2)).changes(), "ab2=2"),
        (query().limit(2).changes(), "a1=1 ab1=1"),
        (table.blogs.changes().since(table.clock.now() + SECOND), ""),
    ] {
        assert_eq!(rest(changes.max_polls(2).stream()).await, expected);
    }
    let mut keys = query().partition("ab").keys().changes().max_polls(1).stream();
    let changed = keys.try_next().await.unwrap().unwrap();
    assert_eq!(
        (changed.row_key(), changed.timestamp <= table.clock.now() + SECOND),
        ("0000000001", true)
    );
    let sent = table.spy.of(OperationKind::Query);
    let filters: Vec<_> = sent.iter().filter_map(|sent| sent.parameter("$filter")).collect();
    assert!(
        filters.iter().any(|filter| filter.contains("Timestamp ge datetime'")),
        "{filters:?}"
    );
}

/// A process that stops at any row resumes from the text that it stored after that row.
#[tokio::test(start_paused = true)]
async fn tail_that_resumes_from_any_position_loses_nothing() {
    let table = fixture(Emulator::new().page_size(2)).await;
    let mut seen = std::collections::BTreeMap::new();
    let mut stored: Option<String> = None;
    for round in 0..12 {
        table.clock.advance(7 * SECOND);
        for id in 0..5 {
            table.write("a", (round * 3 + id) % 11, round as i32).await;
        }
        let mut changes = table.blogs.changes().overlap(10 * SECOND).max_polls(1);
        if let Some(text) = &stored {
            changes = changes.resume_from(text.parse().unwrap());
        }
        let mut changes = changes.stream();
        // The last round reads to the end.
        let stop = if round == 11 { u32::MAX } else { round };
        let mut taken = 0;
        while taken < stop
            && let Some(changed) = changes.try_next().await.unwrap()
        {
            seen.insert(changed.id, changed.etag.clone());
            taken += 1;
            stored = Some(changes.position().to_string());
        }
    }
    let truth = table.truth.query().versioned().all().await.unwrap();
    assert_eq!(truth.len(), 11);
    for blog in truth {
        assert_eq!(seen.get(&blog.id), Some(&blog.etag), "{}", blog.id);
    }
}

#[tokio::test(start_paused = true)]
async fn position_moves_with_the_last_row_of_a_poll_to_its_start_less_the_overlap() {
    let table = fixture(Emulator::new().page_size(2)).await;
    for id in 0..3 {
        table.write("a", id, 1).await;
    }
    let mut changes = table.blogs.changes().overlap(10 * SECOND).max_polls(2).stream();
    let started = table.clock.now();
    for _ in 0..2 {
        changes.try_next().await.unwrap().unwrap();
        // No matter how long the poll takes.
        table.clock.advance(100 * SECOND);
        assert_eq!(changes.position().since(), None);
    }
    changes.try_next().await.unwrap().unwrap();
    let since = changes.position().since().unwrap();
    let second_of_start = DateTime::from_unix_seconds(started.unix_seconds());
    assert_eq!(since, second_of_start - 10 * SECOND, "the service sends whole seconds");
    let json = serde_json::to_string(changes.position()).unwrap();
    assert_eq!(
        serde_json::from_str::<ChangePosition>(&json).unwrap(),
        *changes.position()
    );
    assert_eq!(changes.try_next().await.unwrap(), None);
    assert_eq!(changes.position().since(), Some(second_of_start + 190 * SECOND));
}

/// The service reads the rows first, and sends the time at the end of its work.
#[tokio::test(start_paused = true)]
async fn write_during_a_slow_page_is_yielded_by_the_next_poll() {
    let table = fixture(Emulator::new()).await;
    table.write("a", 1, 1).await;
    table.faults.add(FaultRule::new(Fault::DateAhead(5 * SECOND)).first(1));
    let slow = Faults::new(table.faults.clone());
    slow.add(FaultRule::new(Fault::DelayResponse(5 * SECOND)).first(1));
    let blogs = TableServiceClient::from_transport(slow).table::<Blog>("Blogs").unwrap();
    let mut changes = blogs.changes().overlap(Duration::ZERO).stream();
    let write = async {
        tokio::time::sleep(2 * SECOND).await;
        table.clock.advance(2 * SECOND);
        table.write("a", 2, 1).await;
    };
    let (first, ()) = tokio::join!(changes.try_next(), write);
    assert_eq!(first.unwrap().unwrap().id, 1);
    table.clock.advance(3 * SECOND);
    let next = tokio::time::timeout(600 * SECOND, changes.try_next());
    assert_eq!(next.await.expect("a row").unwrap().unwrap().id, 2);
}

#[tokio::test]
async fn position_of_another_table_or_query_is_rejected_before_anything_is_sent() {
    let table = fixture(Emulator::new()).await;
    table.write("a", 1, 1).await;
    let mut changes = table.blogs.query().partition("a").changes().max_polls(1).stream();
    changes.try_next().await.unwrap().unwrap();
    let position = changes.position().clone();
    let service = TableServiceClient::from_transport(table.faults.clone());
    let others = service.table::<Blog>("Others").unwrap();
    let requests = table.faults.requests();
    for (changes, expected) in [
        (
            others.query().partition("a").changes(),
            "the position belongs to the table Blogs, not to Others",
        ),
        (
            table.blogs.query().partition("b").changes(),
            "the position belongs to another query",
        ),
        (table.blogs.changes(), "the position belongs to another query"),
    ] {
        let mut changes = changes.resume_from(position.clone()).stream();
        let error = changes.try_next().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(*changes.position(), position);
        assert_eq!(changes.try_next().await.unwrap(), None);
    }
    assert_eq!(table.faults.requests(), requests);
    table.write("a", 2, 1).await;
    let page = table
        .blogs
        .query()
        .page_size(1)
        .pages()
        .try_next()
        .await
        .unwrap()
        .unwrap();
    let of_page = table.blogs.query().resume_from(page.continuation().clone());
    let error = of_page.changes().stream().try_next().await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("resume a tail of changes with `.resume_from(position)`"),
        "{error}"
    );
    let mut same = table
        .blogs
        .query()
        .partition("a")
        .changes()
        .resume_from(position)
        .max_polls(1)
        .stream();
    assert_eq!(same.try_next().await.unwrap().unwrap().id, 1);
}

#[tokio::test(start_paused = true)]
async fn tail_goes_on_at_the_page_that_failed() {
    let table = fixture(Emulator::new().page_size(2)).await;
    for id in 0..7 {
        table.write("a", id, 1).await;
    }
    table.faults.add(FaultRule::new(Fault::Reset).nth(3));
    let mut changes = table.blogs.changes().interval(10 * SECOND).max_polls(1).stream();
    for id in 0..4 {
        assert_eq!(changes.try_next().await.unwrap().unwrap().id, id);
    }
    let error = changes.try_next().await.unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Connection, Some("Blogs")));
    assert_eq!(changes.position().since(), None);
    let started = Instant::now();
    assert_eq!(rest(changes).await, "a4=1 a5=1 a6=1");
    assert_eq!(started.elapsed().as_secs(), 20, "the interval, doubled");
    assert_eq!(table.faults.requests(), 5);
}

#[tokio::test(start_paused = true)]
async fn wait_doubles_while_nothing_changes() {
    let table = fixture(Emulator::new()).await;
    let started = Instant::now();
    let mut changes = table.blogs.changes().interval(SECOND).max_interval(6 * SECOND).stream();
    // Polls at 0, 2, 6, 12 and 18 s.
    assert_eq!(next_rows(&mut changes).await, "");
    let at_20 = tokio::time::timeout_at(started + 20 * SECOND, changes.try_next());
    assert!(at_20.await.is_err());
    assert_eq!(changes.progress().polls, 5);
    table.write("a", 1, 1).await;
    changes.try_next().await.unwrap().unwrap();
    assert_eq!(started.elapsed().as_secs(), 24);
    table.write("a", 2, 1).await;
    changes.try_next().await.unwrap().unwrap();
    assert_eq!(started.elapsed().as_secs(), 25, "a change sets it back");
}

#[tokio::test(start_paused = true)]
async fn rows_per_second_are_bounded() {
    let table = fixture(Emulator::new().page_size(10)).await;
    for id in 0..100 {
        table.write("a", id, 1).await;
    }
    let started = Instant::now();
    let read = rest(table.blogs.changes().max_rate(20).max_polls(1).stream()).await;
    assert_eq!(read.split(' ').count(), 100);
    let seconds = started.elapsed().as_secs_f64();
    assert!(
        (4.4..5.0).contains(&seconds),
        "{seconds}: all pages but the last one wait"
    );
}

#[tokio::test(start_paused = true)]
async fn total_timeout_ends_the_stream_while_it_waits() {
    let table = fixture(Emulator::new()).await;
    table.write("a", 1, 1).await;
    let started = Instant::now();
    let mut changes = table
        .blogs
        .changes()
        .interval(60 * SECOND)
        .total_timeout(10 * SECOND)
        .stream();
    changes.try_next().await.unwrap().unwrap();
    let error = changes.try_next().await.unwrap_err();
    assert_eq!((error.kind(), started.elapsed().as_secs()), (ErrorKind::Timeout, 10));
    assert!(error.to_string().contains("`total_timeout` of 10s"), "{error}");
    assert_eq!(changes.try_next().await.unwrap(), None);
    assert!(changes.position().since().is_some());
}

#[tokio::test(start_paused = true)]
async fn memory_is_that_of_the_overlap() {
    let table = fixture(Emulator::new()).await;
    let mut changes = table.blogs.changes().overlap(10 * SECOND).interval(SECOND).stream();
    for round in 0..10 {
        for id in 0..20 {
            table.write("a", 20 * round + id, 1).await;
        }
        for _ in 0..20 {
            changes.try_next().await.unwrap().unwrap();
        }
        assert!(changes.progress().remembered <= 3 * 20, "{:?}", changes.progress());
        table.clock.advance(6 * SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn polls_read_the_primary_in_every_location_mode() {
    let table = fixture(Emulator::new().secondary_lag(60 * SECOND)).await;
    table.write("a", 1, 1).await;
    for mode in [LocationMode::SecondaryOnly, LocationMode::SecondaryThenPrimary] {
        table.spy.clear();
        let changes = table
            .blogs
            .changes()
            .with(&CallOptions::new().location_mode(mode))
            .max_polls(2);
        assert_eq!(rest(changes.stream()).await, "a1=1");
        let sent = table.spy.of(OperationKind::Query);
        assert!(sent.len() == 2 && !sent.iter().any(|sent| sent.is_secondary()));
    }
}

/// Filters on Timestamp return wrong rows or none there (azure-sdk-for-net#31171, #32468).
#[tokio::test(start_paused = true)]
async fn changes_of_cosmos_db_are_not_filtered_by_the_service() {
    let table = fixture(Emulator::cosmos()).await;
    table.write("a", 1, 1).await;
    table.clock.advance(600 * SECOND);
    table.write("a", 2, 1).await;
    let since = table.clock.now() - SECOND;
    assert_eq!(
        rest(table.blogs.changes().since(since).max_polls(3).stream()).await,
        "a2=1"
    );
    let plan = table.blogs.changes().since(since).plan().unwrap();
    assert!(!plan.request_text().contains("Timestamp"), "{plan}");
    let sent = table.spy.of(OperationKind::Query);
    assert!(sent.len() == 3 && sent.iter().all(|sent| sent.parameter("$filter").is_none()));
}

#[tokio::test(start_paused = true)]
async fn plan_names_the_rows_of_a_poll_and_its_limits() {
    let table = fixture(Emulator::new().page_ends(PageEnds::new().examined(10))).await;
    for id in 0..95 {
        table.write("a", id, 1).await;
    }
    table.clock.advance(600 * SECOND);
    let since = table.clock.now();
    let plan = table.blogs.changes().since(since).plan().unwrap();
    assert_eq!(plan.path(), AccessPath::TableScan);
    let text = plan.to_string();
    for expected in [
        "Timestamp has no index",
        "deletes are not seen",
        "`Log` of azure-table-patterns",
        "Timestamp%20ge%20datetime",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let of_partition = table.blogs.query().partition("a").changes().plan().unwrap();
    assert_eq!(of_partition.path(), AccessPath::Partition);
    // As the notes say: one request per page of examined rows, even if no row is new.
    let mut changes = table.blogs.changes().since(since).max_polls(1).stream();
    assert_eq!(changes.try_next().await.unwrap(), None);
    assert_eq!((changes.progress().pages, changes.progress().rows), (10, 0));

    let service = TableServiceClient::from_transport(table.faults.clone()).deny_access(AccessPath::TableScan);
    let blogs = service.table::<Blog>("Blogs").unwrap();
    let error = blogs.changes().stream().try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let allowed: Changes<Blog> = blogs.query().allow_table_scan().changes();
    assert!(allowed.max_polls(1).stream().try_next().await.unwrap().is_some());
}

#[tokio::test]
async fn response_without_the_services_time_is_an_error() {
    let canned = Canned::new([Step::response(200, &[], r#"{"value":[]}"#)]);
    let mut changes = canned.service().table::<Blog>("Blogs").unwrap().changes().stream();
    let error = changes.try_next().await.unwrap_err();
    assert_eq!(
        (error.kind(), error.table()),
        (ErrorKind::InvalidResponse, Some("Blogs"))
    );
    assert!(error.to_string().contains("no header `Date`"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn row_that_does_not_fit_is_skipped_or_shown() {
    let table = fixture(Emulator::new()).await;
    table.write("a", 1, 1).await;
    let dynamic = TableServiceClient::from_transport(table.faults.clone())
        .dynamic_table("Blogs")
        .unwrap();
    dynamic
        .insert(&azure_table::DynamicEntity::new("a", "0000000002"))
        .await
        .unwrap();
    // The rows before it are yielded once, even if they are older than the overlap.
    table.clock.advance(600 * SECOND);
    let mut failing = table.blogs.changes().max_polls(1).stream();
    assert_eq!(failing.try_next().await.unwrap().unwrap().id, 1);
    for _ in 0..3 {
        assert_eq!(failing.try_next().await.unwrap_err().kind(), ErrorKind::InvalidResponse);
    }
    let skipping = table
        .blogs
        .query()
        .skip_bad_rows(|_| ())
        .changes()
        .max_polls(2)
        .stream();
    assert_eq!(rest(skipping).await, "a1=1");
    let mut lenient = table.blogs.query().lenient().changes().max_polls(3).stream();
    assert!(lenient.try_next().await.unwrap().unwrap().entity.is_ok());
    let bad = lenient.try_next().await.unwrap().unwrap();
    assert!(bad.entity.is_err() && !bad.etag.as_str().is_empty());
    assert!(lenient.try_next().await.unwrap().is_none());
}
