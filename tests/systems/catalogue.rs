//! The claims of the catalogue. `writes.rs` has conflicts and transactions, `latest.rs` entries,
//! `scans.rs` scans.

use azure_table::Versioned;
use azure_table_tests::promises::Place;

use crate::kit::{Claim, check, claim};
use crate::systems::catalogue::{Catalogue, Leaf};

mod costs;
mod history;
mod latest;
mod scans;
mod writes;

pub(crate) const CLAIMS: [Claim; 17] = [
    claim!(
        "an insert's conflict is swallowed only if the row is ours",
        writes::insert
    )
    .explored(2, "2 / 40"),
    claim!("an update's conflict too", writes::update).explored(2, "2 / 40"),
    claim!(
        "one row left proves the transaction, beside an update",
        writes::one_updated
    )
    .explored(2, "2 / 35"),
    claim!("the same beside a delete", writes::one_deleted).explored(2, "2 / 37"),
    claim!(
        "a transaction whose rows were all updated reports no false conflict",
        writes::all_updated
    )
    .explored(7, "5 / 276"),
    claim!("the same if all were deleted", writes::all_deleted).explored(5, "5 / 251"),
    claim!("a transaction is found among more rows than a page has", writes::large).explored(2, "2 / 58"),
    claim!(
        "an older or equal commit is left, a newer one is taken",
        latest::by_commit
    )
    .callers(1)
    .explored(6, "1 / 17"),
    claim!("an entry is a register of its latest commit", latest::register)
        .callers(3)
        .explored(8, "123 / 4,000+")
        .bound(4_000)
        .shares_memory(),
    claim!("two batches of new and old entries merge", latest::merge).explored(9, "20 / 856"),
    claim!("a row that exists throughout a scan is read once", scans::beside_writes).explored(8, "11 / 303"),
    claim!("a copy that crashes after any segment is completed", scans::copy)
        .callers(1)
        .explored(9, "1 / 22"),
    only_once(claim!("entries of several packages, pages and batches merge", latest::many).explored(66, "1+")),
    only_once(claim!("a scan is exact for each page size, prefix and bound", scans::bounds).explored(1381, "1+")),
    only_once(claim!("a scan reads surrogate pairs", scans::surrogate_pairs).explored(693, "1+")),
    only_once(claim!("a segment is a page of rows in order", scans::segments).explored(62, "1")),
    only_once(
        claim!(
            "each package is listed once, and a projection is scanned",
            scans::packages
        )
        .explored(128, "1+"),
    ),
];

/// A claim about the rows of one caller, which no order changes: it runs in one.
const fn only_once(claim: Claim) -> Claim {
    claim.callers(1).bound(1).without_faults()
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
