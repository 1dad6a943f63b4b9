//! One request of a call: acquire permits, authorize, send, read the response.
//!
//! The client signs a request again until the credential is stable: it reads the credential's generation before and
//! after. A fetch for this attempt or a rotation may change the generation in between. The client would then not know
//! which authorization it sent, and would misjudge its rejection.

use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::transport::connection_limit::{self, ConnectionPermit, is_out_of_handles};
use azure_table_wire::transport::deadline::Deadline;
use azure_table_wire::transport::{Delivery, Transport, TransportError, into_source};
use azure_table_wire::value::clock::{self, Instant};
use azure_table_wire::value::location::Location;
use bytes::Bytes;
use http::{Request, Response};
use std::error::Error as _;
use std::iter::successors;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use crate::pipeline::Pipeline;
use crate::pipeline::attempt::preparation::X_MS_CLIENT_REQUEST_ID;
use crate::pipeline::attempt_end::{AttemptEnd, Rejection};
use crate::pipeline::auth::{AuthorizationContext, AuthorizationFailure};
use crate::pipeline::notifications::Notifications;
use crate::pipeline::options::CallOptions;
use crate::pipeline::options::policy::{Policies, RequestEnd};
use crate::pipeline::retry::Failure;
use crate::pipeline::settings::ClientSettings;
use crate::pipeline::skew::is_far;
use crate::write::operation_request::OperationRequest;

mod preparation;

/// The maximum timeout that a request specifies, in seconds. It is also the service's own limit.
///
/// Source: REST "Setting timeouts for Table service operations".
const MAX_SERVICE_TIME: u64 = 30;

/// The time limits of a call and of each of its attempts.
pub(crate) struct Limits<'a> {
    pub(crate) deadline: Option<Deadline>,
    pub(super) attempt_timeout: Duration,
    /// The policies of the call, whose time is limited too.
    policies: &'a Policies,
}

impl<'a> Limits<'a> {
    pub(crate) fn of(options: &'a CallOptions, settings: &ClientSettings) -> Self {
        Self {
            deadline: options.deadline(),
            attempt_timeout: options.get().attempt_timeout.unwrap_or(settings.attempt_time()),
            policies: &options.get().policies,
        }
    }

    pub(super) fn has_policies(&self) -> bool {
        !self.policies.is_empty()
    }

    /// Runs the policies of a call on its request.
    #[cold]
    pub(super) async fn police(&self, call: &mut OperationRequest) -> Result<()> {
        self.within(self.policies.call(call)).await
    }

    /// Runs the policies of a request.
    #[cold]
    async fn policed(&self, call: &OperationRequest, location: Location) -> Result<Policed<'a>> {
        let request = Box::new(self.within(self.policies.attempt(call, location)).await?);
        Ok(Policed {
            policies: self.policies,
            request,
        })
    }

    async fn within<T>(&self, hooks: impl Future<Output = Result<T>>) -> Result<T> {
        let remaining = self.remaining()?;
        let ended = clock::within(remaining.left, pin!(hooks)).await;
        ended.unwrap_or_else(|| Err(remaining.error("a policy did not return")))
    }

    /// Returns the remaining time of an attempt.
    ///
    /// # Errors
    /// - The timeout of the call has elapsed.
    fn remaining(&self) -> Result<Remaining> {
        let call = self.deadline.map(|deadline| (deadline.left(), deadline));
        let remaining = match call {
            Some((left, deadline)) if left <= self.attempt_timeout => Remaining {
                left,
                deadline: Some(deadline),
            },
            _ => Remaining {
                left: self.attempt_timeout,
                deadline: None,
            },
        };
        if remaining.left.is_zero() {
            Err(remaining.error("the request was not sent"))
        } else {
            Ok(remaining)
        }
    }
}

/// The remaining time of an attempt, and the limit that ends it. Reading the clock at each stage would cost hundreds of
/// instructions.
#[derive(Clone, Copy)]
struct Remaining {
    left: Duration,
    /// The deadline of the call, or `None` if the attempt's own timeout ends it.
    deadline: Option<Deadline>,
}

impl Remaining {
    /// Returns the error of this limit. `what` says what was not done.
    fn error(self, what: &str) -> Error {
        match self.deadline {
            Some(deadline) => deadline.error(what),
            None => {
                let why = format!("{what} within the `attempt_timeout` of {:?}", self.left);
                Error::new(ErrorKind::Timeout, why)
            }
        }
    }
}

impl Pipeline {
    /// Runs the policies of a request, acquires its permits and authorizes it.
    ///
    /// # Errors
    /// - The client has no transport, no credential is available, a policy rejects the request, or no time is left.
    ///   Nothing is sent.
    pub(super) async fn ready<'a>(
        &'a self,
        call: &OperationRequest,
        location: Location,
        limits: &Limits<'a>,
    ) -> Result<Ready<'a>> {
        let transport = self.transport.as_ref().map_err(|error| error.copy())?;
        let policed = if limits.has_policies() {
            Some(Box::pin(limits.policed(call, location)).await?)
        } else {
            None
        };
        let request = policed.as_ref().map_or(&call.request, |policed| &*policed.request);
        let (deadline, attempt_timeout) = (limits.deadline, limits.attempt_timeout);
        let slot = self.slot(deadline, attempt_timeout).await?;
        let asks_for_time = self.endpoint.profile().rules().takes_timeout && deadline.is_some();
        let unsigned = || {
            // Both parts share their bytes with the original: no body is copied.
            let mut unsigned = request.clone();
            if location == Location::Secondary {
                *unsigned.uri_mut() = self.endpoint.in_secondary(request.uri())?;
            }
            if asks_for_time {
                ask_for_time(&mut unsigned, limits.remaining()?.left)?;
            }
            Ok(unsigned)
        };
        let mut authorized = self.authorize_within(limits, &unsigned).await?;
        // Acquired only now, because the source of a credential may need a connection itself.
        let permit = match transport.connection_limit() {
            Some(connections) => Some(connection_limit::acquire(connections, deadline, attempt_timeout).await?),
            None => None,
        };
        if permit.as_ref().is_some_and(|permit| permit.waited > FRESH) {
            authorized = self.authorize_within(limits, &unsigned).await?;
        }
        Ok(Ready {
            transport: &**transport,
            authorized,
            location,
            remaining: limits.remaining()?,
            policed,
            _permits: (permit, slot),
        })
    }

    /// Sends a request once, and reads its response.
    pub(super) async fn exchange(&self, call: &OperationRequest, ready: Ready<'_>) -> AttemptEnd {
        let Ready {
            transport,
            authorized:
                Authorized {
                    request,
                    at: signed_at,
                    generation,
                },
            location,
            remaining,
            policed,
            _permits: permits,
        } = ready;
        let (started, instant) = (clock::now(), Instant::now());
        let outcome = match clock::within(remaining.left, transport.send(*request)).await {
            Some(Ok(response)) => match of_another_call(call, &response) {
                // This call's own response is lost.
                Some(error) => Err((Delivery::MaybeSent, error)),
                None => Ok(response),
            },
            Some(Err(e)) => {
                let reached = e.delivery();
                let why = failure(&e, self.endpoint.base_of(location), transport);
                let kind = match reached {
                    Delivery::ResponseTooLong { .. } => ErrorKind::InvalidResponse,
                    _ => ErrorKind::Connection,
                };
                Err((reached, Error::new(kind, why).with_source(into_source(e))))
            }
            None => Err((Delivery::MaybeSent, remaining.error("no response"))),
        };
        drop(permits);
        let elapsed = instant.elapsed();
        if let Some(Policed { policies, mut request }) = policed {
            let outcome = outcome.as_ref().map_err(|(_, error)| error);
            policies.ended(call, location, &mut request, &RequestEnd { outcome, elapsed });
        }
        AttemptEnd {
            started,
            elapsed,
            signed_at,
            generation,
            rejection: outcome.as_ref().ok().and_then(|response| Rejection::of(call, response)),
            outcome,
        }
    }

    /// Authorizes an `unsigned` request within the remaining time.
    async fn authorize_within(
        &self,
        limits: &Limits<'_>,
        unsigned: impl Fn() -> Result<Request<Bytes>>,
    ) -> Result<Authorized> {
        let remaining = limits.remaining()?;
        let authorized = clock::within(remaining.left, pin!(self.authorize(unsigned))).await;
        authorized.unwrap_or_else(|| Err(remaining.error("no credential: the token source did not respond")))
    }

    /// Authorizes an `unsigned` request. Returns it with the generation of the credential.
    async fn authorize(&self, unsigned: impl Fn() -> Result<Request<Bytes>>) -> Result<Authorized> {
        let mut tries = 0;
        loop {
            let generation = self.credential.generation();
            let at = self.clock.now();
            let context = AuthorizationContext {
                endpoint: &self.endpoint,
                now: at,
            };
            let mut request = Box::new(unsigned()?);
            self.credential.authorize(&mut request, &context).await?;
            tries += 1;
            // The credential may have been fetched for this attempt, or changed meanwhile, so its generation would be
            // unknown.
            let now = self.credential.generation();
            if now == generation || tries == MAX_SIGNATURES {
                return Ok(Authorized {
                    request,
                    at,
                    generation: now,
                });
            }
        }
    }

    /// Reports a rejected authorization, status 401 or 403, to the credential and to the clock.
    ///
    /// Returns `true` if the request has a new authorization from now on.
    pub(super) fn renews_authorization(
        &self,
        call: &OperationRequest,
        ended: &AttemptEnd,
        notifications: &mut Notifications<'_>,
    ) -> bool {
        let (Ok(response), Some(Failure::Response(status @ (401 | 403), code))) = (&ended.outcome, ended.failure())
        else {
            return false;
        };
        let rejection = AuthorizationFailure {
            response,
            status,
            code,
            context: AuthorizationContext {
                endpoint: &self.endpoint,
                now: ended.signed_at,
            },
            generation: ended.generation,
            operation: call.common_operation(),
        };
        // Always notifies the credential: its cached token may be invalid too.
        let advice = self.credential.rejected(&rejection);
        let service = rejection.service_time().filter(|_| rejection.is_unauthenticated());
        let far = service.filter(|service| is_far(ended.signed_at, *service));
        notifications.history.advice = far.map(|service| clock_advice(ended.signed_at, service)).or(advice);
        let corrected = far.filter(|_| !self.settings.keeps_clock);
        if let Some(service) = corrected {
            notifications.clock_corrected(self.clock.correct(service));
        }
        // The service applied nothing.
        corrected.is_some() || self.credential.generation() != ended.generation
    }

    /// Acquires one of the `max_in_flight` permits.
    async fn slot(
        &self,
        deadline: Option<Deadline>,
        attempt_timeout: Duration,
    ) -> Result<Option<ConnectionPermit<'_>>> {
        let Some(in_flight) = &self.settings.in_flight else {
            return Ok(None);
        };
        // The calls in flight may have the longer timeout. Each waits for a credential, then for its response.
        let patience = attempt_timeout.max(self.settings.attempt_time()).saturating_mul(2);
        connection_limit::acquire(in_flight, deadline, patience).await.map(Some)
    }
}

/// Returns the error of a response that echoes the id of another call. Cosmos DB echoes none.
fn of_another_call(call: &OperationRequest, response: &Response<Bytes>) -> Option<Error> {
    let echoed = response.headers().get(&X_MS_CLIENT_REQUEST_ID)?;
    let sent = call.request.headers().get(&X_MS_CLIENT_REQUEST_ID)?;
    (echoed != sent).then(|| {
        let [echoed, sent] = [echoed, sent].map(|id| String::from_utf8_lossy(id.as_bytes()));
        Error::invalid_response(format!(
            "the response has the client request id {}, and the request has {}: check the proxies between this client \
             and the service",
            Shown(&echoed),
            Shown(&sent),
        ))
    })
}

/// Returns the message of a request without a complete response. It names the setting to change if the process has
/// too many open files, the program to start if an emulator does not listen, and the accounts that have no host.
fn failure(error: &TransportError, base: &str, transport: &dyn Transport) -> String {
    if !is_out_of_handles(error) {
        let mut causes = successors(error.source(), |cause| (*cause).source());
        // The address of `UseDevelopmentStorage=true`.
        let nobody = if error.delivery() == Delivery::NothingSent && base.starts_with("http://127.0.0.1:10002/") {
            ", where `azure-table-emulator` or Azurite must have been started"
        } else if base.contains(".table.") && causes.any(|cause| cause.to_string() == UNRESOLVED) {
            ", whose host or proxy does not resolve: check the account's name; accounts of some kinds, such as premium block \
             blobs, have no tables"
        } else {
            ""
        };
        return format!("{error} at {base}{nobody}");
    }
    let limit = transport.connection_limit();
    let limit = limit.map_or_else(|| "no limit".to_owned(), |limit| limit.get().to_string());
    format!(
        "{error} at {base}: the process has too many open files; lower `max_connections` of the transport ({limit}), \
         or raise the limit of the process (`ulimit -n`)"
    )
}

/// The error of a host name without an address, by hyper-util for both transports.
const UNRESOLVED: &str = "dns error";

/// A request that waited longer for a connection is signed again, with its current date and its remaining time.
const FRESH: Duration = Duration::from_secs(1);

/// The maximum number of signatures per attempt. After that, the request is sent although the credential is still
/// changing.
const MAX_SIGNATURES: u32 = 4;

/// A request that may be sent: it is authorized, and it has its permits.
pub(super) struct Ready<'a> {
    transport: &'a dyn Transport,
    authorized: Authorized,
    location: Location,
    remaining: Remaining,
    policed: Option<Policed<'a>>,
    _permits: (Option<ConnectionPermit<'a>>, Option<ConnectionPermit<'a>>),
}

/// A request after its policies ran, before it is authorized.
struct Policed<'a> {
    policies: &'a Policies,
    request: Box<Request<Bytes>>,
}

/// An authorized request.
struct Authorized {
    /// Boxed, because it is moved through several futures.
    request: Box<Request<Bytes>>,
    at: SystemTime,
    generation: u64,
}

/// Asks the service to stop when the caller stops waiting, in whole seconds.
fn ask_for_time(request: &mut Request<Bytes>, limit: Duration) -> Result<()> {
    let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
    if seconds >= MAX_SERVICE_TIME {
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

/// Returns advice about a wrong clock.
///
/// A clock that differs by more than the service allows makes every signature of an account key look wrong.
///
/// Source: REST "Authorize with Shared Key": a request is rejected 15 minutes after its date.
fn clock_advice(ours: SystemTime, service: SystemTime) -> String {
    match service.duration_since(ours) {
        Ok(behind) => format!(
            "the clock of this machine is {} min behind the service's, more than the limit of 15 min: set the clock",
            behind.as_secs() / 60
        ),
        Err(ahead) => format!(
            "the clock of this machine is {} min ahead of the service's: set the clock",
            ahead.duration().as_secs() / 60
        ),
    }
}
