//! The loop: authorize, send, classify, wait.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;

use crate::model::clock::{self, Instant};
use crate::model::error::{Error, ErrorKind, Result};
use crate::pipeline::auth::Credential;
use crate::pipeline::retry::{ExponentialRetry, Failure, wait_asked_for};
use crate::pipeline::transport::{Reached, Transport, TransportError};
use crate::protocol::endpoint::Endpoint;
use crate::protocol::request::{Call, Effect};

/// The time of one attempt: the service works for at most 30 s, the answer travels in the rest.
///
/// Source: REST "Setting timeouts for Table service operations".
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(60);

/// What all calls of one account share.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) endpoint: Endpoint,
    transport: Arc<dyn Transport>,
    credential: Arc<dyn Credential>,
    retry: ExponentialRetry,
}

/// What one call may ask for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallOptions {
    /// The longest time for the whole call, all attempts and waits included.
    pub(crate) timeout: Option<Duration>,
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
}

impl CallStory {
    /// Completes an error that came of this call.
    pub(crate) fn tell(&self, mut error: Error) -> Error {
        let maybe = self.effect == Effect::Write && (error.may_have_applied() || leaves_open(&error));
        if let Some((partition_key, row_key)) = &self.entity {
            error = error.at_entity(partition_key, row_key);
        }
        if let Some(wait) = self.asked_wait.filter(|_| !error.has_message()) {
            error = error.with_message(format!("it asks to wait {wait:?}"));
        }
        error
            .in_operation(self.operation, self.table.as_deref())
            .after_attempts(self.attempts)
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
            retry: ExponentialRetry::default(),
        }
    }

    /// Sends the request until there is an answer that is not worth another attempt.
    pub(crate) async fn run(&self, call: Call, options: CallOptions) -> Result<Answer> {
        let Call {
            operation,
            table,
            entity,
            effect,
            request,
        } = call;
        let mut story = CallStory {
            operation,
            table,
            entity,
            effect,
            attempts: 0,
            asked_wait: None,
        };
        let deadline = Deadline::new(options.timeout);
        // A deadline may end the call in a wait: whether some attempt before was sent is kept.
        let mut maybe_sent = false;
        loop {
            // Both parts share their bytes with the original: no body is copied.
            let mut attempt = request.clone();
            self.credential
                .authorize(&mut attempt, clock::now())
                .map_err(|e| story.tell(e))?;
            story.attempts += 1;
            let limit = deadline
                .remaining()
                .map_or(ATTEMPT_TIMEOUT, |left| left.min(ATTEMPT_TIMEOUT));
            let (failure, floor, outcome) = match clock::within(limit, self.transport.send(attempt)).await {
                Some(Ok(response)) => {
                    let failure = Failure::Status(response.status().as_u16());
                    (failure, wait_asked_for(response.headers()), Ok(response))
                }
                Some(Err(e)) => {
                    let reached = e.reached();
                    (Failure::Transport(reached), None, Err(not_answered(e, &self.endpoint)))
                }
                None => (Failure::Transport(Reached::MaybeSent), None, Err(timed_out(limit))),
            };
            story.asked_wait = floor;
            maybe_sent |= matches!(failure, Failure::Transport(Reached::MaybeSent | Reached::AnswerCut));
            let wait = self
                .retry
                .wait(story.attempts, effect, failure, floor)
                .filter(|wait| deadline.allows(*wait));
            match (wait, outcome) {
                (Some(wait), _) => clock::sleep(wait).await,
                (None, Ok(response)) => return Ok(Answer { response, call: story }),
                (None, Err(error)) => return Err(story.tell(error.maybe_applied(maybe_sent))),
            }
        }
    }
}

fn not_answered(error: TransportError, endpoint: &Endpoint) -> Error {
    Error::new(ErrorKind::Connection, format!("{} at {}", error, endpoint.base())).with_source(error.into_source())
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

    /// Whether there is time left for another attempt after this wait.
    fn allows(&self, wait: Duration) -> bool {
        self.remaining().is_none_or(|left| wait < left)
    }
}
