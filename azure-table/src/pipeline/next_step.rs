//! The next step of a call after an attempt that failed.
//!
//! Two pure functions decide, without I/O, clock or features. [`classify`] decides from the failure where that is
//! enough, and [`plan`] decides from the result of the retry policy. The policy runs between them, because it may draw
//! jitter and spend a budget. The tables of their tests are the specification. `retry_loop.rs` executes the steps, and
//! `lost_write/outcome.rs` has the table for what stored rows show.

use std::time::Duration;

use azure_table_wire::error::in_doubt_write::parts::LostAttempts;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::transport::Delivery;
use azure_table_wire::value::location::Location;

use crate::pipeline::location::LocationMode;
use crate::pipeline::retry::{Decision, FailedAttempt, Failure};
use crate::write::operation_request::OperationRequest;

/// The maximum number of attempts with a renewed authorization. Two, because a challenge may be followed by the
/// rejection of an old token.
const MAX_RENEWALS: u32 = 2;

/// The maximum wait that the service may request: the longest wait of the storage clients themselves since 2010.
pub(crate) const MAX_REQUESTED_WAIT: Duration = Duration::from_secs(90);

/// The state of a call between two attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallState {
    pub(crate) mode: LocationMode,
    /// The location of the current attempt.
    pub(crate) location: Location,
    /// The number of the attempt for the policy. An attempt after a renewed authorization or at the other location has
    /// the same number.
    pub(crate) attempt: u32,
    /// The number of attempts with a renewed authorization.
    pub(crate) renewals: u32,
    /// The earlier attempts of a write that may have been applied, or may still be.
    pub(crate) in_doubt: Option<LostAttempts>,
}

impl CallState {
    /// Returns the state before the first attempt.
    pub(crate) fn new(mode: LocationMode) -> Self {
        Self {
            mode,
            location: mode.first(),
            attempt: 1,
            renewals: 0,
            in_doubt: None,
        }
    }

    /// Returns the current attempt as one that failed, without times.
    pub(crate) fn failed<'a>(&self, call: &OperationRequest, failure: Failure<'a>) -> FailedAttempt<'a> {
        FailedAttempt {
            operation: call.operation,
            effect: call.effect,
            is_idempotent: call.is_idempotent(),
            attempt: self.attempt,
            location: self.location,
            ..FailedAttempt::of(failure)
        }
    }
}

/// The next step of a call after an attempt that failed: a rejection, or no complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Sends the request again immediately, with the renewed authorization.
    RenewCredential {
        /// As of [`Resend`](Self::Resend).
        reads_back: bool,
    },
    /// Sends a read to the primary immediately: the secondary lags behind and did not find the resource.
    TryPrimary,
    /// Asks the retry policy, then `plan`.
    AskPolicy,
    /// Waits and sends the request again.
    Resend {
        wait: Duration,
        location: Location,
        /// Reads a write in doubt back before the request is sent again. If it was applied, the call ends with its
        /// result.
        reads_back: bool,
    },
    /// Reads a write in doubt back. The call ends with its result if it was applied, otherwise with the failure.
    ReadBack,
    /// The call ends with the failure.
    Fail,
}

impl Next {
    /// Returns `true` if the step reads a write in doubt back.
    pub(crate) fn reads_back(self) -> bool {
        match self {
            Self::ReadBack => true,
            Self::RenewCredential { reads_back } | Self::Resend { reads_back, .. } => reads_back,
            Self::TryPrimary | Self::AskPolicy | Self::Fail => false,
        }
    }

    /// Returns `true` if the call ends with the attempt, after reading it back if the step requires that.
    pub(crate) fn ends_call(self) -> bool {
        matches!(self, Self::ReadBack | Self::Fail)
    }
}

/// Returns the step after a failed attempt, as far as the client decides without the policy.
///
/// `is_renewed` if the rejection changed the credential or the clock: the same request now has another authorization.
pub(crate) fn classify(state: &CallState, failed: &FailedAttempt<'_>, is_renewed: bool) -> Next {
    match failed.failure {
        // The service applied nothing of this attempt.
        Failure::Response(401 | 403, _) if is_renewed && state.renewals < MAX_RENEWALS => Next::RenewCredential {
            reads_back: state.in_doubt.is_some(),
        },
        Failure::Response(404, _) if state.location == Location::Secondary && state.mode.has(Location::Primary) => {
            Next::TryPrimary
        }
        // The response would be just as long again.
        Failure::Transport(Delivery::ResponseTooLong { .. }) if !failed.is_write() => Next::Fail,
        // No row shows who deleted it.
        Failure::Response(404, Some(_)) if state.in_doubt.is_some() && failed.operation == OperationKind::Delete => {
            Next::Fail
        }
        // An earlier attempt may have caused the rejection.
        Failure::Response(404 | 409 | 412, _) if state.in_doubt.is_some() => Next::ReadBack,
        _ => Next::AskPolicy,
    }
}

/// Returns the step after the decision of the policy on a failed attempt.
pub(crate) fn plan(state: &CallState, failed: &FailedAttempt<'_>, decision: Decision) -> Next {
    // A rejection of the last attempt says nothing about an earlier one.
    let was_in_doubt = state.in_doubt.is_some();
    let in_doubt = failed.is_ambiguous() || was_in_doubt;
    if let Decision::Retry { wait, location } = decision
        && let Some(wait) = effective_wait(wait, failed)
    {
        return Next::Resend {
            wait,
            location: location
                .filter(|location| state.mode.has(*location))
                .unwrap_or_else(|| state.mode.after(state.location)),
            reads_back: in_doubt,
        };
    }
    // A write that was never retried is not read back, so a policy without retries costs no reads.
    if in_doubt && (state.attempt > 1 || was_in_doubt) {
        Next::ReadBack
    } else {
        Next::Fail
    }
}

/// Returns the wait of the policy, or the longer one that the service requests.
///
/// Returns `None` if the service requests more than [`MAX_REQUESTED_WAIT`] and more than the policy's own wait. Also
/// returns `None` if no time is left for an attempt after the wait, counted from before the policy was asked.
fn effective_wait(wait: Duration, failed: &FailedAttempt<'_>) -> Option<Duration> {
    let requested = failed.requested_wait.unwrap_or_default();
    let wait = (requested <= wait.max(MAX_REQUESTED_WAIT)).then_some(wait.max(requested))?;
    failed.remaining.is_none_or(|left| wait < left).then_some(wait)
}

#[cfg(test)]
mod tests;
