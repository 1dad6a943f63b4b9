//! The time limit of a whole stream or bulk operation.
//!
//! A macro adds the setter of a [`TotalTimeout`] to a builder. The wire crate's `transport/deadline.rs` limits a call.

use std::task::Context;
use std::time::Duration;

use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::transport::deadline::Deadline;
use azure_table_wire::value::clock;

use crate::pipeline::options::CallOptions;

/// The limit of all pages, batches, attempts and waits together, from the first poll on. Copies share the deadline once
/// it has started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TotalTimeout {
    limit: Option<Duration>,
    /// Set at the first poll.
    end: Option<Deadline>,
}

impl TotalTimeout {
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            limit: Some(limit),
            end: None,
        }
    }

    /// Returns this limit, or `other` if none is set.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.limit.is_some() { self } else { other }
    }

    /// Starts the deadline at the first poll. Later polls have no effect.
    pub(crate) fn begin(&mut self) {
        self.end = self
            .end
            .or_else(|| self.limit.and_then(|limit| Deadline::after("total_timeout", limit)));
    }

    /// Returns the remaining time, or `None` without a limit.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        self.end.map(|end| end.left())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.remaining().is_some_and(|left| left.is_zero())
    }

    /// Starts the deadline if it has not started, and returns `true` if it has passed. `timer` wakes the task at the
    /// deadline.
    pub(crate) fn poll_is_over(&mut self, timer: &mut Option<BoxFuture<'static, ()>>, cx: &mut Context<'_>) -> bool {
        self.begin();
        let Some(left) = self.remaining().filter(|left| !left.is_zero()) else {
            *timer = None;
            return self.is_over();
        };
        let sleep = timer.get_or_insert_with(|| Box::pin(clock::sleep(left)));
        let is_over = sleep.as_mut().poll(cx).is_ready();
        if is_over {
            *timer = None;
        }
        is_over
    }

    /// Ends a call with these options at the deadline.
    pub(crate) fn bound(&self, options: &mut CallOptions) {
        if let Some(end) = self.end {
            options.end_at(end);
        }
    }

    /// Checks that the deadline has not passed.
    ///
    /// # Errors
    /// `Timeout`: the deadline has passed.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_over() { Err(self.error()) } else { Ok(()) }
    }

    pub(crate) fn error(&self) -> Error {
        Error::new(ErrorKind::Timeout, self.message())
    }

    /// Returns `true` if the total timeout caused `error`.
    pub(crate) fn ended(&self, error: &Error) -> bool {
        error.cause_kind() == ErrorKind::Timeout && self.is_over()
    }

    /// Replaces the message of an error that the total timeout caused with one that names the limit.
    pub(crate) fn name(&self, error: Error) -> Error {
        if self.ended(&error) {
            return error.with_message(self.message());
        }
        error
    }

    fn message(&self) -> String {
        format!(
            "not finished within the `total_timeout` of {:?}: raise it, or continue with the rest in another call",
            self.limit.unwrap_or_default()
        )
    }
}

/// Adds the setter of the [`TotalTimeout`] at `$total` to a builder. `$end` documents what happens at the deadline.
macro_rules! total_timeout {
    ($name:ident $(<$life:lifetime>)? $([$($parameter:ident $(: $bound:path)?),+])?, $($total:ident).+, $end:literal) => {
        impl<$($life,)? $($($parameter $(: $bound)?),+)?> $name<$($life,)? $($($parameter),+)?> {
            /// Limits the total time, from the first poll on. No limit by default.
            ///
            /// The limit includes all calls, attempts and waits, and your own work in between. To limit each call, set
            /// a [`timeout`](crate::CallOptions::timeout).
            ///
            #[doc = $end]
            pub fn total_timeout(mut self, limit: ::std::time::Duration) -> Self {
                self.$($total).+ = $crate::client::poll::total_timeout::TotalTimeout::new(limit);
                self
            }
        }
    };
}
pub(crate) use total_timeout;
