//! One connection: HTTP messages, from bytes to a complete request and back.
//!
//! Applies the time and size limits of an incoming request. hyper answers invalid HTTP with 400, 414 or 431, or not at
//! all. The emulator sees complete requests only, so an interrupted one changes nothing.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use azure_table_wire::transport::injected_fault::CutResponse;
use azure_table_wire::transport::{Transport, TransportError};
use azure_table_wire::value::clock;
use bytes::Bytes;
use http::header::{CONNECTION, HOST, HeaderValue};
use http::uri::{Parts, Scheme, Uri};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_io_timeout::TimeoutStream;

use crate::http::admission::{Place, Stage};
use crate::http::certificate::ServerCertificate;
use crate::in_process::Emulator;
use crate::rules::MAX_BODY_BYTES;
use crate::rules::service_error::ServiceError;

/// The maximum head of a request, in bytes: the longest accepted URL, and the same size again for the headers.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// The bytes beyond the service's limit that are kept, so that the emulator itself rejects the request.
const BODY_MARGIN: usize = 1 << 20;
/// The maximum number of bytes that are read and dropped beyond those. A client that writes its request before it reads
/// the response would otherwise see a broken connection instead of the rejection.
const MAX_DROPPED_BYTES: usize = 64 << 20;

/// The encryption of a connection.
#[derive(Clone, Debug)]
pub(super) enum Tls {
    None,
    By(ServerCertificate),
}

impl Tls {
    pub(super) fn scheme(&self) -> Scheme {
        match self {
            Self::None => Scheme::HTTP,
            Self::By(_) => Scheme::HTTPS,
        }
    }

    /// Serves a connection until it is closed. A failure affects only its client.
    pub(super) async fn serve(self, connection: Connection, watcher: Watcher, stream: TcpStream) {
        // Responses are small and complete: waiting for more data would only delay them.
        let _ = stream.set_nodelay(true);
        match self {
            Self::None => connection.serve(watcher, stream).await,
            Self::By(certificate) => {
                let handshake = clock::within(connection.timeout, certificate.accept(stream));
                if let Some(Ok(stream)) = handshake.await {
                    connection.serve(watcher, stream).await;
                }
            }
        }
    }
}

/// The values that all requests of a connection share.
pub(super) struct Connection {
    pub(super) emulator: Emulator,
    /// The transport between the connection and the emulator.
    pub(super) front: Option<Arc<dyn Transport>>,
    pub(super) peer: SocketAddr,
    /// The time limit for the head of a request, for its body, and for each piece of its response.
    pub(super) timeout: Duration,
    pub(super) place: Arc<Place>,
    pub(super) scheme: Scheme,
}

impl Connection {
    async fn serve(self, watcher: Watcher, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        // A client that does not read would keep its response here forever.
        let mut stream = Box::pin(TimeoutStream::new(stream));
        stream.as_mut().set_write_timeout_pinned(Some(self.timeout));
        let connection = Arc::new(self);
        let service = service_fn(|request| {
            let connection = Arc::clone(&connection);
            async move {
                // An error closes the connection without a response.
                let response = connection.respond(request).await;
                connection.place.enter(Stage::Responded);
                response
            }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(connection.timeout)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service);
        let _ = watcher.watch(served).await;
    }

    async fn respond(&self, request: Request<Incoming>) -> Result<Response<Outgoing>, TransportError> {
        let (timeout, emulator) = (self.timeout, &self.emulator);
        let (mut head, mut body) = request.into_parts();
        // For signatures that are limited to IP addresses.
        head.extensions.insert(self.peer);
        let body = match body.is_end_stream() {
            // Reads have no body to wait for.
            true => Some(Ok(Bytes::new())),
            false => {
                let most = MAX_BODY_BYTES + BODY_MARGIN;
                let announced = body.size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
                self.place.enter(Stage::Receiving);
                let read = async {
                    let _held = self.place.body(announced.unwrap_or(most).min(most)).await;
                    Limited::new(&mut body, most).collect().await
                };
                let read = clock::within(timeout, read).await;
                if read.as_ref().is_some_and(is_too_long) && announced.is_none_or(|bytes| bytes <= MAX_DROPPED_BYTES) {
                    clock::within(timeout, drop_rest(body)).await;
                }
                read.map(|body| body.map(|body| body.to_bytes()))
            }
        };
        self.place.enter(Stage::Responding);
        let body = match body {
            Some(Ok(body)) => body,
            failed => {
                // In these cases the rest of the body is not read.
                let mut response = match failed {
                    Some(read) if is_too_long(&read) => emulator.reject(&head.headers, &ServiceError::BODY_TOO_LARGE),
                    Some(_) => bare(StatusCode::BAD_REQUEST),
                    None => bare(StatusCode::REQUEST_TIMEOUT),
                };
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(CONNECTION, close);
                let response = Ok(response);
                emulator.show(&head, &response);
                return response.map(|response| response.map(Outgoing::complete));
            }
        };
        let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
        if let Some(uri) = absolute(&head.uri, host, self.scheme.clone()) {
            head.uri = uri;
        }
        let request = Request::from_parts(head, body);
        let responded = match self.front.as_deref() {
            None => emulator.exchange(request).await,
            Some(front) => emulator.respond_through(front, request).await,
        };
        match responded {
            Ok(response) => Ok(response.map(Outgoing::complete)),
            Err(error) => arrived(error),
        }
    }
}

/// Returns the part of a response that arrives before an injected fault cuts it.
fn arrived(error: TransportError) -> Result<Response<Outgoing>, TransportError> {
    let cause = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref::<io::Error>());
    let cut = cause
        .and_then(io::Error::get_ref)
        .and_then(|cause| cause.downcast_ref::<CutResponse>());
    let body = cut.and_then(|cut| Some((&cut.response, Outgoing::cut(cut.response.body(), cut.at)?)));
    match body {
        Some((response, body)) => Ok(response.clone().map(|_| body)),
        None => Err(error),
    }
}

fn is_too_long<T>(read: &Result<T, Box<dyn Error + Send + Sync>>) -> bool {
    read.as_ref().is_err_and(|why| why.is::<LengthLimitError>())
}

/// Reads and discards the rest of a body, up to `MAX_DROPPED_BYTES`.
async fn drop_rest(mut body: Incoming) {
    let mut dropped = 0;
    while let Some(Ok(frame)) = body.frame().await {
        dropped += frame.data_ref().map_or(0, Bytes::len);
        if dropped > MAX_DROPPED_BYTES {
            break;
        }
    }
}

/// Creates a response without the service's headers and error, for bytes that are not a request.
fn bare(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

/// Returns the URL with the host of the request and the scheme of the connection, whichever scheme the URL names.
///
/// `None` if the request names no host.
fn absolute(uri: &Uri, host: Option<&str>, scheme: Scheme) -> Option<Uri> {
    let mut parts = Parts::default();
    parts.scheme = Some(scheme);
    parts.authority = Some(match uri.authority() {
        Some(authority) => authority.clone(),
        None => host?.parse().ok()?,
    });
    parts.path_and_query = uri.path_and_query().cloned();
    Uri::from_parts(parts).ok()
}

/// The body of a response: usually complete, or cut off after its first bytes by an injected fault.
#[derive(Debug)]
struct Outgoing {
    rest: Bytes,
    /// The length that the response announces, in bytes.
    length: u64,
    end: End,
}

/// The state of a body after its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    /// The next poll is pending and the one after it fails, so that the bytes are sent first.
    Cut,
    /// It fails at the next poll.
    Broken,
}

impl Outgoing {
    fn complete(body: Bytes) -> Self {
        Self {
            length: body.len() as u64,
            rest: body,
            end: End::Complete,
        }
    }

    /// Creates a body that is cut off after `at` bytes, at the latest before the last. `None` for an empty body.
    fn cut(body: &Bytes, at: usize) -> Option<Self> {
        let most = body.len().checked_sub(1)?;
        Some(Self {
            length: body.len() as u64,
            rest: body.slice(..at.min(most)),
            end: End::Cut,
        })
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.rest)))));
        }
        match self.end {
            End::Complete => Poll::Ready(None),
            End::Cut => {
                self.end = End::Broken;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            End::Broken => Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.end == End::Complete
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_is_the_connections_whatever_the_request_line_says() {
        let uri = |text: &str, host| absolute(&text.parse().unwrap(), host, Scheme::HTTP).map(|uri| uri.to_string());
        assert_eq!(uri("https://h/a/T?x=1", None).as_deref(), Some("http://h/a/T?x=1"));
        assert_eq!(uri("/a/T", Some("h:1")).as_deref(), Some("http://h:1/a/T"));
        assert_eq!(uri("/a/T", None), None);
    }
}
