//! The requests of each call, beside the original's, which are read from its code.

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{Emulator, TableServiceClient};
use futures::TryStreamExt as _;

use crate::systems::catalogue::{Catalogue, Edit, Leaf, Selection};

/// A catalogue of these entries, whose requests are counted.
fn counted(leaves: impl IntoIterator<Item = Leaf>) -> (Faults, Catalogue) {
    let emulator = Emulator::new();
    emulator.seed("Leaves", leaves).unwrap();
    let faults = Faults::new(emulator);
    let service = TableServiceClient::from_transport(faults.clone());
    (faults, Catalogue::new(&service.table("Leaves").unwrap()))
}

/// Versions of one package.
fn versions(numbers: impl Iterator<Item = usize>, commit: i64) -> Vec<Leaf> {
    numbers
        .map(|n| Leaf::new("p", format!("{n:04}"), commit, "url"))
        .collect()
}

/// The requests of `EntityUpsertStorageService.AddAsync` (`ReadThenAdd`) without a conflict.
///
/// It reads up to ten entries one by one, or more by a query. Then it sends a batch for each hundred.
fn requests_to_add(entries: usize, stored: usize) -> usize {
    let reads = if entries <= 10 {
        entries
    } else {
        stored.div_ceil(1_000).max(1)
    };
    reads + entries.div_ceil(100)
}

/// The requests of `StorageNoOpRetryPolicy` for a batch whose response was lost.
///
/// It sends the batch again, and then reads its rows one by one. If there are more than ten, one page of a query is
/// first.
fn requests_to_read_back(rows: &[usize]) -> usize {
    let behind_the_page = rows.iter().filter(|row| **row >= 1_000).count();
    match rows.len() {
        11.. => 1 + 1 + behind_the_page,
        few => 1 + few,
    }
}

/// The requests of `TablePrefixScanner` over rows in order, by their PartitionKeys: `take` rows per page.
fn requests_to_scan(rows: &[String], prefix: &str, take: usize, is_first: bool) -> usize {
    let mut requests = 0;
    if is_first {
        let own = rows.iter().filter(|key| *key == prefix).count();
        requests += own.div_ceil(take).max(1);
    }
    let mut rest: Vec<&String> = rows.iter().filter(|key| key.as_str() > prefix).collect();
    loop {
        requests += 1;
        if rest.len() <= take {
            return requests;
        }
        let last = rest[take - 1];
        let (same, others): (Vec<_>, Vec<_>) = rest[take..].iter().copied().partition(|key| *key == last);
        requests += same.len().div_ceil(take).max(1);
        let next = &last[..=prefix.len()];
        let (below, behind): (Vec<_>, Vec<_>) = others.into_iter().partition(|key| key.starts_with(next));
        let below: Vec<String> = below.into_iter().cloned().collect();
        requests += requests_to_scan(&below, next, take, false);
        rest = behind;
    }
}

#[tokio::test]
async fn calls_send_no_more_requests_than_the_original() {
    println!("| call | requests | original |\n|---|--:|--:|");
    for (name, numbers, stored) in [
        ("add one entry", 0..1, 0),
        ("add 10 entries of a package", 0..10, 0),
        ("add 100 entries of a package", 0..100, 0),
        ("replace 3,200 entries of a package", 0..3_200, 3_200),
    ] {
        let (faults, catalogue) = counted(versions(0..stored, 1));
        let entries = numbers.len();
        catalogue.add(versions(numbers, 2)).await.unwrap();
        compare(name, faults.requests(), requests_to_add(entries, stored));
    }
    for (name, rows) in [
        ("read back a batch of 2 rows", vec![0_usize, 1]),
        (
            "read back a batch of 22 of 2,000 rows",
            (0..11).chain(1_500..1_511).collect(),
        ),
        (
            "read back a batch of the first and the last of 2,000 rows",
            vec![0, 1_999],
        ),
        (
            "read back a batch of the first and the last of 9,000 rows",
            vec![0, 8_999],
        ),
    ] {
        let count = rows[rows.len() - 1].next_multiple_of(1_000).max(2_000);
        let (faults, catalogue) = counted(versions(0..count, 1));
        let mut edits = Vec::new();
        for row in &rows {
            let read = catalogue.get("p", &format!("{row:04}")).await.unwrap();
            edits.push(Edit::Replace(read.unwrap()));
        }
        faults.add(FaultRule::new(Fault::LoseResponse).on_writes().first(1));
        let before = faults.requests();
        let etags = catalogue.commit(&edits).await.unwrap();
        assert!(etags.iter().all(Option::is_some));
        compare(name, faults.requests() - before - 1, requests_to_read_back(&rows));
    }
    for (name, count, rows) in [
        ("scan 500 packages of 2 versions", 500_usize, 2_usize),
        ("scan 5,000 packages of 3 versions", 5_000, 3),
    ] {
        // Letters, spread as in the names of packages.
        let id = |n: usize| format!("{:05x}.{n}", n * 0x9e37 % 0xf_ffff);
        let leaves =
            (0..count).flat_map(|n| (0..rows).map(move |version| Leaf::new(id(n), version.to_string(), 1, "url")));
        let leaves: Vec<Leaf> = leaves.collect();
        let (faults, catalogue) = counted(leaves.clone());
        let mut keys: Vec<String> = leaves.into_iter().map(|leaf| leaf.id).collect();
        keys.sort();
        let all = catalogue.query(&Selection::default()).scan().stream();
        assert_eq!(
            all.try_fold(0, async |count, _| Ok(count + 1)).await.unwrap(),
            keys.len()
        );
        compare(name, faults.requests(), requests_to_scan(&keys, "", 1_000, true));
    }
}

fn compare(name: &str, ours: u64, original: usize) {
    println!("| {name} | {ours} | {original} |");
    assert!(ours <= original as u64, "{name}");
}
