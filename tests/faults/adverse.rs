//! Every promise of a pattern, and of operations with several requests, on a service that does its worst: as Table
//! storage and as Cosmos DB.
//!
//! `AZURE_TABLE_ADVERSE_SEEDS` is the number of seeds. A broken promise prints its seed and the choices of the service.
//! A call of each promise, and each operation of this module, must succeed for at least one seed, or the promise holds
//! by failing.

mod positions;
mod resumed;
mod writes;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::operation::OperationKind;
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{
    DateTime, DynamicEntity, Emulator, Error, ErrorKind, Filter, Profile, TableClient, TableName, TableServiceClient,
};
use azure_table_patterns::{TablePerPeriod, UniqueInTable};
use azure_table_tests::entities::Marked;
use azure_table_tests::explorations::{Tally, operations, patterns};
use azure_table_tests::promises;
use azure_table_tests::promises::{ADVERSE_SEEDS, Place, Promise, adverse_seeds, count, on_adverse_services};
use futures::StreamExt as _;
use futures::future::join;

#[test]
fn promises_of_patterns_hold_on_adverse_services() {
    let runs = on_adverse_services(patterns::promises(), adverse_seeds());
    assert!(runs.broken.is_empty() && runs.without_success.is_empty(), "{runs:#?}");
}

#[test]
fn operations_of_several_requests_hold_on_adverse_services() {
    let promises = OPERATIONS.iter().chain(&resumed::PROMISES).chain(&positions::PROMISES);
    let promises = promises.chain(writes::PROMISES);
    let runs = on_adverse_services(promises.chain(&operations::PROMISES), adverse_seeds());
    assert!(runs.broken.is_empty() && runs.without_success.is_empty(), "{runs:#?}");
    let succeeded = SUCCEEDED.take();
    let services = ["Storage", "Cosmos"];
    let of = |service: &'static str| CALLS.iter().map(move |call| (*call, service.to_owned()));
    let mut calls = services.into_iter().flat_map(of);
    // Few seeds may have no success.
    let is_missing = |call: &(&str, String)| adverse_seeds().end >= ADVERSE_SEEDS && !succeeded.contains_key(call);
    assert_eq!(calls.find(is_missing), None, "it never succeeded: {succeeded:#?}");
}

/// The calls of the promises that must succeed for a seed.
const CALLS: &[&str] = &[
    "modify",
    "all",
    "count",
    "limit",
    "get_many",
    "pages",
    "delete_where",
    "delete_where on Timestamp",
    "starting_with",
    "filter",
    "ensure_tables",
    "recreate_table",
    "insert",
    "drop_before",
    "scan",
    "resumed delete_where",
    "resumed update_where",
    "gather",
    "fan_out",
    "bulk insert",
    "bulk delete",
    "chunked",
    "log",
    "trimmed log",
    "position of another table",
    "dropped table",
];

thread_local! {
    /// The number of successes of each call, by service.
    static SUCCEEDED: RefCell<BTreeMap<(&'static str, String), usize>> = RefCell::default();
}

/// Counts a call if it succeeded.
fn counted<T, E>(place: &Place, call: &'static str, result: Result<T, E>) -> Option<T> {
    count([&result]);
    let value = result.ok()?;
    let service = format!("{:?}", place.client("a").profile());
    SUCCEEDED.with_borrow_mut(|succeeded| *succeeded.entry((call, service)).or_default() += 1);
    Some(value)
}

const OPERATIONS: [Promise; 8] = promises![
    "`modify` by two tasks": modify,
    "queries read each row once": queries,
    "`delete_where` deletes what it selects": delete_where,
    "`delete_where` on Timestamp deletes old rows, or is rejected": delete_old,
    "lists of tables are complete": tables,
    "`ensure_tables` leaves the tables": ensure_tables,
    "`recreate_table` leaves an empty table": recreate,
    "`TablePerPeriod` keeps later periods, however the prefix is spelled": periods,
];

const TABLE: &str = "Things";

/// A success of a call that returns nothing.
const OK: Result<(), Error> = Ok(());

fn counter(group: &str) -> Marked {
    Marked::new(group, "visits", 0)
}

/// Creates tables without rows.
fn create(emulator: &Emulator, names: &[&str]) {
    for name in names {
        emulator.seed(name, std::iter::empty::<DynamicEntity>()).unwrap();
    }
}

async fn modify(place: Place) {
    let [a, b] = place.clients::<Marked>(TABLE);
    for group in ["a", "b", "c"] {
        place.emulator().seed(TABLE, [counter(group)]).unwrap();
        let add =
            async |table: &TableClient<Marked>| table.modify((group, "visits"), |counter| counter.count += 1).await;
        let (a, b) = join(add(&a), add(&b)).await;
        for added in [&a, &b] {
            counted(&place, "modify", added.as_ref());
        }
        let behind = place.behind().table::<Marked>(TABLE).unwrap();
        let stored = behind.get((group, "visits")).await.unwrap().unwrap();
        Tally::of([a, b]).check(stored.count);
    }
}

/// Leaves 12 rows in each of two partitions, and returns their RowKeys.
fn rows(place: &Place) -> Vec<String> {
    let keys: Vec<String> = (10..22).map(|n| n.to_string()).collect();
    let rows = ["p", "q"].into_iter().flat_map(|partition| {
        let row = move |key: &String| DynamicEntity::new(partition, key.as_str());
        keys.iter().map(row).collect::<Vec<_>>()
    });
    place.emulator().seed(TABLE, rows).unwrap();
    keys
}

async fn queries(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>(TABLE);
    let keys = rows(&place);
    let sorted = |rows: Vec<DynamicEntity>| {
        let mut keys: Vec<String> = rows.into_iter().map(|row| row.row_key).collect();
        keys.sort_unstable();
        keys
    };
    if let Some(rows) = counted(&place, "all", table.query().partition("p").all().await) {
        assert_eq!(sorted(rows), keys);
    }
    if let Some(count) = counted(&place, "count", table.query().allow_table_scan().count().await) {
        assert_eq!(count, 24);
    }
    if let Some(first) = counted(&place, "limit", table.query().partition("q").limit(5).all().await) {
        assert_eq!(first.len(), 5);
    }
    let reads = table.get_many(keys.iter().map(|key| ("p", key.as_str())));
    for read in reads.collect::<Vec<_>>().await {
        if let Some((key, row)) = counted(&place, "get_many", read) {
            assert!(row.is_some(), "{key} is missing");
        }
    }
    // Each page in another process.
    let (mut from, mut read) = (None, Vec::new());
    for _ in 0..200 {
        let query = table.query().partition("p");
        let query = match from.take() {
            Some(continuation) => query.resume_from(continuation),
            None => query,
        };
        match query.prefetch(0).pages().try_next().await {
            Ok(Some(page)) => {
                from = Some(page.continuation().clone());
                read.extend(page.into_items());
            }
            Ok(None) => {
                assert_eq!(sorted(read), keys);
                counted(&place, "pages", OK);
                break;
            }
            Err(_) => break,
        }
    }
}

async fn delete_where(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>(TABLE);
    rows(&place);
    let query = table.query().partition("p");
    if let Ok(report) = table.delete_where(query).await {
        counted(&place, "delete_where", report.ensure_no_leftovers());
        let behind = place.behind().dynamic_table(TABLE).unwrap();
        let left = behind.query().partition("p").count().await.unwrap();
        assert!(left <= report.leftovers().len(), "{left} are left: {report:?}");
        assert_eq!(behind.query().partition("q").count().await.unwrap(), 12);
    }
}

async fn delete_old(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>(TABLE);
    rows(&place);
    let later = place.emulator().clock().now() + Duration::from_secs(3_600);
    let old = format!("PartitionKey eq 'p' and Timestamp lt datetime'{later}'");
    let old = table.query().filter(Filter::raw(old));
    match table.delete_where(old).await {
        Ok(report) => {
            counted(&place, "delete_where on Timestamp", report.ensure_no_leftovers());
            let behind = place.behind().dynamic_table(TABLE).unwrap();
            let left = behind.query().partition("p").count().await.unwrap();
            assert!(left <= report.leftovers().len(), "{left} are left: {report:?}");
        }
        Err(e) if e.error().kind() == ErrorKind::Unsupported => {
            assert_eq!(place.client("a").profile(), Profile::Cosmos);
            counted(&place, "delete_where on Timestamp", OK);
        }
        Err(_) => {}
    }
}

async fn tables(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>("LogsZ1");
    let service = place.client("a");
    drop(table);
    create(place.emulator(), &["LogsZ2", "LogsZ3", "LogsY1", "Other"]);
    let prefixed = service.list_tables().starting_with("LogsZ").all().await;
    let filtered = service.list_tables().filter(TableName::NAME.starts_with("LogsZ"));
    let filtered = filtered.all().await;
    let prefixed = counted(&place, "starting_with", prefixed);
    let filtered = counted(&place, "filter", filtered);
    for mut names in [prefixed, filtered].into_iter().flatten() {
        names.sort_unstable();
        assert_eq!(names, ["LogsZ1", "LogsZ2", "LogsZ3"]);
    }
}

async fn ensure_tables(place: Place) {
    let [_, _] = place.clients::<DynamicEntity>(TABLE);
    let names = [TABLE, "More", "Most"];
    let ensured = place.client("a").ensure_tables(names).await;
    if counted(&place, "ensure_tables", ensured).is_some() {
        for name in names {
            let table = place.behind().dynamic_table(name).unwrap();
            assert!(table.table_exists().await.unwrap(), "{name} is missing");
        }
    }
}

async fn recreate(place: Place) {
    let [table, _] = place.clients::<DynamicEntity>(TABLE);
    rows(&place);
    let recreated = table.recreate_table(Duration::from_secs(300)).await;
    if counted(&place, "recreate_table", recreated).is_some() {
        let behind = place.behind().dynamic_table(TABLE).unwrap();
        assert_eq!(behind.query().allow_table_scan().count().await.unwrap(), 0);
        let row = DynamicEntity::new("p", "new");
        if counted(&place, "insert", table.insert(&row).await).is_some() {
            assert!(behind.exists(("p", "new")).await.unwrap(), "an insert vanished");
        }
    }
}

async fn periods(place: Place) {
    let now = "2026-06-15T00:00:00Z".parse::<DateTime>().unwrap();
    create(place.emulator(), &["Events202712", "Events202601", "events202605"]);
    let service = place.client("a");
    let events = TablePerPeriod::<DynamicEntity>::monthly(&service, "events");
    if let Some(mut dropped) = counted(&place, "drop_before", events.drop_before(now).await) {
        dropped.sort_unstable();
        let old: &[&str] = match service.profile() {
            // Its table names are case-sensitive.
            Profile::Cosmos => &["events202605"],
            _ => &["Events202601", "events202605"],
        };
        assert_eq!(dropped, old);
        for name in dropped {
            let table = place.behind().dynamic_table(&name).unwrap();
            assert!(!table.table_exists().await.unwrap(), "{name} was not dropped");
        }
    }
    let later = place.behind().dynamic_table("Events202712").unwrap();
    let exists = later.table_exists().await.unwrap();
    assert!(exists, "a table was dropped before its period");
}

/// Returns a client of Cosmos DB with a lag, and one of the same service that does its worst.
fn cosmos(lag: Duration, seed: u64) -> [TableServiceClient; 2] {
    let calm = Emulator::cosmos().secondary_lag(lag);
    create(&calm, &[TABLE, "Claims"]);
    // In both locations, so that the secondary has the tables.
    calm.clock().advance(2 * lag);
    [calm.clone(), calm.adverse(seed)].map(TableServiceClient::from_transport)
}

fn values(service: &TableServiceClient) -> UniqueInTable<Marked> {
    let (table, claims) = (service.table(TABLE).unwrap(), service.dynamic_table("Claims").unwrap());
    UniqueInTable::new(&table, &claims, "~")
}

#[tokio::test(start_paused = true)]
async fn reads_of_cosmos_db_miss_a_row_only_if_the_secondary_lags() {
    let found = async |lag| {
        let mut found = BTreeSet::new();
        for seed in 0..ADVERSE_SEEDS {
            let services = cosmos(lag, seed);
            let [calm, adverse] = services.map(|service| service.dynamic_table(TABLE).unwrap());
            calm.insert(&DynamicEntity::new("p", "r")).await.unwrap();
            found.extend(adverse.exists(("p", "r")).await.ok());
        }
        found
    };
    assert_eq!(found(Duration::ZERO).await, BTreeSet::from([true]));
    assert_eq!(found(Duration::from_secs(60)).await, BTreeSet::from([false, true]));
}

/// A row that a read misses does not show that its value is free.
#[tokio::test(start_paused = true)]
async fn value_is_unique_on_cosmos_db_although_reads_lag() {
    let mut rejected = 0;
    for seed in 0..adverse_seeds().end {
        let [calm, adverse] = cosmos(Duration::from_secs(60), seed).map(|service| values(&service));
        assert!(calm.insert(&counter("one"), "value").await.unwrap());
        if let Ok(inserted) = adverse.insert(&counter("two"), "value").await {
            assert!(!inserted, "seed {seed}: both have the value");
            rejected += 1;
        }
    }
    assert!(rejected > 0);
}

/// A reservation for no entity shows that a value is absent. Its writer may be gone before it deletes it.
#[tokio::test]
async fn reservation_for_no_entity_takes_no_value() {
    let emulator = Emulator::cosmos();
    let left = |group: &str| {
        let mut row = DynamicEntity::new(group, "~value");
        row.insert("Owner", "");
        row.insert("Confirmed", false);
        row
    };
    let mut claim = DynamicEntity::new("value", format!("{TABLE};~"));
    claim.insert("Partition", "other");
    emulator.seed("Claims", [claim]).unwrap();
    emulator.seed(TABLE, [left("other"), left("one")]).unwrap();
    let values = values(&TableServiceClient::from_transport(emulator));
    assert!(values.insert(&counter("one"), "value").await.unwrap());
}

/// The insert of a row is rejected while reads do not return the row yet.
#[tokio::test(start_paused = true)]
async fn insert_of_a_value_waits_for_reads_that_lag() {
    let lag = Duration::from_secs(10);
    // In the partition of the value, and in another.
    for (group, ends) in [("one", true), ("two", true), ("one", false), ("two", false)] {
        let emulator = Emulator::cosmos();
        create(&emulator, &[TABLE, "Claims"]);
        let faults = Faults::new(emulator);
        let values = values(&TableServiceClient::from_transport(faults.clone()));
        assert!(values.insert(&counter("one"), "value").await.unwrap());

        let missing = ResponseTemplate::new(404).code("ResourceNotFound");
        faults.add(FaultRule::new(missing).on(OperationKind::Get));
        faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_millis(5))).on(OperationKind::Insert));
        let (before, start) = (faults.requests(), tokio::time::Instant::now());
        let clear = async {
            tokio::time::sleep(lag).await;
            if ends {
                faults.clear();
            }
        };
        let other = Marked::new(group, "other", 0);
        let (inserted, ()) = join(values.insert(&other, "value"), clear).await;
        let (requests, time) = (faults.requests() - before, start.elapsed());
        if ends {
            assert!(!inserted.unwrap(), "{group}: both have the value");
            let limit = lag + Duration::from_secs(2);
            assert!(requests < 40 && time < limit, "{requests} in {time:?}");
        } else {
            let error = inserted.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Contention);
            let limit = Duration::from_secs(90);
            assert!(requests < 140 && time < limit, "{requests} in {time:?}");
            assert!(error.to_string().contains("its reads may lag"), "{error}");
        }
    }
}
