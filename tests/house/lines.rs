//! The lines of code of each crate of the product: a budget for each, without comments, blanks and unit tests, as
//! `cargo xtask figures` counts them. A commit that raises one says why in its body.

use std::collections::BTreeMap;

use xtask::sources::SourceFile;

use super::product;

const BUDGETS: [(&str, usize); 8] = [
    ("azure-table", 29_791),
    ("azure-table-derive", 5_090),
    ("azure-table-emulator", 12_261),
    ("azure-table-patterns", 3_370),
    ("azure-table-testing", 4_146),
    ("azure-table-wire", 6_753),
    ("aztable", 7_022),
    ("table-parity", 5_588),
];

#[test]
fn every_crate_is_within_its_budget() {
    let mut counted = BTreeMap::new();
    // Facts are data: one more is not more code.
    let is_code = |file: &&SourceFile| !file.path.starts_with("table-parity/src/facts/");
    for file in product().files.iter().filter(is_code) {
        let (package, _) = file.path.split_once('/').unwrap();
        *counted.entry(package.to_owned()).or_insert(0) += file.code_lines();
    }
    let budgets = BTreeMap::from(BUDGETS.map(|(package, lines)| (package.to_owned(), lines)));
    assert!(
        counted.keys().eq(budgets.keys()),
        "each crate needs a budget: {:?}",
        counted.keys()
    );
    for (package, lines) in &counted {
        assert!(
            *lines <= budgets[package],
            "{package} has {lines} lines of code, its budget is {}",
            budgets[package]
        );
    }
}
