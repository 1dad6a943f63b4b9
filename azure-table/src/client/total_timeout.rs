//! The time of a stream or a bulk as a whole.
//!
//! Owns [`TotalTimeout`] and its setter. The time of one call is `pipeline/deadline.rs`.

use std::task::Context;
use std::time::Duration;

use crate::model::clock;
use crate::model::error::{Error, ErrorKind, Result};
use crate::pipeline::deadline::Deadline;
use crate::pipeline::options::CallOptions;
use crate::pipeline::transport::BoxFuture;

/// The limit of all pages, batches, attempts and waits together, from the first poll on. Copies of one that has begun end with it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TotalTimeout {
    limit: Option<Duration>,
    /// Since the first poll.
    end: Option<Deadline>,
}

impl TotalTimeout {
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            limit: Some(limit),
            end: None,
        }
    }

    /// This limit, or `other` where it is none.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.limit.is_some() { self } else { other }
    }

    /// Starts the clock at the first poll; later ones change nothing.
    pub(crate) fn begin(&mut self) {
        self.end.get_or_insert_with(|| Deadline::new(self.limit));
    }

    /// The time that is left; `None` without a limit.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        self.end?.remaining()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.remaining().is_some_and(|left| left.is_zero())
    }

    /// Returns `true` if the time is over, and begins unless it has. Its task is woken at the end by `timer`, for what has no timer of
    /// its own.
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

    /// Gives a call no more time than is left.
    pub(crate) fn bound(&self, options: &mut CallOptions) {
        if let Some(left) = self.remaining() {
            options.set(|wishes| wishes.timeout = Some(wishes.timeout.map_or(left, |timeout| timeout.min(left))));
        }
    }

    /// # Errors
    /// `Timeout`: the time is over.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_over() { Err(self.error()) } else { Ok(()) }
    }

    pub(crate) fn error(&self) -> Error {
        Error::new(ErrorKind::Timeout, self.message())
    }

    /// Returns `true` if this error of a call is of its end.
    pub(crate) fn ended(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::Timeout && self.is_over()
    }

    /// Names the limit in the error of a call that it ended.
    pub(crate) fn name(&self, error: Error) -> Error {
        if self.ended(&error) {
            return error.with_message(self.message());
        }
        error
    }

    fn message(&self) -> String {
        format!(
            "it took longer than its `total_timeout` of {:?}",
            self.limit.unwrap_or_default()
        )
    }
}

/// Gives a builder the setter of its [`TotalTimeout`], which it has at `$total`; `$end` says what comes of it in the end.
macro_rules! total_timeout {
    ($name:ident $([$($parameter:ident $(: $bound:path)?),+])?, $($total:ident).+, $end:literal) => {
        impl$(<$($parameter $(: $bound)?),+>)? $name $(<$($parameter),+>)? {
            /// Limits the time of the whole, from the first poll on: all calls, attempts and waits, and what its caller does in
            /// between. A [`timeout`](crate::CallOptions::timeout) bounds each of its calls. No limit by default.
            ///
            #[doc = $end]
            pub fn total_timeout(mut self, limit: ::std::time::Duration) -> Self {
                self.$($total).+ = $crate::client::total_timeout::TotalTimeout::new(limit);
                self
            }
        }
    };
}
pub(crate) use total_timeout;
