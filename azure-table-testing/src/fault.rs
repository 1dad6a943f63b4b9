//! The faults of one request.
//!
//! Defines [`Fault`] and its effect on a request and the response.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::transport::injected_fault::CutResponse;
use azure_table_wire::transport::{Delivery, Transport, TransportError};
use azure_table_wire::value::clock;
use bytes::Bytes;
use http::header::{DATE, HeaderValue};
use http::{Request, Response};

use crate::response_template::ResponseTemplate;

/// A fault of one request.
///
/// "Applied" means that the service behind the fault receives the request and processes it, even if it rejects it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The connection fails: [`Delivery::NothingSent`].
    NoConnection,
    /// The request is lost in transit, and the connection closes: [`Delivery::MaybeSent`], not applied.
    LoseRequest,
    /// The connection is reset while the request is sent: [`Delivery::MaybeSent`], not applied.
    Reset,
    /// The request is applied, and its response is lost: [`Delivery::MaybeSent`].
    LoseResponse,
    /// The request is applied, and the body of its response breaks off: [`Delivery::ResponseCut`].
    CutResponse {
        /// The number of bytes of the body that arrive; a shorter body breaks off at its end.
        at: usize,
    },
    /// The request is delayed by this time. It is not applied if the client cancels the call before then.
    DelayRequest(Duration),
    /// The request is applied immediately, and its response is delayed by this time.
    DelayResponse(Duration),
    /// The request is applied immediately, and its response arrives in pieces.
    Drip {
        /// The number of bytes of the body in each piece; at least 1.
        bytes: usize,
        /// The pause before each piece, including the only one of an empty body.
        pause: Duration,
    },
    /// The request hangs forever; not applied.
    HangRequest,
    /// The request is applied, and its response never arrives.
    HangResponse,
    /// This response is returned; the request is not applied.
    Respond(ResponseTemplate),
    /// The request is applied, and this response replaces the service's.
    RespondAfterApplying(ResponseTemplate),
    /// The batch fails and is not applied: its response is a 202 with this as the only part. Affects batches only.
    FailBatchPart(ResponseTemplate),
    /// Another transport receives the request: a service in another state, or one with a wrong clock.
    RouteTo(Arc<dyn Transport>),
    /// The `Date` of the response is ahead by this time.
    DateAhead(Duration),
    /// The `Date` of the response is behind by this time.
    DateBehind(Duration),
}

impl Fault {
    pub(crate) fn can_happen_to(&self, kind: Option<OperationKind>) -> bool {
        !matches!(self, Self::FailBatchPart(_)) || kind == Some(OperationKind::Batch)
    }

    /// Returns the name of the fault in logs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::NoConnection => "no connection",
            Self::LoseRequest => "lost request",
            Self::Reset => "reset",
            Self::LoseResponse => "lost response",
            Self::CutResponse { .. } => "cut response",
            Self::DelayRequest(_) => "delayed request",
            Self::DelayResponse(_) => "delayed response",
            Self::Drip { .. } => "dripping response",
            Self::HangRequest => "hanging request",
            Self::HangResponse => "hanging response",
            Self::Respond(_) => "response of a rule",
            Self::RespondAfterApplying(_) => "response of a rule, after the request was applied",
            Self::FailBatchPart(_) => "failed operation of a batch",
            Self::RouteTo(_) => "another transport",
            Self::DateAhead(_) => "date ahead",
            Self::DateBehind(_) => "date behind",
        }
    }

    /// Applies the fault, and sends the request to the transport behind if the fault does not prevent it.
    pub(crate) async fn happen(
        &self,
        behind: &dyn Transport,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, TransportError> {
        use io::ErrorKind::{ConnectionRefused, ConnectionReset, UnexpectedEof};
        match self {
            Self::NoConnection => Err(broken(Delivery::NothingSent, ConnectionRefused, "no connection")),
            Self::LoseRequest => Err(broken(Delivery::MaybeSent, UnexpectedEof, "the request was lost")),
            Self::Reset => Err(broken(Delivery::MaybeSent, ConnectionReset, "the connection was reset")),
            Self::LoseResponse => {
                behind.send(request).await?;
                Err(broken(Delivery::MaybeSent, UnexpectedEof, "the response was lost"))
            }
            Self::CutResponse { at } => {
                let response = behind.send(request).await?;
                let cut = CutResponse { response, at: *at };
                Err(TransportError::new(
                    Delivery::ResponseCut,
                    io::Error::new(UnexpectedEof, cut),
                ))
            }
            Self::DelayRequest(time) => {
                clock::sleep(*time).await;
                behind.send(request).await
            }
            Self::DelayResponse(time) => {
                let response = behind.send(request).await?;
                clock::sleep(*time).await;
                Ok(response)
            }
            Self::Drip { bytes, pause } => {
                let response = behind.send(request).await?;
                for _ in 0..response.body().len().div_ceil((*bytes).max(1)).max(1) {
                    clock::sleep(*pause).await;
                }
                Ok(response)
            }
            Self::HangRequest => std::future::pending().await,
            Self::HangResponse => {
                behind.send(request).await?;
                std::future::pending().await
            }
            Self::Respond(template) => template.response_to(&request).map_err(no_response),
            Self::RespondAfterApplying(template) => {
                let response = template.response_to(&request).map_err(no_response)?;
                behind.send(request).await?;
                Ok(response)
            }
            Self::FailBatchPart(part) => part.batch_response_to(&request).map_err(no_response),
            Self::RouteTo(other) => other.send(request).await,
            Self::DateAhead(by) => behind
                .send(request)
                .await
                .map(|it| dated(it, |date| date.checked_add(*by))),
            Self::DateBehind(by) => behind
                .send(request)
                .await
                .map(|it| dated(it, |date| date.checked_sub(*by))),
        }
    }
}

impl From<ResponseTemplate> for Fault {
    fn from(template: ResponseTemplate) -> Self {
        Self::Respond(template)
    }
}

fn broken(reached: Delivery, kind: io::ErrorKind, why: impl Into<String>) -> TransportError {
    TransportError::new(reached, io::Error::new(kind, format!("injected fault: {}", why.into())))
}

/// Returns the error for a response that cannot be built: nothing was sent, and the error shows the reason.
fn no_response(error: Box<dyn std::error::Error + Send + Sync>) -> TransportError {
    TransportError::new(Delivery::NothingSent, error)
}

fn dated(mut response: Response<Bytes>, shift: impl FnOnce(SystemTime) -> Option<SystemTime>) -> Response<Bytes> {
    let date = response.headers().get(DATE).and_then(|date| date.to_str().ok());
    let date = date.and_then(|date| httpdate::parse_http_date(date).ok());
    let shifted = shift(date.unwrap_or_else(clock::now)).map(httpdate::fmt_http_date);
    if let Some(value) = shifted.and_then(|date| HeaderValue::try_from(date).ok()) {
        response.headers_mut().insert(DATE, value);
    }
    response
}
