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

/// Returns the number of mutants of these systems.
fn mutants(systems: &[&str]) -> usize {
    let is_of = |name: &str| systems.iter().any(|system| name.starts_with(&format!("{system}-")));
    let files = fs::read_dir(folder().join("tests/systems/mutants")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| is_of(name)).count()
}

/// Returns the lines of a module and of its folder, without blanks and comments.
fn lines(module: &str) -> usize {
    let module = folder().join("tests/systems/src").join(module);
    let parts = fs::read_dir(&module)
        .into_iter()
        .flatten()
        .map(|part| part.unwrap().path());
    let is_code = |line: &&str| !line.trim_start().is_empty() && !line.trim_start().starts_with("//");
    let count = |file: PathBuf| fs::read_to_string(file).unwrap().lines().filter(is_code).count();
    parts.chain([module.with_extension("rs")]).map(count).sum()
}

/// Checks the claims in a guide, the number of mutants of its systems, and the lines of its modules.
fn check(path: &str, systems: &[&str], claims: &[&[Claim]], modules: &[&str]) {
    let text = fs::read_to_string(folder().join(path)).unwrap();
    let expected: Vec<[String; 2]> = claims
        .iter()
        .copied()
        .flatten()
        .map(|claim| [claim.name.to_owned(), row(claim)[1].clone()])
        .collect();
    compare(path, ["claim", "test"], &expected);
    let mutants = format!("{} mistakes", mutants(systems));
    assert!(text.contains(&mutants), "{path} lacks {mutants:?}");
    for module in modules {
        let lines = format!("| {} |", lines(module));
        assert!(text.contains(&lines), "{path} lacks {lines:?} of {module}");
    }
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
    check(
        "azure-table/src/guide/event_streams.md",
        &["event_streams"],
        &[&event_streams::CLAIMS],
        &["event_streams"],
    );
}

#[test]
fn catalogue_has_every_claim() {
    check(
        "azure-table/src/guide/catalogue.md",
        &["catalogue"],
        &[&catalogue::CLAIMS],
        &["catalogue"],
    );
}

#[test]
fn membership_has_every_claim() {
    check(
        "azure-table-patterns/src/guide/membership.md",
        &["membership", "transactional_state"],
        &[&membership::CLAIMS, &membership::history::CLAIMS],
        &["membership", "transactional_state"],
    );
}

#[test]
fn durable_execution_has_every_claim() {
    use durable_execution::{histories, linearizability, purges, queues};

    check(
        "azure-table-patterns/src/guide/durable_execution.md",
        &["durable_execution"],
        &[
            &histories::CLAIMS,
            &histories::values::CLAIMS,
            &purges::CLAIMS,
            &queues::CLAIMS,
            &linearizability::CLAIMS,
        ],
        &["durable_execution/history", "durable_execution/worker"],
    );
}
