//! The time limit of a call, once it has begun.

use std::time::Duration;

use crate::error::{Error, ErrorKind};
use crate::value::clock::Instant;

/// The end of a time limit, with the name of its setting.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    end: Instant,
    stated: Duration,
    setting: &'static str,
}

impl Deadline {
    /// Starts the time limit of a setting. Returns `None` if its end is beyond the clock.
    pub fn after(setting: &'static str, stated: Duration) -> Option<Self> {
        let end = Instant::now().checked_add(stated)?;
        Some(Self { end, stated, setting })
    }

    /// Returns the earlier of the two.
    pub fn min(self, other: Self) -> Self {
        if other.end < self.end { other } else { self }
    }

    /// Returns the remaining time.
    pub fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Returns the error for an action that the limit ended. `what` names what was not done.
    pub fn error(&self, what: &str) -> Error {
        let why = format!("{what} within the `{}` of {:?}", self.setting, self.stated);
        Error::new(ErrorKind::Timeout, why)
    }
}
