//! A transport on azure_core's HTTP client, for programs whose Azure clients share one.
//!
//! It converts a request, runs the program's policies, and collects the response. What a failure says about a write
//! depends on who built the client: azure_core's own follows no redirects, so its `Connection` means that nothing was
//! sent. Any other may have sent the request before it failed to connect, for example to the target of a redirect.

use std::error::Error;
use std::fmt;
use std::iter::successors;
use std::sync::Arc;

use azure_core::error::ErrorKind as CoreKind;
use azure_core::http::policies::{Policy, TransportPolicy};
use azure_core::http::{Context, HttpClient, Transport as CoreTransport, Url, new_http_client};
use azure_table_wire::response::without_signatures;
use azure_table_wire::transport::connection_limit::ConnectionLimit;
use azure_table_wire::transport::{BoxFuture, Delivery, Transport, TransportError};
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, ToStrError};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};

use crate::pipeline::transport::connection_defaults::MAX_CONNECTIONS;
use crate::pipeline::transport::response_body::{ResponseBody, cut};

/// A [`Transport`] on the HTTP client of `azure_core`, for programs that share one between Azure clients. Feature
/// `azure-core-1`.
///
/// The client below is used as it is: its proxies, TLS, decompression and time limits. `azure_core`'s pipeline isn't in
/// the path, so neither are its retries, which repeat writes, nor its tracing. This crate's own apply, and a response
/// of more than 64 MiB is rejected. At most 256 requests are in flight.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use azure_core::http::HttpClient;
/// use azure_table::TableServiceClient;
/// use azure_table::transport::AzureCoreTransport;
///
/// fn over(client: Arc<dyn HttpClient>) -> azure_table::Result<TableServiceClient> {
///     let service = TableServiceClient::from_connection_string("UseDevelopmentStorage=true")?;
///     Ok(service.transport(AzureCoreTransport::from_client(client)))
/// }
/// ```
#[derive(Clone)]
pub struct AzureCoreTransport {
    /// Never empty: the last one sends.
    policies: Arc<[Arc<dyn Policy>]>,
    /// The client was built here, and no policy is before it.
    is_own: bool,
    limit: ConnectionLimit,
    /// The transport of this crate below the policies, if any.
    behind: Option<Arc<dyn Transport>>,
}

impl AzureCoreTransport {
    /// Creates a transport on a new client of `azure_core`, with its defaults.
    ///
    /// It follows no redirects. If it can't connect, nothing was sent, so a write fails with
    /// [`Connection`](crate::ErrorKind::Connection) instead of being in doubt.
    ///
    /// # Panics
    /// `azure_core`'s feature `reqwest` is off, or its reqwest can't set up TLS, because no crypto provider is installed.
    #[expect(clippy::new_without_default, reason = "it opens a pool, and may panic")]
    pub fn new() -> Self {
        let client = CoreTransport::new(new_http_client(None));
        Self::of(Vec::new(), client, true)
    }

    /// Creates a transport on a client that the program has built.
    ///
    /// The client must send each request once. From outside, nobody can see whether it does, or whether it follows
    /// redirects. So every failure without a response counts as "may have been sent": a write is read back, and is in
    /// doubt if that fails too. Build a reqwest client with `redirect(Policy::none())`, or a redirect sends the
    /// credential to another host.
    pub fn from_client(client: Arc<dyn HttpClient>) -> Self {
        Self::of(Vec::new(), CoreTransport::new(client), false)
    }

    /// Creates a transport that runs these policies, then sends.
    pub(crate) fn of(mut policies: Vec<Arc<dyn Policy>>, client: CoreTransport, is_own: bool) -> Self {
        policies.push(Arc::new(TransportPolicy::new(client)));
        Self {
            policies: policies.into(),
            is_own,
            limit: ConnectionLimit::new(MAX_CONNECTIONS),
            behind: None,
        }
    }

    pub(crate) fn before(self, behind: Arc<dyn Transport>) -> Self {
        let behind = Some(behind);
        Self { behind, ..self }
    }

    async fn send_converted(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let (context, mut request) = (Context::new(), converted(request)?);
        let sent = self.policies[0].send(&context, &mut request, &self.policies[1..]);
        let (status, headers, mut body) = sent.await.map_err(|e| self.failed(&e))?.deconstruct();
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = http::StatusCode::from_u16(status.into()).map_err(cut)?;
        for (name, value) in headers {
            let name: HeaderName = name.as_str().parse().map_err(cut)?;
            response
                .headers_mut()
                .append(name, HeaderValue::from_str(value.as_str()).map_err(cut)?);
        }
        let length = response.headers().get(CONTENT_LENGTH);
        // A client that decompresses a body may leave the length of the compressed one.
        let length = length.filter(|_| !response.headers().contains_key(CONTENT_ENCODING));
        let announced: Option<u64> = length.and_then(|length| length.to_str().ok()?.parse().ok());
        let mut read = ResponseBody::new(announced)?;
        while let Some(piece) = body.next().await {
            read.push(piece.map_err(|e| cut(shown(&e)))?)?;
        }
        let body = read.into_bytes();
        if announced.is_some_and(|announced| announced > body.len() as u64) {
            return Err(cut("the body is shorter than its Content-Length"));
        }
        *response.body_mut() = body;
        Ok(response)
    }

    fn failed(&self, error: &azure_core::Error) -> TransportError {
        let reached = match error.kind() {
            CoreKind::Connection if self.is_own => Delivery::NothingSent,
            _ => Delivery::MaybeSent,
        };
        TransportError::new(reached, shown(error))
    }
}

impl Transport for AzureCoreTransport {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Bytes>, TransportError>> {
        Box::pin(self.send_converted(request))
    }

    fn behind(&self) -> Option<&dyn Transport> {
        self.behind.as_deref()
    }

    fn connection_limit(&self) -> Option<&ConnectionLimit> {
        match &self.behind {
            Some(behind) => behind.connection_limit(),
            None => Some(&self.limit),
        }
    }
}

fn converted(request: Request<Bytes>) -> Result<azure_core::http::Request, TransportError> {
    fn unsent(error: impl Error + Send + Sync + 'static) -> TransportError {
        TransportError::new(Delivery::NothingSent, error)
    }
    let (head, body) = request.into_parts();
    let url = Url::parse(&head.uri.to_string()).map_err(unsent)?;
    let method = head.method.as_str().parse().map_err(unsent)?;
    let mut converted = azure_core::http::Request::new(url, method);
    for (name, value) in single_headers(&head.headers).map_err(unsent)? {
        converted.insert_header(name, value);
    }
    converted.set_body(body);
    Ok(converted)
}

/// Returns each header once, because azure_core keeps them in a map: the values of a repeated one are joined.
///
/// Source: RFC 9110, 5.3.
pub(super) fn single_headers(headers: &HeaderMap) -> Result<Vec<(String, String)>, ToStrError> {
    let single = |name: &HeaderName| {
        let values = headers.get_all(name).iter().map(HeaderValue::to_str);
        let values = values.collect::<Result<Vec<_>, _>>()?;
        Ok((name.as_str().to_owned(), values.join(", ")))
    };
    headers.keys().map(single).collect()
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

/// Shows neither the client nor the policies, whose settings may be secret.
impl fmt::Debug for AzureCoreTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AzureCoreTransport")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_headers_are_joined() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("accept", "a"), ("x-tag", "1"), ("x-tag", "2")] {
            headers.append(name, HeaderValue::from_static(value));
        }
        let mut single = single_headers(&headers).unwrap();
        single.sort();
        let single: Vec<_> = single.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(single, [("accept", "a"), ("x-tag", "1, 2")]);
        headers.append("x-tag", HeaderValue::from_bytes(b"\xff").unwrap());
        assert!(single_headers(&headers).is_err(), "a header is not left out");
    }
}
