//! The claims of the catalogue. `writes.rs` has conflicts and transactions, `latest.rs` entries,
//! `scans.rs` scans.

use azure_table::Versioned;
use azure_table_systems::catalogue::{Catalogue, Leaf};
use azure_table_tests::promises::Place;

use crate::kit::{Claim, check};

mod costs;
mod history;
mod latest;
mod scans;
mod writes;

const CLAIMS: [Claim; 17] = [
    Claim::new(
        "a conflict of an insert is swallowed only if the row is ours",
        |place| Box::pin(writes::insert(place)),
    ),
    Claim::new(
        "a conflict of an update is swallowed only if the row is ours",
        |place| Box::pin(writes::update(place)),
    ),
    Claim::new(
        "one row that is left proves the transaction, beside an update",
        |place| Box::pin(writes::one_updated(place)),
    ),
    Claim::new(
        "one row that is left proves the transaction, beside a delete",
        |place| Box::pin(writes::one_deleted(place)),
    ),
    Claim::new(
        "a transaction whose rows were all updated reports no false conflict",
        |place| Box::pin(writes::all_updated(place)),
    ),
    Claim::new(
        "a transaction whose rows were all deleted reports no false conflict",
        |place| Box::pin(writes::all_deleted(place)),
    ),
    Claim::new("a transaction is found among more rows than a page has", |place| {
        Box::pin(writes::large(place))
    }),
    Claim {
        callers: 1,
        ..Claim::new("an older or equal commit is left, a newer one is taken", |place| {
            Box::pin(latest::by_commit(place))
        })
    },
    Claim {
        callers: 3,
        is_isolated: false,
        ..Claim::new("an entry is a register of its latest commit", |place| {
            Box::pin(latest::register(place))
        })
    },
    Claim::new("two batches of new and old entries merge", |place| {
        Box::pin(latest::merge(place))
    }),
    only_once("entries of several packages, pages and batches merge", |place| {
        Box::pin(latest::many(place))
    }),
    only_once("a scan is exact for each page size, prefix and bound", |place| {
        Box::pin(scans::bounds(place))
    }),
    only_once("a scan reads surrogate pairs", |place| {
        Box::pin(scans::surrogate_pairs(place))
    }),
    only_once("a segment is a page of rows in order", |place| {
        Box::pin(scans::segments(place))
    }),
    only_once("each package is listed once, and a projection is scanned", |place| {
        Box::pin(scans::packages(place))
    }),
    Claim::new("a row that exists throughout a scan is read once", |place| {
        Box::pin(scans::beside_writes(place))
    }),
    Claim {
        callers: 1,
        ..Claim::new("a copy that crashes after any segment is completed", |place| {
            Box::pin(scans::copy(place))
        })
    },
];

/// A claim about the rows of one caller, which no order changes: it runs in one.
const fn only_once(name: &'static str, hold: fn(Place) -> futures::future::LocalBoxFuture<'static, ()>) -> Claim {
    Claim {
        callers: 1,
        lost: 0,
        bound: Some(1),
        is_faulted: false,
        ..Claim::new(name, hold)
    }
}

check!(CLAIMS);

/// Returns the catalogue of a caller.
fn catalogue(place: &Place, name: &str) -> Catalogue {
    Catalogue::new(&place.table(name))
}

/// Returns the catalogue without gate and faults.
fn behind(place: &Place) -> Catalogue {
    Catalogue::new(&place.table_behind())
}

/// Stores entries before the callers begin.
async fn seed(place: &Place, leaves: impl IntoIterator<Item = Leaf>) {
    let table = place.table_behind::<Leaf>();
    let report = table.bulk().insert(leaves).await.unwrap();
    report.ensure_no_leftovers().unwrap();
}

/// Returns a stored entry of the package `p`.
async fn stored(place: &Place, version: &str) -> Option<Versioned<Leaf>> {
    behind(place).get("p", version).await.unwrap()
}

/// Returns the first commit of an entry of the package `p`. Its URL names its writer.
fn leaf(version: &str, url: &str) -> Leaf {
    Leaf::new("p", version, 1, url)
}
