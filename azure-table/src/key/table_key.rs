//! Key text: the types that can be part of a key, and the order of their text.
//!
//! Defines [`TableKey`] and [`ReadTableKey`]. Other files of the folder are codecs, such as `digits.rs` for integers
//! and ticks. The codecs for types of other crates are in `entity/property/`, beside their property impls.
//! `key_shape.rs` joins several fields into one key, and `entity_key.rs` has the whole key of an entity. The service's
//! rules for key text are in `value/key_text.rs` of azure-table-wire.

use std::cmp::Ordering;

use azure_table_wire::error::ValueError;

/// A type whose values can be part of a PartitionKey or RowKey.
///
/// Its text sorts in the service as its values do, unless [`SORTED`](Self::SORTED) is `false`.
///
/// | Rust | text |
/// |---|---|
/// | `String`, `&str`, `Cow<str>`, `Box<str>`, `Arc<str>`, `char` | as it is; forbidden characters are an error |
/// | `bool` | `false`, `true` |
/// | `u8`, `u16`, `u32`, `u64` | 3, 5, 10, 20 digits |
/// | `i8`, `i16`, `i32`, `i64` | 3, 5, 10, 20 digits: value minus least value, so that -128 is `000` and 0 is `128` |
/// | [`DateTime`](crate::DateTime), [`SystemTime`](std::time::SystemTime) | 19 digits: .NET ticks |
/// | [`Duration`](std::time::Duration) | 19 digits: steps of 100 ns, rounded down |
/// | [`Guid`](crate::Guid) | its text, lower case |
/// | [`Year`](crate::key::Year), [`Month`](crate::key::Month) | `2008`, `2008_07` |
/// | [`Week`](crate::key::Week), [`Day`](crate::key::Day) | `2008_10_01`, `2010-10-23` |
/// | [`Descending<T>`] of integers, times, durations, calendar | the greatest value minus the value: the newest first |
/// | `(A, B)`, `(A, B, C)`, `(A, B, C, D)` | the parts with a space between |
/// | [`Escaped<T>`](crate::key::Escaped) | the text of `T`, with all characters that keys forbid escaped |
/// | [`PercentEscaped<T>`](crate::key::PercentEscaped) | the same, with `%` escaped as well |
/// | [`Bucket<N>`](crate::key::Bucket) | 4 digits |
/// | [`Base64Url<T>`](crate::key::Base64Url) | base64url of bytes; it does *not* sort like the values |
/// | `&T`, `Box<T>` | the text of `T` |
///
/// [`Descending<T>`]: crate::Descending
///
/// The times of the features `chrono-04`, `jiff-02` and `time-03` have the text of `DateTime`, their dates the text of
/// `Day` (`2010-10-23`). `uuid::Uuid` has the text of `Guid`, and `ulid::Ulid` its 26 characters.
///
/// `f32`, `f64`, `Decimal`, `IpAddr` and `Url` are not keys: their text does not sort like their values, or contains a
/// `/`. To sort by a price, store it in cents, as an integer.
///
/// Text sorts ordinally, by UTF-16 code unit. For characters beyond U+FFFF this is not confirmed: we assume that they
/// sort before U+E000. Only the text of your own values can contain them.
///
/// A type of your own:
///
/// ```
/// use azure_table::{TableKey, ValueError};
/// use azure_table::key::ReadTableKey;
///
/// /// A version such as 1.12, whose text is `0001.0012`.
/// #[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
/// struct Version(u16, u16);
///
/// impl TableKey for Version {
///     fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
///         if self.0 > 9_999 || self.1 > 9_999 {
///             return Err(ValueError::new(format!("{self:?} has more than 4 digits")));
///         }
///         text.push_str(&format!("{:04}.{:04}", self.0, self.1));
///         Ok(())
///     }
/// }
///
/// impl ReadTableKey for Version {
///     fn read_key(text: &str) -> Result<Self, ValueError> {
///         let parts = text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
///         parts.map(|(a, b)| Self(a, b)).ok_or_else(|| ValueError::new(format!("{text:?} is not a version")))
///     }
/// }
/// ```
///
/// Source: REST "Understanding the Table service data model", characters disallowed in key fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key",
    label = "its text would not sort like its value",
    note = "use text (String, &str, Cow, Arc<str>, Box<str>, char), bool, i8 to i64, u8 to u64, DateTime, SystemTime, Duration, Guid, Year, Month, Week, Day, Descending<_>, Escaped<_>, Bucket<_>, Base64Url<_>, or a tuple of 2 to 4 of them",
    note = "with a feature: types of chrono (`chrono-04`), jiff (`jiff-02`), time (`time-03`), ulid (`ulid-3`) and uuid (`uuid-1`)",
    note = "otherwise: implement `TableKey` (and `ReadTableKey`)"
)]
pub trait TableKey {
    /// `true` if greater values have text that sorts earlier. A filter then reverses its comparison.
    const REVERSED: bool = false;

    /// The number of digits, for a type whose text is an unsigned decimal number of fixed width: 10 for a `u32`.
    ///
    /// A key template may shorten it: `{n:04}` writes four digits, and a value with more digits is an error.
    const DIGITS: Option<usize> = None;

    /// `true` if the key text sorts as the values do, or in reverse if [`REVERSED`](Self::REVERSED).
    ///
    /// If `false`, order comparisons such as `ge` on a key column of this type do not compile, as with
    /// [`Property::SORTED`](crate::Property::SORTED).
    const SORTED: bool = true;

    /// Appends the key text.
    ///
    /// # Errors
    /// The value has no key text.
    fn write_key(&self, text: &mut String) -> Result<(), ValueError>;

    /// Appends the text to compare keys with, and returns the order of the value relative to it. No key is between the
    /// two. It differs from the text of [`write_key`](Self::write_key), which rounds down, only in a tuple.
    #[doc(hidden)]
    fn write_nearest(&self, text: &mut String) -> Result<Ordering, ValueError> {
        self.write_key(text).map(|()| Ordering::Equal)
    }
}

/// A key type that can be read back from its text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read back from a key",
    label = "this key field cannot be read",
    note = "use an owned type, such as String, a number, DateTime, Guid, Descending<_> or Escaped<String>; or implement `ReadTableKey`"
)]
pub trait ReadTableKey: TableKey + Sized {
    /// Reads a value from text written by [`TableKey::write_key`].
    ///
    /// # Errors
    /// The text is not one that `write_key` writes.
    fn read_key(text: &str) -> Result<Self, ValueError>;
}

/// Returns the smallest text after all that begin with `prefix`, in the order of UTF-16 units; `None` if no such text
/// exists.
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

/// Returns the range of all texts that begin with `prefix`.
///
/// The range includes the first text and excludes the second. Without a second text it has no upper end.
///
/// Use it in place of `startswith`, which the service does not have, here in a text filter with doubled quotes:
///
/// ```
/// use azure_table::key::prefix_range;
/// let (from, Some(to)) = prefix_range("O'Brien_7991_") else { unreachable!() };
/// let [from, to] = [from, to].map(|key| key.replace('\'', "''"));
/// let filter = format!("RowKey ge '{from}' and RowKey lt '{to}'");
/// assert_eq!(filter, "RowKey ge 'O''Brien_7991_' and RowKey lt 'O''Brien_7991`'");
/// ```
///
/// A text column has `starts_with`, which does the same. For [`Escaped`](crate::key::Escaped) text,
/// escape the prefix too: the escaped prefix is then a prefix of the escaped text.
///
/// Texts compare ordinally, by UTF-16 code unit. Above U+FFFF, the order of the service is not confirmed.
///
/// Source: REST "Querying tables and entities", prefix matching.
pub fn prefix_range(prefix: &str) -> (String, Option<String>) {
    (prefix.to_owned(), after_prefix(prefix))
}

/// Returns a key's text; for tests.
#[cfg(test)]
pub(crate) fn key_text(key: &(impl TableKey + ?Sized)) -> String {
    let mut text = String::from("<");
    key.write_key(&mut text).unwrap();
    // A codec appends, and keeps the text before it.
    text.strip_prefix('<').unwrap().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_prefix_is_after_all_texts_that_begin_with_it() {
        for prefix in ["a", "az", "a\u{7f}", "\u{d7ff}", "x\u{ffff}", "\u{10ffff}", "\u{1f600}"] {
            let end = after_prefix(prefix).unwrap();
            for tail in ["", "a", "\u{ffff}", "\u{10ffff}\u{ffff}"] {
                let text = format!("{prefix}{tail}");
                assert_eq!(
                    azure_table_wire::value::ordinal::compare(&text, &end),
                    Ordering::Less,
                    "{prefix:?}"
                );
            }
        }
        assert_eq!(after_prefix("\u{ffff}"), None);
        assert_eq!(after_prefix(""), None);
    }
}
