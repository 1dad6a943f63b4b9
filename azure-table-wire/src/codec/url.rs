//! Percent-encodes names, keys and filters for URLs. No other file does.
//!
//! Everything outside of `A–Z a–z 0–9 - . _ ~` is percent-encoded as UTF-8, once; the same text is signed and sent.
//! `write/path.rs` writes the paths of resources, whose quotes, parentheses, commas and equals signs are not encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode};

/// The encoded characters: all except RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encodes a value for a path or a query.
pub fn encode(text: &str) -> PercentEncode<'_> {
    utf8_percent_encode(text, RESERVED)
}

/// Decodes percent-encoding, once. Returns `None` if the bytes are not UTF-8.
pub fn decode(text: &str) -> Option<String> {
    Some(percent_decode_str(text).decode_utf8().ok()?.into_owned())
}

/// Returns the value of a parameter in a query, or `None` if it is missing or unreadable.
pub fn parameter(query: &str, name: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (found, value) = pair.split_once('=')?;
        (decode_query(found)? == name).then(|| decode_query(value))?
    })
}

/// Decodes a name or a value of a query. A space may be `%20` or `+`.
pub fn decode_query(text: &str) -> Option<String> {
    if text.contains('+') {
        decode(&text.replace('+', " "))
    } else {
        decode(text)
    }
}

/// A path under construction, with its query. Pairs keep the order in which they are added.
#[derive(Debug)]
pub struct PathAndQuery {
    text: String,
    has_query: bool,
}

impl PathAndQuery {
    /// Creates a path from encoded text, without a query.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            text: path.into(),
            has_query: false,
        }
    }

    /// Adds a pair. The `$` of an OData option is not encoded.
    pub fn pair(&mut self, name: &str, value: &str) {
        let separator = if self.has_query { "&" } else { "?" };
        self.text.reserve(separator.len() + name.len() + 1 + value.len());
        self.text.extend([separator, name, "="]);
        self.text.extend(encode(value));
        self.has_query = true;
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_query_keeps_its_order_and_its_dollar_signs() {
        let mut path = PathAndQuery::new("T()");
        assert_eq!(path.as_str(), "T()");
        path.pair("$filter", "A eq 'x&y'");
        path.pair("$top", "5");
        assert_eq!(path.as_str(), "T()?$filter=A%20eq%20%27x%26y%27&$top=5");
    }

    proptest! {
        #[test]
        fn any_text_round_trips_as_plain_ascii(text in any::<String>()) {
            let encoded = encode(&text).to_string();
            prop_assert!(encoded.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
            prop_assert_eq!(decode(&encoded).unwrap(), text);
        }
    }
}
