//! Text forms that OData uses in more than one place.

use std::fmt;

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

/// The shortest digits that give the same double back, always with a decimal point, without which the service reads an
/// integer; the three special values by their names.
pub(crate) fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.into();
    }
    let mut text = format!("{value:?}");
    if !text.contains('.') {
        let exponent = text.find('e').unwrap_or(text.len());
        text.insert_str(exponent, ".0");
    }
    text
}
