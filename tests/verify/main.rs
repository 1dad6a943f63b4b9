//! The program `verify`: on emulators of every kind, on services with planted differences, on Azurite, and killed.
//!
//! The modules of the program are part of this test. `stopped.rs` starts the program itself.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test says what failed by panicking")]

#[path = "../programs/verify/account.rs"]
mod account;
#[path = "../programs/verify/check.rs"]
mod check;
#[path = "../programs/verify/compare.rs"]
mod compare;
#[path = "../programs/verify/conformance.rs"]
mod conformance;
#[path = "../programs/verify/guard.rs"]
mod guard;
#[path = "../programs/verify/mask.rs"]
mod mask;
#[path = "../programs/verify/options.rs"]
mod options;
#[path = "../programs/verify/probe.rs"]
mod probe;
#[path = "../programs/verify/probes/mod.rs"]
mod probes;
#[path = "../programs/verify/progress.rs"]
mod progress;
#[path = "../programs/verify/record.rs"]
mod record;
#[path = "../programs/verify/report.rs"]
mod report;
#[path = "../programs/verify/run.rs"]
mod run;
#[path = "../programs/verify/sas.rs"]
mod sas;
#[path = "../programs/verify/side.rs"]
mod side;
#[path = "../programs/verify/signer.rs"]
mod signer;
#[path = "../programs/verify/stop.rs"]
mod stop;
#[path = "../programs/verify/tables.rs"]
mod tables;

#[path = "../it/emulator/signed.rs"]
#[expect(dead_code, reason = "for requests without a recording")]
mod signed;

mod azurite;
mod emulators;
mod planted;
mod recorded;
mod restored;
mod service;
mod stopped;
mod unknowns;
mod unusable;

/// The name by which the modules of the replay know it.
use mask::decoded as percent_decoded;
