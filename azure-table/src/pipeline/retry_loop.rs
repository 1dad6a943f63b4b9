//! The retry loop: all attempts of one call.
//!
//! A call prepares its request, then sends, classifies, asks the policy, waits and reads back as needed. `attempt.rs`
//! sends one request. `next_step.rs` decides what follows, and `read_back.rs` reads back a lost write.
//! `notifications.rs` reports the steps.

use std::mem;
use std::pin::pin;
use std::sync::Arc;

use azure_table_wire::error::in_doubt_write::parts::LostAttempts;
use azure_table_wire::error::operation_kind::{Effect, OperationKind};
use azure_table_wire::error::{Error, Result};
use azure_table_wire::transport::BoxFuture;
use azure_table_wire::value::clock::{self, Instant};
use azure_table_wire::value::location::Location;
use http::Method;

use crate::pipeline::Pipeline;
use crate::pipeline::attempt::Limits;
use crate::pipeline::attempt_end::{AttemptEnd, CallEnd};
use crate::pipeline::location::LocationMode;
use crate::pipeline::lost_write::outcome::Resolution;
use crate::pipeline::next_step::{CallState, Next, classify, plan};
use crate::pipeline::notifications::Notifications;
use crate::pipeline::observer::history::{CallHistory, CallResponse};
use crate::pipeline::observer::trace::CallSpan;
use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};
use crate::write::batch_response;
use crate::write::operation_request::OperationRequest;

impl Pipeline {
    /// Sends the request until a response needs no further attempt.
    pub(crate) async fn run(&self, call: &mut OperationRequest, options: &CallOptions) -> Result<CallResponse> {
        let span = CallSpan::new(&self.endpoint, call);
        // The future is large, and pinning it here avoids a move.
        span.around(pin!(self.run_in(&span, call, options))).await
    }

    async fn run_in(
        &self,
        span: &CallSpan,
        call: &mut OperationRequest,
        options: &CallOptions,
    ) -> Result<CallResponse> {
        let (started, limits) = (Instant::now(), Limits::of(options, &self.settings));
        let (id, mut prepared) = match self.prepare(call, options) {
            Ok(id) => (id, self.check_effect(call)),
            Err(e) => (Arc::default(), Err(e)),
        };
        if prepared.is_ok() && limits.has_policies() {
            prepared = Box::pin(limits.police(call)).await;
        }
        let sent = &mut *call;
        let call = &*sent;
        let mut history = CallHistory::of(call, id);
        let in_doubt = options.get().earlier.filter(|_| call.effect == Effect::Write);
        if let Err(mut e) = prepared {
            if in_doubt.is_some() {
                e = not_started_after(e, 0);
            }
            history.in_doubt = in_doubt;
            return Err(history.complete_write(e, &call.rows, started, &self.endpoint));
        }
        let mut state = CallState {
            in_doubt,
            ..CallState::new(self.mode(call, options))
        };
        let mut notifications = Notifications {
            pipeline: self,
            call,
            options,
            span,
            history,
        };
        let policy = options.get().retry.as_ref().unwrap_or(&self.retry);
        let policy = policy.for_call().unwrap_or_else(|| Arc::clone(policy));
        let attempts = Attempts {
            pipeline: self,
            call,
            options,
            started,
            limits,
            state: &mut state,
            notifications: &mut notifications,
            retry: PendingRetry::of(&*policy),
        };
        let outcome = attempts.run().await;
        notifications.history.in_doubt = state.in_doubt;
        notifications.completed(&outcome, started);
        let history = notifications.history;
        let outcome = outcome.and_then(|end| match end {
            CallEnd::Responded(response) if call.is_enclosed => batch_response::only(response).map(CallEnd::Responded),
            end => Ok(end),
        });
        match outcome {
            Ok(end) => Ok(CallResponse {
                end,
                call: history,
                rows: mem::take(&mut sent.rows),
                started,
            }),
            Err(e) => Err(history.complete_write(e, &call.rows, started, &self.endpoint)),
        }
    }

    fn check_effect(&self, call: &OperationRequest) -> Result<()> {
        match call.effect {
            Effect::Write if self.settings.is_read_only => Err(Error::invalid_input(
                "this client is read-only, and the operation writes",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the locations that the call may be sent to. Only a GET may leave the primary, and only if no write
    /// depends on it.
    pub(super) fn mode(&self, call: &OperationRequest, options: &CallOptions) -> LocationMode {
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

/// Names the earlier attempts in the error of one that was not sent. They left the write in doubt; `sent` of them are of
/// this call.
#[cold]
fn not_started_after(mut error: Error, sent: u32) -> Error {
    let earlier = match sent {
        0 => "an earlier call".to_owned(),
        1 => "attempt 1".to_owned(),
        _ => format!("one of the attempts 1 to {sent}"),
    };
    let (next, parts) = (sent + 1, error.parts_mut());
    parts.message = format!(
        "{earlier} has no result, and attempt {next} did not start: {}",
        parts.message
    )
    .into();
    error
}

/// The attempts of one call.
struct Attempts<'a, 'n> {
    pipeline: &'a Pipeline,
    call: &'a OperationRequest,
    options: &'a CallOptions,
    started: Instant,
    limits: Limits<'a>,
    state: &'a mut CallState,
    notifications: &'a mut Notifications<'n>,
    retry: PendingRetry<'a>,
}

impl Attempts<'_, '_> {
    /// Executes the steps that `next_step` decides, until the call ends.
    async fn run(mut self) -> Result<CallEnd> {
        // A batch was read back before its deletes are sent alone.
        if self.state.in_doubt.is_some()
            && self.call.operation != OperationKind::Delete
            && let Some(applied) = self.read_back().await
        {
            return Ok(applied);
        }
        loop {
            let ended = match self.attempt().await {
                Ok(ended) => ended,
                Err(e) if self.state.in_doubt.is_some() => {
                    return Err(not_started_after(e, self.notifications.history.attempts));
                }
                Err(e) => return Err(e),
            };
            if ended.failure().is_none() {
                self.retry.succeeded(self.state.attempt);
                return ended.into_call_end();
            }
            if let Some(ending) = self.after_failure(ended).await {
                return ending;
            }
        }
    }

    /// Sends the request, and reports it.
    async fn attempt(&mut self) -> Result<AttemptEnd> {
        let (pipeline, call, location) = (self.pipeline, self.call, self.state.location);
        let span = self.notifications.starting(location);
        let ready = pin!(pipeline.ready(call, location, &self.limits));
        let ready = match span.around(ready).await {
            Ok(ready) => ready,
            Err(e) => {
                self.notifications.not_sent(span, &e);
                return Err(e);
            }
        };
        self.retry.sent();
        self.notifications.sending(location);
        let ended = span.around(pin!(pipeline.exchange(call, ready))).await;
        self.notifications.received(span, &ended);
        Ok(ended)
    }

    /// Executes the step after an attempt that failed. Returns the end of the call, or `None` for another attempt.
    ///
    /// Boxed, and separate from the code of calls without failures.
    #[cold]
    fn after_failure(&mut self, ended: AttemptEnd) -> BoxFuture<'_, Option<Result<CallEnd>>> {
        Box::pin(async move {
            let (next, is_ambiguous) = self.next(&ended);
            self.notifications.history.is_ruled_out = false;
            if is_ambiguous {
                let (earlier, started) = (self.state.in_doubt, ended.started);
                self.state.in_doubt = Some(LostAttempts::followed_by(earlier, started, ended.elapsed));
            }
            match next {
                Next::RenewCredential { .. } => self.state.renewals += 1,
                Next::TryPrimary => self.state.location = Location::Primary,
                Next::Resend { wait, location, .. } => {
                    self.notifications.retrying(&ended, self.state.attempt, wait);
                    (self.state.attempt, self.state.location) = (self.state.attempt + 1, location);
                    clock::pause(wait).await;
                }
                // `next` has asked the policy. The other two are handled below.
                Next::AskPolicy | Next::ReadBack | Next::Fail => {}
            }
            if next.reads_back()
                && let Some(applied) = self.read_back().await
            {
                return Some(Ok(applied));
            }
            next.ends_call().then(|| ended.into_call_end())
        })
    }

    /// Reads back a write in doubt. Returns its end if it was applied.
    #[cold]
    fn read_back(&mut self) -> BoxFuture<'_, Option<CallEnd>> {
        Box::pin(async move {
            let attempts = self.state.in_doubt?;
            let (call, limits, notifications) = (self.call, &self.limits, &mut *self.notifications);
            let read = (self.pipeline).read_back(call, self.options, limits, attempts, notifications);
            match read.await {
                (Resolution::Applied, rows) => {
                    self.retry.succeeded(self.state.attempt);
                    return Some(CallEnd::ReadBack(rows));
                }
                (Resolution::NotApplied, _) => self.state.in_doubt = None,
                (Resolution::Unknown(_), _) => {}
            }
            None
        })
    }

    /// Returns the step after an attempt that failed, and `true` if the attempt may have been applied.
    fn next(&mut self, ended: &AttemptEnd) -> (Next, bool) {
        let is_renewed = self.pipeline.renews_authorization(self.call, ended, self.notifications);
        let Some(failure) = ended.failure() else {
            return (Next::Fail, false);
        };
        let failed = FailedAttempt {
            elapsed: self.started.elapsed(),
            remaining: self.limits.deadline.map(|deadline| deadline.left()),
            requested_wait: self.notifications.history.requested_wait,
            ..self.state.failed(self.call, failure)
        };
        let next = match classify(self.state, &failed, is_renewed) {
            Next::AskPolicy if ended.is_certificate_rejected() => plan(self.state, &failed, Decision::Stop),
            Next::AskPolicy => self.retry.ask(self.state, &failed),
            next => next,
        };
        (next, failed.is_ambiguous())
    }
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
