//! What observers, contexts and errors are told of a call while it goes on.
//!
//! What they make of it is theirs: `observer.rs`, `context.rs`, `story.rs`.

use std::time::Duration;

use bytes::Bytes;
use http::Response;

use crate::model::clock;
use crate::model::error::{ErrorKind, ResponseHeaders, Result};
use crate::model::location::Location;
use crate::pipeline::attempt::Ended;
use crate::pipeline::observer::{Completed, Event, Sending};
use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::wait_asked_for;
use crate::pipeline::run::{Ending, Pipeline};
use crate::pipeline::skew::seconds_between;
use crate::pipeline::story::{CallStory, Told};
use crate::protocol::answer;
use crate::protocol::batch_answer;
use crate::protocol::request::Call;

impl Pipeline {
    pub(crate) fn tell(&self, event: &Event<'_>) {
        for observer in &self.observers {
            observer.on_event(event);
        }
    }

    pub(super) fn sending(&self, call: &Call, story: &CallStory, location: Location) {
        self.tell(&Event::Sending(Sending {
            operation: call.operation.name(),
            table: story.table.as_deref(),
            attempt: story.attempts,
            location,
            client_request_id: &story.client_request_id,
            bytes: call.request.body().len(),
        }));
    }

    pub(super) fn received(
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

    pub(super) fn completed(
        &self,
        call: &Call,
        story: &CallStory,
        outcome: &Result<Ending>,
        elapsed: Duration,
        told: impl FnOnce(&Completed<'_>),
    ) {
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
            (Ok((response, _)), Some((status, code))) => Some(match response.status().as_u16() {
                400.. => answer::error(response).kind(),
                // The refusal is inside.
                _ => ErrorKind::of_answer(*status, code.as_deref()),
            }),
            (Ok(_), None) => None,
        };
        let status = outcome.as_ref().ok().map(|(response, _)| response.status().as_u16());
        let completed = Completed {
            operation: call.operation.name(),
            table: story.table.as_deref(),
            account: self.endpoint.account(),
            profile: self.endpoint.profile(),
            writes: call.rows.len(),
            elapsed,
            attempts: story.attempts,
            status: refusal.as_ref().map(|(status, _)| *status).or(status),
            code: refusal.as_ref().and_then(|(_, code)| code.as_deref()),
            error,
            request_charge: story.request_charge(),
        };
        told(&completed);
        self.tell(&Event::Completed(completed));
    }
}

/// The status and the code of an answer that refuses; of a batch those of the operation that failed.
pub(super) fn refusal_of(call: &Call, response: &Response<Bytes>) -> Option<(u16, Option<String>)> {
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
    if call.has_answers_inside() {
        batch_answer::refusal(response).map(|refusal| (refusal.status, refusal.code))
    } else {
        None
    }
}

/// The headers of a response that rejects, as an error keeps them.
pub(super) fn headers(response: &Response<Bytes>) -> ResponseHeaders {
    let service = answer::date(response.headers());
    ResponseHeaders::of(
        response.headers(),
        service.map(|service| seconds_between(clock::now(), service)),
    )
}

/// How long an answer asks to wait: the whole, or the part that refuses.
pub(super) fn asked_wait(call: &Call, response: &Response<Bytes>) -> Option<Duration> {
    let whole = wait_asked_for(response.headers());
    if call.has_answers_inside() && response.status().is_success() {
        let part = batch_answer::refusal(response).and_then(|refusal| wait_asked_for(&refusal.headers));
        return whole.max(part);
    }
    whole
}
