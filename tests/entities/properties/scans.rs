//! A scan that finds its own ranges yields every row once: any keys, page sizes, concurrency, stops and faults.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use azure_table::operation::OperationKind;
use azure_table::query::{Scan, ScanPosition, ScanStream};
use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
use azure_table::{CallOptions, Emulator, Key, NoRetry, Result, TableClient, TableEntity, TableServiceClient};
use futures::TryStreamExt;
use proptest::prelude::*;

use super::run;

#[derive(TableEntity, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    n: u32,
    odd: bool,
}

/// PartitionKeys with their numbers of rows.
type Groups = BTreeMap<String, u32>;

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[0-9]{1,3}",
        3 => "user-[0-9]{3}",
        2 => "[0-9a-f]{4}",
        2 => "[a-c ]{0,3}",
        2 => "[a\u{d7ff}\u{e000}\u{fffd}\u{ffff}\u{10000}\u{10ffff}\u{1f600}]{0,3}",
        1 => "[一-龥]{1,2}",
        1 => "[^\\pC/\\\\#?]{0,4}",
        1 => "[01]{2}".prop_map(|end| "long prefix ".repeat(20) + &end),
    ]
}

fn groups() -> impl Strategy<Value = Groups> {
    let one_kind = "[0-9]{3}";
    let rows = || prop_oneof![4 => 1..4_u32, 1 => 8..20_u32];
    prop_oneof![
        proptest::collection::btree_map(keys(), rows(), 0..24),
        proptest::collection::btree_map(one_kind, rows(), 10..40),
    ]
}

/// Few rows, for tests that read them once for each of their pages.
fn few() -> impl Strategy<Value = Groups> {
    prop_oneof![
        proptest::collection::btree_map(keys(), 1..4_u32, 0..12),
        proptest::collection::btree_map("[0-9]{3}", 1..4_u32, 8..16),
    ]
}

fn items(groups: &Groups) -> BTreeSet<Item> {
    let rows = groups
        .iter()
        .flat_map(|(group, rows)| (0..*rows).map(move |n| (group, n)));
    rows.map(|(group, n)| Item {
        group: group.clone(),
        n,
        odd: n % 2 == 1,
    })
    .collect()
}

async fn table_of(groups: &Groups, page_size: usize) -> (Faults, TableClient<Item>) {
    let faults = Faults::new(Emulator::new().page_size(page_size));
    let service = TableServiceClient::from_transport(faults.clone()).retry(NoRetry);
    let table = service.table::<Item>("Items").unwrap();
    table.create_table().await.unwrap();
    let report = table.bulk().insert(items(groups)).await.unwrap();
    report.ensure_no_leftovers().unwrap();
    (faults, table)
}

/// Yields the rows to the end, and checks that none was yielded before.
async fn take_rest<T: Ord + Clone + std::fmt::Debug>(rows: &mut ScanStream<T>, seen: &mut BTreeSet<T>) -> Result<()> {
    while let Some(row) = rows.try_next().await? {
        assert!(seen.insert(row.clone()), "a second time: {row:?}");
    }
    let progress = rows.progress();
    assert_eq!(progress.ranges, progress.ranges_done);
    Ok(())
}

/// Reads to each page and resumes from its position in another scan.
async fn resume_after_each_page<T: Ord + Clone + std::fmt::Debug>(
    scan: impl Fn() -> Scan<Item, Item>,
    stream: impl Fn(Scan<Item, Item>) -> ScanStream<T>,
    all: &BTreeSet<T>,
) {
    let mut pages = 0;
    loop {
        let mut rows = stream(scan());
        let mut seen = BTreeSet::new();
        let mut read = 0;
        let mut is_over = false;
        while read <= pages && !is_over {
            let page = rows.try_next_page().await.unwrap();
            is_over = page.is_none();
            for row in page.into_iter().flatten() {
                assert!(seen.insert(row));
            }
            read += 1;
        }
        if is_over {
            assert_eq!(&seen, all);
            break;
        }
        let stored = rows.position().to_string();
        drop(rows);
        let position: ScanPosition = stored.parse().unwrap();
        take_rest(&mut stream(scan().resume_from(position)), &mut seen)
            .await
            .unwrap();
        assert_eq!(&seen, all);
        pages += 1;
    }
}

proptest! {
    #![proptest_config(super::cases(ProptestConfig::with_cases(256)))]

    #[test]
    fn every_row_is_yielded_once(groups in groups(), page_size in 1_usize..9, concurrency in 1_usize..9) {
        run(async {
            let (faults, table) = table_of(&groups, page_size).await;
            let all = items(&groups);
            let scan = || table.query().scan().concurrency(concurrency);
            let (before, mut seen, mut rows) = (faults.requests(), BTreeSet::new(), scan().stream());
            take_rest(&mut rows, &mut seen).await.unwrap();
            prop_assert_eq!(&seen, &all);
            let (progress, requests) = (rows.progress(), faults.requests() - before);
            prop_assert_eq!(progress.pages, requests);
            let ranges = progress.ranges as u64;
            prop_assert!(ranges <= 65 + progress.pages / 8 && ranges <= 1 + 4 * progress.pages, "{:?}", progress);

            let mut names = BTreeSet::new();
            take_rest(&mut scan().partition_keys(), &mut names).await.unwrap();
            let expected: BTreeSet<_> = groups.keys().cloned().collect();
            prop_assert_eq!(&names, &expected);

            prop_assert_eq!(scan().count().await.unwrap(), all.len());
            let odd: BTreeSet<_> = all.iter().filter(|item| item.odd).cloned().collect();
            let query = || table.query().filter(Item::ODD.eq(true)).page_size(page_size.min(3));
            let mut seen = BTreeSet::new();
            take_rest(&mut query().scan().concurrency(concurrency).stream(), &mut seen).await.unwrap();
            prop_assert_eq!(&seen, &odd);
            let expected: BTreeSet<_> = odd.iter().map(|item| item.group.clone()).collect();
            let mut names = BTreeSet::new();
            take_rest(&mut query().scan().concurrency(concurrency).partition_keys(), &mut names).await.unwrap();
            prop_assert_eq!(&names, &expected);

            // Other types of rows: without keys, with them, versioned.
            let mut columns: Vec<_> = table.query().select((Item::ODD,)).scan().concurrency(concurrency).stream().try_collect().await.unwrap();
            columns.retain(|(odd,)| *odd);
            prop_assert_eq!(columns.len(), odd.len());
            let keys: Vec<Key<Item>> = table.query().keys().scan().concurrency(concurrency).stream().try_collect().await.unwrap();
            prop_assert_eq!(keys.iter().map(|key| (key.partition_key(), key.row_key())).collect::<BTreeSet<_>>().len(), all.len());
            let versioned: Vec<_> = table.query().versioned().scan().concurrency(concurrency).stream().try_collect().await.unwrap();
            prop_assert_eq!(versioned.len(), all.len());
            Ok(())
        })?;
    }
}

proptest! {
    // Each case reads the table once for each of its pages.
    #![proptest_config(super::cases(ProptestConfig::with_cases(32)))]

    #[test]
    fn scan_resumes_after_each_page(groups in few(), page_size in 1_usize..9, concurrency in 1_usize..9) {
        run(async {
            let (_, table) = table_of(&groups, page_size).await;
            let scan = || table.query().scan().concurrency(concurrency);
            resume_after_each_page(scan, Scan::stream, &items(&groups)).await;
            let names = groups.keys().cloned().collect();
            resume_after_each_page(scan, Scan::partition_keys, &names).await;
        });
    }

    /// Stops after each row, which repeats the rest of its page, and changes the concurrency in between.
    #[test]
    fn scan_resumes_after_each_row(groups in groups(), page_size in 1_usize..9, step in 1_usize..9) {
        run(async {
            let (_, table) = table_of(&groups, page_size).await;
            let (mut seen, mut position, mut stops) = (BTreeSet::new(), None, 0);
            loop {
                let scan = table.query().scan().concurrency(1 + stops % 8);
                let scan = match position.take() {
                    Some(position) => scan.resume_from(position),
                    None => scan,
                };
                let mut rows = scan.stream();
                let mut is_over = false;
                for _ in 0..step.max(page_size) {
                    match rows.try_next().await.unwrap() {
                        Some(row) => { seen.insert(row); }
                        None => is_over = true,
                    }
                }
                if is_over { break }
                position = Some(rows.position().to_string().parse::<ScanPosition>().unwrap());
                stops += 1;
            }
            prop_assert_eq!(&seen, &items(&groups));
            Ok(())
        })?;
    }

    /// Rows that exist all the time are yielded once, whatever is written meanwhile, and no row twice.
    #[test]
    fn concurrent_writes_do_not_disturb_a_scan(
        groups in groups(), others in groups(), page_size in 1_usize..9, concurrency in 1_usize..9,
    ) {
        run(async {
            let (_, table) = table_of(&groups, page_size).await;
            let all = items(&groups);
            let mut written = items(&others).into_iter().filter(|item| !all.contains(item));
            let mut deleted = all.iter().filter(|item| item.n == 2).cloned();
            let kept: BTreeSet<_> = all.iter().filter(|item| item.n != 2).cloned().collect();
            let mut rows = table.query().scan().concurrency(concurrency).stream();
            let mut seen = BTreeSet::new();
            while let Some(row) = rows.try_next().await.unwrap() {
                prop_assert!(seen.insert(row));
                if let Some(row) = written.next() {
                    table.insert(&row).await.unwrap();
                }
                if let Some(row) = deleted.next() {
                    table.delete(&row).await.unwrap();
                }
            }
            prop_assert!(kept.is_subset(&seen));
            Ok(())
        })?;
    }
}

/// Conditions of a caller on the keys.
fn conditions() -> impl Strategy<Value = Vec<(u8, String)>> {
    let key = prop_oneof![Just(String::new()), keys(), "[0-9]{3}", "user-[0-9]"];
    proptest::collection::vec((0..9_u8, key), 1..4)
}

fn filter_of(conditions: &[(u8, String)]) -> azure_table::Filter<Item> {
    let group = Item::GROUP;
    let one = |(operator, key): &(u8, String)| {
        let key = key.as_str();
        match operator {
            0 => group.eq(key),
            1 => group.ge(key),
            2 => group.gt(key),
            3 => group.le(key),
            4 => group.lt(key),
            5 => group.ne(key),
            6 => group.starts_with(key),
            7 => group.lt(key).or(Item::ODD.eq(true)),
            _ => group.ge(key).and(Item::N.ge(2)),
        }
    };
    conditions.iter().map(one).reduce(|a, b| a.and(b)).unwrap()
}

proptest! {
    #![proptest_config(super::cases(ProptestConfig::with_cases(256)))]

    /// A scan with conditions on the keys has the rows of the query, also in ranges of the caller, and resumed after
    /// any row by another concurrency and page size.
    #[test]
    fn scan_has_the_rows_of_its_conditions(
        groups in groups(),
        conditions in conditions(),
        ends in proptest::collection::vec(keys(), 0..3),
        sizes in proptest::collection::vec((1_usize..9, 1_usize..9, 1_usize..30), 1..5),
    ) {
        run(async {
            let (_, table) = table_of(&groups, 9).await;
            let query = |page_size| table.query().filter(filter_of(&conditions)).page_size(page_size);
            let all: BTreeSet<_> = query(9).all().await.unwrap().into_iter().collect();
            let scan = |page_size, concurrency, position: Option<ScanPosition>| {
                let scan = query(page_size).scan().concurrency(concurrency);
                match position {
                    Some(position) => scan.resume_from(position),
                    None => scan.ranges(&ends),
                }
            };
            let (mut seen, mut names) = (BTreeSet::new(), BTreeSet::new());
            let (mut position, mut key_position) = (None, None);
            for (page_size, concurrency, stop) in &sizes {
                let mut rows = scan(*page_size, *concurrency, position.take()).stream();
                let mut page = BTreeSet::new();
                for _ in 0..*stop {
                    if let Some(row) = rows.try_next().await.unwrap() {
                        prop_assert!(page.insert(row), "twice in one stream");
                    }
                }
                seen.append(&mut page);
                position = Some(rows.position().to_string().parse().unwrap());
                let mut keys = scan(*page_size, *concurrency, key_position.take()).partition_keys();
                for _ in 0..*stop {
                    names.extend(keys.try_next().await.unwrap());
                }
                key_position = Some(keys.position().clone());
            }
            let rest: Vec<_> = scan(4, 5, position).stream().try_collect().await.unwrap();
            prop_assert_eq!(rest.iter().collect::<BTreeSet<_>>().len(), rest.len());
            seen.extend(rest);
            prop_assert_eq!(&seen, &all);
            let rest: Vec<_> = scan(4, 5, key_position).partition_keys().try_collect().await.unwrap();
            names.extend(rest);
            prop_assert_eq!(names, all.into_iter().map(|item| item.group).collect::<BTreeSet<_>>());
            Ok(())
        })?;
    }
}

/// The faults after which a request fails.
fn fatal() -> [Fault; 5] {
    [
        Fault::Reset,
        Fault::NoConnection,
        Fault::CutResponse { at: 10 },
        Fault::HangResponse,
        Fault::Respond(ResponseTemplate::new(500)),
    ]
}

/// Fails each request of a scan in turn. A scan without retries resumes from its position, one with retries continues.
#[tokio::test(start_paused = true)]
async fn fault_at_any_request_loses_and_repeats_no_row() {
    let groups: Groups = (0..16).map(|n| (format!("user-{n:03}"), 1 + n % 4)).collect();
    let (faults, table) = table_of(&groups, 3).await;
    let all = items(&groups);
    let quick = CallOptions::new().attempt_timeout(Duration::from_secs(1));
    let patient = TableServiceClient::from_transport(faults.clone())
        .table::<Item>("Items")
        .unwrap();
    for fault in fatal() {
        for nth in 1.. {
            let (mut seen, mut names) = (BTreeSet::new(), BTreeSet::new());
            let rule = || FaultRule::new(fault.clone()).on(OperationKind::Query).nth(nth);
            let mut rows = table.query().with(&quick).scan().concurrency(5).stream();
            let added = faults.add(rule());
            let result = take_rest(&mut rows, &mut seen).await;
            faults.remove(&added);
            let is_past = result.is_ok();
            if result.is_err() {
                let position = rows.position().clone();
                assert!(rows.try_next().await.unwrap().is_none(), "an error ends the stream");
                let mut rest = table.query().scan().concurrency(4).resume_from(position).stream();
                take_rest(&mut rest, &mut seen).await.unwrap();
            }
            assert_eq!(seen, all, "{fault:?} {nth}");

            let added = faults.add(rule());
            let mut rows = patient.query().with(&quick).scan().concurrency(5).partition_keys();
            take_rest(&mut rows, &mut names).await.unwrap();
            faults.remove(&added);
            assert_eq!(names.len(), groups.len(), "{fault:?} {nth}");
            if is_past {
                assert!(nth > 10, "{nth}");
                break;
            }
        }
    }
}
