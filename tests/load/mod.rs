//! The emulator under load: what its service model takes, how long it needs, what it refuses. On a paused clock.

mod adaptive;
mod limits;
mod splits;
mod study;

use std::time::Duration;

use azure_table::TableServiceClient;
use azure_table::emulator::{ServiceLoad, ServiceModel};
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
