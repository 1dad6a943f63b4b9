//! Queries of several requests: sets of keys, and scans in ranges.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::filter::AccessPath;
use azure_table::key::Bucket;
use azure_table::operation::OperationKind;
use azure_table::query::ScanPosition;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{CallOptions, Emulator, ErrorKind, Key, TableClient, TableEntity, TableServiceClient};
use azure_table_tests::entities::Blog;
use azure_table_tests::errors::assert_contains;
use futures::{StreamExt, TryStream, TryStreamExt};
use tokio::time::Instant;

use crate::api::create_with_faults;

const CHANNELS: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(TableEntity, Debug, Clone, PartialEq)]
#[table(partition_key = "{component};{bucket}")]
struct Line {
    component: String,
    bucket: Bucket<4>,
    #[table(row_key)]
    id: u32,
    level: i32,
}

/// Five channels with five blogs each, on pages of two. Every request takes time and is recorded.
async fn blogs(latency: Duration) -> (Faults, TableClient<Blog>) {
    let (faults, blogs, truth) = create_with_faults(Emulator::new().page_size(2), "Blogs").await;
    for channel in CHANNELS {
        for id in 0..5 {
            truth.insert(&Blog::new(channel, id, 1)).await.unwrap();
        }
    }
    if !latency.is_zero() {
        faults.add(FaultRule::new(Fault::DelayRequest(latency)).on(OperationKind::Query));
    }
    (faults, blogs)
}

/// A client that denies queries of this kind.
fn denying(faults: Faults, path: AccessPath) -> TableClient<Blog> {
    let service = TableServiceClient::from_transport(faults).deny_access(path);
    service.table("Blogs").unwrap()
}

fn names(blogs: &[Blog]) -> String {
    let names = blogs.iter().map(|blog| format!("{}{}", blog.channel, blog.id));
    names.collect::<Vec<_>>().join(" ")
}

#[azure_table::test]
async fn bucketed_key_is_read_from_all_its_buckets(lines: TableClient<Line>) {
    for id in 0..40 {
        let line = Line {
            component: if id % 4 == 0 { "db" } else { "web" }.into(),
            bucket: Bucket::of(id.to_string()),
            id,
            level: (id % 5) as i32,
        };
        lines.insert(&line).await.unwrap();
    }
    let severe = lines.query().filter(Line::LEVEL.ge(3)).fan_out();
    let web = severe.partitions(Bucket::all().map(|bucket| ("web", bucket)));
    let plan = web.plan().unwrap();
    assert_eq!((plan.requests(), plan.path()), (4, AccessPath::Partition));
    let shown = plan.to_string();
    assert!(
        shown.starts_with("4 requests, each reads at most one partition"),
        "{shown}"
    );
    assert!(plan.request_text().contains("web%3B0000"), "{plan}");
    let found = web.clone().all().await.unwrap();
    assert_eq!(found.len(), 12);
    let keys: Vec<_> = found.iter().map(|line| (line.bucket, line.id)).collect();
    assert!(keys.is_sorted(), "in the order of the keys: {keys:?}");
    assert_eq!(web.count().await.unwrap(), 12);
}

#[tokio::test(start_paused = true)]
async fn set_of_keys_in_the_filter_is_queried_in_parts() {
    let (faults, blogs) = blogs(Duration::ZERO).await;
    let filter = Blog::CHANNEL.is_in(["d", "a", "d", "x"]) & Blog::ID.is_in([4, 1]);
    let query = blogs.query().filter(filter);
    assert_eq!(query.plan().unwrap().path(), AccessPath::TableScan);
    assert_contains(query.plan().unwrap(), "`fan_out`");
    let keys = query.fan_out();
    let plan = keys.plan().unwrap();
    assert_eq!((plan.requests(), plan.path()), (6, AccessPath::Point));
    assert_eq!(names(&keys.all().await.unwrap()), "a1 a4 d1 d4");
    assert_eq!(faults.requests(), 6);

    // Empty sets send nothing.
    for none in [
        blogs.query().filter(Blog::CHANNEL.is_in([""; 0])).fan_out(),
        blogs.query().fan_out().partitions([""; 0]),
    ] {
        assert_eq!(none.plan().unwrap().requests(), 0);
        assert_eq!(none.clone().all().await.unwrap(), []);
        assert_eq!(none.first().await.unwrap(), None);
    }
    assert_eq!(faults.requests(), 6);
}

#[tokio::test]
async fn prefixes_of_keys_are_parts_too() {
    let (_, blogs) = blogs(Duration::ZERO).await;
    let prefixes = [Key::<Blog>::prefix(("c",)).unwrap(), Key::prefix(("a", 3)).unwrap()];
    let found = blogs.query().fan_out().each_prefix(prefixes).all().await.unwrap();
    assert_eq!(names(&found), "a3 c0 c1 c2 c3 c4");
}

/// Parts with common rows are merged into one request, and joined sets are still sets.
#[tokio::test]
async fn overlapping_and_joined_sets_yield_each_row_once() {
    let (faults, blogs) = blogs(Duration::ZERO).await;
    let prefixes = [Key::<Blog>::prefix(("a",)).unwrap(), Key::prefix(("a", 3)).unwrap()];
    let overlapping = || blogs.query().fan_out().each_prefix(prefixes.clone());
    let plan = overlapping().plan().unwrap();
    assert_eq!((plan.requests(), plan.path()), (1, AccessPath::Partition), "{plan}");
    assert_eq!(names(&overlapping().all().await.unwrap()), "a0 a1 a2 a3 a4");
    let in_a = |condition| Blog::CHANNEL.eq("a") & condition;
    for (filter, requests, found) in [
        (Blog::CHANNEL.starts_with("a") | Blog::CHANNEL.eq("a"), 1, 5),
        (Blog::CHANNEL.between("a", "c") | Blog::CHANNEL.between("c", "d"), 1, 20),
        (Blog::CHANNEL.is_in(["a", "b"]) | Blog::CHANNEL.is_in(["c", "b"]), 3, 15),
        (Blog::CHANNEL.eq("e") | Blog::CHANNEL.is_in(["c", "b"]), 3, 15),
        (in_a(Blog::ID.lt(3)) | in_a(Blog::ID.le(3)), 1, 4),
    ] {
        let parts = blogs.query().filter(filter.clone()).fan_out();
        assert_eq!(parts.plan().unwrap().requests(), requests, "{filter}");
        assert_eq!(parts.all().await.unwrap().len(), found, "{filter}");
    }
    let strict = denying(faults, AccessPath::TableScan);
    assert_eq!(strict.query().fan_out().each_prefix(prefixes).count().await.unwrap(), 5);
}

/// A slow reader causes no timeout: requests in flight continue, and no attempt is cancelled.
#[tokio::test(start_paused = true)]
async fn slow_reader_causes_no_timeout() {
    async fn read_slowly<T>(mut items: impl TryStream<Ok = T, Error = azure_table::Error> + Unpin) -> usize {
        let mut count = 0;
        while items.try_next().await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_secs(1)).await;
            count += 1;
        }
        count
    }
    let (faults, blogs) = blogs(Duration::ZERO).await;
    let pause = Duration::from_millis(20);
    faults.add(Fault::Drip { bytes: 64, pause });
    let quick = CallOptions::new().attempt_timeout(Duration::from_millis(500));
    let parts = || blogs.query().fan_out().with(&quick).partitions(CHANNELS);
    assert_eq!(read_slowly(parts().stream()).await, 25);
    assert_eq!(read_slowly(parts().unordered().stream()).await, 25);
    let scan = blogs.query().scan().with(&quick).ranges(CHANNELS);
    assert_eq!(read_slowly(scan.stream()).await, 25);
    let many = blogs.get_many(CHANNELS.map(|channel| (channel, 1)));
    assert_eq!(read_slowly(many.with(&quick)).await, 5);
}

#[tokio::test(start_paused = true)]
async fn concurrency_limits_the_parts_in_flight() {
    let latency = Duration::from_millis(10);
    let (faults, blogs) = blogs(latency).await;
    // Five parts of three pages each.
    for (concurrency, rounds) in [(1, 15), (5, 3), (16, 3)] {
        let started = Instant::now();
        let all = blogs.query().fan_out().partitions(CHANNELS).concurrency(concurrency);
        assert_eq!(all.unordered().all().await.unwrap().len(), 25);
        let elapsed = started.elapsed();
        let expected = latency * rounds..latency * rounds + latency / 2;
        assert!(expected.contains(&elapsed), "{concurrency}: {elapsed:?}");
    }
    assert_eq!(faults.requests(), 3 * 15);
}

#[tokio::test(start_paused = true)]
async fn limit_applies_to_the_whole_fan_out() {
    let (faults, blogs) = blogs(Duration::from_millis(10)).await;
    let limited = || blogs.query().limit(7).fan_out();
    let query = || limited().partitions(["c", "a", "b"]).concurrency(1);
    assert_eq!(names(&query().all().await.unwrap()), "a0 a1 a2 a3 a4 b0 b1");
    assert_eq!(faults.requests(), 4, "three pages of a, one of b");
    assert_eq!(query().unordered().all().await.unwrap().len(), 7);
    let first = blogs.query().fan_out().partitions(["x", "b"]).first().await.unwrap();
    assert_eq!(first.unwrap().channel, "b");
}

#[tokio::test]
async fn fan_out_is_not_a_table_scan() {
    let (faults, blogs) = blogs(Duration::ZERO).await;
    for query in [blogs.query(), blogs.query().filter(Blog::ID.is_in([1, 2]))] {
        let error = query.clone().fan_out().all().await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
        assert_contains(&error, "`.partitions(..)`");
        query.allow_table_scan().fan_out().all().await.unwrap();
    }
    // A query that the client denies is allowed in parts.
    let blogs = denying(faults, AccessPath::PartitionRange);
    let two = blogs.query().filter(Blog::CHANNEL.is_in(["a", "b"]));
    assert_contains(two.clone().all().await.unwrap_err(), "`fan_out`");
    assert_eq!(two.fan_out().all().await.unwrap().len(), 10);

    let of_a = || blogs.query().partition("a");
    let page = of_a().pages().try_next().await.unwrap().unwrap();
    let resumed = of_a().resume_from(page.continuation().clone());
    assert_contains(resumed.fan_out().all().await.unwrap_err(), "`scan`");
    let error = blogs.query().fan_out().partitions(["a", "b/"]).all().await.unwrap_err();
    assert_contains(&error, "'/'");
}

#[tokio::test(start_paused = true)]
async fn the_first_error_ends_a_fan_out() {
    let (faults, blogs) = blogs(Duration::ZERO).await;
    faults.add(FaultRule::new(Fault::Reset).nth(5));
    let parts = blogs.query().fan_out().partitions(["a", "b", "c"]);
    let mut rows = parts.concurrency(1).stream();
    let mut read = Vec::new();
    let error = loop {
        match rows.try_next().await {
            Ok(row) => read.push(row.unwrap()),
            Err(e) => break e,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!(names(&read), "a0 a1 a2 a3 a4 b0 b1");
    assert!(rows.try_next().await.unwrap().is_none());
    assert_eq!(faults.requests(), 5);
}

#[tokio::test(start_paused = true)]
async fn unordered_get_many_yields_entities_as_they_arrive() {
    let (faults, blogs) = blogs(Duration::ZERO).await;
    let slow = FaultRule::new(Fault::DelayRequest(Duration::from_secs(1)));
    faults.add(slow.on(OperationKind::Get).nth(1));
    let keys = [("a", 1), ("b", 1), ("c", 1)];
    let read = blogs.get_many(keys).unordered().all().await.unwrap();
    let channels: Vec<_> = read.iter().map(|(key, _)| key.partition_key()).collect();
    assert_eq!(channels, ["b", "c", "a"]);
    let mut many = blogs.get_many(keys);
    for left in (0..3).rev() {
        many.try_next().await.unwrap().unwrap();
        assert_eq!(many.requests(), left);
    }
}

#[tokio::test(start_paused = true)]
async fn scan_reads_ranges_concurrently_and_reports_progress() {
    let (faults, blogs) = blogs(Duration::from_millis(10)).await;
    let reported = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&reported);
    let scan = blogs
        .query()
        .scan()
        .ranges(["d", "b", "b", "e0"])
        .on_progress(move |progress, _| log.lock().unwrap().push(*progress));
    let started = Instant::now();
    let mut rows = scan.stream();
    assert_eq!((rows.progress().ranges, rows.progress().ranges_done), (4, 0));
    let mut all: Vec<Blog> = rows.by_ref().try_collect().await.unwrap();
    all.sort_by_key(|blog| (blog.channel.clone(), blog.id));
    assert_eq!(names(&all).split(' ').count(), 25);
    all.dedup();
    assert_eq!(all.len(), 25);
    // a, b and c, d and e, nothing: the longest part has five pages.
    assert!(started.elapsed() < Duration::from_millis(55), "{:?}", started.elapsed());
    assert_eq!(faults.requests(), 3 + 5 + 5 + 1);
    let last = rows.progress();
    assert_eq!((last.ranges_done, last.pages, last.rows), (4, 14, 25));
    assert_eq!(reported.lock().unwrap().last(), Some(&last));
    assert_eq!(blogs.query().scan().ranges(["c"]).count().await.unwrap(), 25);
}

/// Each stop ends a process: the next one has only the stored position.
#[tokio::test(start_paused = true)]
async fn scan_resumes_from_its_position() {
    let (_, blogs) = blogs(Duration::from_millis(1)).await;
    let query = || blogs.query().filter(Blog::ID.ne(3));
    let mut kept: Option<String> = None;
    let mut read = Vec::new();
    let mut stops = 0;
    let mut is_over = false;
    while !is_over {
        let mut scan = query().scan().ranges(["b", "d"]).concurrency(2);
        if let Some(kept) = &kept {
            scan = scan.resume_from(serde_json::from_str::<ScanPosition>(kept).unwrap());
        }
        let mut rows = scan.stream();
        // A page has two rows, or one: stop after a page, or within it.
        let taken: Vec<_> = rows.by_ref().take(3).try_collect().await.unwrap();
        is_over = taken.len() < 3;
        // The rows of a page that was read in part are returned again.
        let whole = rows.progress().pages as usize;
        stops += 1;
        assert!(stops < 40 && whole <= 3);
        for row in taken {
            if !read.contains(&row) {
                read.push(row);
            }
        }
        kept = Some(serde_json::to_string(rows.position()).unwrap());
    }
    assert_eq!(read.len(), 20);

    let position: ScanPosition = serde_json::from_str(&kept.unwrap()).unwrap();
    let rest = query().scan().resume_from(position.clone()).stream();
    assert_eq!(rest.try_collect::<Vec<_>>().await.unwrap(), []);
    let error = blogs.query().scan().resume_from(position).count().await.unwrap_err();
    assert_contains(&error, "belongs to another query");
}

#[tokio::test]
async fn position_survives_a_rejected_scan() {
    let (_, blogs) = blogs(Duration::ZERO).await;
    let mut rows = blogs.query().scan().ranges(["c"]).stream();
    for _ in 0..2 {
        rows.try_next().await.unwrap();
    }
    let position = rows.position().clone();
    let other = blogs.query().filter(Blog::ID.eq(1)).scan();
    let mut other = other.resume_from(position.clone()).stream();
    assert!(other.try_next().await.is_err());
    assert_eq!(other.position(), &position);
}

#[tokio::test(start_paused = true)]
async fn a_failed_scan_keeps_its_position() {
    let (faults, blogs) = blogs(Duration::ZERO).await;
    let fault = faults.add(FaultRule::new(Fault::Reset).on(OperationKind::Query).every(6));
    let mut position = None;
    let mut read = Vec::new();
    let mut failures = 0;
    loop {
        let mut scan = blogs.query().scan().ranges(["c"]);
        if let Some(position) = position.take() {
            scan = scan.resume_from(position);
        }
        let mut rows = scan.stream();
        let rest = rows.by_ref().try_for_each(|row| {
            read.push(row);
            std::future::ready(Ok(()))
        });
        match rest.await {
            Ok(()) => break,
            Err(_) => failures += 1,
        }
        position = Some(rows.position().clone());
        if failures == 5 {
            fault.disable();
        }
    }
    assert!(failures > 0);
    assert_eq!(read.len(), 25, "each row once: {}", names(&read));
}

#[tokio::test]
async fn denied_scan_is_rejected_before_it_is_sent() {
    let (faults, blogs) = blogs(Duration::ZERO).await;
    let error = blogs.query().scan().ranges(["a/"]).count().await.unwrap_err();
    assert_contains(&error, "the end of a range \"a/\"");
    let strict = denying(faults.clone(), AccessPath::TableScan);
    let error = strict.query().scan().ranges(["c"]).count().await.unwrap_err();
    assert_contains(&error, "the whole table");
    assert_eq!(faults.requests(), 0);
    let allowed = strict.query().allow_table_scan().scan().ranges(["c"]);
    assert_eq!(allowed.count().await.unwrap(), 25);
    // A limit applies to all ranges together.
    let mut rows = blogs.query().limit(7).scan().ranges(["b", "c", "d"]).stream();
    assert_eq!(rows.by_ref().try_collect::<Vec<_>>().await.unwrap().len(), 7);
    assert!(rows.progress().ranges_done < 4);
}

/// A program stores the position in the callback, so the position must not be ahead of the rows that it processed.
#[tokio::test]
async fn progress_is_reported_after_the_rows_that_it_covers() {
    let (_, blogs) = blogs(Duration::ZERO).await;
    let reported = Arc::new(Mutex::new(0));
    let log = Arc::clone(&reported);
    let scan = || {
        let log = Arc::clone(&log);
        let scan = blogs.query().scan().ranges(["c"]);
        scan.on_progress(move |progress, _| *log.lock().unwrap() = progress.rows)
    };
    let mut pages = scan().stream();
    let mut processed = 0;
    while let Some(page) = pages.try_next_page().await.unwrap() {
        assert_eq!(*reported.lock().unwrap(), processed);
        processed += page.len() as u64;
    }
    assert_eq!((*reported.lock().unwrap(), processed), (25, 25));

    *reported.lock().unwrap() = 0;
    assert_eq!(scan().count().await.unwrap(), 25);
    assert_eq!(*reported.lock().unwrap(), 25, "a count reports its progress too");

    *reported.lock().unwrap() = 0;
    let mut rows = scan().stream();
    let mut processed = 0;
    while rows.try_next().await.unwrap().is_some() {
        assert!(*reported.lock().unwrap() <= processed);
        processed += 1;
    }
    assert_eq!((*reported.lock().unwrap(), processed), (25, 25));
}
