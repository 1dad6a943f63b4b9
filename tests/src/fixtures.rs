//! The way to the fixtures: recordings and vectors that are not part of the repository.

use std::path::PathBuf;

use crate::skipped;

/// Names the folder of the fixtures.
pub const VARIABLE: &str = "AZURE_TABLE_FIXTURES";

/// A folder of fixtures, or `None`, after saying so, on a machine without them.
///
/// # Panics
/// The fixtures were named and have no such folder.
pub fn folder(name: &str) -> Option<PathBuf> {
    let (root, named) = root();
    let folder = root.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!named, "{VARIABLE} is set, but has no folder {name}");
    skipped::say(format!("fixtures {name}: set {VARIABLE} to the folder of the fixtures"));
    None
}

/// The folder of the fixtures, and whether the environment names it.
fn root() -> (PathBuf, bool) {
    match std::env::var_os(VARIABLE) {
        Some(folder) => (PathBuf::from(folder), true),
        None => (
            PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")),
            false,
        ),
    }
}

/// The text of a fixture, or `None`, after saying so, on a machine without the fixtures.
///
/// # Panics
/// The folder was named and the file is not in it.
pub fn read(path: &str) -> Option<String> {
    let (folder, named) = root();
    match std::fs::read_to_string(folder.join(path)) {
        Ok(text) => Some(text),
        Err(e) if named => panic!("{VARIABLE} is set, but {path} cannot be read: {e}"),
        Err(_) => {
            skipped::say(format!("fixture {path}: set {VARIABLE} to the folder of the fixtures"));
            None
        }
    }
}
