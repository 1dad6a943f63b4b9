//! Text of keys: which types can be part of a key, and how their text sorts.
//!
//! Owns [`TableKey`], [`ReadTableKey`], [`Descending`] and the service's rules for key text. How several fields make
//! one key is `key_shape.rs`; a whole key of an entity is `entity_key.rs`.

use std::cmp::{Ordering, Reverse};
use std::fmt;
use std::fmt::Write as _;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::model::datetime::DateTime;
use crate::model::error::ValueError;
use crate::model::ordinal::utf16_len;

/// The longest PartitionKey or RowKey, in UTF-16 code units: the widest of the published limits.
///
/// Source: REST "Understanding the Table service data model" (1 KB) and "Scalability targets" (1,024 characters).
pub const MAX_KEY_UNITS: usize = 1_024;

/// A type whose values can be part of a PartitionKey or RowKey: its text sorts in the service as its values do.
///
/// | Rust | text |
/// |---|---|
/// | `String`, `&str` | as it is |
/// | `u32` | 10 digits |
/// | `u64` | 20 digits |
/// | [`DateTime`] | 19 digits: .NET ticks |
/// | [`Descending<DateTime>`] | 19 digits: greatest ticks minus ticks, so the newest comes first |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key",
    label = "its text would not sort like its value",
    note = "use String, u32, u64, DateTime or Descending<_>; or implement TableKey"
)]
pub trait TableKey {
    /// Whether greater values have text that sorts earlier. A filter then turns its comparison round.
    const REVERSED: bool = false;

    /// The number of digits, for a type whose text is an unsigned number of fixed width. A key template may shorten it:
    /// `{n:04}` writes four digits of a `u32`, and a value that has more is an error.
    const DIGITS: Option<usize> = None;

    /// Appends the key text.
    ///
    /// # Errors
    /// The value has no key text.
    fn write_key(&self, text: &mut String) -> Result<(), ValueError>;
}

/// A key type that can be read back from its text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read back from a key",
    label = "no way to read this key field",
    note = "use an owned type: String, u32, u64, DateTime or Descending<_>; or implement ReadTableKey"
)]
pub trait ReadTableKey: TableKey + Sized {
    /// Reads what [`TableKey::write_key`] wrote.
    ///
    /// # Errors
    /// The text is not one that `write_key` gives.
    fn read_key(text: &str) -> Result<Self, ValueError>;
}

impl TableKey for String {
    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        text.push_str(self);
        Ok(())
    }
}

impl ReadTableKey for String {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        Ok(text.to_owned())
    }
}

impl TableKey for str {
    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        text.push_str(self);
        Ok(())
    }
}

impl<T: TableKey + ?Sized> TableKey for &T {
    const REVERSED: bool = T::REVERSED;
    const DIGITS: Option<usize> = T::DIGITS;

    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        (**self).write_key(text)
    }
}

/// Exactly `width` digits, as a number.
fn read_digits<T: std::str::FromStr>(text: &str, width: usize) -> Result<T, ValueError> {
    let invalid = || ValueError::expected(&format!("{width} digits"), format_args!("{text:?}"));
    if text.len() != width || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(invalid());
    }
    text.parse().map_err(|_| invalid())
}

fn write_digits(text: &mut String, value: impl fmt::Display, width: usize) -> Result<(), ValueError> {
    write!(text, "{value:0width$}").map_err(|_| ValueError::new("the value cannot be written"))
}

macro_rules! digits {
    ($($type:ty: $width:literal;)*) => {$(
        impl TableKey for $type {
            const DIGITS: Option<usize> = Some($width);

            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                write_digits(text, self, $width)
            }
        }

        impl ReadTableKey for $type {
            fn read_key(text: &str) -> Result<Self, ValueError> {
                read_digits(text, $width)
            }
        }
    )*};
}
digits! { u32: 10; u64: 20; }

/// The digits of [`DateTime::MAX`]'s ticks.
const TICK_DIGITS: usize = 19;

impl TableKey for DateTime {
    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        write_digits(text, self.ticks(), TICK_DIGITS)
    }
}

impl ReadTableKey for DateTime {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        DateTime::from_ticks(read_digits(text, TICK_DIGITS)?)
            .ok_or_else(|| ValueError::expected("ticks up to the year 9999", format_args!("{text:?}")))
    }
}

/// A value whose key text sorts the other way round, and which itself compares the other way round.
///
/// With `posted: Descending<DateTime>` as RowKey a partition reads newest first. Filters and keys take the plain
/// `DateTime`, and think in its order: `Blog::POSTED.gt(yesterday)` means newer than yesterday.
///
/// ```
/// use azure_table::{DateTime, Descending, TableKey};
/// let posted: DateTime = "2008-10-01T10:00:00Z".parse().unwrap();
/// let mut key = String::new();
/// Descending(posted).write_key(&mut key).unwrap();
/// assert_eq!(key, "2521794455999999999");
/// ```
///
/// Source: the log-tail pattern of "Azure Storage Table design guide"; the digits are those of the study of 2010.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Descending<T>(pub T);

impl<T: PartialOrd> PartialOrd for Descending<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        other.0.partial_cmp(&self.0)
    }
}

impl<T: Ord> Ord for Descending<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        Reverse(&self.0).cmp(&Reverse(&other.0))
    }
}

impl<T> Deref for Descending<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> From<T> for Descending<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T: fmt::Display> fmt::Display for Descending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl TableKey for Descending<DateTime> {
    const REVERSED: bool = true;

    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        write_digits(text, DateTime::MAX.ticks() - self.0.ticks(), TICK_DIGITS)
    }
}

impl ReadTableKey for Descending<DateTime> {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        let ascending = DateTime::read_key(text)?;
        DateTime::from_ticks(DateTime::MAX.ticks() - ascending.ticks())
            .map(Descending)
            .ok_or_else(|| ValueError::expected("inverted ticks", format_args!("{text:?}")))
    }
}

/// Says what is wrong with the text of a PartitionKey or RowKey, if anything.
///
/// Forbidden: `/ \ # ?` and the control characters U+0000..U+001F and U+007F..U+009F.
/// Source: REST "Understanding the Table service data model", characters disallowed in key fields.
pub(crate) fn key_text_fault(text: &str) -> Option<String> {
    if let Some((at, wrong)) = text
        .chars()
        .enumerate()
        .find(|(_, c)| matches!(c, '/' | '\\' | '#' | '?') || c.is_control())
    {
        return Some(format!(
            "{wrong:?} at position {at} is forbidden in a key (no / \\ # ? and no control characters)"
        ));
    }
    if text.len() > MAX_KEY_UNITS && utf16_len(text) > MAX_KEY_UNITS {
        return Some(format!(
            "it has {} UTF-16 units, the limit is {MAX_KEY_UNITS}",
            utf16_len(text)
        ));
    }
    None
}

/// The least text after all that begin with `prefix`, in the order of UTF-16 units; `None` if there is no such text.
pub(crate) fn after_prefix(prefix: &str) -> Option<String> {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        let next = match last {
            '\u{d7ff}' => '\u{10000}',
            '\u{10ffff}' => '\u{e000}',
            // The greatest unit: the character before it is the one to raise.
            '\u{ffff}' => continue,
            _ => match char::from_u32(u32::from(last) + 1) {
                Some(next) => next,
                None => continue,
            },
        };
        text.push(next);
        return Some(text);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(key: &impl TableKey) -> String {
        let mut text = String::new();
        key.write_key(&mut text).unwrap();
        text
    }

    #[test]
    fn numbers_and_dates_have_fixed_width_text() {
        assert_eq!(text(&7_u32), "0000000007");
        assert_eq!(text(&u64::MAX), "18446744073709551615");
        assert_eq!(u64::read_key("18446744073709551615").unwrap(), u64::MAX);
        assert_eq!(text(&DateTime::MIN), "0".repeat(19));
        assert_eq!(text(&DateTime::MAX), "3155378975999999999");
        for wrong in ["", "7", "00000000007", "000000000x", "+000000007"] {
            assert!(u32::read_key(wrong).is_err(), "{wrong}");
        }
        assert!(DateTime::read_key("9999999999999999999").is_err());
    }

    #[test]
    fn inverted_dates_are_those_of_the_classic_posts() {
        let first: DateTime = "2008-10-01T10:00:00Z".parse().unwrap();
        let second: DateTime = "2008-10-02T10:00:00Z".parse().unwrap();
        assert_eq!(text(&Descending(first)), "2521794455999999999");
        assert_eq!(text(&Descending(second)), "2521793591999999999");
        assert!(Descending(second) < Descending(first));
        assert_eq!(
            Descending::<DateTime>::read_key("2521793591999999999").unwrap(),
            Descending(second)
        );
    }

    #[test]
    fn the_end_of_a_prefix_is_after_all_that_begin_with_it() {
        for prefix in ["a", "az", "a\u{7f}", "\u{d7ff}", "x\u{ffff}", "\u{10ffff}", "\u{1f600}"] {
            let end = after_prefix(prefix).unwrap();
            for tail in ["", "a", "\u{ffff}", "\u{10ffff}\u{ffff}"] {
                let text = format!("{prefix}{tail}");
                assert_eq!(
                    crate::model::ordinal::compare(&text, &end),
                    Ordering::Less,
                    "{prefix:?}"
                );
            }
        }
        assert_eq!(after_prefix("\u{ffff}"), None);
        assert_eq!(after_prefix(""), None);
    }

    #[test]
    fn forbidden_characters_are_named_with_their_place() {
        for (bad, why) in [
            ("a/b", "'/' at position 1"),
            ("é#", "'#' at position 1"),
            ("\u{85}", "position 0"),
        ] {
            assert!(key_text_fault(bad).unwrap().contains(why));
        }
        for good in ["", " ", "it's 100% +&", "漢字", &"x".repeat(1_024)] {
            assert_eq!(key_text_fault(good), None);
        }
        assert!(key_text_fault(&"é".repeat(1_025)).unwrap().contains("1025"));
    }
}
