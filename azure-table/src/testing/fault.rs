//! What can go wrong with one request.
//!
//! Owns [`Fault`] and what each does to a request and its answer.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{DATE, HeaderValue};
use http::{Request, Response};

use crate::model::clock;
use crate::model::operation_kind::OperationKind;
use crate::pipeline::transport::{Delivery, Transport, TransportError};
use crate::testing::response_template::ResponseTemplate;

/// What happens to a request.
///
/// "Applied" means that the service behind gets the request and does what it does with it, a refusal included.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// There is no connection: [`Delivery::NothingSent`].
    NoConnection,
    /// The request is lost on its way, and the connection closes: [`Delivery::MaybeSent`], not applied.
    LoseRequest,
    /// The connection is reset while the request is sent: [`Delivery::MaybeSent`], not applied.
    Reset,
    /// The request is applied, and its answer lost: [`Delivery::MaybeSent`].
    LoseResponse,
    /// The request is applied, and the body of its answer breaks off: [`Delivery::ResponseCut`].
    CutResponse {
        /// The bytes of the body that come; a shorter body breaks off at its end.
        at: usize,
    },
    /// The request is on its way for so long. It is not applied if the client gives up before.
    DelayRequest(Duration),
    /// The request is applied at once, its answer is on its way for so long.
    DelayResponse(Duration),
    /// The request is applied at once, its answer comes in pieces.
    Drip {
        /// The bytes of the body in each piece; at least 1.
        bytes: usize,
        /// The time before each piece, also before the only one of an empty body.
        pause: Duration,
    },
    /// Nothing happens any more; not applied.
    HangRequest,
    /// The request is applied, and nothing happens any more.
    HangResponse,
    /// This answer; not applied.
    Respond(ResponseTemplate),
    /// The request is applied, and this answer takes the place of the service's.
    RespondAfterApplying(ResponseTemplate),
    /// A batch is answered with 202, and this is its only part: an operation failed; not applied. Happens to batches
    /// only.
    FailBatchPart(ResponseTemplate),
    /// Another transport takes the request: a service in another state, or one whose clock is wrong.
    Instead(Arc<dyn Transport>),
    /// The `Date` of the answer is so far ahead.
    DateAhead(Duration),
    /// The `Date` of the answer is so far behind.
    DateBehind(Duration),
}

impl Fault {
    pub(crate) fn can_happen_to(&self, kind: Option<OperationKind>) -> bool {
        !matches!(self, Self::FailBatchPart(_)) || kind == Some(OperationKind::Batch)
    }

    /// Sends a request to the transport behind, or does not, and spoils what comes of it.
    pub(crate) async fn happen(
        &self,
        behind: &dyn Transport,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, TransportError> {
        use io::ErrorKind::{ConnectionRefused, ConnectionReset, UnexpectedEof};
        match self {
            Self::NoConnection => Err(broken(
                Delivery::NothingSent,
                ConnectionRefused,
                "there is no connection",
            )),
            Self::LoseRequest => Err(broken(Delivery::MaybeSent, UnexpectedEof, "the request was lost")),
            Self::Reset => Err(broken(Delivery::MaybeSent, ConnectionReset, "the connection was reset")),
            Self::LoseResponse => {
                behind.send(request).await?;
                Err(broken(Delivery::MaybeSent, UnexpectedEof, "the answer was lost"))
            }
            Self::CutResponse { at } => {
                let length = behind.send(request).await?.into_body().len();
                let why = format!("the answer broke off after {} of {length} bytes", length.min(*at));
                Err(broken(Delivery::ResponseCut, UnexpectedEof, why))
            }
            Self::DelayRequest(time) => {
                clock::sleep(*time).await;
                behind.send(request).await
            }
            Self::DelayResponse(time) => {
                let answer = behind.send(request).await?;
                clock::sleep(*time).await;
                Ok(answer)
            }
            Self::Drip { bytes, pause } => {
                let answer = behind.send(request).await?;
                for _ in 0..answer.body().len().div_ceil((*bytes).max(1)).max(1) {
                    clock::sleep(*pause).await;
                }
                Ok(answer)
            }
            Self::HangRequest => std::future::pending().await,
            Self::HangResponse => {
                behind.send(request).await?;
                std::future::pending().await
            }
            Self::Respond(answer) => answer.response().map_err(no_answer),
            Self::RespondAfterApplying(answer) => {
                let answer = answer.response().map_err(no_answer)?;
                behind.send(request).await?;
                Ok(answer)
            }
            Self::FailBatchPart(part) => ResponseTemplate::batch([part.clone()]).response().map_err(no_answer),
            Self::Instead(other) => other.send(request).await,
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
    fn from(answer: ResponseTemplate) -> Self {
        Self::Respond(answer)
    }
}

fn broken(reached: Delivery, kind: io::ErrorKind, why: impl Into<String>) -> TransportError {
    TransportError::new(reached, io::Error::new(kind, format!("injected fault: {}", why.into())))
}

/// The answer cannot be one: nothing was sent, and the test sees why.
fn no_answer(error: Box<dyn std::error::Error + Send + Sync>) -> TransportError {
    TransportError::new(Delivery::NothingSent, error)
}

fn dated(mut answer: Response<Bytes>, shift: impl FnOnce(SystemTime) -> Option<SystemTime>) -> Response<Bytes> {
    let date = answer.headers().get(DATE).and_then(|date| date.to_str().ok());
    let date = date.and_then(|date| httpdate::parse_http_date(date).ok());
    let shifted = shift(date.unwrap_or_else(clock::now)).map(httpdate::fmt_http_date);
    if let Some(value) = shifted.and_then(|date| HeaderValue::try_from(date).ok()) {
        answer.headers_mut().insert(DATE, value);
    }
    answer
}
