//! The program itself: its command line, its files and exit codes, and its end by a signal.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod endpoint;
mod stopped;

use std::path::{Path, PathBuf};

use azure_table::Emulator;

/// The account of the services under test.
const ACCOUNT: &str = "contoso";
const KEY: &str = "a2V5IG9mIHRoZSBhY2NvdW50IGluIHRoZXNlIHRlc3Rz";

fn emulator() -> Emulator {
    Emulator::new().account(ACCOUNT, KEY).unwrap()
}

/// A folder that is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("parity-{}-{:x}", std::process::id(), fastrand::u64(..));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
