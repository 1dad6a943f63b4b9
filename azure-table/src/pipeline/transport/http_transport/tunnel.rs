//! A tunnel through an HTTP proxy. Its errors name the proxy and its status, which the errors of hyper-util do not.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};

use azure_table_wire::error::{Error, ErrorKind};
use http::Uri;
use hyper::rt::{Read, ReadBuf, Write};
use hyper_util::client::proxy::matcher::Intercept;

use crate::pipeline::transport::http_transport::secure::BoxError;

/// The maximum length of the head of the proxy's response, in bytes.
const MAX_HEAD: usize = 8 << 10;

/// Opens a tunnel to `endpoint` over a connection to the proxy.
pub(super) async fn open<S: Read + Write + Unpin>(
    connecting: impl Future<Output = Result<S, BoxError>>,
    proxy: &Intercept,
    endpoint: &Uri,
) -> Result<S, BoxError> {
    let opening = async {
        let mut stream = connecting.await?;
        let (host, port) = (endpoint.host().unwrap_or_default(), endpoint.port_u16().unwrap_or(443));
        let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n").into_bytes();
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
    opening.await.map_err(|source: BoxError| {
        let authority = proxy.uri().authority().map_or("", |authority| authority.as_str());
        // hyper-util leaves the rest of a password behind its first `@`.
        let address = authority.rsplit('@').next().unwrap_or_default();
        let why = format!("no tunnel through the proxy {address}");
        Error::new(ErrorKind::Connection, why).with_source(source).into()
    })
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

/// Reads the head of a response byte by byte, because what follows belongs to the endpoint. Returns its status.
async fn status(stream: &mut (impl Read + Unpin)) -> Result<u16, BoxError> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && !head.ends_with(b"\n\n") {
        let byte = poll_fn(|cx| {
            let mut byte = [0];
            let mut buffer = ReadBuf::new(&mut byte);
            ready!(Pin::new(&mut *stream).poll_read(cx, buffer.unfilled()))?;
            Poll::Ready(io::Result::Ok(buffer.filled().first().copied()))
        });
        let byte = byte.await?.filter(|_| head.len() < MAX_HEAD);
        head.push(byte.ok_or("it sent no complete response")?);
    }
    let code = head.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..5));
    let code = code.and_then(|code| std::str::from_utf8(code).ok()?.parse().ok());
    code.ok_or_else(|| "its response is not HTTP/1.1".into())
}
