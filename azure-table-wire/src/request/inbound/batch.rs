//! The operations of a batch, each as a request of its own.
//!
//! It handles the two levels of parts. `codec/multipart.rs` divides the text, and the emulator's `operations/batch.rs`
//! has the rules of the service.
//!
//! Source: REST "Performing entity group transactions".

use crate::codec::multipart::{self, Message};
use crate::request::inbound::Inbound;
use crate::request::inbound::target::Target;

/// The contents of a batch.
#[derive(Debug)]
pub struct Batch<'r> {
    /// The operations of the first change set, or the only one outside of change sets.
    pub operations: Vec<Inbound<'r>>,
    /// The number of change sets. Without any, the batch has one operation.
    pub change_sets: usize,
    /// The change set has one part, which is empty.
    pub has_empty_part: bool,
    /// The length of the longest URL, in bytes.
    pub longest_url: usize,
}

impl<'r> Inbound<'r> {
    /// Parses the body of a batch. Returns `None` for another request, or if it is not the body of a batch.
    pub fn batch(&self) -> Option<Batch<'r>> {
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Request;

    use super::*;
    use crate::request::inbound::Verb;

    /// Returns the bodies of the operations, and the number of change sets.
    fn parsed(body: &'static str) -> Option<(Vec<String>, usize)> {
        let request = Request::post("http://h/dev/$batch").header("content-type", "multipart/mixed; boundary=b");
        let request = request.body(Bytes::from(body)).unwrap();
        let inbound = Inbound::of(&request);
        let batch = inbound.batch()?;
        let is_insert = |operation: &Inbound<'_>| {
            operation.verb == Ok(Verb::Post) && operation.target == Ok(Target::Entities("T".into()))
        };
        assert!(batch.operations.iter().all(is_insert));
        let bodies = batch
            .operations
            .iter()
            .map(|operation| String::from_utf8_lossy(operation.body).into());
        Some((bodies.collect(), batch.change_sets))
    }

    const HEAD: &str = "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n\
                        POST http://h/dev/T HTTP/1.1\r\nAccept: */*\r\n\r\n";

    fn with_head(rest: &str) -> &'static str {
        format!("{HEAD}{rest}").leak()
    }

    #[test]
    fn operations_are_the_parts_of_the_first_change_set() {
        let one = Some((vec!["{}".to_owned()], 1));
        assert_eq!(parsed(with_head("{}\r\n--c--\r\n--b--\r\n")), one);
        // The forms of the C++ SDK: no line end before a boundary, no last boundary.
        assert_eq!(parsed(with_head("{}--c--\r\n--b--\r\n")), one);
        assert_eq!(parsed(with_head("{}\r\n--c--\r\n--b\r\n")), one);
        assert_eq!(parsed(with_head("{}\r\n--b--\r\n")), None);
        let further = "{}\r\n--c--\r\n--b\r\nContent-Type: multipart/mixed; boundary=d\r\n\r\n--d--\r\n--b--\r\n";
        assert_eq!(parsed(with_head(further)), Some((vec!["{}".to_owned()], 2)));
    }

    #[test]
    fn boundary_within_a_value_is_part_of_the_value() {
        let value = r#"{"A":"x--c"}"#;
        let body = with_head(&format!("{value}\r\n--c--\r\n--b--\r\n"));
        assert_eq!(parsed(body), Some((vec![value.to_owned()], 1)));
    }
}
