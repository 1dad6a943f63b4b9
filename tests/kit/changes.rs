//! A tail of changes: the rows that it yields, its positions, and its cost.

use std::time::Duration;

use azure_table::bulk::WritePosition;
use azure_table::emulator::{EmulatorClock, PageEnds};
use azure_table::filter::AccessPath;
use azure_table::operation::OperationKind;
use azure_table::query::ScanPosition;
use azure_table::testing::{Fault, FaultRule, Faults, Spy};
use azure_table::{
    AccountKey, CallOptions, Column, Continuation, DateTime, DynamicEntity, Emulator, ErrorKind, Key, KeyPrefix,
    LocationMode, NoRetry, TableClient, TableServiceClient,
};
use azure_table_patterns::{ChangePosition, ChangeStream, Changes};
use azure_table_tests::canned::{Canned, Step};
use azure_table_tests::entities::Numbered;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

/// A table with a clock that the test advances.
struct Fixture {
    clock: EmulatorClock,
    faults: Faults,
    spy: Spy,
    truth: TableClient<Numbered>,
    blogs: TableClient<Numbered>,
}

impl Fixture {
    /// The changes of the whole table.
    fn changes(&self) -> Changes<Numbered> {
        Changes::new(self.blogs.query())
    }

    async fn write(&self, channel: &str, id: u32, rating: i32) {
        let row = Numbered::new(channel, id, rating);
        self.truth.insert_or_replace(&row).await.unwrap();
    }
}

async fn fixture(emulator: Emulator) -> Fixture {
    let clock = EmulatorClock::fixed(DateTime::now());
    let emulator = emulator.shared_clock(clock.clone());
    let truth = TableServiceClient::from_transport(emulator.clone());
    let truth = truth.table::<Numbered>("Blogs").unwrap();
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

/// Returns the rows of the current poll and of the next ones, up to the end of the stream.
async fn rest(mut changes: ChangeStream<Numbered>) -> String {
    let mut names = Vec::new();
    while let Some(changed) = changes.try_next().await.unwrap() {
        names.push(format!("{}{}={}", changed.group, changed.number, changed.count));
    }
    names.join(" ")
}

/// Returns the rows that arrive without a wait.
async fn next_rows(changes: &mut ChangeStream<Numbered>) -> String {
    let mut names = Vec::new();
    while let Ok(changed) = tokio::time::timeout(Duration::from_millis(1), changes.try_next()).await {
        let changed = changed.unwrap().unwrap();
        names.push(format!("{}{}={}", changed.group, changed.number, changed.count));
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
        .filter(Column::<Numbered, DateTime>::timestamp().gt(in_millis));
    assert!(
        again.count().await.unwrap() > 0,
        "a watermark in milliseconds returns them forever"
    );

    let mut changes = table.changes().interval(SECOND).max_polls(5).stream().unwrap();
    for id in 0..3 {
        assert_eq!(changes.try_next().await.unwrap().unwrap().number, id);
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
    let mut changes = table.changes().stream().unwrap();
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
    let partitions = |prefix: &str| KeyPrefix::<Numbered>::from_text(prefix, "").unwrap();
    for (changes, expected) in [
        (Changes::new(query().partition("ab")), "ab1=1 ab2=2"),
        (
            Changes::new(query().key_prefix(Key::prefix(("ab", 2)).unwrap())),
            "ab2=2",
        ),
        (
            Changes::new(query().between(partitions("ab"), partitions("b"))),
            "ab1=1 ab2=2 b1=1",
        ),
        (Changes::new(query().filter(Numbered::COUNT.ge(2))), "ab2=2"),
        // A poll that ends at a limit would lose the other rows.
        (Changes::new(query().partition("ab").limit(1)), "ab1=1 ab2=2"),
        (table.changes().since(table.clock.now() + SECOND), ""),
    ] {
        assert_eq!(rest(changes.max_polls(2).stream().unwrap()).await, expected);
    }
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
        let mut changes = table.changes().overlap(10 * SECOND).max_polls(1);
        if let Some(text) = &stored {
            changes = changes.resume_from(text.parse().unwrap());
        }
        let mut changes = changes.stream().unwrap();
        // The last round reads to the end.
        let stop = if round == 11 { u32::MAX } else { round };
        let mut taken = 0;
        while taken < stop
            && let Some(changed) = changes.try_next().await.unwrap()
        {
            seen.insert(changed.number, changed.etag.clone());
            taken += 1;
            stored = Some(changes.position().to_string());
        }
    }
    let truth = table.truth.query().versioned().all().await.unwrap();
    assert_eq!(truth.len(), 11);
    for blog in truth {
        assert_eq!(seen.get(&blog.number), Some(&blog.etag), "{}", blog.number);
    }
}

#[tokio::test(start_paused = true)]
async fn position_moves_with_the_last_row_of_a_poll_to_its_start_less_the_overlap() {
    let table = fixture(Emulator::new().page_size(2)).await;
    for id in 0..3 {
        table.write("a", id, 1).await;
    }
    let mut changes = table.changes().overlap(10 * SECOND).max_polls(2).stream().unwrap();
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
    let blogs = TableServiceClient::from_transport(slow)
        .table::<Numbered>("Blogs")
        .unwrap();
    let mut changes = Changes::new(blogs.query()).overlap(Duration::ZERO).stream().unwrap();
    let write = async {
        tokio::time::sleep(2 * SECOND).await;
        table.clock.advance(2 * SECOND);
        table.write("a", 2, 1).await;
    };
    let (first, ()) = tokio::join!(changes.try_next(), write);
    assert_eq!(first.unwrap().unwrap().number, 1);
    table.clock.advance(3 * SECOND);
    let next = tokio::time::timeout(600 * SECOND, changes.try_next());
    assert_eq!(next.await.expect("a row").unwrap().unwrap().number, 2);
}

#[tokio::test]
async fn position_of_another_table_or_query_is_rejected_before_anything_is_sent() {
    let table = fixture(Emulator::new()).await;
    table.write("a", 1, 1).await;
    let of_partition = |key: &str| Changes::new(table.blogs.query().partition(key));
    let mut changes = of_partition("a").max_polls(1).stream().unwrap();
    changes.try_next().await.unwrap().unwrap();
    let position = *changes.position();
    let service = TableServiceClient::from_transport(table.faults.clone());
    let others = service.table::<Numbered>("Others").unwrap();
    let requests = table.faults.requests();
    for changes in [
        Changes::new(others.query().partition("a")),
        of_partition("b"),
        table.changes(),
    ] {
        let error = changes.resume_from(position).stream().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(
            error.to_string().contains("the position belongs to another query"),
            "{error}"
        );
    }
    assert_eq!(table.faults.requests(), requests);
    table.write("a", 2, 1).await;
    let mut pages = table.blogs.query().page_size(1).pages();
    let page = pages.try_next().await.unwrap().unwrap();
    let of_page = table.blogs.query().resume_from(page.continuation().clone());
    let error = Changes::new(of_page).stream().unwrap_err();
    let why = "resume a tail of changes with `.resume_from(position)`";
    assert!(error.to_string().contains(why), "{error}");
    let mut same = of_partition("a").resume_from(position).max_polls(1).stream().unwrap();
    assert_eq!(same.try_next().await.unwrap().unwrap().number, 1);
}

/// Otherwise a tail that is resumed after a failover to another account would miss rows.
#[tokio::test]
async fn position_of_another_account_or_service_is_rejected() {
    const KEY: &str = "AAECAwQFBgc=";
    let client = |name: &str, url: &str, emulator: Emulator| {
        let faults = Faults::new(emulator.account(name, KEY).unwrap());
        let service = TableServiceClient::new(url, AccountKey::new(name, KEY).unwrap()).unwrap();
        let blogs = service.transport(faults.clone()).table::<Numbered>("Blogs").unwrap();
        (Changes::new(blogs.query()), faults)
    };
    let (own, _) = client("contoso", "https://contoso.table.core.windows.net", Emulator::new());
    let position = *own.stream().unwrap().position();
    for (name, url, emulator) in [
        ("fabrikam", "https://fabrikam.table.core.windows.net", Emulator::new()),
        ("contoso", "https://contoso.table.cosmos.azure.com", Emulator::cosmos()),
    ] {
        let (other, faults) = client(name, url, emulator);
        let error = other.resume_from(position).stream().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("account"), "{error}");
        assert_eq!(faults.requests(), 0);
    }
}

/// `Blogs` and `bLOGS` name one table on Table storage, and two on Cosmos DB.
#[tokio::test]
async fn position_of_a_table_in_another_case_is_accepted_if_it_names_the_same_table() {
    for (emulator, is_same) in [(Emulator::new(), true), (Emulator::cosmos(), false)] {
        let service = TableServiceClient::from_transport(emulator);
        let of = |name: &str| Changes::new(service.table::<Numbered>(name).unwrap().query());
        let position = *of("Blogs").stream().unwrap().position();
        let resumed = of("bLOGS").resume_from(position).stream();
        assert_eq!(resumed.is_ok(), is_same, "{resumed:?}");
    }
}

#[tokio::test]
async fn position_of_another_method_is_rejected() {
    let table = fixture(Emulator::new()).await;
    table.write("a", 1, 1).await;
    let mut pages = table.blogs.query().pages();
    let page = pages.try_next().await.unwrap().unwrap();
    let scan = table.blogs.query().scan().stream();
    for text in [page.continuation().to_string(), scan.position().to_string()] {
        assert_eq!(
            text.parse::<ChangePosition>().unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }
    let text = table.changes().stream().unwrap().position().to_string();
    assert!(text.parse::<Continuation>().is_err());
    assert!(text.parse::<ScanPosition>().is_err());
    assert!(text.parse::<WritePosition>().is_err());
}

#[tokio::test(start_paused = true)]
async fn tail_goes_on_at_the_page_that_failed() {
    let table = fixture(Emulator::new().page_size(2)).await;
    for id in 0..7 {
        table.write("a", id, 1).await;
    }
    table.faults.add(FaultRule::new(Fault::Reset).nth(3));
    let mut changes = table.changes().interval(10 * SECOND).max_polls(1).stream().unwrap();
    for id in 0..4 {
        assert_eq!(changes.try_next().await.unwrap().unwrap().number, id);
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
    let mut changes = table
        .changes()
        .interval(SECOND)
        .max_interval(6 * SECOND)
        .stream()
        .unwrap();
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
    let read = rest(table.changes().max_rate(20).max_polls(1).stream().unwrap()).await;
    assert_eq!(read.split(' ').count(), 100);
    let seconds = started.elapsed().as_secs_f64();
    assert!(
        (4.4..5.0).contains(&seconds),
        "{seconds}: all pages but the last one wait"
    );
}

/// Dropping the future of `try_next` loses nothing, so a caller may limit the time of each.
#[tokio::test(start_paused = true)]
async fn tail_goes_on_after_a_wait_that_was_dropped() {
    let table = fixture(Emulator::new()).await;
    table.write("a", 1, 1).await;
    let started = Instant::now();
    let mut changes = table.changes().interval(60 * SECOND).stream().unwrap();
    changes.try_next().await.unwrap().unwrap();
    table.write("a", 2, 1).await;
    assert!(tokio::time::timeout(10 * SECOND, changes.try_next()).await.is_err());
    assert!(changes.position().since().is_some());
    assert_eq!(changes.try_next().await.unwrap().unwrap().number, 2);
    assert_eq!(started.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn memory_is_that_of_the_overlap() {
    let table = fixture(Emulator::new()).await;
    let mut changes = table.changes().overlap(10 * SECOND).interval(SECOND).stream().unwrap();
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
        let query = table.blogs.query().with(&CallOptions::new().location_mode(mode));
        let changes = Changes::new(query).max_polls(2);
        assert_eq!(rest(changes.stream().unwrap()).await, "a1=1");
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
        rest(table.changes().since(since).max_polls(3).stream().unwrap()).await,
        "a2=1"
    );
    let sent = table.spy.of(OperationKind::Query);
    assert!(sent.len() == 3 && sent.iter().all(|sent| sent.parameter("$filter").is_none()));
}

/// One request per page of examined rows, even if no row is new.
#[tokio::test(start_paused = true)]
async fn poll_without_changes_reads_the_whole_range() {
    let table = fixture(Emulator::new().page_ends(PageEnds::new().examined(10))).await;
    for id in 0..95 {
        table.write("a", id, 1).await;
    }
    table.clock.advance(600 * SECOND);
    let since = table.clock.now();
    let mut changes = table.changes().since(since).max_polls(1).stream().unwrap();
    assert_eq!(changes.try_next().await.unwrap(), None);
    assert_eq!((changes.progress().pages, changes.progress().rows), (10, 0));
}

#[tokio::test]
async fn tail_of_a_table_is_denied_as_its_query_is() {
    let table = fixture(Emulator::new()).await;
    table.write("a", 1, 1).await;
    let service = TableServiceClient::from_transport(table.faults.clone()).deny_access(AccessPath::TableScan);
    let blogs = service.table::<Numbered>("Blogs").unwrap();
    let error = Changes::new(blogs.query()).stream().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let allowed = Changes::new(blogs.query().allow_table_scan()).max_polls(1);
    assert!(allowed.stream().unwrap().try_next().await.unwrap().is_some());
}

#[tokio::test]
async fn response_without_the_services_time_is_an_error() {
    let canned = Canned::new([Step::response(200, &[], r#"{"value":[]}"#)]);
    let blogs = canned.service().table::<Numbered>("Blogs").unwrap();
    let mut changes = Changes::new(blogs.query()).stream().unwrap();
    let error = changes.try_next().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    assert!(error.to_string().contains("no header `Date`"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn row_that_does_not_fit_fails_its_page_until_it_is_skipped() {
    let table = fixture(Emulator::new()).await;
    table.write("a", 1, 1).await;
    let dynamic = TableServiceClient::from_transport(table.faults.clone())
        .dynamic_table("Blogs")
        .unwrap();
    dynamic.insert(&DynamicEntity::new("a", "0000000002")).await.unwrap();
    // The rows of the first page are older than the overlap.
    table.clock.advance(600 * SECOND);
    let query = table.blogs.query().page_size(1);
    let mut failing = Changes::new(query).max_polls(1).stream().unwrap();
    assert_eq!(failing.try_next().await.unwrap().unwrap().number, 1);
    for _ in 0..3 {
        assert_eq!(failing.try_next().await.unwrap_err().kind(), ErrorKind::InvalidResponse);
    }
    assert_eq!(failing.position().since(), None);
    let (sender, skipped) = std::sync::mpsc::channel();
    let query = table.blogs.query();
    let query = query.skip_bad_rows(move |bad| sender.send(bad.row().unwrap().row_key.clone()).unwrap());
    let skipping = Changes::new(query).max_polls(2).stream().unwrap();
    assert_eq!(rest(skipping).await, "a1=1");
    // The second poll reads from a later time.
    assert_eq!(skipped.iter().collect::<Vec<_>>(), ["0000000002"]);
}
