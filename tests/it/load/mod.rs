//! The emulator under load: what its service model takes, how long it needs, what it refuses. On a paused clock.
//!
//! The example `stress` has the closed loops of the study of 2010, and a test of its figures.

mod adaptive;
mod limits;
mod splits;

use std::time::Duration;

use azure_table::TableServiceClient;
use azure_table::emulator::{SeedEntities as _, ServiceLoad, ServiceModel};
use azure_table::{DynamicEntity, Emulator, ErrorKind, NoRetry};
use azure_table_tests::load::{Check, ClosedLoop, table};
use tokio::time::{Instant, sleep};

/// Prints each figure and stops at the first that misses its bar.
fn hold(checks: &[Check]) {
    for check in checks {
        eprintln!("{check}");
        assert!(check.is_held(), "{check}");
    }
}
