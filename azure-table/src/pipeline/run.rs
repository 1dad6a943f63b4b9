//! The loop: authorize, send, classify, wait.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use tokio::sync::OwnedSemaphorePermit;

use crate::model::clock::{self, Instant};
use crate::model::error::{Error, ErrorKind, Result};
use crate::pipeline::auth::{AuthorizationContext, Credential, Refusal};
use crate::pipeline::context::Attempt;
use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::{ExponentialRetry, Failure, wait_asked_for};
use crate::pipeline::settings::ClientSettings;
use crate::pipeline::transport::{Reached, Transport, TransportError};
use crate::protocol::answer;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::request::{Call, Effect};

/// How often a call is authorized anew because the service refused who asks. Twice: a challenge may come first, and then
/// an old token be refused.
const MOST_RENEWALS: u32 = 2;

/// What all calls of one client share. A clone shares connections, credential and limits.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    pub(crate) endpoint: Endpoint,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) credential: Arc<dyn Credential>,
    pub(crate) settings: ClientSettings,
    pub(crate) retry: ExponentialRetry,
}

/// A complete answer of any status, and the story of how it came.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) response: Response<Bytes>,
    pub(crate) call: CallStory,
}

/// What an error says of its call.
#[derive(Clone, Debug)]
pub(crate) struct CallStory {
    operation: &'static str,
    table: Option<String>,
    entity: Option<(String, String)>,
    effect: Effect,
    attempts: u32,
    /// How long the last answer asked to wait.
    asked_wait: Option<Duration>,
    client_request_id: Option<String>,
    /// What the credential says of the refusal that the answer is.
    advice: Option<String>,
}

impl CallStory {
    fn of(call: &mut Call) -> Self {
        Self {
            operation: call.operation,
            table: call.table.take(),
            entity: call.entity.take(),
            effect: call.effect,
            attempts: 0,
            asked_wait: None,
            client_request_id: None,
            advice: None,
        }
    }

    fn attempt(&self, elapsed: Duration, response: Option<&Response<Bytes>>) -> Attempt {
        Attempt {
            operation: self.operation,
            elapsed,
            status: response.map(|response| response.status().as_u16()),
            request_id: response.and_then(answer::request_id),
            client_request_id: self.client_request_id.clone(),
            request_charge: response.and_then(|response| answer::request_charge(response.headers())),
        }
    }

    /// Completes an error that came of this call.
    pub(crate) fn tell(&self, mut error: Error) -> Error {
        let maybe = self.effect == Effect::Write && (error.may_have_applied() || leaves_open(&error));
        if let Some((partition_key, row_key)) = &self.entity {
            error = error.at_entity(partition_key, row_key);
        }
        if let Some(advice) = self.advice.as_ref().filter(|_| !error.has_message()) {
            error = error.with_message(advice.clone());
        }
        if let Some(wait) = self.asked_wait.filter(|_| !error.has_message()) {
            error = error.with_message(format!("it asks to wait {wait:?}"));
        }
        error
            .in_operation(self.operation, self.table.as_deref())
            .after_attempts(self.attempts)
            .with_client_request_id(self.client_request_id.clone())
            .maybe_applied(maybe)
    }
}

/// Whether an answer leaves open if the service applied the write. A refusal (4xx, `ServerBusy`, not implemented) says
/// that it did not; a success that cannot be read says that it did.
fn leaves_open(error: &Error) -> bool {
    match error.status() {
        Some(501) => false,
        Some(status) => matches!(status, 200..=399 | 408 | 500..) && error.kind() != ErrorKind::Throttled,
        None => false,
    }
}

impl Pipeline {
    pub(crate) fn new(endpoint: Endpoint, transport: Arc<dyn Transport>, credential: Arc<dyn Credential>) -> Self {
        Self {
            endpoint,
            transport,
            credential,
            settings: ClientSettings::default(),
            retry: ExponentialRetry::default(),
        }
    }

    /// Sends the request until there is an answer that is not worth another attempt.
    pub(crate) async fn run(&self, mut call: Call, options: CallOptions) -> Result<Answer> {
        let prepared = self.prepare(&mut call, &options);
        let mut story = CallStory::of(&mut call);
        story.client_request_id = Some(prepared.map_err(|e| story.tell(e))?);
        if self.settings.is_read_only && story.effect == Effect::Write {
            return Err(story.tell(Error::invalid_input(
                "this client is read-only, and the operation writes",
            )));
        }
        let deadline = Deadline::new(options.timeout.or(self.settings.timeout));
        // A deadline may end the call in a wait: whether some attempt before was sent is kept.
        let mut maybe_sent = false;
        let mut renewals = 0;
        loop {
            let slot = self.slot(&deadline).await.map_err(|e| story.tell(e))?;
            let context = AuthorizationContext {
                endpoint: &self.endpoint,
                now: clock::now(),
            };
            // Both parts share their bytes with the original: no body is copied.
            let mut attempt = call.request.clone();
            let authorized = deadline.limit(self.credential.authorize(&mut attempt, &context)).await;
            authorized
                .and_then(|done| done)
                .map_err(|e| story.tell(e.maybe_applied(maybe_sent)))?;
            // What was fetched for this attempt is part of it.
            let generation = self.credential.generation();
            story.attempts += 1;
            let limit = deadline.remaining().map_or(self.settings.attempt_timeout, |left| {
                left.min(self.settings.attempt_timeout)
            });
            let begun = Instant::now();
            let outcome = clock::within(limit, self.transport.send(attempt)).await;
            drop(slot);
            if let Some(log) = &options.context {
                log.tell(story.attempt(begun.elapsed(), outcome.as_ref().and_then(|sent| sent.as_ref().ok())));
            }
            let (failure, floor, outcome) = match outcome {
                Some(Ok(response)) => {
                    let failure = Failure::Status(response.status().as_u16());
                    (failure, wait_asked_for(response.headers()), Ok(response))
                }
                Some(Err(e)) => {
                    let reached = e.reached();
                    (
                        Failure::Transport(reached),
                        None,
                        Err(not_answered(e, self.endpoint.base_of(call.request.uri()))),
                    )
                }
                None => (Failure::Transport(Reached::MaybeSent), None, Err(timed_out(limit))),
            };
            story.asked_wait = floor;
            story.advice = None;
            maybe_sent |= matches!(failure, Failure::Transport(Reached::MaybeSent | Reached::AnswerCut));
            if let (Ok(response), Failure::Status(401 | 403)) = (&outcome, failure) {
                let refusal = Refusal {
                    response,
                    context,
                    generation,
                    operation: story.operation,
                };
                story.advice = clock_advice(&refusal).or_else(|| self.credential.refused(&refusal));
                // Nothing was applied, and who asks has a new proof.
                if self.credential.generation() != generation && renewals < MOST_RENEWALS {
                    renewals += 1;
                    continue;
                }
            }
            let wait = self
                .retry
                .wait(story.attempts - renewals, story.effect, failure, floor)
                .filter(|wait| deadline.allows(*wait));
            match (wait, outcome) {
                (Some(wait), _) => clock::sleep(wait).await,
                (None, Ok(response)) => return Ok(Answer { response, call: story }),
                (None, Err(error)) => return Err(story.tell(error.maybe_applied(maybe_sent))),
            }
        }
    }

    /// A place among the attempts that may be on their way at once.
    async fn slot(&self, deadline: &Deadline) -> Result<Option<OwnedSemaphorePermit>> {
        let Some(in_flight) = &self.settings.in_flight else {
            return Ok(None);
        };
        let waited = deadline.limit(Arc::clone(&in_flight.slots).acquire_owned()).await?;
        // It is never closed.
        Ok(waited.ok())
    }
}

/// A clock that differs by more than the service allows makes every signature of an account key look wrong.
///
/// Source: REST "Authorize with Shared Key": a request is refused 15 minutes after its date.
fn clock_advice(refusal: &Refusal<'_>) -> Option<String> {
    const ALLOWED: Duration = Duration::from_secs(15 * 60);
    if refusal.code().as_deref() != Some("AuthenticationFailed") {
        return None;
    }
    let (ours, theirs) = (refusal.context.now, refusal.service_time()?);
    let (difference, word) = match theirs.duration_since(ours) {
        Ok(behind) => (behind, "behind"),
        Err(ahead) => (ahead.duration(), "ahead of"),
    };
    (difference >= ALLOWED).then(|| {
        format!(
            "the clock of this machine is {} min {word} the service's, which takes at most 15 min: set the clock",
            difference.as_secs() / 60
        )
    })
}

fn not_answered(error: TransportError, base: &str) -> Error {
    Error::new(ErrorKind::Connection, format!("{error} at {base}")).with_source(error.into_source())
}

fn timed_out(limit: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("no answer within {limit:?}"))
}

/// The end of the time that a call has.
struct Deadline(Option<Instant>);

impl Deadline {
    fn new(timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
    }

    fn remaining(&self) -> Option<Duration> {
        self.0.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Waits for `future` while there is time.
    async fn limit<F: Future>(&self, future: F) -> Result<F::Output> {
        match self.remaining() {
            None => Ok(future.await),
            Some(left) => clock::within(left, future).await.ok_or_else(|| timed_out(left)),
        }
    }

    /// Whether there is time left for another attempt after this wait.
    fn allows(&self, wait: Duration) -> bool {
        self.remaining().is_none_or(|left| wait < left)
    }
}
