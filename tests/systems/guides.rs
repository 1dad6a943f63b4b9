//! The tables of claims: `README.md` lists every claim with its test and its numbers, the guide counts them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::kit::{Claim, thousands};
use crate::{catalogue, durable_execution, event_streams, membership, transactional_state};

/// The columns that each table has. It may have others.
const COLUMNS: [&str; 5] = ["claim", "test", "callers", "requests", "schedules"];

type Row = [String; COLUMNS.len()];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
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
fn guide_has_the_number_of_claims_of_each_system() {
    use durable_execution::{histories, linearizability, purges, queues};

    let systems: [(&str, &str, &[&[Claim]]); 5] = [
        ("event streams", "event-streams", &[&event_streams::CLAIMS]),
        ("catalogue", "catalogue", &[&catalogue::CLAIMS]),
        (
            "membership",
            "membership",
            &[&membership::CLAIMS, &membership::history::CLAIMS],
        ),
        ("transactional state", "membership", &[&transactional_state::CLAIMS]),
        (
            "durable execution",
            "durable-execution",
            &[
                &histories::CLAIMS,
                &histories::values::CLAIMS,
                &purges::CLAIMS,
                &queues::CLAIMS,
                &linearizability::CLAIMS,
            ],
        ),
    ];
    let expected = systems.map(|(system, section, claims)| {
        let count: usize = claims.iter().map(|claims| claims.len()).sum();
        [format!("[{system}](#{section})"), count.to_string()]
    });
    compare(
        "azure-table-patterns/src/guide/systems.md",
        ["system", "claims"],
        &expected,
    );
}
