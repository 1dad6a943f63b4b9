//! Retry policies.
//!
//! Owns [`RetryPolicy`], its input [`FailedAttempt`] and its result [`Decision`]. The policies of this crate are in the
//! folder: `exponential.rs`, `linear.rs`, decorators in `decorator.rs`, the tokens of a budget in `budget.rs`. Reading
//! back a write that is in doubt is `reconciliation.rs`.
//!
//! The policy decides whether and when; the loop keeps the promises: the wait that the service asks for, the time of
//! the call, the primary for writes and the read before a repeated write. So no policy can break them. The default
//! waits are short (0.4, 0.8, 1.6 s): a stalled partition is back within seconds, and a wrong address should be
//! reported in three. Each client has its own retry budget; a clone shares it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::model::location::Location;
use crate::model::operation_kind::{Effect, OperationKind};
use crate::pipeline::retry::budget::RetryBudget;
use crate::pipeline::retry::decorator::{LimitAttempts, LimitElapsed, WithBudget};
use crate::pipeline::transport::Delivery;

pub(crate) mod budget;
pub(crate) mod decorator;
pub(crate) mod exponential;
pub(crate) mod linear;

/// Decides whether a failed attempt is retried, and when.
///
/// The client calls [`decide`](Self::decide) after a failed attempt: no complete response, or a status of 400 and
/// above, 404 included. For a batch it is the status of the failed operation. It does not ask after a 401 or 403 that
/// renewed the credential, after a 404 of the secondary in a mode with both locations, and after a 404, 409 or 412 of a
/// write in doubt, which it reads back. In every policy the client itself keeps these rules:
///
/// - No wait is shorter than the service asks for (`Retry-After`), and none exceeds the remaining time of the call.
/// - If the service asks for more than 90 s, the call fails, unless the policy's own wait is as long.
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

    /// Called when a call receives a response that is not retried. `attempt` starts at 1.
    ///
    /// The response is a success or a failure that is not transient, such as 404. Also called when the client reads
    /// back a lost write that was applied. Does nothing by default.
    fn succeeded(&self, attempt: u32) {
        let _ = attempt;
    }

    /// Called when the retry decided last is never sent: no time is left, the client gets no permit or no credential,
    /// or the call is dropped. Does nothing by default.
    fn retry_cancelled(&self) {}

    /// Returns this policy, limited to `attempts` attempts, the first included.
    fn limit_attempts(self, attempts: u32) -> LimitAttempts<Self>
    where
        Self: Sized,
    {
        LimitAttempts::new(self, attempts)
    }

    /// Returns this policy, limited in time: no attempt starts later than `elapsed` after the start of the call.
    fn limit_elapsed(self, elapsed: Duration) -> LimitElapsed<Self>
    where
        Self: Sized,
    {
        LimitElapsed::new(self, elapsed)
    }

    /// Returns this policy with a budget: no retry if the budget has no token left.
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
    /// The call fails with this failure.
    Stop,
    /// Another attempt.
    Retry {
        /// The time before the attempt. Longer if the service asks for more.
        wait: Duration,
        /// The location of the attempt, or `None` for that of the call's location mode. Writes always go to the
        /// primary.
        location: Option<Location>,
    },
}

impl Decision {
    /// Returns a decision to retry after `wait`.
    pub const fn after(wait: Duration) -> Self {
        Self::Retry { wait, location: None }
    }
}

/// An attempt that failed.
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
    pub(crate) asked_wait: Option<Duration>,
}

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure<'a> {
    /// No complete answer.
    Transport(Delivery),
    /// An answer of this status and code; of a batch those of the operation that failed.
    Answer(u16, Option<&'a str>),
}

impl<'a> FailedAttempt<'a> {
    /// The first attempt of a read, answered with this status: to test a policy with.
    pub fn with_response(status: u16, code: Option<&'a str>) -> Self {
        Self::of(Failure::Answer(status, code))
    }

    /// The first attempt of a read, without a complete answer: to test a policy with.
    pub fn without_response(reached: Delivery) -> Self {
        Self::of(Failure::Transport(reached))
    }

    fn of(failure: Failure<'a>) -> Self {
        Self {
            operation: OperationKind::Get,
            effect: Effect::Read,
            is_idempotent: true,
            attempt: 1,
            elapsed: Duration::ZERO,
            remaining: None,
            location: Location::Primary,
            failure,
            asked_wait: None,
        }
    }

    /// The same as the attempt of this number: to test a policy with.
    #[must_use]
    pub fn at(mut self, attempt: u32, elapsed: Duration) -> Self {
        (self.attempt, self.elapsed) = (attempt, elapsed);
        self
    }

    /// The operation, such as `insert`.
    pub fn operation(&self) -> &str {
        self.operation.name()
    }

    /// Whether the call writes.
    pub fn is_write(&self) -> bool {
        self.effect == Effect::Write
    }

    /// Returns `true` if the request sent twice has the same effect as sent once: reads, upserts, replaces, merges and
    /// deletes without an ETag, and the deletion of a table. A repeated delete may find nothing.
    ///
    /// Inserts and writes under an ETag are not idempotent: their repetition fails. A batch is if all of its operations
    /// are. Source: RFC 9110, section 9.2.2.
    pub fn is_idempotent(&self) -> bool {
        self.is_idempotent
    }

    /// Which attempt it was: 1 is the first.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How long ago the call began.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// How much of the call's time is left; `None` without a limit.
    pub fn remaining(&self) -> Option<Duration> {
        self.remaining
    }

    /// Where the attempt went.
    pub fn location(&self) -> Location {
        self.location
    }

    /// The status of the answer; of a batch that of the operation that failed. `None` without a complete answer.
    pub fn status(&self) -> Option<u16> {
        match self.failure {
            Failure::Answer(status, _) => Some(status),
            Failure::Transport(_) => None,
        }
    }

    /// The service's code, such as `ServerBusy`.
    pub fn code(&self) -> Option<&str> {
        match self.failure {
            Failure::Answer(_, code) => code,
            Failure::Transport(_) => None,
        }
    }

    /// How far a request without a complete answer got; `None` with one.
    pub fn delivery(&self) -> Option<Delivery> {
        match self.failure {
            Failure::Transport(reached) => Some(reached),
            Failure::Answer(..) => None,
        }
    }

    /// The least wait that the service asks for: `Retry-After`, `x-ms-retry-after-ms`.
    pub fn retry_after(&self) -> Option<Duration> {
        self.asked_wait
    }

    /// Whether the service has too much to do: 429, or 503 `ServerBusy`. Nothing was applied.
    pub fn is_throttled(&self) -> bool {
        matches!(
            self.failure,
            Failure::Answer(429, _) | Failure::Answer(503, Some("ServerBusy"))
        )
    }

    /// Whether the failure may pass by itself: no complete answer, or the status 408, 429, 500, 502, 503 or 504.
    ///
    /// Source: REST "Status and error codes"; 429 is Cosmos DB's throttling.
    pub fn is_transient(&self) -> bool {
        match self.failure {
            Failure::Transport(_) => true,
            Failure::Answer(status, _) => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
        }
    }

    /// Whether it is not known if the service applied the write: no answer, though the request may have been sent, or
    /// the service failed while it worked. Before such a write is sent again, the client reads.
    pub fn is_ambiguous(&self) -> bool {
        self.is_write()
            && match self.failure {
                Failure::Transport(reached) => reached != Delivery::NothingSent,
                Failure::Answer(501, _) => false,
                Failure::Answer(status, _) => matches!(status, 408 | 500..) && !self.is_throttled(),
            }
    }
}

/// No second attempt, and no read to find out whether a lost write was applied.
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
    fn a_write_is_in_doubt_only_if_it_may_have_been_applied() {
        let write = |failed: FailedAttempt<'static>| FailedAttempt {
            effect: Effect::Write,
            ..failed
        };
        for (failed, ambiguous) in [
            (FailedAttempt::without_response(Delivery::NothingSent), false),
            (FailedAttempt::without_response(Delivery::MaybeSent), true),
            (FailedAttempt::without_response(Delivery::ResponseCut), true),
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
