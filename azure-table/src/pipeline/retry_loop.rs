//! The retry loop: all attempts of one call.
//!
//! Owns the order of a call: prepare, send, classify, ask the policy, wait, read back. `attempt.rs` sends one request,
//! `hedged_attempt.rs` one or two, `next_step.rs` is the decision after it, `reconciliation.rs` the read of a lost
//! write. `notifications.rs` reports the steps.

use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response};

use crate::model::clock::{self, Instant};
use crate::model::error::{Error, Result};
use crate::model::location::Location;
use crate::model::operation_kind::Effect;
use crate::pipeline::Pipeline;
use crate::pipeline::attempt::Limits;
use crate::pipeline::ended::{Ended, Ending};
use crate::pipeline::hedge::Hedge;
use crate::pipeline::hedged_attempt::HedgedAttempt;
use crate::pipeline::history::{Answer, CallHistory};
use crate::pipeline::location::LocationMode;
use crate::pipeline::next_step::{AttemptEnd, CallState, Next, classify, plan};
use crate::pipeline::notifications::Notifications;
use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};
use crate::pipeline::trace::CallSpan;
use crate::protocol::batch_answer;
use crate::protocol::read_back::Verdict;
use crate::protocol::request::Call;

impl Pipeline {
    /// Sends the request until a response needs no further attempt.
    pub(crate) async fn run(&self, call: &mut Call, options: &CallOptions) -> Result<Answer> {
        let span = CallSpan::new(&self.endpoint, call);
        // Futures are large: pinned ones are not moved.
        span.around(pin!(self.run_in(&span, call, options))).await
    }

    async fn run_in(&self, span: &CallSpan, call: &mut Call, options: &CallOptions) -> Result<Answer> {
        let prepared = self.prepare(call, options);
        let call = &*call;
        let (id, prepared) = match prepared {
            Ok(id) => (id, self.check_effect(call)),
            Err(e) => (Arc::default(), Err(e)),
        };
        let history = CallHistory::of(call, id);
        if let Err(e) = prepared {
            return Err(history.complete(e));
        }
        let mut state = CallState::new(self.mode(call, options));
        let mut notifications = Notifications::new(self, call, options, span, history);
        let begun = Instant::now();
        let outcome = self
            .attempts(call, options, begun, &mut state, &mut notifications)
            .await;
        notifications.completed(&outcome, begun);
        let mut history = notifications.into_history();
        history.in_doubt = state.in_doubt;
        let outcome = outcome.and_then(|(response, applied)| match applied {
            None if call.is_enclosed => Ok((batch_answer::only(response)?, None)),
            applied => Ok((response, applied)),
        });
        match outcome {
            Ok((response, applied)) => Ok(Answer {
                response,
                call: history,
                applied,
            }),
            Err(e) => Err(history.complete(e)),
        }
    }

    /// Executes the steps that `next_step` decides, until the call ends.
    async fn attempts(
        &self,
        call: &Call,
        options: &CallOptions,
        begun: Instant,
        state: &mut CallState,
        notifications: &mut Notifications<'_>,
    ) -> Result<Ending> {
        let policy = options.get().retry.as_ref().unwrap_or(&self.retry);
        let policy = policy.for_call().unwrap_or_else(|| Arc::clone(policy));
        let mut retry = PendingRetry::of(&*policy);
        let limits = Limits::of(options, &self.settings);
        let mut first_sent = None;
        loop {
            let ended = self
                .attempt(call, options, &limits, state, notifications, &mut retry)
                .await?;
            // A hedged read may have the response of the other location.
            state.location = ended.location;
            let first_sent = *first_sent.get_or_insert(ended.begun);
            let is_renewed = self.renews_authorization(call, &ended, notifications);
            let failed = ended.failure().map(|failure| FailedAttempt {
                elapsed: begun.elapsed(),
                remaining: limits.deadline.remaining(),
                asked_wait: notifications.history.asked_wait,
                ..state.failed(call, failure)
            });
            let end = AttemptEnd { failed, is_renewed };
            let next = match (classify(state, &end), &end.failed) {
                (Next::AskPolicy, Some(failed)) => retry.ask(state, failed),
                (next, _) => next,
            };
            state.in_doubt |= end.is_ambiguous();
            match next {
                Next::Done => retry.succeeded(state.attempt),
                Next::RenewCredential => state.renewals += 1,
                Next::TryPrimary => state.location = Location::Primary,
                Next::Resend { wait, location, .. } => {
                    notifications.retrying(state.attempt, wait);
                    (state.attempt, state.location) = (state.attempt + 1, location);
                    clock::pause(wait).await;
                }
                // `AskPolicy` was replaced above; the other two are handled below.
                Next::AskPolicy | Next::ReadBack | Next::Fail => {}
            }
            if next.reads_back() {
                match self
                    .read_back(call, options, first_sent, &limits.deadline, notifications)
                    .await
                {
                    Verdict::Applied(rows) => {
                        retry.succeeded(state.attempt);
                        return Ok((Response::new(Bytes::new()), Some(rows)));
                    }
                    // No earlier attempt was applied. An ambiguous last one may still be.
                    Verdict::NotApplied => state.in_doubt = end.is_ambiguous(),
                    Verdict::Unknown => {}
                }
            }
            if next.ends_call() {
                return ended.into_ending();
            }
        }
    }

    /// Sends the request once, or twice if it is hedged, and reports it.
    async fn attempt(
        &self,
        call: &Call,
        options: &CallOptions,
        limits: &Limits,
        state: &CallState,
        notifications: &mut Notifications<'_>,
        retry: &mut PendingRetry<'_>,
    ) -> Result<Ended> {
        let span = notifications.starting(state.location);
        let ready = match span.around(pin!(self.ready(call, state.location, limits))).await {
            Ok(ready) => ready,
            Err(e) => {
                notifications.not_sent(span, &e);
                return Err(e);
            }
        };
        retry.sent();
        notifications.sending(state.location, false);
        if let Some(hedge) = hedge_of(call, options) {
            let attempt = HedgedAttempt {
                pipeline: self,
                call,
                limits,
                hedge,
                mode: state.mode,
            };
            return Ok(attempt.run(span, ready, state.location, notifications).await);
        }
        let ended = span.around(pin!(self.exchange(call, ready))).await;
        notifications.received(span, &ended);
        Ok(ended)
    }

    /// Reports a rejected authorization to the credential and to the clock.
    ///
    /// Returns `true` if the request has a new authorization from now on.
    fn renews_authorization(&self, call: &Call, ended: &Ended, notifications: &mut Notifications<'_>) -> bool {
        let Some(refused) = self.refused(call, ended) else {
            return false;
        };
        notifications.history.advice = refused.advice;
        if let Some(seconds) = refused.corrected {
            notifications.clock_corrected(seconds);
        }
        // The service applied nothing.
        refused.corrected.is_some() || refused.has_new_proof
    }

    fn check_effect(&self, call: &Call) -> Result<()> {
        match call.effect {
            Effect::Write if self.settings.is_read_only => Err(Error::invalid_input(
                "this client is read-only, and the operation writes",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the locations that the call may be sent to. Only a GET may leave the primary, and only if no write
    /// depends on it.
    pub(super) fn mode(&self, call: &Call, options: &CallOptions) -> LocationMode {
        if call.location == Location::Secondary {
            return LocationMode::SecondaryOnly;
        }
        let is_get = *call.request.method() == Method::GET;
        if !is_get || options.get().is_for_write || self.endpoint.secondary().is_none() {
            return LocationMode::PrimaryOnly;
        }
        match options.get().pinned {
            Some(location) => LocationMode::only(location),
            None => options.get().location_mode.unwrap_or_default(),
        }
    }
}

/// Returns the hedge of a call: only a GET is sent twice.
fn hedge_of<'a>(call: &Call, options: &'a CallOptions) -> Option<&'a Hedge> {
    let hedge = options.get().hedge.as_ref()?;
    (call.effect == Effect::Read && *call.request.method() == Method::GET && !hedge.is_off()).then_some(hedge)
}

/// The policy of a call, and the retry that it decided. Reports a retry that is never sent as cancelled.
struct PendingRetry<'a> {
    policy: &'a dyn RetryPolicy,
    is_pending: bool,
}

impl<'a> PendingRetry<'a> {
    fn of(policy: &'a dyn RetryPolicy) -> Self {
        let is_pending = false;
        Self { policy, is_pending }
    }

    /// Asks the policy, and reports the next step.
    #[cold]
    fn ask(&mut self, state: &CallState, failed: &FailedAttempt<'_>) -> Next {
        let decision = self.policy.decide(failed);
        let next = plan(state, failed, decision);
        match (decision, next) {
            (Decision::Retry { .. }, Next::Resend { .. }) => self.is_pending = true,
            (Decision::Retry { .. }, _) => self.policy.retry_cancelled(),
            // The service responds, so it is available.
            (Decision::Stop, _) if !failed.is_transient() => self.policy.succeeded(failed.attempt),
            (Decision::Stop, _) => {}
        }
        next
    }

    fn sent(&mut self) {
        self.is_pending = false;
    }

    fn succeeded(&mut self, attempt: u32) {
        self.is_pending = false;
        self.policy.succeeded(attempt);
    }
}

impl Drop for PendingRetry<'_> {
    fn drop(&mut self) {
        if self.is_pending {
            self.policy.retry_cancelled();
        }
    }
}
