//! The cost and the limits of a scan that finds its own ranges. Its rows are tested in `properties/scans.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::filter::AccessPath;
use azure_table::operation::OperationKind;
use azure_table::query::ScanPosition;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{DynamicEntity, Emulator, ErrorKind, Result, TableClient, TableServiceClient};
use azure_table_tests::entities::Numbered;
use azure_table_tests::errors::{assert_contains, assert_error};
use azure_table_tests::scenario::of_all;
use futures::{StreamExt, TryStreamExt};
use tokio::time::Instant;

use crate::api::{create, create_with_faults};

/// The time of each query.
const LATENCY: Duration = Duration::from_millis(10);

/// A table with this many rows in each partition. Each query takes [`LATENCY`].
async fn table_of(
    partitions: impl Iterator<Item = String>,
    rows: u32,
    page_size: usize,
) -> (Faults, TableClient<Numbered>) {
    table_with(partitions.map(|group| (group, rows)), page_size).await
}

/// A table of partitions with these numbers of rows.
async fn table_with(
    partitions: impl Iterator<Item = (String, u32)>,
    page_size: usize,
) -> (Faults, TableClient<Numbered>) {
    let (faults, table, truth) = create_with_faults(Emulator::new().page_size(page_size), "Lines").await;
    let rows = partitions.flat_map(|(group, rows)| (0..rows).map(move |number| Numbered::new(&group, number, 1)));
    truth.bulk().insert(rows).await.unwrap().ensure_no_leftovers().unwrap();
    faults.add(FaultRule::new(Fault::DelayRequest(LATENCY)).on(OperationKind::Query));
    (faults, table)
}

/// The names of partitions: `00`, `01` and so on.
fn two_digits(partitions: u32) -> impl Iterator<Item = String> {
    (0..partitions).map(|n| format!("{n:02}"))
}

/// The cost of a call.
#[derive(Debug)]
struct Cost {
    items: usize,
    requests: u64,
    /// The requests that no other request ran beside.
    round_trips: u64,
}

async fn cost(faults: &Faults, call: impl Future<Output = Result<usize>>) -> Cost {
    let (started, before) = (Instant::now(), faults.requests());
    let items = call.await.unwrap();
    Cost {
        items,
        requests: faults.requests() - before,
        round_trips: (started.elapsed().as_millis() / LATENCY.as_millis()) as u64,
    }
}

/// Returns the costs of a sequential read, of a scan, and of a list of the PartitionKeys.
async fn costs(faults: &Faults, table: &TableClient<Numbered>) -> [Cost; 3] {
    let query = || table.query();
    let list = async {
        let keys = query().scan().partition_keys();
        Ok(keys.try_collect::<Vec<_>>().await?.len())
    };
    [
        cost(faults, query().allow_table_scan().count()).await,
        cost(faults, query().scan().count()).await,
        cost(faults, list).await,
    ]
}

/// Checks the costs against the limit of ranges, each of which may end with a page of its own.
fn check_limit(sequential: u64, cost: &Cost) {
    let most = sequential + 65 + cost.requests / 8;
    assert!(cost.requests <= most, "{sequential}: {cost:?}");
}

#[expect(clippy::print_stdout, reason = "the figures of PERFORMANCE.md")]
async fn measure(name: &str, partitions: impl Iterator<Item = (String, u32)>, page_size: usize) -> [Cost; 3] {
    let partitions: Vec<_> = partitions.collect();
    let keys = partitions.len();
    let rows = partitions.iter().map(|(_, rows)| *rows as usize).sum();
    let (faults, table) = table_with(partitions.into_iter(), page_size).await;
    let costs = costs(&faults, &table).await;
    let [sequential, scan, list] = &costs;
    let [in_sequence, by_scan, of_keys] = costs
        .each_ref()
        .map(|cost| format!("{} requests, {} round trips", cost.requests, cost.round_trips));
    println!("{name}: {rows} rows, {keys} partitions; in sequence {in_sequence}; scan {by_scan}; keys {of_keys}");
    assert_eq!([sequential.items, scan.items, list.items], [rows, rows, keys]);
    check_limit(sequential.requests, scan);
    check_limit(sequential.requests.min(keys as u64 + 1), list);
    costs
}

fn numbered(partitions: u32, rows: u32) -> impl Iterator<Item = (String, u32)> {
    (0..partitions).map(move |n| (format!("file-{n:06}"), rows / partitions))
}

#[tokio::test(start_paused = true)]
async fn scan_costs_a_few_more_requests_in_a_fraction_of_the_round_trips() {
    for partitions in [40, 2_000] {
        let [sequential, scan, list] = measure("numbered", numbered(partitions, 4_000), 10).await;
        assert!(scan.requests <= sequential.requests * 5 / 4, "{scan:?}");
        assert!(scan.round_trips <= sequential.round_trips / 8, "{scan:?}");
        assert!(list.round_trips <= sequential.round_trips / 8, "{list:?}");
    }
    let [sequential, scan, list] = measure("one", numbered(1, 4_000), 10).await;
    // The rows of one partition are read in sequence.
    assert!(scan.requests <= sequential.requests + 8, "{scan:?}");
    assert!(scan.round_trips <= sequential.round_trips + 1, "{scan:?}");
    assert!(list.requests <= 8, "{list:?}");
}

/// Other keys than padded numbers: the limits of requests hold for all, and most are read in parallel.
#[tokio::test(start_paused = true)]
async fn keys_of_any_kind_are_divided() {
    let random = || fastrand::Rng::with_seed(7);
    let (mut many, mut letters, mut others) = (random(), random(), random());
    let mut word = |n| {
        let letters = (0..letters.usize(2..8)).map(|_| char::from(*letters.choice(b"eeettaoinshrdlu").unwrap()));
        format!("{}{n}", letters.collect::<String>())
    };
    let mut chinese = || (0..4).map(|_| others.char('\u{4e00}'..'\u{9fff}')).collect();
    let dated = |n| {
        let (tenant, day) = (n / 125, n % 125);
        format!("tenant-{tenant}-2026-{:02}-{:02}", 1 + day / 28, 1 + day % 28)
    };
    let kinds: [(&str, Vec<String>); 5] = [
        (
            "hexadecimal",
            (0..1_000).map(|_| format!("{:032x}", many.u128(..))).collect(),
        ),
        ("unpadded", (0..1_000).map(|n| n.to_string()).collect()),
        ("words", (0..1_000).map(&mut word).collect()),
        ("Chinese", (0..1_000).map(|_| chinese()).collect()),
        ("dated", (0..1_000).map(dated).collect()),
    ];
    for (name, keys) in kinds.into_iter().take(of_all(5) as usize) {
        let partitions = keys.into_iter().map(|key| (key, 2));
        let [sequential, scan, _] = measure(name, partitions, 10).await;
        assert!(scan.round_trips <= sequential.round_trips / 3, "{name}: {scan:?}");
    }
    // The first partitions have most of the rows.
    let uneven = (0..400).map(|n| (format!("{n:04}"), 800 / (n + 1) + 1));
    let [sequential, scan, _] = measure("uneven", uneven, 10).await;
    assert!(scan.round_trips <= sequential.round_trips / 3, "{scan:?}");
}

/// The figures of PERFORMANCE.md.
#[tokio::test(start_paused = true)]
#[ignore = "takes minutes: add `--ignored`"]
async fn scans_of_a_million_rows() {
    for (partitions, round_trips) in [(1, 1_000), (1_000, 80), (100_000, 80)] {
        let [_, scan, _] = measure("numbered", numbered(partitions, 1_000_000), 1_000).await;
        assert!(scan.requests <= 1_060 && scan.round_trips <= round_trips, "{scan:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn short_table_costs_few_requests() {
    let names = || two_digits(100);
    let (faults, table) = table_of(names(), 1, 1_000).await;
    assert_eq!(cost(&faults, table.query().scan().count()).await.requests, 1);
    for (page_size, most) in [(99, 6), (50, 8), (34, 10)] {
        let (faults, table) = table_of(names(), 1, page_size).await;
        let cost = cost(&faults, table.query().scan().count()).await;
        assert!(cost.items == 100 && cost.requests <= most, "{page_size}: {cost:?}");
    }
    // One range in progress is a sequential read.
    let (faults, table) = table_of(names(), 1, 10).await;
    let cost = cost(&faults, table.query().scan().concurrency(1).count()).await;
    assert_eq!((cost.items, cost.requests, cost.round_trips), (100, 10, 10));
}

/// Conditions of the query on the keys limit the ranges.
#[tokio::test(start_paused = true)]
async fn scan_stays_within_the_keys_of_its_query() {
    let (faults, table) = table_of(two_digits(100), 10, 10).await;
    let of_37 = || table.query().partition("37").scan();
    let one = cost(&faults, of_37().count()).await;
    assert_eq!((one.items, one.requests), (10, 1));
    let some = table
        .query()
        .filter(Numbered::GROUP.ge("50") & Numbered::GROUP.lt("60"));
    let cost = cost(&faults, some.scan().count()).await;
    assert_eq!(cost.items, 100);
    assert!(cost.requests <= 30, "{cost:?}");
    let keys: Vec<_> = of_37().partition_keys().try_collect().await.unwrap();
    assert_eq!(keys, ["37"]);
    let none = table.query().filter(Numbered::GROUP.eq("none")).scan();
    let keys: Vec<_> = none.partition_keys().try_collect().await.unwrap();
    assert_eq!(keys, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn stopped_scan_sends_no_more_requests() {
    let (faults, table) = table_of(two_digits(100), 10, 10).await;
    let mut rows = table.query().limit(25).scan().stream();
    assert_eq!(rows.by_ref().try_collect::<Vec<_>>().await.unwrap().len(), 25);
    let sent = faults.requests();
    assert!(sent <= 25, "{sent}");
    assert!(rows.try_next().await.unwrap().is_none());
    let mut rows = table.query().scan().stream();
    for _ in 0..45 {
        rows.try_next().await.unwrap().unwrap();
    }
    drop(rows);
    let sent = faults.requests();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(faults.requests(), sent);
    let mut keys = table.query().limit(3).scan().partition_keys();
    assert_eq!(keys.by_ref().try_collect::<Vec<_>>().await.unwrap().len(), 3);
}

/// Only a page that a limit cuts short is read again.
#[tokio::test(start_paused = true)]
async fn position_is_behind_each_page_of_a_scan() {
    let (_, table) = table_of((0..4).map(|n| n.to_string()), 5, 10).await;
    let mut rows = table.query().limit(15).scan().concurrency(1).stream();
    rows.try_next().await.unwrap().unwrap();
    let start = rows.position().clone();
    let rest = rows.try_next_page().await.unwrap().unwrap();
    assert_eq!(rest.len(), 9, "the rest of the page");
    let behind = rows.position().clone();
    assert_ne!(behind, start);
    let cut = rows.try_next_page().await.unwrap().unwrap();
    assert_eq!((cut.len(), rows.progress().rows), (5, 15));
    assert_eq!(rows.position(), &behind, "half of the page is left");
    assert!(rows.try_next_page().await.unwrap().is_none());
    let rest = table.query().limit(15).scan().resume_from(behind).stream();
    assert_eq!(rest.try_collect::<Vec<_>>().await.unwrap().len(), 10);
}

/// At the deadline, the position has the rows that were yielded.
#[tokio::test(start_paused = true)]
async fn scan_resumes_after_its_total_timeout() {
    let (_, table) = table_of(two_digits(100), 10, 10).await;
    let (mut count, mut position, mut stops) = (0, None::<ScanPosition>, 0);
    loop {
        let mut scan = table.query().scan().concurrency(4);
        if let Some(position) = position.take() {
            scan = scan.resume_from(position);
        }
        let mut rows = scan.total_timeout(LATENCY * 6).stream();
        let rest = rows.by_ref().try_for_each(|_| {
            count += 1;
            std::future::ready(Ok(()))
        });
        let Err(error) = rest.await else { break };
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        position = Some(rows.position().clone());
        stops += 1;
        assert!(stops < 30);
    }
    assert!(stops > 2, "{stops}");
    assert_eq!(count, 1_000);
}

/// A position holds the ranges in progress, however many were found.
#[tokio::test(start_paused = true)]
async fn position_stays_short() {
    let (_, table) = table_of((0..200).map(|n| format!("{n:03}")), 10, 5).await;
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let scan = table.query().scan().concurrency(4).on_progress(move |_, position| {
        let position = serde_json::to_value(position).unwrap();
        seen.fetch_max(position["ranges"].as_array().unwrap().len(), Ordering::Relaxed);
    });
    let mut rows = scan.stream();
    while rows.try_next().await.unwrap().is_some() {}
    assert!(rows.progress().ranges > 8, "{:?}", rows.progress());
    assert_eq!(most.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn position_of_rows_and_of_partition_keys_are_told_apart() {
    let (faults, table) = table_of(two_digits(20), 2, 5).await;
    let scan = || table.query().scan();
    let (mut rows, mut keys) = (scan().stream(), scan().partition_keys());
    rows.try_next().await.unwrap();
    keys.try_next().await.unwrap();
    let sent = faults.requests();
    let mut of_rows = scan().resume_from(rows.position().clone()).partition_keys();
    let mut of_keys = scan().resume_from(keys.position().clone()).stream();
    for error in [
        of_rows.try_next().await.unwrap_err(),
        of_keys.try_next().await.unwrap_err(),
    ] {
        assert_error(&error, ErrorKind::InvalidInput, "`partition_keys`");
    }
    assert_eq!(faults.requests(), sent);
    // A list within ranges that the caller sets.
    let keys = scan().ranges(["1"]).partition_keys();
    assert_eq!(keys.try_collect::<Vec<_>>().await.unwrap().len(), 20);
}

/// The position of a scan in ranges that the caller set, as version 0.1.0 stored it.
#[tokio::test]
async fn stored_position_of_set_ranges_stays_readable() {
    let (_, table) = table_of(two_digits(20), 1, 5).await;
    let mut rows = table.query().scan().ranges(["10"]).stream();
    rows.try_next().await.unwrap();
    let mut stored = serde_json::to_value(rows.position()).unwrap();
    let range = |from: Option<&str>, to: Option<&str>, read| serde_json::json!({"from": from, "to": to, "read": read});
    let last = range(Some("10"), None, "Nothing");
    assert_eq!(stored["ranges"][1], last);
    stored["ranges"] = serde_json::json!([range(None, Some("10"), "All"), last]);
    let position: ScanPosition = serde_json::from_value(stored).unwrap();
    for scan in [table.query().scan(), table.query().scan().ranges(["10"])] {
        assert_eq!(scan.resume_from(position.clone()).count().await.unwrap(), 10);
    }
}

/// Cosmos DB returns rows in no order: ranges would not follow the rows that were read.
#[tokio::test]
async fn cosmos_is_scanned_in_sequence() {
    let table = create::<DynamicEntity>(Emulator::cosmos().page_size(3), "Things").await;
    for n in 0..20 {
        table.insert(&DynamicEntity::new(format!("p{n}"), "1")).await.unwrap();
    }
    let mut rows = table.query().scan().stream();
    assert_eq!(rows.by_ref().try_collect::<Vec<_>>().await.unwrap().len(), 20);
    assert_eq!((rows.progress().ranges, rows.progress().pages), (1, 7));
    let error = table.query().scan().partition_keys().try_next().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unsupported, 0));
}

#[azure_table::test]
async fn scan_that_finds_its_ranges_is_denied_too(service: TableServiceClient, lines: TableClient<Numbered>) {
    drop(lines);
    let service = service.deny_access(AccessPath::TableScan);
    let table = service.table::<Numbered>("Lines").unwrap();
    let error = table.query().scan().partition_keys().try_next().await.unwrap_err();
    assert_contains(&error, "the whole table");
    assert_eq!(table.query().allow_table_scan().scan().count().await.unwrap(), 0);
}

/// The conditions of a range name up to three keys. A scan of rows with long ones must not fail where a query succeeds.
#[tokio::test(start_paused = true)]
async fn scan_keeps_a_chain_whose_ranges_have_long_urls() {
    let long = |n: u32| format!("{}{n:03}", "\u{4e00}".repeat(500));
    let (_, table) = table_of((0..200).map(long), 1, 10).await;
    let others: Vec<_> = (900..904).map(|n| Numbered::GROUP.ne(long(n))).collect();
    let filter = others.into_iter().reduce(|a, b| a.and(b)).unwrap();
    let query = || table.query().filter(filter.clone());
    assert_eq!(query().all().await.unwrap().len(), 200);
    let rows: Vec<_> = query().scan().stream().try_collect().await.unwrap();
    assert_eq!(rows.len(), 200);
}
