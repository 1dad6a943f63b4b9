//! Prepared bytes in the shape of the service's responses, on connections with and without TLS.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use work::ENTITY;
use work::order::{page, row};

/// The headers of every response.
const COMMON: &str = "Cache-Control: no-cache\r\nServer: Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0\r\n\
    x-ms-request-id: 5c2c3c2e-8002-0058-1f9b-6a3d4f000000\r\nx-ms-version: 2019-02-02\r\nX-Content-Type-Options: nosniff\r\n\
    Date: Sat, 21 Nov 2026 10:00:00 GMT\r\n";
const ETAG: &str = "W/\"datetime'2026-11-21T10%3A00%3A00.1234567Z'\"";

/// The prepared responses.
struct Responses {
    /// Without and with metadata.
    entity: [Vec<u8>; 2],
    page: [String; 2],
    sparse: [String; 2],
    written: Vec<u8>,
    pages: usize,
    latency: Duration,
}

/// Answers on both listeners forever. A query has `pages`, and each response is sent after `latency`.
pub async fn serve(listeners: [(TcpListener, Option<TlsAcceptor>); 2], pages: usize, latency: Duration) {
    let entity = |is_full| {
        let etag = format!("ETag: {ETAG}\r\n");
        let mut body = row(ENTITY, is_full, false);
        if is_full {
            body.insert_str(
                1,
                r#""odata.metadata":"http://127.0.0.1/acct/$metadata#Things/@Element","#,
            );
        }
        response("200 OK", &json(is_full), &etag, &body)
    };
    let responses = Arc::new(Responses {
        entity: [entity(false), entity(true)],
        page: [page(false, false), page(true, false)],
        sparse: [page(false, true), page(true, true)],
        written: response(
            "204 No Content",
            "",
            &format!("ETag: {ETAG}\r\nPreference-Applied: return-no-content\r\n"),
            "",
        ),
        pages,
        latency,
    });
    let accepting = listeners.map(|(listener, tls)| tokio::spawn(accept(listener, tls, Arc::clone(&responses))));
    for accepting in accepting {
        let _ = accepting.await;
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, responses: Arc<Responses>) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            continue;
        };
        let (tls, responses) = (tls.clone(), Arc::clone(&responses));
        tokio::spawn(async move {
            let _ = socket.set_nodelay(true);
            match tls {
                None => serve_connection(socket, responses).await,
                Some(tls) => {
                    if let Ok(socket) = tls.accept(socket).await {
                        serve_connection(socket, responses).await;
                    }
                }
            }
        });
    }
}

fn json(is_full: bool) -> String {
    let level = if is_full { "fullmetadata" } else { "nometadata" };
    format!("Content-Type: application/json;odata={level};streaming=true;charset=utf-8\r\n")
}

fn response(status: &str, content_type: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{COMMON}{content_type}{headers}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

fn batch(operations: usize) -> Vec<u8> {
    let mut body =
        String::from("--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n");
    for n in 0..operations {
        let entity = format!("http://127.0.0.1/acct/Things(PartitionKey='customer-000123',RowKey='{n:010}')");
        let _ = write!(
            body,
            "--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n\
             Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n\
             Location: {entity}\r\nDataServiceId: {entity}\r\nETag: {ETAG}\r\n\r\n\r\n",
        );
    }
    body.push_str("--changesetresponse_1--\r\n--batchresponse_1--\r\n");
    let content_type = "Content-Type: multipart/mixed; boundary=batchresponse_1\r\n";
    response("202 Accepted", content_type, "", &body)
}

async fn serve_connection(mut socket: impl AsyncRead + AsyncWrite + Unpin, responses: Arc<Responses>) {
    let mut received: Vec<u8> = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        while let Some(end) = memmem::find(&received, b"\r\n\r\n") {
            let length = content_length(&received[..end]);
            while received.len() < end + 4 + length {
                match socket.read(&mut piece).await {
                    Ok(read @ 1..) => received.extend_from_slice(&piece[..read]),
                    _ => return,
                }
            }
            let response = responses.to(&received[..end], &received[end + 4..end + 4 + length]);
            received.drain(..end + 4 + length);
            if !responses.latency.is_zero() {
                tokio::time::sleep(responses.latency).await;
            }
            if socket.write_all(&response).await.is_err() || socket.flush().await.is_err() {
                return;
            }
        }
        match socket.read(&mut piece).await {
            Ok(read @ 1..) => received.extend_from_slice(&piece[..read]),
            _ => return,
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)
}

impl Responses {
    fn to(&self, head: &[u8], body: &[u8]) -> Vec<u8> {
        let is_full = usize::from(memmem::find(head, b"fullmetadata").is_some());
        if !head.starts_with(b"GET ") {
            return match memmem::find(head, b"/$batch ") {
                Some(_) => batch(memmem::find_iter(body, b" HTTP/1.1").count()),
                None => self.written.clone(),
            };
        }
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        if memmem::find(line, b"RowKey=").is_some() && memmem::find(line, b"NextRowKey=").is_none() {
            return self.entity[is_full].clone();
        }
        let line = String::from_utf8_lossy(line);
        let next = line.split("NextPartitionKey=").nth(1);
        let number: usize = next
            .and_then(|rest| rest.split([' ', '&']).next()?.parse().ok())
            .unwrap_or(0);
        let next = if number + 1 < self.pages {
            format!("x-ms-continuation-NextPartitionKey: {}\r\n", number + 1)
        } else {
            String::new()
        };
        let pages = if line.contains("/Sparse") {
            &self.sparse
        } else {
            &self.page
        };
        response("200 OK", &json(is_full == 1), &next, &pages[is_full])
    }
}
