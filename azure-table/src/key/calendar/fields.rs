//! The text of calendar dates: fields of fixed width, and their mirror image.
//!
//! Every calendar type is a year of four digits and further fields of two. Its descending text has the same fields,
//! each subtracted from a fixed number. The classic posts use two conventions for these numbers ([`Calendar::MIRROR`]).

use std::fmt;

/// A calendar type as its fields, the year first.
pub(super) trait Calendar<const FIELDS: usize>: Copy {
    const SEPARATOR: char;
    /// The number from which the descending text subtracts each field.
    ///
    /// In the posts that join the fields with `_`, October is 13 - 10 = 03 and the first week 5 - 1 = 04. In those that
    /// join them with `-`, October is 12 - 10 = 02 and the 23rd 31 - 23 = 08.
    const MIRROR: [u16; FIELDS];

    /// Creates the date, or returns `None` if it does not exist.
    fn from_fields(fields: [u16; FIELDS]) -> Option<Self>;
}

/// Returns the number of digits of the field at this index.
const fn width(field: usize) -> usize {
    if field == 0 { 4 } else { 2 }
}

pub(super) fn write<const N: usize>(fields: [u16; N], separator: char, text: &mut impl fmt::Write) -> fmt::Result {
    for (n, field) in fields.into_iter().enumerate() {
        if n > 0 {
            text.write_char(separator)?;
        }
        write!(text, "{field:0width$}", width = width(n))?;
    }
    Ok(())
}

/// Appends the text of [`write`] to a key.
pub(super) fn append<const N: usize>(fields: [u16; N], separator: char, text: &mut String) {
    // Writing to a String cannot fail.
    let _ = write(fields, separator, text);
}

/// Parses a text that [`write`] writes.
pub(super) fn read<const N: usize>(text: &str, separator: char) -> Option<[u16; N]> {
    let mut parts = text.split(separator);
    let mut fields = [0; N];
    for (n, field) in fields.iter_mut().enumerate() {
        let part = parts.next()?;
        if part.len() != width(n) || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *field = part.parse().ok()?;
    }
    parts.next().is_none().then_some(fields)
}

/// Subtracts each field from its number in `MIRROR`. Applied twice, it returns the original fields.
pub(super) fn mirrored<const N: usize, T: Calendar<N>>(fields: [u16; N]) -> Option<[u16; N]> {
    let mut mirrored = T::MIRROR;
    for (from, field) in mirrored.iter_mut().zip(fields) {
        *from = from.checked_sub(field)?;
    }
    Some(mirrored)
}
