//! The locations of an account's data: primary and secondary.

use serde::{Deserialize, Serialize};

/// The location that a request is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Location {
    /// The primary, which accepts writes.
    Primary,
    /// The secondary, which is read-only and lags behind.
    Secondary,
}
