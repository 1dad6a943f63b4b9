//! Literals: text in single quotes, in both directions.
//!
//! `filter/literal.rs` and `filter/parse.rs` handle the typed literals of filters.

use std::fmt;

/// Text with each single quote doubled, as OData writes quoted text in filters and in entity addresses.
#[derive(Debug)]
pub struct Doubled<'a>(pub &'a str);

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

/// Reads text in single quotes, from the opening quote on. Doubled quotes inside become single ones.
///
/// Returns the text and the number of bytes read, quotes included.
pub fn quoted(text: &str) -> Option<(String, usize)> {
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
