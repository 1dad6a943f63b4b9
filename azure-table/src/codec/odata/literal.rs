//! Literals: text in single quotes, in both directions, and times with all their digits.
//!
//! The literals of filters with their types are `filter/literal.rs` and `filter/parse.rs`.

use std::fmt;

use crate::model::datetime::DateTime;

/// Text with each single quote doubled: how OData writes text in quotes, in filters and in entity addresses.
pub(crate) struct Doubled<'a>(pub(crate) &'a str);

impl fmt::Display for Doubled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, part) in self.0.split('\'').enumerate() {
            if n > 0 {
                f.write_str("''")?;
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}

/// Reads text in single quotes, with doubled quotes inside, from the opening quote on. Returns the text and the number of bytes that
/// it took, quotes included.
#[cfg(any(feature = "emulator", feature = "test-util"))]
pub(crate) fn quoted(text: &str) -> Option<(String, usize)> {
    let body = text.strip_prefix('\'')?;
    let mut value = String::new();
    let mut at = 0;
    loop {
        let end = at + body[at..].find('\'')?;
        value.push_str(&body[at..end]);
        at = end + 1;
        if !body[at..].starts_with('\'') {
            return Some((value, 1 + at));
        }
        value.push('\'');
        at += 1;
    }
}

/// A time with all its seven digits, as access policies and the texts of errors have it.
pub(crate) fn seven_digits(time: DateTime) -> String {
    let text = time.to_string();
    let (seconds, fraction) = text
        .trim_end_matches('Z')
        .split_once('.')
        .unwrap_or((text.trim_end_matches('Z'), ""));
    format!("{seconds}.{fraction:0<7}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_may_have_seven_digits() {
        for (time, text) in [
            ("2017-11-10T02:43:24.1959443Z", "2017-11-10T02:43:24.1959443Z"),
            ("2024-05-04T00:37:43.073333Z", "2024-05-04T00:37:43.0733330Z"),
            ("2024-05-04T00:37:43Z", "2024-05-04T00:37:43.0000000Z"),
        ] {
            assert_eq!(seven_digits(time.parse().unwrap()), text);
        }
    }
}
