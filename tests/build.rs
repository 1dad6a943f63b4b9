//! Detects the services of this machine. A test that cannot run here is ignored with its reason, not skipped silently.
//!
//! The tests carry `#[cfg_attr(not(recordings), ignore = "…")]`. A service that the environment names or requires
//! counts as present: the test runs, and fails if it is missing.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler of the messages in `ui/fail`; others format theirs differently.
const RECORDED_COMPILER: &str = "rustc 1.95.";

fn main() {
    let azurite = is_set("AZURE_TABLE_TEST_AZURITE");
    let oauth = is_set("AZURE_TABLE_TEST_AZURITE_OAUTH");
    // An Azurite accepts either keys or tokens.
    let required = is_set("AZURE_TABLE_REQUIRE_AZURITE");
    set_cfg("recordings", has_recordings());
    set_cfg("azurite", azurite || (required && !oauth));
    set_cfg("azurite_oauth", oauth || (required && !azurite));
    set_cfg("recorded_compiler", is_recorded_compiler());
}

fn set_cfg(name: &str, is_set: bool) {
    println!("cargo::rustc-check-cfg=cfg({name})");
    if is_set {
        println!("cargo::rustc-cfg={name}");
    }
}

fn is_set(variable: &str) -> bool {
    println!("cargo::rerun-if-env-changed={variable}");
    env::var_os(variable).is_some()
}

/// Looks for the recordings in the folder of fixtures, and passes its path to `src/fixtures.rs`.
fn has_recordings() -> bool {
    let is_named = is_set("AZURE_TABLE_FIXTURES");
    let is_required = is_set("AZURE_TABLE_REQUIRE_FIXTURES");
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let fixtures = env::var_os("AZURE_TABLE_FIXTURES").map_or(beside, PathBuf::from);
    let recordings = fixtures.join("recordings");
    println!("cargo::rustc-env=AZURE_TABLE_RECORDINGS={}", recordings.display());
    let is_there = recordings.is_dir();
    // Cargo would rebuild each time if the path does not exist.
    if is_there {
        println!("cargo::rerun-if-changed={}", recordings.display());
    }
    is_there || is_named || is_required
}

fn is_recorded_compiler() -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let version = output.map(|output| output.stdout).unwrap_or_default();
    // Such as `rustc 1.95.0 (…)`; other channels have `1.95.0-nightly`.
    let version = String::from_utf8_lossy(&version);
    let number = version.split(" (").next().unwrap_or_default();
    number.starts_with(RECORDED_COMPILER) && !number.contains('-')
}
