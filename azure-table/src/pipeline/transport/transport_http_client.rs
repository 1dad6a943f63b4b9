//! The reverse of `azure_core_transport`: any transport as azure_core's HTTP client.

use std::sync::Arc;

use async_trait::async_trait;
use azure_core::Bytes;
use azure_core::error::{Error, ErrorKind};
use azure_core::http::headers::Headers;
use azure_core::http::{AsyncRawResponse, Body, HttpClient, Request};
use azure_table_wire::transport::{Delivery, Transport};
use futures_util::TryStreamExt as _;

use crate::pipeline::transport::azure_core_transport::single_headers;

/// A [`Transport`] as the `HttpClient` of any `azure_core` client. Feature `azure-core-1`.
///
/// It gives other Azure clients the emulator and the test doubles of this crate: a paused clock, a lost response, a
/// script. They answer as a Table service: for another service, write a [`Transport`] that `Faults` wraps. A failure becomes `Connection` if nothing was sent, otherwise `Io`, as `azure_core` expects.
///
/// ```
/// use std::sync::Arc;
///
/// use azure_core::http::{ClientOptions, Transport};
/// use azure_table::Emulator;
/// use azure_table::testing::{Fault, FaultRule, Faults};
/// use azure_table::transport::TransportHttpClient;
///
/// let faults = Faults::new(Emulator::new());
/// faults.add(FaultRule::new(Fault::LoseResponse).nth(2));
/// let client = TransportHttpClient::new(faults);
/// // For the client under test.
/// let options = ClientOptions { transport: Some(Transport::new(Arc::new(client))), ..Default::default() };
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
pub struct TransportHttpClient(Arc<dyn Transport>);

impl TransportHttpClient {
    /// Creates a client that sends with this transport.
    pub fn new(transport: impl Transport) -> Self {
        Self::of(Arc::new(transport))
    }

    pub(crate) fn of(transport: Arc<dyn Transport>) -> Self {
        Self(transport)
    }
}

#[async_trait]
impl HttpClient for TransportHttpClient {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let body = match request.body() {
            Body::Bytes(bytes) => bytes.clone(),
            Body::SeekableStream(stream) => {
                let pieces: Vec<Bytes> = stream.clone().try_collect().await?;
                pieces.concat().into()
            }
        };
        let mut converted = http::Request::builder()
            .method(request.method().as_ref())
            .uri(request.url().as_str());
        for (name, value) in request.headers().iter() {
            converted = converted.header(name.as_str(), value.as_str());
        }
        let converted = converted.body(body).map_err(|e| Error::new(ErrorKind::Other, e))?;
        let response = self.0.send(converted).await.map_err(|e| {
            let kind = match e.delivery() {
                Delivery::NothingSent => ErrorKind::Connection,
                _ => ErrorKind::Io,
            };
            Error::new(kind, e)
        })?;
        let (head, body) = response.into_parts();
        let mut headers = Headers::new();
        // The service has processed the request, so its response cannot be a mere `DataConversion`.
        for (name, value) in single_headers(&head.headers).map_err(|e| Error::new(ErrorKind::Io, e))? {
            headers.insert(name, value);
        }
        Ok(AsyncRawResponse::from_bytes(head.status.as_u16().into(), headers, body))
    }
}
