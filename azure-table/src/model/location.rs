//! The two regions that an account may be in.

use serde::{Deserialize, Serialize};

/// Which copy of an account's data a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Location {
    /// The one that is written to.
    Primary,
    /// The copy in the second region, which can only be read and lags behind.
    Secondary,
}
