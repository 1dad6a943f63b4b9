//! Keys that sort in reverse order.
//!
//! Defines [`Descending`] and the trait of the types that it takes. `digits.rs` writes the digits, `calendar.rs` the
//! dates.

use std::cmp::{Ordering, Reverse};

use azure_table_wire::error::ValueError;
use serde::{Deserialize, Serialize};

use crate::key::table_key::{ReadTableKey, TableKey};

/// A key type that can also be written as text in reverse order, for [`Descending`].
///
/// Implemented for integers, times and calendar types: the text is the greatest value minus the value, in the same
/// width. Text itself cannot be reversed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no text that sorts in reverse order",
    label = "not a type for `Descending`",
    note = "Descending takes integers, DateTime, SystemTime, Duration, Year, Month, Week and Day",
    note = "otherwise: implement `DescendingKey`"
)]
pub trait DescendingKey: TableKey + Sized {
    /// Appends the text. Greater values have a text that sorts earlier.
    ///
    /// # Errors
    /// The value has no key text.
    fn write_descending(&self, text: &mut String) -> Result<(), ValueError>;

    /// Reads a value from text written by `write_descending`.
    ///
    /// # Errors
    /// The text is not one that `write_descending` writes.
    fn read_descending(text: &str) -> Result<Self, ValueError>;
}

/// A key value that sorts in reverse order, in the table and in Rust.
///
/// A partition with `posted: Descending<DateTime>` as RowKey reads newest first. Filters and keys accept the plain
/// `DateTime`, and use its order: `Blog::POSTED.gt(yesterday)` means newer than yesterday.
///
/// As a property it is stored as the plain value. An index that is declared over it lists the greatest value first, such
/// as the newest.
///
/// The text is the greatest value minus the value. It has as many digits as the greatest value: 19 for a `DateTime`, 10
/// for a `u32` or `i32`. Each calendar type documents its own text.
///
/// ```
/// use azure_table::{DateTime, Descending, TableKey};
/// let posted: DateTime = "2008-10-01T10:00:00Z".parse().unwrap();
/// let mut key = String::new();
/// Descending(posted).write_key(&mut key).unwrap();
/// assert_eq!(key, "2521794455999999999");
/// ```
///
/// Source: the log-tail pattern of "Azure Storage Table design guide"; the digits follow the study of 2010.
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

/// Implements the conversions and the `Display` of a type that wraps a key.
macro_rules! wrapper {
    ($name:ident) => {
        impl<T> ::std::ops::Deref for $name<T> {
            type Target = T;
            fn deref(&self) -> &T {
                &self.0
            }
        }

        impl<T> From<T> for $name<T> {
            fn from(value: T) -> Self {
                Self(value)
            }
        }

        impl<T: ::std::fmt::Display> ::std::fmt::Display for $name<T> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}
pub(crate) use wrapper;
wrapper!(Descending);

impl<T: DescendingKey> TableKey for Descending<T> {
    const REVERSED: bool = true;

    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        self.0.write_descending(text)
    }

    fn write_nearest(&self, text: &mut String) -> Result<Ordering, ValueError> {
        self.write_key(text)?;
        self.0.write_nearest(&mut String::new())
    }
}

impl<T: DescendingKey> ReadTableKey for Descending<T> {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        T::read_descending(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_compare_in_reverse_order() {
        assert!(Descending(2) < Descending(1));
        assert_eq!(Descending(2).cmp(&Descending(2)), Ordering::Equal);
        assert_eq!(Descending(f64::NAN).partial_cmp(&Descending(1.0)), None);
        assert_eq!(Descending(7).to_string(), "7");
        assert_eq!(Descending("abc").len(), 3);
    }
}
