//! `multipart/mixed` bodies and the HTTP messages inside of them.
//!
//! Owns both directions: text to parts (either kind of line end, as live answers mix them) and operations to a request
//! body (CRLF, absolute URIs, no Content-ID). Which status or body is expected is `protocol`'s business.
//!
//! Source: REST "Performing entity group transactions"; RFC 2046 §5.1.

use crate::model::error::{Error, Result};

/// One operation of a change set: an HTTP request in text form.
#[derive(Debug)]
pub(crate) struct InnerRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a str,
    pub(crate) headers: &'a [(&'static str, String)],
    pub(crate) body: &'a [u8],
}

/// Writes a batch of one change set.
pub(crate) fn write_change_set<'a>(
    batch_boundary: &str,
    change_set_boundary: &str,
    operations: impl IntoIterator<Item = InnerRequest<'a>>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut line = |parts: &[&str]| {
        for part in parts {
            out.extend_from_slice(part.as_bytes());
        }
        out.extend_from_slice(b"\r\n");
    };
    line(&["--", batch_boundary]);
    line(&["Content-Type: multipart/mixed; boundary=", change_set_boundary]);
    line(&[]);
    for operation in operations {
        inner_request(&mut out, change_set_boundary, &operation);
    }
    for boundary in [change_set_boundary, batch_boundary] {
        out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    }
    out
}

fn inner_request(out: &mut Vec<u8>, boundary: &str, operation: &InnerRequest<'_>) {
    let InnerRequest {
        method,
        url,
        headers,
        body,
    } = operation;
    let mut head = format!(
        "--{boundary}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
         {method} {url} HTTP/1.1\r\n"
    );
    for (name, value) in *headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body);
    out.extend_from_slice(b"\r\n");
}

/// The bytes that [`write_change_set`] puts around one operation's body, at most: for the size of a batch.
pub(crate) fn inner_request_overhead(boundary: &str, operation: &InnerRequest<'_>) -> usize {
    let mut out = Vec::new();
    inner_request(
        &mut out,
        boundary,
        &InnerRequest {
            body: b"",
            ..*operation
        },
    );
    out.len()
}

/// A message: headers, and what follows them.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    /// `POST /x HTTP/1.1` or `HTTP/1.1 204 No Content`; empty for a part of a multipart body.
    pub(crate) start_line: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: &'a [u8],
}

impl<'a> Message<'a> {
    /// A header's value; names compare without case.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }

    /// The status of a response.
    pub(crate) fn status(&self) -> Result<u16> {
        let code = self
            .start_line
            .strip_prefix("HTTP/")
            .and_then(|line| line.split(' ').nth(1));
        code.and_then(|code| code.parse().ok())
            .ok_or_else(|| malformed("a part has no HTTP status line"))
    }
}

/// The boundary that a Content-Type names.
pub(crate) fn boundary(content_type: &str) -> Result<&str> {
    let value = content_type.split(';').find_map(|parameter| {
        let (name, value) = parameter.trim().split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("boundary")
            .then(|| value.trim().trim_matches('"'))
    });
    value
        .filter(|b| !b.is_empty())
        .ok_or_else(|| malformed("the multipart Content-Type names no boundary"))
}

/// The parts of a multipart body.
pub(crate) fn parts<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<Message<'a>>> {
    let mut parts = Vec::new();
    let mut start = None;
    let mut at = 0;
    while at < body.len() {
        let line_start = at;
        let line = next_line(body, &mut at);
        let Some(rest) = line
            .strip_prefix(b"--")
            .and_then(|l| l.strip_prefix(boundary.as_bytes()))
        else {
            continue;
        };
        let rest = rest.trim_ascii_end();
        if !rest.is_empty() && rest != b"--" {
            continue;
        }
        if let Some(start) = start {
            // The line end before a boundary belongs to the boundary.
            parts.push(message(trim_line_end(&body[start..line_start]), false)?);
        }
        if rest == b"--" {
            return Ok(parts);
        }
        start = Some(at);
    }
    Err(malformed("the multipart body does not end with its boundary"))
}

/// One part, without the boundaries around it.
#[cfg(feature = "emulator")]
pub(crate) fn part(text: &[u8]) -> Result<Message<'_>> {
    message(text, false)
}

/// The HTTP message that a part of type `application/http` holds.
pub(crate) fn http_message(part: &[u8]) -> Result<Message<'_>> {
    message(part, true)
}

fn message(text: &[u8], has_start_line: bool) -> Result<Message<'_>> {
    let mut at = 0;
    let mut start_line = "";
    if has_start_line {
        // Some writers put an empty line too many before it.
        while start_line.is_empty() && at < text.len() {
            start_line = utf8(next_line(text, &mut at))?;
        }
    }
    let mut headers = Vec::new();
    while at < text.len() {
        let line = utf8(next_line(text, &mut at))?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| malformed("a header line of a part has no colon"))?;
        headers.push((name.trim(), value.trim()));
    }
    Ok(Message {
        start_line,
        headers,
        body: &text[at..],
    })
}

/// The line at `at` without its end; moves `at` behind it.
fn next_line<'a>(text: &'a [u8], at: &mut usize) -> &'a [u8] {
    let rest = &text[*at..];
    let end = rest.iter().position(|&b| b == b'\n');
    *at += end.map_or(rest.len(), |end| end + 1);
    trim_line_end(&rest[..end.map_or(rest.len(), |end| end + 1)])
}

fn trim_line_end(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

fn utf8(line: &[u8]) -> Result<&str> {
    std::str::from_utf8(line).map_err(|_| malformed("a header line of a part is not UTF-8"))
}

fn malformed(what: &'static str) -> Error {
    Error::invalid_response(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_set_is_written_and_read_back() {
        let operations = [
            InnerRequest {
                method: "POST",
                url: "http://h/T",
                headers: &[("If-Match", "*".into())],
                body: b"{\"a\":\"--b\"}",
            },
            InnerRequest {
                method: "DELETE",
                url: "http://h/T(x)",
                headers: &[],
                body: b"",
            },
        ];
        let body = write_change_set("b", "c", operations);
        assert!(
            !body.windows(2).any(|w| w[1] == b'\n' && w[0] != b'\r'),
            "bare line feed"
        );
        let outer = parts(&body, "b").unwrap();
        assert_eq!(outer.len(), 1);
        let inner = parts(
            outer[0].body,
            boundary(outer[0].header("content-type").unwrap()).unwrap(),
        )
        .unwrap();
        let first = http_message(inner[0].body).unwrap();
        assert_eq!(first.start_line, "POST http://h/T HTTP/1.1");
        assert_eq!(first.header("if-match"), Some("*"));
        assert_eq!(first.body, b"{\"a\":\"--b\"}");
        assert_eq!(http_message(inner[1].body).unwrap().body, b"");
    }

    #[test]
    fn line_ends_may_be_mixed() {
        let body = b"--x\nContent-Type: application/http\n\nHTTP/1.1 409 Conflict\r\nA: b\r\n\r\n{}\n--x--\r\n";
        let parts = parts(body, "x").unwrap();
        let message = http_message(parts[0].body).unwrap();
        assert_eq!(
            (message.status().unwrap(), message.header("a"), message.body),
            (409, Some("b"), &b"{}"[..])
        );
    }

    #[test]
    fn an_unfinished_body_is_an_error() {
        for body in [&b""[..], b"--x\r\nA: b\r\n\r\n", b"<html>"] {
            assert!(parts(body, "x").is_err());
        }
        assert!(boundary("text/html").is_err());
        assert_eq!(boundary("multipart/mixed; Boundary=\"q w\"").unwrap(), "q w");
    }
}
