//! A transport on a tower service, for programs that put layers under the client.
//!
//! It clones the service for each request, as servers do, and collects its response. It knows nothing of connections.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::iter::successors;
use std::pin::pin;

use azure_table_wire::response::without_signatures;
use azure_table_wire::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::{Buf, Bytes};
use http::header::CONTENT_LENGTH;
use http::{Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use tower_service::Service;

use crate::pipeline::transport::response_body::{ResponseBody, cut};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A [`Transport`] on a tower service, for programs that put layers under the client. Feature `tower`.
///
/// The service takes an `http::Request<Bytes>` with a full URL, signed, and returns a response with any body. Each
/// attempt is one request, so layers see retries and read-backs.
///
/// - **No redirects, and no retries of writes**: the service sends each request once, to its URL. A write that it sends
///   twice may be applied twice.
/// - **Errors**: an error before the service is ready means that nothing was sent. After any other error,
///   except a [`TransportError`] that says more, the request may have arrived, so a write is read back. The text of an
///   error is kept without the URLs in it.
/// - **`Sync`**: wrap a service that is not `Sync`, such as a boxed one, in tower's `BoxCloneSyncService`.
/// - **Time**: a layer that waits, such as a concurrency limit, uses up the attempt's timeout. A write that times out
///   there is in doubt, because the client cannot see that it was waiting.
///
/// ```
/// use azure_table::transport::{BoxFuture, HttpTransport, TowerTransport, Transport};
/// use azure_table::TableServiceClient;
/// use bytes::Bytes;
/// use tower::ServiceBuilder;
///
/// # fn main() -> azure_table::Result<()> {
/// let http = HttpTransport::builder().build()?;
/// let layered = ServiceBuilder::new()
///     .concurrency_limit(64)
///     .service_fn(move |request: http::Request<Bytes>| {
///         let http = http.clone();
///         async move { http.send(request).await.map(|response| response.map(http_body_util::Full::new)) }
///     });
/// let service = TableServiceClient::from_connection_string("UseDevelopmentStorage=true")?
///     .transport(TowerTransport::new(layered));
/// # let _ = service;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TowerTransport<S>(S);

impl<S> TowerTransport<S> {
    /// Creates a transport. Each request is sent by a clone of the service.
    pub fn new(service: S) -> Self {
        Self(service)
    }
}

impl<S, B> Transport for TowerTransport<S>
where
    S: Service<Request<Bytes>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Body + Send,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        let mut service = self.0.clone();
        Box::pin(async move {
            let ready = poll_fn(|cx| service.poll_ready(cx)).await;
            ready.map_err(|e| TransportError::new(Delivery::NothingSent, shown(&*e.into())))?;
            let response = service.call(request).await.map_err(|e| failed(e.into()))?;
            let (head, body) = response.into_parts();
            let announced = head.headers.get(CONTENT_LENGTH);
            let announced: Option<u64> = announced.and_then(|length| length.to_str().ok()?.parse().ok());
            let (mut read, mut body) = (ResponseBody::new(announced)?, pin!(body));
            while let Some(frame) = body.frame().await {
                if let Ok(mut piece) = frame.map_err(|e| cut(shown(&*e.into())))?.into_data() {
                    read.push(piece.copy_to_bytes(piece.remaining()))?;
                }
            }
            let body = read.into_bytes();
            if announced.is_some_and(|announced| announced > body.len() as u64) {
                return Err(cut("the body is shorter than its Content-Length"));
            }
            Ok(Response::from_parts(head, body))
        })
    }
}

/// Returns the error of a service. One that is a transport's own, below the layers, tells more.
fn failed(error: BoxError) -> TransportError {
    match error.downcast::<TransportError>() {
        Ok(error) => *error,
        Err(error) => TransportError::new(Delivery::MaybeSent, shown(&*error)),
    }
}

/// Returns the text of an error and its sources, without the URLs that it may repeat: they have keys of rows, and
/// signatures.
fn shown(error: &(dyn Error + 'static)) -> String {
    let causes = successors(Some(error), |error| (*error).source());
    let text = causes.map(|error| error.to_string()).collect::<Vec<_>>().join(": ");
    let is_url = |word: &str| word.contains("://") || word.contains('?');
    let word = |word| if is_url(word) { "(a URL)" } else { word };
    without_signatures(&text.split(' ').map(word).collect::<Vec<_>>().join(" "))
}

/// Shows no service, whose settings may be secret.
impl<S> fmt::Debug for TowerTransport<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TowerTransport")
    }
}
