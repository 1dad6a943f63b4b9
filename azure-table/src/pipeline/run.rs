//! The loop of a call: send, classify, find out, wait.
//!
//! What an attempt is, is `attempt.rs`; whether there is another one, a policy's business (`retry.rs`); whether a lost write was
//! applied, `resolve.rs`. Here it is kept in order, and told.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Method, Response};

use crate::model::clock::{self, Instant};
use crate::model::error::{Error, ResponseHeaders, Result};
use crate::model::location::Location;
use crate::model::operation_kind::Effect;
use crate::pipeline::auth::Credential;
use crate::pipeline::deadline::Deadline;
use crate::pipeline::location::LocationMode;
use crate::pipeline::observer::{Completed, Event, Observer};
use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::budget::RetryBudget;
use crate::pipeline::retry::exponential::ExponentialRetry;
use crate::pipeline::retry::{Decision, FailedAttempt, Failure, RetryPolicy};
use crate::pipeline::settings::ClientSettings;
use crate::pipeline::skew::ServiceClock;
use crate::pipeline::story::CallStory;
use crate::pipeline::told::{self, asked_wait, refusal_of};
#[cfg(feature = "tracing")]
use crate::pipeline::trace;
use crate::pipeline::transport::Transport;
use crate::protocol::answer;
use crate::protocol::batch_answer;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::read_back::{Verdict, WrittenRow};
use crate::protocol::request::Call;

/// How often a call is authorized anew because the service refused who asks. Twice: a challenge may come first, and then
/// an old token be refused.
const MOST_RENEWALS: u32 = 2;

/// The longest wait that a service is given for the asking: the longest of the storage clients' own since 2010.
pub(crate) const MOST_ASKED_WAIT: Duration = Duration::from_secs(90);

/// What all calls of one client share. A clone shares connections, credential, limits and clock.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) endpoint: Endpoint,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) credential: Arc<dyn Credential>,
    pub(crate) settings: ClientSettings,
    pub(crate) retry: Arc<dyn RetryPolicy>,
    pub(crate) clock: Arc<ServiceClock>,
    pub(crate) observers: Vec<Arc<dyn Observer>>,
}

/// A complete answer of any status, and the story of how it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response<Bytes>,
    pub(crate) call: CallStory,
    /// The rows of a write whose answer was lost: they show that it was applied. The response is none then.
    pub(crate) applied: Option<Vec<WrittenRow>>,
}

/// How a call ends that does not fail: an answer, or the knowledge that its write was applied.
pub(super) type Ending = (Response<Bytes>, Option<Vec<WrittenRow>>);

impl Pipeline {
    pub(crate) fn new(endpoint: Endpoint, transport: Arc<dyn Transport>, credential: Arc<dyn Credential>) -> Self {
        Self {
            endpoint,
            transport,
            credential,
            settings: ClientSettings::default(),
            retry: Arc::new(ExponentialRetry::default().budget(RetryBudget::default())),
            clock: Arc::default(),
            observers: Vec::new(),
        }
    }

    /// Sends the request until there is an answer that is not worth another attempt.
    pub(crate) async fn run(&self, call: Call, options: CallOptions) -> Result<Answer> {
        #[cfg(feature = "tracing")]
        {
            use tracing::Instrument as _;
            let span = trace::call(&self.endpoint, &call);
            self.run_in_span(call, options, &span).instrument(span.clone()).await
        }
        #[cfg(not(feature = "tracing"))]
        self.run_in_span(call, options).await
    }

    async fn run_in_span(
        &self,
        mut call: Call,
        options: CallOptions,
        #[cfg(feature = "tracing")] span: &tracing::Span,
    ) -> Result<Answer> {
        let prepared = self.prepare(&mut call, &options);
        let (id, refused) = match prepared {
            Ok(id) => (id, None),
            Err(e) => (String::new(), Some(e)),
        };
        let mut story = CallStory::of(&call, id);
        if let Some(e) = refused {
            return Err(story.tell(e));
        }
        if self.settings.is_read_only && call.effect == Effect::Write {
            return Err(story.tell(Error::invalid_input(
                "this client is read-only, and the operation writes",
            )));
        }
        let begun = Instant::now();
        let outcome = self.attempts(&call, &options, &mut story, begun).await;
        #[cfg(feature = "tracing")]
        let told = |completed: &Completed<'_>| trace::completed(span, completed, &story);
        #[cfg(not(feature = "tracing"))]
        let told = |_: &Completed<'_>| {};
        self.completed(&call, &story, &outcome, begun.elapsed(), told);
        let outcome = outcome.and_then(|(response, applied)| {
            let response = match applied {
                None if call.is_enclosed => batch_answer::only(response)?,
                _ => response,
            };
            Ok((response, applied))
        });
        match outcome {
            Ok((response, applied)) => Ok(Answer {
                response,
                call: story,
                applied,
            }),
            Err(e) => Err(story.tell(e)),
        }
    }

    async fn attempts(
        &self,
        call: &Call,
        options: &CallOptions,
        story: &mut CallStory,
        begun: Instant,
    ) -> Result<Ending> {
        let policy = options.get().retry.as_ref().unwrap_or(&self.retry);
        let policy = policy.for_call().unwrap_or_else(|| Arc::clone(policy));
        let deadline = Deadline::new(options.get().timeout);
        let attempt_timeout = options.get().attempt_timeout.unwrap_or(self.settings.attempt_time());
        let mode = self.mode(call, options);
        let mut location = mode.first();
        let mut first_sent = None;
        let mut renewals = 0;
        // The attempts that the policy hears of: one more after a renewed proof or at the other location is none of its own.
        let mut tried = 1;
        let mut unsent = UnsentRetry::of(&*policy);
        loop {
            story.attempts += 1;
            story.location = location;
            let sending = || {
                unsent.clear();
                self.sending(call, story, location);
            };
            let sent = self.send(&call.request, location, &deadline, attempt_timeout, sending);
            #[cfg(feature = "tracing")]
            let span = trace::attempt(story.attempts);
            #[cfg(feature = "tracing")]
            let sent = tracing::Instrument::instrument(sent, span.clone());
            let sent = sent.await;
            #[cfg(feature = "tracing")]
            if let Err(e) = &sent {
                trace::unanswered(&span, e);
            }
            let ended = sent.inspect_err(|_| story.attempts -= 1)?;
            let first_sent = *first_sent.get_or_insert(ended.begun);
            story.advice = ended
                .outcome
                .as_ref()
                .ok()
                .and_then(|response| address_advice(call, response));
            story.asked_wait = ended
                .outcome
                .as_ref()
                .ok()
                .and_then(|response| asked_wait(call, response));
            let refusal = ended
                .outcome
                .as_ref()
                .ok()
                .and_then(|response| refusal_of(call, response));
            story.headers = match (&ended.outcome, &refusal) {
                (Ok(response), Some(_)) => told::headers(response),
                _ => ResponseHeaders::default(),
            };
            self.received(call, options, story, &ended, location, refusal.as_ref());
            // The span ends with the attempt: the wait before the next one is no part of it.
            #[cfg(feature = "tracing")]
            trace::received(
                span,
                call,
                &ended,
                refusal.as_ref(),
                story.diagnostics.attempts().last(),
            );
            if refusal.is_none() && ended.outcome.is_ok() {
                policy.succeeded(tried);
                return ended.outcome.map(|response| (response, None)).map_err(|(_, e)| e);
            }
            let failure = match (&ended.outcome, &refusal) {
                (Ok(response), None) => Failure::Answer(response.status().as_u16(), None),
                (Ok(_), Some((status, code))) => Failure::Answer(*status, code.as_deref()),
                (Err((reached, _)), _) => Failure::Transport(*reached),
            };
            if let (Ok(response), Failure::Answer(status @ (401 | 403), code)) = (&ended.outcome, failure) {
                let refused = self.refused(call.common_operation(), &ended, response, (status, code));
                story.advice = refused.advice;
                if let Some(seconds) = refused.corrected {
                    self.tell(&Event::ClockCorrected { seconds });
                }
                // Nothing was applied, and who asks has a new proof.
                if (refused.corrected.is_some() || refused.has_new_proof) && renewals < MOST_RENEWALS {
                    renewals += 1;
                    continue;
                }
            }
            // The copy lags behind: what it does not have, the primary may.
            if let (Location::Secondary, Failure::Answer(404, _)) = (location, failure)
                && mode.has(Location::Primary)
            {
                location = Location::Primary;
                continue;
            }
            let failed = FailedAttempt {
                operation: call.operation,
                effect: call.effect,
                is_idempotent: call.is_idempotent(),
                attempt: tried,
                elapsed: begun.elapsed(),
                remaining: deadline.remaining(),
                location,
                failure,
                asked_wait: story.asked_wait,
            };
            let may_be_of_own_doing = story.in_doubt && matches!(failure, Failure::Answer(404 | 409 | 412, _));
            let decision = if may_be_of_own_doing {
                Decision::Stop
            } else {
                policy.decide(&failed)
            };
            let is_ambiguous = failed.is_ambiguous();
            story.in_doubt |= is_ambiguous;
            let wait = match decision {
                Decision::Retry { wait, location: at } => {
                    location = at.filter(|at| mode.has(*at)).unwrap_or_else(|| mode.after(location));
                    let wait = wait_of(wait, story.asked_wait).filter(|wait| deadline.allows(*wait));
                    if wait.is_none() {
                        policy.withdrawn();
                    }
                    wait
                }
                Decision::Stop if failed.is_transient() || may_be_of_own_doing => None,
                // The service is well: it answers.
                Decision::Stop => {
                    policy.succeeded(tried);
                    None
                }
            };
            // A retried write is read back once more before the call fails.
            let is_last_look = wait.is_none() && is_ambiguous && tried > 1;
            if let Some(wait) = wait {
                unsent.set();
                self.tell(&Event::Retrying {
                    operation: call.operation.name(),
                    attempt: tried,
                    wait,
                });
                #[cfg(feature = "tracing")]
                trace::retrying(wait, story.diagnostics.attempts().last());
                tried += 1;
                clock::sleep(wait).await;
            }
            // Read back before the write is sent again, and after the service rejected the repetition.
            if (wait.is_some() && is_ambiguous) || is_last_look || may_be_of_own_doing {
                match self.found_out(call, options, story, first_sent, &deadline).await {
                    Verdict::Applied(rows) => {
                        unsent.clear();
                        policy.succeeded(tried);
                        return Ok((Response::new(Bytes::new()), Some(rows)));
                    }
                    Verdict::NotApplied if may_be_of_own_doing => story.in_doubt = false,
                    Verdict::NotApplied | Verdict::Unknown => {}
                }
            }
            if wait.is_none() {
                return ended.outcome.map(|response| (response, None)).map_err(|(_, e)| e);
            }
        }
    }

    /// The locations that the call may be sent to. Only a GET may leave the primary, and only if no write depends on it.
    fn mode(&self, call: &Call, options: &CallOptions) -> LocationMode {
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

    async fn found_out(
        &self,
        call: &Call,
        options: &CallOptions,
        story: &mut CallStory,
        first_sent: SystemTime,
        deadline: &Deadline,
    ) -> Verdict {
        let Some(table) = call.table.as_deref().filter(|_| !call.rows.is_empty()) else {
            return Verdict::Unknown;
        };
        let rows = call.rows.iter().collect::<Vec<_>>();
        let verdict = self
            .resolve(table, &rows, first_sent, deadline, options, &mut story.diagnostics)
            .await;
        self.tell(&Event::ReadBack {
            operation: story.operation.name(),
            applied: match verdict {
                Verdict::Applied(_) => Some(true),
                Verdict::NotApplied => Some(false),
                Verdict::Unknown => None,
            },
        });
        verdict
    }
}

/// A retry that a policy decided and that is not sent yet. Withdrawn if the call ends before.
struct UnsentRetry<'a> {
    policy: &'a dyn RetryPolicy,
    is_decided: bool,
}

impl<'a> UnsentRetry<'a> {
    fn of(policy: &'a dyn RetryPolicy) -> Self {
        let is_decided = false;
        Self { policy, is_decided }
    }

    fn set(&mut self) {
        self.is_decided = true;
    }

    fn clear(&mut self) {
        self.is_decided = false;
    }
}

impl Drop for UnsentRetry<'_> {
    fn drop(&mut self) {
        if self.is_decided {
            self.policy.withdrawn();
        }
    }
}

/// What to do about an address that the service does not take, where it is the keys that make it.
fn address_advice(call: &Call, response: &Response<Bytes>) -> Option<String> {
    // An insert has its keys in the body already.
    let has_keys = call.entity.is_some() && call.request.uri().path().ends_with(')');
    if !has_keys || call.is_enclosed || !answer::refuses_address(response) {
        return None;
    }
    Some(format!(
        "its address, of {} characters, is not taken: with `.via_batch()` the keys stand in a body",
        call.request.uri().to_string().len()
    ))
}

/// How long to wait: as the policy says, or longer if the service asks for that. Who asks for more than the most is told to the
/// caller instead, unless the policy would wait as long.
fn wait_of(wait: Duration, asked: Option<Duration>) -> Option<Duration> {
    let asked = asked.unwrap_or_default();
    (asked <= wait.max(MOST_ASKED_WAIT)).then_some(wait.max(asked))
}
