//! Retry policies.
//!
//! A [`RetryPolicy`] receives a [`FailedAttempt`] and returns a [`Decision`]. The folder holds the policies of this
//! crate: `exponential.rs`, `linear.rs`, the decorators (`decorator.rs`) and the budget of retries (`budget.rs`).
//! `read_back.rs` reads back a write that is in doubt.
//!
//! The policy decides whether and when the client retries. The retry loop enforces four rules that no policy can break:
//!
//! - No wait is shorter than the service requests.
//! - The timeout of the call limits all attempts.
//! - Writes go to the primary.
//! - The client reads back a write in doubt before it sends it again.
//!
//! Each client has its own retry budget, which its clones share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::error::operation_kind::{Effect, OperationKind};
use azure_table_wire::transport::Delivery;
use azure_table_wire::value::location::Location;

use crate::pipeline::retry::budget::RetryBudget;
use crate::pipeline::retry::decorator::{LimitAttempts, LimitElapsed, WithBudget};

pub(crate) mod budget;
pub(crate) mod decorator;
pub(crate) mod exponential;
pub(crate) mod linear;

/// Decides whether a failed attempt is retried, and when.
///
/// The client calls [`decide`](Self::decide) after a failed attempt: no complete response, or a status of 400 and
/// above, including 404. For a batch it is the status of the failed operation. The client decides without the policy in
/// these cases:
///
/// - A 401 or 403 that renewed the credential.
/// - A 404 of the secondary in a mode with both locations.
/// - A 404, 409 or 412 of a write in doubt, which the client reads back.
/// - A read whose response is longer than the transport's limit, which fails.
/// - A certificate that the client or the server rejects, with rustls: the call fails.
///
/// The client enforces these rules with every policy:
///
/// - No wait is shorter than the service requests (`Retry-After`), and none exceeds the remaining time of the call.
/// - If the service requests more than 90 s, the call fails, unless the policy's own wait is as long.
/// - Before a write in doubt is sent again, the client reads it back to see if it was applied.
///
/// ```
/// use azure_table::{RetryPolicy, TableServiceClient};
/// use azure_table::retry::{Decision, FailedAttempt};
/// use std::time::Duration;
///
/// /// Retries after a second while the service throttles. Does not retry any other failure.
/// #[derive(Debug)]
/// struct Patient;
///
/// impl RetryPolicy for Patient {
///     fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
///         if failed.is_throttled() {
///             Decision::after(Duration::from_secs(1))
///         } else {
///             Decision::Stop
///         }
///     }
/// }
///
/// let service = TableServiceClient::from_connection_string("UseDevelopmentStorage=true")?
///     .retry(Patient.limit_attempts(10));
/// # Ok::<(), azure_table::Error>(())
/// ```
pub trait RetryPolicy: fmt::Debug + Send + Sync + 'static {
    /// Returns the decision after a failed attempt.
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision;

    /// Returns a policy for one call, or `None` if `self` decides for all calls.
    ///
    /// Called when a call starts. Implement it for a policy that keeps state per call. Returns `None` by default.
    fn for_call(&self) -> Option<Arc<dyn RetryPolicy>> {
        None
    }

    /// Returns this policy without its [`RetryBudget`], or `None` if it has none.
    ///
    /// A [`Bulk`](crate::Bulk) and similar operations use it: their concurrency limits their retries, so they spend no
    /// budget. Implement it for a policy that wraps another one. Returns `None` by default.
    fn without_budget(&self) -> Option<Arc<dyn RetryPolicy>> {
        None
    }

    /// Called when a call receives a response that is not retried.
    ///
    /// `attempt` starts at 1. The response is a success or a failure that is not transient, such as 404. Also called
    /// when the client reads back a write whose response was lost and finds it applied. Does nothing by default.
    fn succeeded(&self, attempt: u32) {
        let _ = attempt;
    }

    /// Called when the retry that was last decided is never sent.
    ///
    /// This happens when no time is left, when the client gets no permit or no credential, or when the call is dropped.
    /// Does nothing by default.
    fn retry_cancelled(&self) {}

    /// Returns this policy, limited to `attempts` attempts, including the first.
    fn limit_attempts(self, attempts: u32) -> LimitAttempts<Self>
    where
        Self: Sized,
    {
        let policy = self;
        LimitAttempts { policy, attempts }
    }

    /// Returns this policy, limited in time.
    ///
    /// Sends no retry whose wait ends later than `elapsed` after the start of the call. Waits for a connection or a
    /// credential come after this check: set a `timeout` to limit the whole call.
    fn limit_elapsed(self, elapsed: Duration) -> LimitElapsed<Self>
    where
        Self: Sized,
    {
        let policy = self;
        LimitElapsed { policy, elapsed }
    }

    /// Returns this policy with a budget. It does not retry when the budget is empty.
    fn budget(self, budget: RetryBudget) -> WithBudget<Self>
    where
        Self: Sized,
    {
        WithBudget::new(self, budget)
    }
}

/// The decision of a [`RetryPolicy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// Stops: the call fails with this failure.
    Stop,
    /// Sends another attempt.
    Retry {
        /// The wait before the attempt. The client waits longer if the service requests it.
        wait: Duration,
        /// The location of the attempt, or `None` for the one that the call's location mode selects. Writes always go
        /// to the primary.
        location: Option<Location>,
    },
}

impl Decision {
    /// Creates a decision to retry after `wait`.
    pub const fn after(wait: Duration) -> Self {
        Self::Retry { wait, location: None }
    }
}

/// A failed attempt.
#[derive(Clone, Debug)]
pub struct FailedAttempt<'a> {
    pub(crate) operation: OperationKind,
    pub(crate) effect: Effect,
    pub(crate) is_idempotent: bool,
    pub(crate) attempt: u32,
    pub(crate) elapsed: Duration,
    pub(crate) remaining: Option<Duration>,
    pub(crate) location: Location,
    pub(crate) failure: Failure<'a>,
    pub(crate) requested_wait: Option<Duration>,
}

/// The failure of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure<'a> {
    /// No complete response arrived.
    Transport(Delivery),
    /// A response with this status and error code. For a batch, of the operation that failed.
    Response(u16, Option<&'a str>),
}

impl<'a> FailedAttempt<'a> {
    /// Creates a failed first attempt of a read with this response status, to test a policy.
    pub fn with_response(status: u16, code: Option<&'a str>) -> Self {
        Self::of(Failure::Response(status, code))
    }

    /// Creates a failed first attempt of a read without a complete response, to test a policy.
    pub fn without_response(reached: Delivery) -> Self {
        Self::of(Failure::Transport(reached))
    }

    pub(crate) fn of(failure: Failure<'a>) -> Self {
        Self {
            operation: OperationKind::Get,
            effect: Effect::Read,
            is_idempotent: true,
            attempt: 1,
            elapsed: Duration::ZERO,
            remaining: None,
            location: Location::Primary,
            failure,
            requested_wait: None,
        }
    }

    /// Sets the number of the attempt and the time since the start of the call, to test a policy.
    #[must_use]
    pub fn at(mut self, attempt: u32, elapsed: Duration) -> Self {
        (self.attempt, self.elapsed) = (attempt, elapsed);
        self
    }

    /// Returns the name of the operation, such as `insert`.
    pub fn operation(&self) -> &str {
        self.operation.name()
    }

    /// Returns `true` if the call writes.
    pub fn is_write(&self) -> bool {
        self.effect == Effect::Write
    }

    /// Returns `true` if sending the request twice has the same effect as sending it once.
    ///
    /// Reads, upserts, table deletions, and replaces, merges and deletes without an ETag are idempotent. A repeated
    /// delete may find nothing.
    ///
    /// Inserts and writes with an ETag are not, because repeating them fails. A batch is idempotent if all of its
    /// operations are. Source: RFC 9110, section 9.2.2.
    pub fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }

    /// Returns the number of the attempt, starting at 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the time since the start of the call.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Returns the time that is left for the call, or `None` if it has no limit.
    pub fn remaining(&self) -> Option<Duration> {
        self.remaining
    }

    /// Returns the location that the attempt was sent to.
    pub fn location(&self) -> Location {
        self.location
    }

    /// Returns the HTTP status of the response, or `None` without a complete response.
    ///
    /// For a batch, this is the status of the operation that failed.
    pub fn status(&self) -> Option<u16> {
        match self.failure {
            Failure::Response(status, _) => Some(status),
            Failure::Transport(_) => None,
        }
    }

    /// Returns the service's error code, such as `ServerBusy`.
    pub fn code(&self) -> Option<&str> {
        match self.failure {
            Failure::Response(_, code) => code,
            Failure::Transport(_) => None,
        }
    }

    /// Returns how far the request got, or `None` if a complete response arrived.
    pub fn delivery(&self) -> Option<Delivery> {
        match self.failure {
            Failure::Transport(reached) => Some(reached),
            Failure::Response(..) => None,
        }
    }

    /// Returns the minimum wait that the service requests: `Retry-After`, `x-ms-retry-after-ms`.
    pub fn retry_after(&self) -> Option<Duration> {
        self.requested_wait
    }

    /// Returns `true` if the service throttled the attempt: 429, or 503 `ServerBusy`.
    ///
    /// A throttled write was not applied.
    pub fn is_throttled(&self) -> bool {
        matches!(
            self.failure,
            Failure::Response(429, _) | Failure::Response(503, Some("ServerBusy"))
        )
    }

    /// Returns `true` if the failure is transient: no complete response, or the status 408, 429, 500, 502, 503 or 504.
    ///
    /// Source: REST "Status and error codes"; 429 is Cosmos DB's throttling.
    pub fn is_transient(&self) -> bool {
        match self.failure {
            Failure::Transport(_) => true,
            Failure::Response(status, _) => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
        }
    }

    /// Returns `true` if the write is in doubt: the service may or may not have applied it.
    ///
    /// This is the case if no complete response arrived although the request may have been sent, or if the service
    /// failed while it processed the request. The client reads back such a write before it sends it again.
    pub fn is_ambiguous(&self) -> bool {
        self.is_write()
            && match self.failure {
                Failure::Transport(reached) => reached != Delivery::NothingSent,
                Failure::Response(501, _) => false,
                Failure::Response(status, _) => matches!(status, 408 | 500..) && !self.is_throttled(),
            }
    }
}

/// A policy that never retries.
///
/// The client also does not read back a write whose response was lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRetry;

impl RetryPolicy for NoRetry {
    fn decide(&self, _: &FailedAttempt<'_>) -> Decision {
        Decision::Stop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_is_in_doubt_only_if_it_may_have_been_applied() {
        let write = |failed: FailedAttempt<'static>| FailedAttempt {
            effect: Effect::Write,
            ..failed
        };
        for (failed, ambiguous) in [
            (FailedAttempt::without_response(Delivery::NothingSent), false),
            (FailedAttempt::without_response(Delivery::MaybeSent), true),
            (FailedAttempt::without_response(Delivery::ResponseCut), true),
            (
                FailedAttempt::without_response(Delivery::ResponseTooLong { bytes: 2, limit: 1 }),
                true,
            ),
            (FailedAttempt::with_response(500, None), true),
            (FailedAttempt::with_response(503, None), true),
            (FailedAttempt::with_response(503, Some("ServerBusy")), false),
            (FailedAttempt::with_response(429, None), false),
            (FailedAttempt::with_response(501, None), false),
            (FailedAttempt::with_response(408, None), true),
            (FailedAttempt::with_response(409, None), false),
        ] {
            assert!(!failed.is_ambiguous(), "a read never is: {failed:?}");
            assert_eq!(write(failed.clone()).is_ambiguous(), ambiguous, "{failed:?}");
        }
    }
}
