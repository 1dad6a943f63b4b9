//! `multipart/mixed` bodies and the HTTP messages inside of them.
//!
//! Owns both directions: text to parts (either kind of line end, as live answers mix them) and operations to a request
//! body (CRLF, absolute URIs, no Content-ID). Which status or body is expected is `protocol`'s business.
//!
//! Source: REST "Performing entity group transactions"; RFC 2046 §5.1.

use std::ops::Range;

use memchr::{memchr, memmem};

use crate::model::error::{Error, Result};

/// An operation inside of a batch: an HTTP request in text form.
#[derive(Debug)]
pub(crate) struct InnerRequest<'a> {
    pub(crate) method: &'a str,
    /// The address below which the path is, and the path.
    pub(crate) url: (&'a str, &'a str),
    pub(crate) headers: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

/// Where in the body of a batch an operation stands.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    head: Range<usize>,
    /// Its own body.
    pub(crate) body: Range<usize>,
}

/// About how many bytes stand around the body of an operation.
const AROUND: usize = 400;

/// The body of a batch in the making: a change set, or the place of one query.
#[derive(Debug)]
pub(crate) struct BatchBody {
    /// Of the batch; then that of its change set, if it has one.
    boundaries: Vec<String>,
    text: Vec<u8>,
}

impl BatchBody {
    /// Of changes.
    pub(crate) fn of_changes(batch: String, change_set: String) -> Self {
        let head = format!("--{batch}\r\nContent-Type: multipart/mixed; boundary={change_set}\r\n\r\n");
        Self {
            text: head.into_bytes(),
            boundaries: vec![batch, change_set],
        }
    }

    /// Of a query, which stands outside of change sets.
    pub(crate) fn of_query(batch: String) -> Self {
        Self {
            boundaries: vec![batch],
            text: Vec::new(),
        }
    }

    /// The boundary of the batch.
    pub(crate) fn boundary(&self) -> &str {
        self.boundaries.first().map_or("", String::as_str)
    }

    /// How many bytes it has, its end included.
    pub(crate) fn len(&self) -> usize {
        let end = self.boundaries.iter().map(|boundary| boundary.len() + "----\r\n".len());
        self.text.len() + end.sum::<usize>()
    }

    /// Makes room for so many operations with so many bytes in all, so that it is not copied as it grows.
    pub(crate) fn reserve(&mut self, operations: usize, bytes: usize) {
        self.text.reserve(operations * AROUND + bytes);
    }

    /// Adds what is added if the whole then has at most so many bytes; else gives how many it would have.
    pub(crate) fn within<T>(&mut self, limit: usize, add: impl FnOnce(&mut Self) -> T) -> Result<T, usize> {
        let before = self.text.len();
        let added = add(self);
        let bytes = self.len();
        if bytes > limit {
            self.text.truncate(before);
            return Err(bytes);
        }
        Ok(added)
    }

    /// Adds an operation of which all but its body is that of another.
    pub(crate) fn add_alike(&mut self, other: &Place, body: &[u8]) -> Place {
        let begin = self.text.len();
        self.text.extend_from_within(other.head.clone());
        self.end(begin, body)
    }

    /// Ends an operation whose head is written.
    fn end(&mut self, begin: usize, body: &[u8]) -> Place {
        let at = self.text.len();
        self.text.extend_from_slice(body);
        self.text.extend_from_slice(b"\r\n");
        Place {
            head: begin..at,
            body: at..at + body.len(),
        }
    }

    /// Adds an operation.
    pub(crate) fn add(&mut self, operation: &InnerRequest<'_>) -> Place {
        let begin = self.text.len();
        let InnerRequest {
            method,
            url,
            headers,
            body,
        } = operation;
        let boundary = self.boundaries.last().map_or("", String::as_str);
        let out = &mut self.text;
        let mut write = |parts: &[&str]| parts.iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
        write(&["--", boundary, "\r\n"]);
        write(&["Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"]);
        let (base, path) = url;
        write(&[method, " ", base, "/", path, " HTTP/1.1\r\n"]);
        for (name, value) in *headers {
            write(&[name, ": ", value, "\r\n"]);
        }
        write(&["\r\n"]);
        self.end(begin, body)
    }

    /// The whole text.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        for boundary in self.boundaries.iter().rev() {
            self.text.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        }
        self.text
    }
}

/// A message: headers, and what follows them.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    /// `POST /x HTTP/1.1` or `HTTP/1.1 204 No Content`; empty for a part of a multipart body.
    pub(crate) start_line: &'a str,
    /// The header lines. Looked at when one is asked for: most are not.
    head: &'a [u8],
    /// The header that each answer to a write is asked for, found on the way.
    pub(crate) etag: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

impl<'a> Message<'a> {
    /// A header's value; names compare without case.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.head;
        while !rest.is_empty() {
            let line;
            (line, rest) = match memchr(b'\n', rest) {
                Some(end) => (&rest[..end], &rest[end + 1..]),
                None => (rest, &[][..]),
            };
            // Most lines are another header's, which their first bytes show.
            if let Some(value) = value_of(line, name) {
                return Some(value);
            }
        }
        None
    }

    /// All headers.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let lines = str::from_utf8(self.head).unwrap_or_default().lines();
        let headers = lines.filter_map(|line| line.split_once(':'));
        headers.map(|(name, value)| (name.trim(), value.trim()))
    }

    /// Whether its headers are: lines of text with a colon each.
    #[cfg(feature = "emulator")]
    pub(crate) fn has_headers(&self) -> bool {
        str::from_utf8(self.head).is_ok_and(|head| head.lines().all(|line| line.contains(':')))
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
    let delimiter = format!("--{boundary}");
    let mut parts = Vec::new();
    let mut start = None;
    for at in memmem::find_iter(body, delimiter.as_bytes()) {
        if at > 0 && body[at - 1] != b'\n' {
            continue;
        }
        let mut end = at + delimiter.len();
        let rest = next_line(body, &mut end).trim_ascii_end();
        if !rest.is_empty() && rest != b"--" {
            continue;
        }
        if let Some(start) = start {
            // The line end before a boundary belongs to the boundary.
            parts.push(message(trim_line_end(&body[start..at]), false)?);
        }
        if rest == b"--" {
            return Ok(parts);
        }
        start = Some(end);
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
    let (from, mut to, mut etag) = (at, at, None);
    while at < text.len() {
        // Azurite forgets the empty line before the JSON of an entity; no header begins so.
        if text[at] == b'{' {
            break;
        }
        let line = next_line(text, &mut at);
        match line.first() {
            None => break,
            Some(b'e' | b'E') if etag.is_none() => etag = value_of(line, "etag"),
            Some(_) => {}
        }
        to = at;
    }
    Ok(Message {
        start_line,
        head: &text[from..to],
        etag,
        body: &text[at..],
    })
}

/// The value of the header in a line, if it is the one of this name.
fn value_of<'a>(line: &'a [u8], name: &str) -> Option<&'a str> {
    let (start, value) = line.split_at_checked(name.len())?;
    if !start.eq_ignore_ascii_case(name.as_bytes()) {
        return None;
    }
    let value = value.trim_ascii_start().strip_prefix(b":")?;
    str::from_utf8(value.trim_ascii()).ok()
}

/// The line at `at` without its end; moves `at` behind it.
fn next_line<'a>(text: &'a [u8], at: &mut usize) -> &'a [u8] {
    let rest = &text[*at..];
    let end = memchr(b'\n', rest);
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
                url: ("http://h", "T"),
                headers: &[("If-Match", "*")],
                body: b"{\"a\":\"--b\"}",
            },
            InnerRequest {
                method: "DELETE",
                url: ("http://h", "T(x)"),
                headers: &[],
                body: b"",
            },
        ];
        let mut written = BatchBody::of_changes("b".into(), "c".into());
        for operation in &operations {
            written.add(operation);
        }
        let bytes = written.len();
        let body = written.finish();
        assert_eq!(body.len(), bytes);
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
    fn json_needs_no_empty_line_before_it() {
        let message = http_message(b"HTTP/1.1 200 OK\r\nETag: x\r\n{\"a\":1}").unwrap();
        assert_eq!((message.header("etag"), message.body), (Some("x"), &b"{\"a\":1}"[..]));
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
