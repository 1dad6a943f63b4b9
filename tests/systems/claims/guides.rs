//! The tables of claims: `README.md` has every claim with its test and its numbers, the guides have the claims.

use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::{Claim, thousands};
use crate::{catalogue, durable_execution, event_streams, membership, transactional_state};

/// The columns that each table has. It may have others.
const COLUMNS: [&str; 5] = ["claim", "test", "callers", "requests", "schedules"];

type Row = [String; COLUMNS.len()];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the row of a claim.
fn row(claim: &Claim) -> Row {
    let test = claim.test.rsplit("::").next().unwrap();
    [
        format!("{}{}", claim.name, if claim.is_faulted { "" } else { "¹" }),
        format!("`{test}`"),
        claim.callers.to_string(),
        thousands(claim.requests as u64),
        claim.schedules.to_owned(),
    ]
}

/// Returns the cells of these columns in all tables of a page that have them.
fn rows_of<const N: usize>(page: &str, wanted: [&str; N]) -> Vec<[String; N]> {
    let mut rows = Vec::new();
    let mut columns: Option<[usize; N]> = None;
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match columns {
            _ if !line.starts_with('|') => columns = None,
            None => {
                let places = wanted.map(|column| cells.iter().position(|cell| *cell == column));
                columns = places.iter().all(Option::is_some).then(|| places.map(Option::unwrap));
            }
            Some(_) if line.starts_with("|--") => {}
            Some(columns) => rows.push(columns.map(|column| cells[column].to_owned())),
        }
    }
    rows
}

/// Compares the rows of a page's tables of claims with those of the tests.
fn compare<const N: usize>(path: &str, columns: [&str; N], expected: &[[String; N]]) {
    let text = fs::read_to_string(folder().join(path)).unwrap();
    let table: Vec<String> = expected.iter().map(|row| format!("| {} |", row.join(" | "))).collect();
    assert!(
        rows_of(&text, columns) == expected,
        "{path}, expected:\n{}",
        table.join("\n")
    );
}

/// Checks the claims in a guide.
fn check(path: &str, claims: &[&[Claim]]) {
    let expected: Vec<[String; 2]> = claims
        .iter()
        .copied()
        .flatten()
        .map(|claim| [claim.name.to_owned(), row(claim)[1].clone()])
        .collect();
    compare(path, ["claim", "test"], &expected);
}

#[test]
fn readme_has_every_claim_with_its_numbers() {
    use durable_execution::{histories, linearizability, purges, queues};

    let claims: [&[Claim]; 10] = [
        &event_streams::CLAIMS,
        &catalogue::CLAIMS,
        &membership::CLAIMS,
        &membership::history::CLAIMS,
        &transactional_state::CLAIMS,
        &histories::CLAIMS,
        &histories::values::CLAIMS,
        &purges::CLAIMS,
        &queues::CLAIMS,
        &linearizability::CLAIMS,
    ];
    let expected: Vec<Row> = claims.into_iter().flatten().map(row).collect();
    compare("tests/systems/README.md", COLUMNS, &expected);
}

#[test]
fn event_streams_has_every_claim() {
    check("azure-table/src/guide/event_streams.md", &[&event_streams::CLAIMS]);
}

#[test]
fn catalogue_has_every_claim() {
    check("azure-table/src/guide/catalogue.md", &[&catalogue::CLAIMS]);
}

#[test]
fn membership_has_every_claim() {
    check(
        "azure-table-patterns/src/guide/membership.md",
        &[&membership::CLAIMS, &membership::history::CLAIMS],
    );
}

#[test]
fn durable_execution_has_every_claim() {
    use durable_execution::{histories, linearizability, purges, queues};

    check(
        "azure-table-patterns/src/guide/durable_execution.md",
        &[
            &histories::CLAIMS,
            &histories::values::CLAIMS,
            &purges::CLAIMS,
            &queues::CLAIMS,
            &linearizability::CLAIMS,
        ],
    );
}
