//! Access to the fixtures: the vectors of the repository, and the recordings outside of it.

use std::path::PathBuf;

use serde_json::Value;

/// Reads one of the vectors in `azure-table/vectors`.
///
/// # Panics
/// No such file exists.
pub fn vectors(file: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../azure-table/vectors");
    let text = std::fs::read(PathBuf::from(folder).join(file)).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Returns the folder of the recorded sessions of a service: `storage` or `cosmos`.
///
/// # Panics
/// The folder does not exist. Tests that call it are ignored without recordings: see `build.rs`.
pub fn recordings(service: &str) -> PathBuf {
    let folder = PathBuf::from(env!("AZURE_TABLE_RECORDINGS")).join(service);
    assert!(
        folder.is_dir(),
        "no recordings in {}: set AZURE_TABLE_FIXTURES to the folder of the fixtures",
        folder.display()
    );
    folder
}
