//! One attempt of a call: a place among those on their way, the proof of who asks, the way there and back.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{Request, Response};
use tokio::sync::OwnedSemaphorePermit;

use crate::model::clock::{self, Instant};
use crate::model::error::{Error, ErrorKind, Result};
use crate::model::location::Location;
use crate::pipeline::auth::{AuthorizationContext, Refusal};
use crate::pipeline::deadline::{Deadline, timed_out};
use crate::pipeline::run::Pipeline;
use crate::pipeline::transport::Reached;

/// The longest time that a request asks the service for, and what it takes without being asked.
///
/// Source: REST "Setting timeouts for Table service operations".
const MOST_SERVICE_TIME: u64 = 30;

/// How an attempt ended.
pub(crate) struct Ended {
    pub(crate) begun: SystemTime,
    pub(crate) elapsed: Duration,
    /// What it was signed with.
    pub(crate) signed_at: SystemTime,
    /// With which proof.
    pub(crate) generation: u64,
    /// The answer; or how far the request got, and why there is none.
    pub(crate) outcome: Result<Response<Bytes>, (Reached, Error)>,
}

impl Pipeline {
    /// Sends a request once.
    ///
    /// An error is one from before anything was sent: no proof to be had, no time left.
    pub(super) async fn send(
        &self,
        request: &Request<Bytes>,
        location: Location,
        deadline: &Deadline,
        attempt_timeout: Duration,
        sending: impl FnOnce(),
    ) -> Result<Ended> {
        // Both parts share their bytes with the original: no body is copied.
        let mut attempt = request.clone();
        if location == Location::Secondary {
            *attempt.uri_mut() = self.endpoint.in_secondary(request.uri())?;
        }
        let slot = self.slot(deadline).await?;
        let limit = deadline
            .remaining()
            .map_or(attempt_timeout, |left| left.min(attempt_timeout));
        if self.endpoint.profile().rules().takes_timeout && deadline.remaining().is_some() {
            ask_for_time(&mut attempt, limit)?;
        }
        let signed_at = self.clock.now();
        let context = AuthorizationContext {
            endpoint: &self.endpoint,
            now: signed_at,
        };
        deadline
            .limit(self.credential.authorize(&mut attempt, &context))
            .await??;
        // Not before: to authorize may have been to fetch a new proof.
        let generation = self.credential.generation();
        let (begun, instant) = (clock::now(), Instant::now());
        // To authorize may have taken its time.
        let limit = deadline.remaining().map_or(limit, |left| left.min(limit));
        sending();
        let outcome = match clock::within(limit, self.transport.send(attempt)).await {
            Some(Ok(response)) => Ok(response),
            Some(Err(e)) => {
                let (reached, base) = (e.reached(), self.endpoint.base_of(location));
                let why = format!("{e} at {base}");
                Err((
                    reached,
                    Error::new(ErrorKind::Connection, why).with_source(e.into_source()),
                ))
            }
            None => Err((Reached::MaybeSent, timed_out(limit))),
        };
        drop(slot);
        Ok(Ended {
            begun,
            elapsed: instant.elapsed(),
            signed_at,
            generation,
            outcome,
        })
    }

    /// What the credential, which hears of it, says of a refusal; and the clock.
    pub(super) fn refused(&self, operation: &'static str, ended: &Ended, response: &Response<Bytes>) -> Refused {
        let refusal = Refusal {
            response,
            context: AuthorizationContext {
                endpoint: &self.endpoint,
                now: ended.signed_at,
            },
            generation: ended.generation,
            operation,
        };
        let is_about_proof = refusal.code().as_deref() == Some("AuthenticationFailed");
        let service = refusal.service_time().filter(|_| is_about_proof);
        if let Some(service) = service
            && let Some(advice) = clock_advice(ended.signed_at, service)
        {
            let corrected = self
                .settings
                .corrects_clock
                .then(|| self.clock.correct(ended.signed_at, service));
            return Refused {
                advice: Some(advice),
                corrected: corrected.flatten(),
                has_new_proof: false,
            };
        }
        Refused {
            advice: self.credential.refused(&refusal),
            corrected: None,
            has_new_proof: self.credential.generation() != ended.generation,
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

/// What comes of a refusal for who asks.
pub(crate) struct Refused {
    pub(crate) advice: Option<String>,
    /// What is added to this machine's time from now on, in seconds.
    pub(crate) corrected: Option<i64>,
    /// Whether there is another proof since the attempt.
    pub(crate) has_new_proof: bool,
}

/// Asks the service to give up when the caller will, in whole seconds.
fn ask_for_time(request: &mut Request<Bytes>, limit: Duration) -> Result<()> {
    let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
    if seconds >= MOST_SERVICE_TIME {
        return Ok(());
    }
    let uri = request.uri();
    let separator = if uri.query().is_some() { '&' } else { '?' };
    let asking = format!("{uri}{separator}timeout={}", seconds.max(1));
    *request.uri_mut() = asking
        .parse()
        .map_err(|_| Error::invalid_input("the request's URL with its timeout is too long"))?;
    Ok(())
}

/// A clock that differs by more than the service allows makes every signature of an account key look wrong.
///
/// Source: REST "Authorize with Shared Key": a request is refused 15 minutes after its date.
fn clock_advice(ours: SystemTime, service: SystemTime) -> Option<String> {
    const ALLOWED: Duration = Duration::from_secs(15 * 60);
    let (difference, word) = match service.duration_since(ours) {
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
