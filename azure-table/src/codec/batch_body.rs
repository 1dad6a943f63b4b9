//! The body of a batch, as it is written: operations as HTTP requests in `multipart/mixed` (CRLF, absolute URIs, no
//! Content-ID).
//!
//! Which operations may be in one is `protocol`'s business; such bodies are read by `multipart.rs`.
//! Source: REST "Performing entity group transactions"; RFC 2046 §5.1.

use std::ops::Range;

use crate::model::error::Result;

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

    /// Keeps what `add` appends, unless the body then has more than `limit` bytes: returns their number in that case.
    ///
    /// # Errors
    /// Returns the error of `add`. Nothing is appended then.
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

    /// Adds an operation with the head of another, whose body `write` appends.
    ///
    /// # Errors
    /// Returns the error of `write`. A part of the operation is appended then.
    pub(crate) fn add_alike<T>(
        &mut self,
        other: &Place,
        write: impl FnOnce(&mut Vec<u8>) -> Result<T>,
    ) -> Result<(Place, T)> {
        let begin = self.text.len();
        self.text.extend_from_within(other.head.clone());
        let at = self.text.len();
        let written = write(&mut self.text)?;
        Ok((self.end(begin, at), written))
    }

    /// Ends an operation whose head and body are written, the body from `at` on.
    fn end(&mut self, begin: usize, at: usize) -> Place {
        let end = self.text.len();
        self.text.extend_from_slice(b"\r\n");
        Place {
            head: begin..at,
            body: at..end,
        }
    }

    /// The operation's own body.
    pub(crate) fn body_of(&self, place: &Place) -> &[u8] {
        self.text.get(place.body.clone()).unwrap_or_default()
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
        let at = self.text.len();
        self.text.extend_from_slice(body);
        self.end(begin, at)
    }

    /// The whole text.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        for boundary in self.boundaries.iter().rev() {
            self.text.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        }
        self.text
    }
}
