//! Orders of setters: in whatever order the options of a builder are set, it sends the same requests and returns the
//! same result.
//!
//! Each builder of the public interface has a line, with an assertion for each of its setters that holds whatever the
//! other ones are. `listing.rs` reads the listing of public names, so that no setter is forgotten.

mod builder;
mod listing;
mod queries;
mod values;
mod writes;

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;

use crate::setters::builder::Line;

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
    ("Script", "its order is that of the responses"),
    ("TableClient", "`transport` replaces what is observed"),
    ("TableOperation", "its two setters replace each other"),
    ("Writer", "its setters limit a wait each: `it/api/bulk`"),
];

/// Setters whose builder has a line without them, and why.
const WITHOUT_A_SETTER: [(&str, &str); 10] = [
    ("BulkWrite::unreadable_as_leftovers", "a source with errors"),
    ("DeleteWhere::resume_from", "of an interrupted run"),
    ("PatchWhere::resume_from", "of an interrupted run"),
    ("ServiceModel::splits", "`without_splits` replaces it"),
    ("TableSas::for_user", "signed by a user delegation key"),
    ("TableServiceClient::observer", "it only observes"),
    ("TableServiceClient::transport", "it replaces what is observed"),
    ("TableServiceClient::with_profile", "it is that of the emulator"),
    ("UpdateWhere::resume_from", "of an interrupted run"),
    ("UpgradeWhere::resume_from", "of an interrupted run"),
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
    let tried: BTreeSet<String> = lines
        .iter()
        .flat_map(|line| {
            line.setters()
                .into_iter()
                .map(|setter| format!("{}::{setter}", line.name()))
        })
        .collect();
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
    let mut failed = Vec::new();
    for line in lines {
        match AssertUnwindSafe(line.check(has_all)).catch_unwind().await {
            Ok(tried) => eprintln!("{}: {tried:?}", line.name()),
            Err(_) => failed.push(line.name()),
        }
    }
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
