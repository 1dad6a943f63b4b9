//! The text of calendar dates: fields of fixed width, and their mirror image.
//!
//! Every calendar type is a year of four digits and further fields of two; its descending text has the same fields,
//! each taken from a fixed number. Those numbers follow the classic posts, which have two conventions
//! ([`Calendar::MIRROR`]).

use std::fmt;

/// A calendar type as its fields, the year first.
pub(super) trait Calendar<const FIELDS: usize>: Copy {
    const SEPARATOR: char;
    /// What each field is taken from in the descending text.
    ///
    /// Where the posts join the fields with `_`, October is 13 - 10 = 03 and the first week 5 - 1 = 04; where they join
    /// them with `-`, October is 12 - 10 = 02 and the 23rd 31 - 23 = 08.
    const MIRROR: [u16; FIELDS];

    /// `None` if there is no such date.
    fn of_fields(fields: [u16; FIELDS]) -> Option<Self>;
}

/// The digits of the field of this index.
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

/// [`write`] to the end of a key.
pub(super) fn append<const N: usize>(fields: [u16; N], separator: char, text: &mut String) {
    // Writing to a String cannot fail.
    let _ = write(fields, separator, text);
}

/// The fields of a text that [`write`] gives.
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

/// The fields of the other text: a mirror image of the mirror image is the date again.
pub(super) fn mirrored<const N: usize, T: Calendar<N>>(fields: [u16; N]) -> Option<[u16; N]> {
    let mut mirrored = T::MIRROR;
    for (from, field) in mirrored.iter_mut().zip(fields) {
        *from = from.checked_sub(field)?;
    }
    Some(mirrored)
}
