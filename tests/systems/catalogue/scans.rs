//! Scans of a catalogue. Source: `test/Logic.Test/TablePrefixScan/TablePrefixScannerTest.cs`,
//! `test/Worker.Logic.Test/TableScan/TableCopy/TableCopyDriverIntegrationTest.cs`.

use std::collections::BTreeSet;

use azure_table::query::{Scan, ScanPosition};
use azure_table::{Emulator, Error, Projection, Result, TableClient, TableServiceClient};
use azure_table_tests::promises::Place;
use futures::TryStreamExt as _;
use futures::future::join;

use super::{catalogue, seed};
use crate::systems::catalogue::{Catalogue, Leaf, Selection};

/// An id and a version.
type Row = (String, String);

fn row(leaf: Leaf) -> Row {
    (leaf.id, leaf.version)
}

/// Stores versions `1` to `rows` of each package. Returns the rows in the order of the service.
async fn seed_packages(place: &Place, ids: &[String], rows: usize) -> Vec<Row> {
    let each = |id: &String| (1..=rows).map(|n| (id.clone(), n.to_string())).collect::<Vec<_>>();
    let mut all: Vec<Row> = ids.iter().flat_map(each).collect();
    seed(place, all.iter().map(|(id, version)| Leaf::new(id, version, 1, "url"))).await;
    let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
    all.sort_by_key(|(id, version)| (units(id), units(version)));
    all
}

/// Returns the segments of a scan. Each is in order, within the page size, and no row is in two.
async fn segments_of(scan: Scan<Leaf>, page_size: usize) -> Vec<Vec<Row>> {
    let mut rows = scan.stream();
    let mut segments = Vec::new();
    while let Some(segment) = rows.try_next_page().await.unwrap() {
        assert!((1..=page_size).contains(&segment.len()));
        segments.push(segment.into_iter().map(row).collect());
    }
    segments
}

/// Checks the rows of a selection for each page size, in sequence and in parallel.
async fn check(catalogue: &Catalogue, selection: &Selection, expected: &[Row]) {
    for page_size in [1, 2, 3, 1_000] {
        let query = || catalogue.query(selection).page_size(page_size);
        let in_sequence = segments_of(query().scan().concurrency(1), page_size).await;
        assert_eq!(in_sequence.concat(), expected, "{selection:?}, pages of {page_size}");
        let in_parallel = segments_of(query().scan(), page_size).await;
        for segment in &in_parallel {
            let first = expected.iter().position(|row| *row == segment[0]).unwrap();
            assert_eq!(segment[..], expected[first..first + segment.len()], "{selection:?}");
        }
        let mut rows = in_parallel.concat();
        rows.sort_by_key(|row| expected.iter().position(|other| other == row));
        assert_eq!(rows, expected, "{selection:?}, pages of {page_size}, in parallel");
    }
}

/// `EnumeratesEmptyTable`, `EnumeratesEmptyPrefix`, `EnumeratesAllEntitiesInSinglePage`,
/// `EnumeratesAllEntitiesWithNoPrefix`, `EnumeratesAllEntitiesWithPrefixMatchingEverything`,
/// `EnumeratesAllEntitiesWithMatchingPrefix`, `HandlesUpperAndLowerBounds`, `IncludesPartitionKeyMatchingPrefix`.
pub(super) async fn bounds(place: Place) {
    check_bounds(&place, &[]).await;
}

/// Azurite ends a scan behind an empty PartitionKey.
#[tokio::test]
async fn scan_with_an_empty_id_is_exact() {
    let place = Place::on_service(TableServiceClient::from_transport(Emulator::new()));
    place.table_behind::<Leaf>().create_table().await.unwrap();
    check_bounds(&place, &[String::new()]).await;
}

/// Checks selections of these packages and of others.
async fn check_bounds(place: &Place, ids: &[String]) {
    let catalogue = catalogue(place, "a");
    check(&catalogue, &Selection::default(), &[]).await;
    let others = ["a", "aa", "aab", "ab", "aba", "abb", "abbb", "b", "bab", "bb"].map(str::to_owned);
    let all = seed_packages(place, &[ids, &others].concat(), 2).await;
    for prefix in ["", "a", "ab", "abb", "c"] {
        for (after, before) in [
            (None, None),
            (Some(""), None),
            (Some("ab"), None),
            (None, Some("abb")),
            (Some("a"), Some("b")),
            (Some("aba"), Some("abbb")),
            (Some("abb"), Some("abb")),
            (Some("b"), Some("a")),
        ] {
            let selected = |(id, _): &&Row| {
                id.starts_with(prefix)
                    && after.is_none_or(|after| id.as_str() > after)
                    && before.is_none_or(|before| id.as_str() < before)
            };
            let expected: Vec<Row> = all.iter().filter(selected).cloned().collect();
            let selection = Selection {
                prefix: prefix.into(),
                after: after.map(str::to_owned),
                before: before.map(str::to_owned),
            };
            check(&catalogue, &selection, &expected).await;
        }
    }
}

/// `HandlesSurrogatePairs`.
pub(super) async fn surrogate_pairs(place: Place) {
    let catalogue = catalogue(&place, "a");
    let ends = [
        "b",
        "c",
        "\u{10437}",
        "\u{24b62}a",
        "\u{24b62}b",
        "\u{24b63}",
        "\u{ffee}",
    ];
    let ids: Vec<String> = ends
        .iter()
        .flat_map(|end| [end.to_string(), format!("p{end}")])
        .collect();
    let all = seed_packages(&place, &ids, 3).await;
    for prefix in ["", "p", "\u{24b62}"] {
        let expected: Vec<Row> = all.iter().filter(|(id, _)| id.starts_with(prefix)).cloned().collect();
        let selection = Selection {
            prefix: prefix.into(),
            ..Selection::default()
        };
        check(&catalogue, &selection, &expected).await;
    }
}

/// `AllowsMultipleSegmentsPerPrefix`. In sequence, the segments are exact.
pub(super) async fn segments(place: Place) {
    let catalogue = catalogue(&place, "a");
    let ids: Vec<String> = ('a'..='h').map(|c| format!("a{c}")).collect();
    let ids = [ids, ('i'..='p').map(|c| format!("b{c}")).collect()].concat();
    let all = seed_packages(&place, &ids, 1).await;
    for page_size in 1..=17 {
        let query = catalogue.query(&Selection::default()).page_size(page_size);
        let expected: Vec<_> = all.chunks(page_size).map(<[Row]>::to_vec).collect();
        assert_eq!(segments_of(query.scan().concurrency(1), page_size).await, expected);
    }
}

#[derive(Projection, Debug, PartialEq)]
#[table(of = Leaf)]
struct Address {
    id: String,
    url: String,
}

/// `AllowsNotExpandingPartitionKeys`, `AllowsProjection`.
pub(super) async fn packages(place: Place) {
    let catalogue = catalogue(&place, "a");
    let ids: Vec<String> = (0..8).map(|n| format!("p{n}")).collect();
    seed_packages(&place, &ids, 3).await;
    for page_size in [1, 2, 4, 1_000] {
        let query = || catalogue.query(&Selection::default()).page_size(page_size);
        let mut listed: Vec<String> = query().scan().partition_keys().try_collect().await.unwrap();
        listed.sort();
        assert_eq!(listed, ids, "pages of {page_size}");
        let addresses = query().project::<Address>().scan().stream();
        let addresses: Vec<Address> = addresses.try_collect().await.unwrap();
        assert_eq!(addresses.len(), 24);
        assert!(addresses.iter().all(|address| address.url == "url"));
    }
}

/// A second table, which is deleted afterwards.
async fn with_copy(place: &Place, use_it: impl AsyncFnOnce(&TableClient<Leaf>)) {
    let name = format!("{}Copy", place.table_behind::<Leaf>().name());
    let copy = place.behind().table::<Leaf>(name.as_str()).unwrap();
    copy.create_table().await.unwrap();
    use_it(&place.client("a").table(name.as_str()).unwrap()).await;
    copy.delete_table().await.unwrap();
}

/// `CopyAsync_Serial`, `CopyAsync_PrefixScan`, `CopyAsync_PrefixScan_WithBounds`, with a crash after each segment.
pub(super) async fn copy(place: Place) {
    let ids = ["a", "b", "c", "d", "e"].map(str::to_owned);
    // The orders of several copies multiply.
    let (crashes, concurrencies, size): (_, &[usize], usize) = if place.is_explored() {
        (1..=1, &[2], 1)
    } else {
        (1..=4, &[1, 4], 2)
    };
    let all = seed_packages(&place, &ids, size).await;
    let selection = Selection {
        before: Some("d".into()),
        ..Selection::default()
    };
    let expected: BTreeSet<Row> = all.into_iter().filter(|(id, _)| id.as_str() < "d").collect();
    let from = catalogue(&place, "a");
    for crash in crashes {
        for &concurrency in concurrencies {
            with_copy(&place, async |copy| {
                let scan = || from.query(&selection).page_size(size).scan().concurrency(concurrency);
                let mut position: Option<String> = None;
                let mut is_done = false;
                for run in 0..4 {
                    let scan = match &position {
                        Some(position) => scan().resume_from(position.parse().unwrap()),
                        None => scan(),
                    };
                    let mut segments = 0;
                    let store = |at: &ScanPosition| -> Result<()> {
                        segments += 1;
                        let is_end = run == 0 && segments == crash;
                        // After an even number of segments, the last position is lost and the segment is copied again.
                        if !is_end || crash % 2 == 1 {
                            position = Some(at.to_string());
                        }
                        if is_end {
                            Err(Error::invalid_input("the process ends"))
                        } else {
                            Ok(())
                        }
                    };
                    is_done = from.copy(scan, &Catalogue::new(copy), store).await.is_ok();
                    if is_done {
                        break;
                    }
                }
                assert!(is_done || !place.is_explored());
                let rows = place.behind().table::<Leaf>(copy.name().as_str()).unwrap();
                let rows = rows.query().all().await.unwrap();
                // Cosmos DB returns them in the order of their insertion.
                let copied: BTreeSet<Row> = rows.into_iter().map(row).collect();
                assert!(copied == expected || !is_done && copied.is_subset(&expected));
            })
            .await;
        }
    }
}

/// A row that is written meanwhile may be read or not.
pub(super) async fn beside_writes(place: Place) {
    let ids = ["a", "c", "e"].map(str::to_owned);
    seed_packages(&place, &ids, 1).await;
    let scan = async {
        let scan = catalogue(&place, "a")
            .query(&Selection::default())
            .page_size(1)
            .scan()
            .concurrency(2);
        let mut rows = scan.stream();
        let mut seen = BTreeSet::new();
        loop {
            match rows.try_next().await {
                Ok(Some(leaf)) => assert!(seen.insert(leaf.id), "read twice"),
                Ok(None) => return Some(seen),
                Err(e) => {
                    assert!(!place.is_explored(), "{e}");
                    return None;
                }
            }
        }
    };
    let write = async {
        let b = catalogue(&place, "b");
        let added = b.add([Leaf::new("b", "1", 1, "url")]).await;
        let replaced = b.add([Leaf::new("c", "1", 2, "new")]).await;
        added.and(replaced)
    };
    let (seen, written) = join(scan, write).await;
    if let Some(seen) = seen {
        let throughout: BTreeSet<_> = seen.iter().filter(|id| *id != "b").cloned().collect();
        assert_eq!(throughout, BTreeSet::from(ids));
    }
    assert!(written.is_ok() || !place.is_explored(), "{written:?}");
}
