//! A tunnel through an HTTP proxy. Its errors name the proxy and its status, which the errors of hyper-util do not.

use std::error::Error as StdError;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};

use http::Uri;
use hyper::rt::{Read, ReadBuf, Write};
use hyper_util::client::proxy::matcher::Intercept;

use crate::pipeline::http_transport::secure::BoxError;

/// The maximum length of the head of the proxy's response, in bytes.
const MAX_HEAD: usize = 8 << 10;

/// A tunnel that could not be opened. Does not show the user and password of the proxy.
#[derive(Debug)]
struct TunnelError {
    proxy: String,
    source: BoxError,
}

impl fmt::Display for TunnelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no tunnel through the proxy {}", self.proxy)
    }
}

impl StdError for TunnelError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.source)
    }
}

/// Opens a tunnel to `endpoint` over a connection to the proxy.
pub(super) async fn open<S: Read + Write + Unpin>(
    connecting: impl Future<Output = Result<S, BoxError>>,
    proxy: &Intercept,
    endpoint: &Uri,
) -> Result<S, BoxError> {
    let address = |uri: &Uri, port| format!("{}:{}", uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(port));
    let opening = async {
        let mut stream = connecting.await?;
        let target = address(endpoint, 443);
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
        if let Some(authorization) = proxy.basic_auth() {
            request.extend([&b"Proxy-Authorization: "[..], authorization.as_bytes(), b"\r\n"].concat());
        }
        request.extend_from_slice(b"\r\n");
        write(&mut stream, &request).await?;
        match status(&mut stream).await? {
            200..=299 => Ok(stream),
            status => Err(format!("it responded with the status {status}").into()),
        }
    };
    let proxy = address(
        proxy.uri(),
        if proxy.uri().scheme_str() == Some("https") {
            443
        } else {
            80
        },
    );
    opening.await.map_err(|source| TunnelError { proxy, source }.into())
}

async fn write(stream: &mut (impl Write + Unpin), mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match poll_fn(|cx| Pin::new(&mut *stream).poll_write(cx, bytes)).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => bytes = &bytes[written..],
        }
    }
    poll_fn(|cx| Pin::new(&mut *stream).poll_flush(cx)).await
}

/// Reads the head of a response, and returns its status.
async fn status(stream: &mut (impl Read + Unpin)) -> Result<u16, BoxError> {
    let (mut head, mut length) = (vec![0; MAX_HEAD], 0);
    while ![&b"\r\n\r\n"[..], b"\n\n"]
        .iter()
        .any(|end| head[..length].ends_with(end))
    {
        let read = poll_fn(|cx| {
            // No byte after the head: it belongs to the endpoint.
            let end = MAX_HEAD.min(length + 1);
            let mut piece = ReadBuf::new(&mut head[length..end]);
            ready!(Pin::new(&mut *stream).poll_read(cx, piece.unfilled()))?;
            Poll::Ready(io::Result::Ok(piece.filled().len()))
        });
        match read.await? {
            0 => return Err("it sent no complete response".into()),
            read => length += read,
        }
    }
    let code = head.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
    let code = code.and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
    code.ok_or_else(|| "its response is not HTTP/1.1".into())
}
