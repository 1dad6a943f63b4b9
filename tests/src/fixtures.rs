//! The way to the fixtures: recordings and vectors that are not part of the repository.

use std::path::PathBuf;

/// Names the folder of the fixtures.
pub const VARIABLE: &str = "AZURE_TABLE_FIXTURES";

/// The text of a fixture, or `None`, after saying so, on a machine without the fixtures.
///
/// # Panics
/// The folder was named and the file is not in it.
pub fn read(path: &str) -> Option<String> {
    let (folder, named) = match std::env::var_os(VARIABLE) {
        Some(folder) => (PathBuf::from(folder), true),
        None => (
            PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")),
            false,
        ),
    };
    match std::fs::read_to_string(folder.join(path)) {
        Ok(text) => Some(text),
        Err(e) if named => panic!("{VARIABLE} is set, but {path} cannot be read: {e}"),
        Err(_) => {
            println!("skipped: no fixture {path} (set {VARIABLE} to the folder of the fixtures)");
            None
        }
    }
}
