//! Writes the body of a batch: operations as HTTP requests in `multipart/mixed` (CRLF, absolute URIs, no Content-ID).
//!
//! `batch.rs` decides which operations may share a batch; `multipart.rs` reads such bodies.
//!
//! Source: REST "Performing entity group transactions"; RFC 2046 §5.1.

use std::ops::Range;

use azure_table_wire::error::Result;

/// An operation inside of a batch: an HTTP request in text form.
#[derive(Debug)]
pub(crate) struct InnerRequest<'a> {
    pub method: &'a str,
    /// The base address, and the path below it.
    pub url: (&'a str, &'a str),
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

/// The position of an operation in the body of a batch.
#[derive(Clone, Debug)]
pub(crate) struct BodyRange {
    head: Range<usize>,
    /// The operation's own body.
    pub body: Range<usize>,
}

impl BodyRange {
    /// Returns the number of bytes of the operation, its head included.
    pub(crate) fn bytes(&self) -> usize {
        self.body.end - self.head.start
    }
}

/// The approximate number of bytes around the body of an operation.
const AROUND: usize = 400;

/// The body of a batch under construction: a change set, or one query.
#[derive(Debug)]
pub(crate) struct BatchBody {
    /// The boundary of the batch, then the boundary of its change set, if it has one.
    boundaries: Vec<String>,
    text: Vec<u8>,
}

impl BatchBody {
    /// Creates the body of a change set.
    pub(crate) fn from_changes(batch: String, change_set: String) -> Self {
        let head = format!("--{batch}\r\nContent-Type: multipart/mixed; boundary={change_set}\r\n\r\n");
        Self {
            text: head.into_bytes(),
            boundaries: vec![batch, change_set],
        }
    }

    /// Creates the body of a query, which is outside of change sets.
    pub(crate) fn from_query(batch: String) -> Self {
        Self {
            boundaries: vec![batch],
            text: Vec::new(),
        }
    }

    /// Returns the boundary of the batch.
    pub(crate) fn boundary(&self) -> &str {
        self.boundaries.first().map_or("", String::as_str)
    }

    /// Returns the number of bytes, including the end.
    pub(crate) fn len(&self) -> usize {
        let end = self.boundaries.iter().map(|boundary| boundary.len() + "----\r\n".len());
        self.text.len() + end.sum::<usize>()
    }

    /// Reserves memory for this number of operations, whose bodies have `bytes` bytes in all.
    pub(crate) fn reserve(&mut self, operations: usize, bytes: usize) {
        self.text.reserve(operations * AROUND + bytes);
    }

    /// Appends with `add`, unless the body would exceed `limit` bytes. In that case, returns the number of bytes that
    /// it would have.
    ///
    /// # Errors
    /// Returns the error of `add`. Nothing is appended.
    pub(crate) fn within<T>(
        &mut self,
        limit: usize,
        add: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Result<T, usize>> {
        let before = self.text.len();
        let added = add(self);
        let bytes = self.len();
        let is_over = bytes > limit;
        if is_over || added.is_err() {
            self.text.truncate(before);
        }
        added.map(|added| if is_over { Err(bytes) } else { Ok(added) })
    }

    /// Adds an operation with the same head as another. `write` appends its body.
    ///
    /// # Errors
    /// Returns the error of `write`. A part of the operation remains appended.
    pub(crate) fn add_alike<T>(
        &mut self,
        other: &BodyRange,
        write: impl FnOnce(&mut Vec<u8>) -> Result<T>,
    ) -> Result<(BodyRange, T)> {
        let begin = self.text.len();
        self.text.extend_from_within(other.head.clone());
        let at = self.text.len();
        let written = write(&mut self.text)?;
        Ok((self.end(begin, at), written))
    }

    /// Ends an operation whose head and body are written. The body starts at `at`.
    fn end(&mut self, begin: usize, at: usize) -> BodyRange {
        let end = self.text.len();
        self.text.extend_from_slice(b"\r\n");
        BodyRange {
            head: begin..at,
            body: at..end,
        }
    }

    /// Returns the body of an operation.
    pub(crate) fn body_of(&self, place: &BodyRange) -> &[u8] {
        self.text.get(place.body.clone()).unwrap_or_default()
    }

    /// Adds an operation.
    pub(crate) fn add(&mut self, operation: &InnerRequest<'_>) -> BodyRange {
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
        let at = self.text.len();
        self.text.extend_from_slice(body);
        self.end(begin, at)
    }

    /// Returns the whole text.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        for boundary in self.boundaries.iter().rev() {
            self.text.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::codec::multipart::{boundary, http_message, parts};

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
        let mut written = BatchBody::from_changes("b".into(), "c".into());
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
        let outer = parts(&body, "b", false).unwrap();
        assert_eq!(outer.len(), 1);
        let inner = parts(
            outer[0].body,
            boundary(outer[0].header("content-type").unwrap()).unwrap(),
            true,
        )
        .unwrap();
        let first = http_message(inner[0].body).unwrap();
        assert_eq!(first.start_line, "POST http://h/T HTTP/1.1");
        assert_eq!(first.header("if-match"), Some("*"));
        assert_eq!(first.body, b"{\"a\":\"--b\"}");
        assert_eq!(http_message(inner[1].body).unwrap().body, b"");
    }
}
