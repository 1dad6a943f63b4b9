//! The operations of a batch, each as a request of its own.
//!
//! Owns the two levels of parts. `codec/multipart.rs` divides the text, the emulator's `operations/batch.rs` has the
//! rules of the service.
//!
//! Source: REST "Performing entity group transactions".

use crate::codec::multipart::{self, Message};
use crate::protocol::inbound::Inbound;
use crate::protocol::inbound::target::Target;

/// The contents of a batch.
#[derive(Debug)]
pub(crate) struct Batch<'r> {
    /// The operations of the first change set, or the only one outside of change sets.
    pub(crate) operations: Vec<Inbound<'r>>,
    /// The number of change sets. Without any, the batch has one operation.
    pub(crate) change_sets: usize,
    /// The change set has one part, which is empty.
    pub(crate) has_empty_part: bool,
    /// The length of the longest URL, in bytes.
    pub(crate) longest_url: usize,
}

impl<'r> Inbound<'r> {
    /// Parses the body of a batch. Returns `None` for another request, or if it is not the body of a batch.
    pub(crate) fn batch(&self) -> Option<Batch<'r>> {
        if self.target != Ok(Target::Batch) {
            return None;
        }
        let mut parts = parts(self.body, &self.headers.get("content-type")?, false)?;
        parts.retain(|part| !is_empty(part));
        let first = parts.first()?;
        if is_change_set(first) {
            let changes = self::parts(first.body, first.header("content-type")?, true)?;
            return self.operations(&changes, parts.len());
        }
        self.operations(&parts, 0).filter(|_| parts.len() == 1)
    }

    fn operations(&self, parts: &[Message<'r>], change_sets: usize) -> Option<Batch<'r>> {
        let has_empty_part = matches!(parts, [only] if is_empty(only));
        let mut longest_url = 0;
        let operations = parts.iter().filter(|_| !has_empty_part).map(|part| {
            let message = multipart::http_message(part.body).ok()?;
            let (operation, url) = Self::of_part(self.paths, message)?;
            longest_url = longest_url.max(url.len());
            Some(operation)
        });
        Some(Batch {
            operations: operations.collect::<Option<_>>()?,
            change_sets,
            has_empty_part,
            longest_url,
        })
    }
}

fn parts<'r>(body: &'r [u8], content_type: &str, is_change_set: bool) -> Option<Vec<Message<'r>>> {
    let boundary = multipart::boundary(content_type).ok()?;
    let parts = multipart::parts(body, boundary, is_change_set).ok()?;
    parts.iter().all(Message::has_headers).then_some(parts)
}

fn is_change_set(part: &Message<'_>) -> bool {
    let content_type = part.header("content-type");
    content_type.is_some_and(|value| value.to_ascii_lowercase().starts_with("multipart/mixed"))
}

fn is_empty(part: &Message<'_>) -> bool {
    part.header("content-type").is_none() && part.body.trim_ascii().is_empty()
}
