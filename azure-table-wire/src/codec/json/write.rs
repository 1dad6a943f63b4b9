//! Writes JSON objects from values directly to bytes, as requests have them.
//!
//! `entity/write_json.rs` of azure-table writes entities with it.

use std::io::Write as _;

use bytes::Bytes;

use crate::codec::json::scan::{LEAD, plain_length_to_write};
use crate::codec::odata::value::{self, Dialect};
use crate::value::edm::Edm;

/// The largest request body, in bytes (4 MiB).
///
/// Source: REST "Performing entity group transactions" and common error code `RequestBodyTooLarge`.
pub const MAX_BODY_BYTES: usize = 4 << 20;

/// The initial capacity, enough for most entities.
const INITIAL_CAPACITY: usize = 1_024;

/// A JSON object under construction.
#[derive(Debug)]
pub struct Object {
    bytes: Vec<u8>,
}

impl Object {
    pub fn new() -> Self {
        Self::after(Vec::new())
    }

    /// Starts an object after the bytes of an existing buffer.
    pub fn after(mut bytes: Vec<u8>) -> Self {
        bytes.reserve(INITIAL_CAPACITY);
        bytes.push(b'{');
        Self { bytes }
    }

    /// Writes a member whose value is text.
    pub fn text(&mut self, name: &str, value: &str) {
        self.string(&Name(name), value);
    }

    /// Writes a member whose value is text, after its head `"Name":`.
    pub fn text_member(&mut self, head: &str, value: &str) {
        self.string(&Quoted(head), value);
    }

    fn string(&mut self, head: &impl Head, value: &str) {
        head.begin(&mut self.bytes);
        quoted(&mut self.bytes, value);
        self.bytes.push(b',');
    }

    /// Writes a property with the type annotation that its value needs.
    pub fn property(&mut self, name: &str, value: &Edm<'_>) {
        self.member(&Name(name), value);
    }

    /// Writes a property as [`property`](Self::property) does, after its head `"Name":`. Inlined where the type of the
    /// value is known.
    #[inline(always)]
    pub fn property_member(&mut self, head: &str, value: &Edm<'_>) {
        self.member(&Quoted(head), value);
    }

    /// Writes a property without an annotation.
    pub fn plain_property(&mut self, name: &str, value: &Edm<'_>) {
        Name(name).begin(&mut self.bytes);
        value::write::<Requests>(&mut self.bytes, value);
        self.bytes.push(b',');
    }

    #[inline(always)]
    fn member(&mut self, head: &impl Head, value: &Edm<'_>) {
        // An integral double has its decimal point, which the live service reads. A server that parses numbers like
        // JavaScript (Azurite) loses it, so the type is annotated as well.
        if let Some(annotation) = value::annotation(value, |value| value.fract() == 0.0) {
            head.annotate(&mut self.bytes, annotation.as_bytes());
        }
        head.begin(&mut self.bytes);
        value::write::<Requests>(&mut self.bytes, value);
        self.bytes.push(b',');
    }

    pub fn finish(self) -> Bytes {
        self.end().into()
    }

    /// Returns the bytes of the object, after those of [`after`](Self::after).
    pub fn end(mut self) -> Vec<u8> {
        // The comma after the last member.
        self.bytes.pop_if(|last| *last == b',');
        self.bytes.push(b'}');
        self.bytes
    }
}

/// The start of a member. Names need no escapes: they were validated as letters, digits and `_`.
trait Head {
    /// Writes `"Name":`.
    fn begin(&self, bytes: &mut Vec<u8>);

    /// Writes `"Name` and `then`.
    fn annotate(&self, bytes: &mut Vec<u8>, then: &[u8]);
}

/// A name.
struct Name<'a>(&'a str);

impl Head for Name<'_> {
    fn begin(&self, bytes: &mut Vec<u8>) {
        self.annotate(bytes, b"\":");
    }

    fn annotate(&self, bytes: &mut Vec<u8>, then: &[u8]) {
        bytes.push(b'"');
        bytes.extend_from_slice(self.0.as_bytes());
        bytes.extend_from_slice(then);
    }
}

/// A name with its punctuation: `"Name":`. One piece is faster to copy.
struct Quoted<'a>(&'a str);

impl Head for Quoted<'_> {
    #[inline(always)]
    fn begin(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.0.as_bytes());
    }

    #[inline(always)]
    fn annotate(&self, bytes: &mut Vec<u8>, then: &[u8]) {
        let name = self.0.strip_suffix("\":").unwrap_or(self.0);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(then);
    }
}

/// The form of values in requests.
struct Requests;

impl Dialect for Requests {
    fn text(out: &mut Vec<u8>, text: &str) {
        quoted(out, text);
    }

    fn finite(out: &mut Vec<u8>, value: f64) {
        finite(out, value);
    }
}

/// Appends the shortest digits that parse to the same double, with a decimal point.
fn finite(bytes: &mut Vec<u8>, value: f64) {
    let start = bytes.len();
    value::number(bytes, &value);
    let digits = &bytes[start..];
    if !digits.contains(&b'.') {
        let exponent = digits.iter().position(|b| *b == b'e').unwrap_or(digits.len());
        bytes.splice(start + exponent..start + exponent, *b".0");
    }
}

/// Appends a JSON string.
///
/// U+2028 and U+2029 are escaped although JSON does not require it: Azurite treats them as a line end in a batch.
pub fn quoted(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, special) = rest.split_at(plain_length_to_write(rest));
        bytes.extend_from_slice(plain);
        rest = match special {
            [] => break,
            [b'"', after @ ..] => {
                bytes.extend_from_slice(b"\\\"");
                after
            }
            [b'\\', after @ ..] => {
                bytes.extend_from_slice(b"\\\\");
                after
            }
            [LEAD, 0x80, last @ 0xa8..=0xa9, after @ ..] => {
                // Writing to a Vec cannot fail.
                let _ = write!(bytes, "\\u20{:02x}", last - 0x80);
                after
            }
            [LEAD, after @ ..] => {
                bytes.push(LEAD);
                after
            }
            [control, after @ ..] => {
                let _ = write!(bytes, "\\u{control:04x}");
                after
            }
        };
    }
    bytes.push(b'"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn strings_are_written_as_serde_json_reads_them(text in "(\\PC|[\u{0}-\u{7f}\u{2020}-\u{2030}])*") {
            let mut bytes = Vec::new();
            quoted(&mut bytes, &text);
            let written = str::from_utf8(&bytes).unwrap();
            let ends_line = |c: char| c < ' ' || matches!(c, '\u{2028}' | '\u{2029}');
            prop_assert!(!written.contains(ends_line));
            prop_assert_eq!(serde_json::from_str::<String>(written).unwrap(), text);
        }
    }
}
