//! Orders of setters: in whatever order the options of a builder are set, it sends the same requests and returns the
//! same result.
//!
//! Each builder of the public interface has a line, or several, which run different methods or reach different limits.
//! At least one of them asserts each setter: its effect shows among all other setters, and does not without it.
//! `listing.rs` reads the listing of public names, so that no setter is forgotten. `ignored.rs` has the setters that a
//! call would ignore.
//!
//! `cargo test -p azure-table-tests --test kit setters -- --nocapture` prints the orders that each line tries. In all
//! they are 3,468 orders of pairs and 588 of all setters; with `AZURE_TABLE_ALL_CASES=1`, 6,323 and 9,800. None of them
//! differs today. Of eleven planted mistakes, among them five that readers had found before, each fails a line.

mod builder;
mod ignored;
mod listing;
mod queries;
mod values;
mod world;
mod writes;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;

use crate::setters::builder::{Line, Tried};

/// Builders without a line, and why.
const WITHOUT_A_LINE: [(&str, &str); 17] = [
    ("Changes", "its stream ends when it is dropped: `kit/changes.rs`"),
    ("DateTime", "its operators compute"),
    ("Emulator", "each setter has a test of its own"),
    ("EmulatorServer", "it listens on a port"),
    ("Explore", "it runs a test"),
    ("Filter", "`and` and `or` join conditions"),
    ("GetUserDelegationKey", "it needs a token of Entra ID"),
    ("HttpLog", "its lines: `tests/programs`"),
    ("HttpTransportBuilder", "it connects to a network"),
    ("IndexQuery", "its query is a `TableQuery`"),
    ("RangeSplits", "a value of a service model"),
    ("Replay", "it reads a file"),
    ("ReqwestTransportBuilder", "it connects to a network"),
    ("Result", "an outcome"),
    ("Script", "its order is that of the responses"),
    ("TableOperation", "its two setters replace each other"),
    ("Writer", "its setters limit a wait each: `it/api/bulk`"),
];

/// Setters whose builder has a line without them, and why.
const WITHOUT_A_SETTER: [(&str, &str); 8] = [
    ("BulkWrite::unreadable_as_leftovers", "a source with errors"),
    ("ServiceModel::splits", "`without_splits` replaces it"),
    ("TableClient::annotated", "of a table of serde types"),
    ("TableClient::transport", "it replaces what is observed"),
    ("TableSas::for_user", "signed by a user delegation key"),
    ("TableServiceClient::observer", "it only observes"),
    ("TableServiceClient::transport", "it replaces what is observed"),
    ("TableServiceClient::with_profile", "it is that of the emulator"),
];

fn lines() -> Vec<Box<dyn Line>> {
    let mut lines = queries::lines();
    lines.extend(writes::lines());
    lines.extend(values::lines());
    lines
}

#[test]
fn each_setter_of_the_public_interface_is_tried() {
    let declared = listing::setters();
    let of = |name: &str| {
        declared
            .iter()
            .filter(|setter| setter.split("::").next() == Some(name))
            .count()
    };
    let lines = lines();
    let (mut tried, mut asserted) = (BTreeSet::new(), BTreeSet::new());
    for line in &lines {
        for (setter, is_asserted) in line.setters() {
            let setter = format!("{}::{setter}", line.name());
            if is_asserted {
                asserted.insert(setter.clone());
            }
            tried.insert(setter);
        }
    }
    let unseen: Vec<&String> = tried.difference(&asserted).collect();
    assert!(unseen.is_empty(), "no line asserts {unseen:#?}");
    let missing: Vec<&String> = declared
        .iter()
        .filter(|setter| {
            let name = setter.split("::").next().unwrap();
            // A single setter has no order.
            !tried.contains(*setter)
                && of(name) > 1
                && WITHOUT_A_LINE.iter().all(|(other, _)| name != *other)
                && WITHOUT_A_SETTER.iter().all(|(other, _)| setter != other)
        })
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
    let unknown: Vec<&String> = tried.iter().filter(|setter| !declared.contains(*setter)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
    let exempt = WITHOUT_A_SETTER.iter().map(|(setter, _)| *setter);
    let names = WITHOUT_A_LINE.iter().map(|(name, _)| *name).filter(|name| of(name) < 2);
    let gone: Vec<&str> = exempt
        .filter(|setter| !declared.contains(*setter))
        .chain(names)
        .collect();
    assert!(gone.is_empty(), "{gone:?}");
}

async fn check(lines: Vec<Box<dyn Line>>) {
    let has_all = std::env::var_os("AZURE_TABLE_ALL_CASES").is_some();
    let (mut failed, mut all) = (Vec::new(), Tried::default());
    for line in lines {
        match AssertUnwindSafe(line.check(has_all)).catch_unwind().await {
            Ok(tried) => {
                eprintln!("{}: {tried:?}", line.name());
                all.pairs += tried.pairs;
                all.orders += tried.orders;
            }
            Err(_) => failed.push(line.name()),
        }
    }
    eprintln!("all lines: {all:?}");
    assert!(failed.is_empty(), "{failed:?}");
}

#[tokio::test(start_paused = true)]
async fn order_of_setters_changes_no_read() {
    check(queries::lines()).await;
}

#[tokio::test(start_paused = true)]
async fn order_of_setters_changes_no_write() {
    check(writes::lines()).await;
}

#[tokio::test(start_paused = true)]
async fn order_of_setters_changes_no_value() {
    check(values::lines()).await;
}
