//! What a run of the tests leaves out, said where it is seen.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Says what is skipped and why, each text once in a process. Not by `println!`, whose text the test harness would keep to
/// itself.
pub fn say(text: String) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.contains(&text) {
        let _ = writeln!(std::io::stderr(), "skipped {text}");
        said.insert(text);
    }
}

/// Shows what a test found out, also where it passes.
pub fn print(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
