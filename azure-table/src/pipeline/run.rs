//! The loop of a call: send, classify, find out, wait.
//!
//! What an attempt is, is `attempt.rs`; whether there is another one, a policy's business (`retry.rs`); whether a lost write was
//! applied, `resolve.rs`. Here it is kept in order, and told.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::Response;

use crate::model::clock::{self, Instant};
use crate::model::error::{Error, ErrorKind, Result};
use crate::model::location::Location;
use crate::pipeline::attempt::Ended;
use crate::pipeline::auth::Credential;
use crate::pipeline::deadline::Deadline;
use crate::pipeline::location::LocationMode;
use crate::pipeline::observer::{Completed, Event, Observer, Sending};
use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::budget::RetryBudget;
use crate::pipeline::retry::exponential::ExponentialRetry;
use crate::pipeline::retry::{Decision, FailedAttempt, Failure, RetryPolicy, wait_asked_for};
use crate::pipeline::settings::ClientSettings;
use crate::pipeline::skew::ServiceClock;
use crate::pipeline::story::{CallStory, Told};
#[cfg(feature = "tracing")]
use crate::pipeline::trace;
use crate::pipeline::transport::Transport;
use crate::protocol::answer;
use crate::protocol::batch_answer;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::read_back::Verdict;
use crate::protocol::request::{Call, Effect};

/// How often a call is authorized anew because the service refused who asks. Twice: a challenge may come first, and then
/// an old token be refused.
const MOST_RENEWALS: u32 = 2;

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
    /// The ETags of the rows of a write whose answer was lost: they show that it was applied. The response is none then.
    pub(crate) applied: Option<ETags>,
}

/// The ETags of the rows of a write, none of a row that was deleted.
type ETags = Vec<Option<String>>;

/// How a call ends that does not fail: an answer, or the knowledge that its write was applied.
type Ending = (Response<Bytes>, Option<ETags>);

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

    pub(crate) fn tell(&self, event: &Event<'_>) {
        for observer in &self.observers {
            observer.on_event(event);
        }
    }

    /// Sends the request until there is an answer that is not worth another attempt.
    pub(crate) async fn run(&self, call: Call, options: CallOptions) -> Result<Answer> {
        #[cfg(feature = "tracing")]
        {
            use tracing::Instrument as _;
            let span = trace::call(&self.endpoint, &call);
            self.run_in_span(call, options).instrument(span).await
        }
        #[cfg(not(feature = "tracing"))]
        self.run_in_span(call, options).await
    }

    async fn run_in_span(&self, mut call: Call, options: CallOptions) -> Result<Answer> {
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
        self.completed(&call, &story, &outcome, begun.elapsed());
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
        loop {
            story.attempts += 1;
            story.location = location;
            let sending = || self.sending(call, story, location);
            let sent = self.send(&call.request, location, &deadline, attempt_timeout, sending);
            #[cfg(feature = "tracing")]
            let span = trace::attempt(story.attempts);
            #[cfg(feature = "tracing")]
            let sent = tracing::Instrument::instrument(sent, span.clone());
            let sent = sent.await;
            let ended = sent.inspect_err(|_| story.attempts -= 1)?;
            let first_sent = *first_sent.get_or_insert(ended.begun);
            story.advice = None;
            story.asked_wait = ended
                .outcome
                .as_ref()
                .ok()
                .and_then(|response| wait_asked_for(response.headers()));
            let refusal = ended
                .outcome
                .as_ref()
                .ok()
                .and_then(|response| refusal_of(call, response));
            self.received(call, options, story, &ended, location, refusal.as_ref());
            #[cfg(feature = "tracing")]
            trace::received(&span, story.diagnostics.attempts().last());
            if refusal.is_none() && ended.outcome.is_ok() {
                policy.succeeded(story.attempts);
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
                attempt: story.attempts - renewals,
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
                    let wait = wait.max(story.asked_wait.unwrap_or_default());
                    location = at.filter(|at| mode.has(*at)).unwrap_or_else(|| mode.after(location));
                    Some(wait).filter(|wait| deadline.allows(*wait))
                }
                Decision::Stop => None,
            };
            if let Some(wait) = wait {
                self.tell(&Event::Retrying {
                    operation: call.operation,
                    wait,
                });
                clock::sleep(wait).await;
            }
            // Before the write is sent again, and after the refusal of a repetition: what became of the one before?
            if (wait.is_some() && is_ambiguous) || may_be_of_own_doing {
                match self.found_out(call, options, story, first_sent, &deadline).await {
                    Verdict::Applied(etags) => {
                        policy.succeeded(story.attempts);
                        return Ok((Response::new(Bytes::new()), Some(etags)));
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

    /// Where the call may go. What writes, and what is made for one place, goes nowhere else.
    fn mode(&self, call: &Call, options: &CallOptions) -> LocationMode {
        if call.location == Location::Secondary {
            // Its address is the secondary's already.
            return LocationMode::PrimaryOnly;
        }
        if call.effect == Effect::Write || self.endpoint.secondary().is_none() {
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
        let verdict = self.resolve(table, &call.rows, first_sent, deadline, options).await;
        self.tell(&Event::ReadBack {
            operation: story.operation,
            applied: match verdict {
                Verdict::Applied(_) => Some(true),
                Verdict::NotApplied => Some(false),
                Verdict::Unknown => None,
            },
        });
        verdict
    }

    fn sending(&self, call: &Call, story: &CallStory, location: Location) {
        self.tell(&Event::Sending(Sending {
            operation: call.operation,
            table: story.table.as_deref(),
            attempt: story.attempts,
            location,
            client_request_id: &story.client_request_id,
            bytes: call.request.body().len(),
        }));
    }

    fn received(
        &self,
        call: &Call,
        options: &CallOptions,
        story: &mut CallStory,
        ended: &Ended,
        location: Location,
        refusal: Option<&(u16, Option<String>)>,
    ) {
        let attempt = story.attempt(Told {
            location,
            begun: ended.begun,
            elapsed: ended.elapsed,
            bytes_sent: call.request.body().len(),
            outcome: ended.outcome.as_ref().map_err(|(_, e)| e),
            code: refusal.and_then(|(_, code)| code.clone()),
        });
        self.tell(&Event::Received(&attempt));
        if let Some(context) = &options.get().context {
            context.add(attempt.clone());
        }
        story.diagnostics.add(attempt);
    }

    fn completed(&self, call: &Call, story: &CallStory, outcome: &Result<Ending>, elapsed: Duration) {
        if self.observers.is_empty() && cfg!(not(feature = "tracing")) {
            return;
        }
        let refusal = match outcome {
            Ok((_, Some(_))) | Err(_) => None,
            Ok((response, None)) => refusal_of(call, response),
        };
        let error = match (outcome, &refusal) {
            (Err(e), _) => Some(e.kind()),
            (Ok(_), Some((status, _))) if call.expected == Some(*status) => None,
            (Ok((response, _)), Some(_)) => Some(answer::error(response).kind()),
            (Ok(_), None) => None,
        };
        let status = outcome.as_ref().ok().map(|(response, _)| response.status().as_u16());
        let completed = Completed {
            operation: call.operation,
            table: story.table.as_deref(),
            account: self.endpoint.account(),
            profile: self.endpoint.profile(),
            writes: call.rows.len(),
            elapsed,
            attempts: story.attempts,
            status: refusal.as_ref().map(|(status, _)| *status).or(status),
            code: refusal.as_ref().and_then(|(_, code)| code.as_deref()),
            error,
            request_charge: story.diagnostics.request_charge(),
        };
        #[cfg(feature = "tracing")]
        trace::completed(&completed, story.diagnostics.attempts().last());
        self.tell(&Event::Completed(completed));
    }
}

/// The status and the code of an answer that refuses; of a batch those of the operation that failed.
fn refusal_of(call: &Call, response: &Response<Bytes>) -> Option<(u16, Option<String>)> {
    let status = response.status().as_u16();
    if status >= 400 {
        let error = answer::error(response);
        // Whatever the status says: too many tokens at once are too much to do.
        let status = if error.kind() == ErrorKind::Throttled && status == 401 {
            429
        } else {
            status
        };
        return Some((status, error.code().map(str::to_owned)));
    }
    if call.is_batch() {
        batch_answer::refusal(response)
    } else {
        None
    }
}
