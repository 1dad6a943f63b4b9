//! Times as text, and the ETags that contain them.
//!
//! A time has two forms (the fewest digits, all seven digits), and an ETag contains one. `value/datetime` has calendars
//! and parsing.

use std::fmt;

use crate::value::datetime::{self, DateTime};

/// The text of a time, in ASCII.
#[derive(Debug)]
pub struct TimeText {
    text: [u8; 28],
    length: usize,
}

impl TimeText {
    /// Formats the seconds with the fewest digits, as requests and responses of Azure Storage do.
    pub fn shortest(time: DateTime) -> Self {
        let (text, length) = datetime::ascii(time);
        Self { text, length }
    }

    /// Formats the seconds with all seven digits, as access policies, errors and responses of Cosmos DB do.
    pub fn seven_digits(time: DateTime) -> Self {
        /// The end of the seconds.
        const SECONDS: usize = 19;
        let (mut text, length) = datetime::ascii(time);
        text[length - 1..].fill(b'0');
        text[SECONDS] = b'.';
        text[27] = b'Z';
        Self { text, length: 28 }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..self.length]
    }

    /// Appends the ETag of an entity with this time. `quote` is the quote around it, which JSON escapes.
    pub fn put_etag(&self, out: &mut Vec<u8>, quote: &str) {
        // The colons of `2017-11-10T02:44:53.636692Z` are encoded.
        let time = self.as_bytes();
        for part in [
            b"W/",
            quote.as_bytes(),
            b"datetime'",
            &time[..13],
            b"%3A",
            &time[14..16],
            b"%3A",
            &time[17..],
            b"'",
            quote.as_bytes(),
        ] {
            out.extend_from_slice(part);
        }
    }

    /// Returns the ETag of an entity with this time.
    pub fn etag(&self) -> String {
        let mut text = Vec::with_capacity(48);
        self.put_etag(&mut text, "\"");
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl fmt::Display for TimeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

/// Returns `true` for one weak ETag in quotes.
///
/// Any text is allowed between the quotes: an unknown one is a version that does not match (Azurite issue 1229, seen
/// live). Azurite's own tests expect the service to reject a strong ETag, and to accept `w/`; no recording shows
/// either.
pub fn is_etag(text: &str) -> bool {
    let quoted = text.strip_prefix(['W', 'w']).and_then(|rest| rest.strip_prefix("/\""));
    quoted
        .and_then(|rest| rest.strip_suffix('"'))
        .is_some_and(|text| !text.contains('"'))
}

/// Returns `true` for the ETag of an entity in which each quote around the time is doubled.
pub fn is_etag_with_doubled_quotes(text: &str) -> bool {
    text.contains("\"datetime''") && text.ends_with("''\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_have_seven_digits() {
        for (time, text) in [
            ("2017-11-10T02:43:24.1959443Z", "2017-11-10T02:43:24.1959443Z"),
            ("2024-05-04T00:37:43.073333Z", "2024-05-04T00:37:43.0733330Z"),
            ("2024-05-04T00:37:43Z", "2024-05-04T00:37:43.0000000Z"),
        ] {
            assert_eq!(TimeText::seven_digits(time.parse().unwrap()).to_string(), text);
        }
    }

    #[test]
    fn etag_is_a_single_weak_tag_in_quotes() {
        let written = TimeText::shortest("2017-11-10T02:44:47.62Z".parse().unwrap()).etag();
        assert_eq!(written, "W/\"datetime'2017-11-10T02%3A44%3A47.62Z'\"");
        for good in ["W/\"x\"", "w/\"x\"", &written, "W/\"\""] {
            assert!(is_etag(good), "{good}");
        }
        for bad in ["", "x", "W/x", "\"", "W/\"a\", W/\"b\"", "\"x\"", "0x1"] {
            assert!(!is_etag(bad), "{bad}");
        }
    }
}
