//! The values accepted for a field: in a key tuple, in a filter and in a patch.
//!
//! Defines [`Operand`] and its impls for the types of this crate and of the standard library. The impls for points in
//! time and of other crates are beside their property (`entity/property/moment.rs`, `entity/property/uuid.rs`).
//!
//! One trait covers everything that may replace a field's value: the value, a reference to it, `&str` for `String`, the
//! plain `T` for `Descending<T>`. Key tuples, partitions and filters share it. A filter on an `Option<T>` compares with
//! `Property::Compared`, an associated type, so that aliases of `Option` work too.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use azure_table_wire::error::ValueError;
use bytes::Bytes;

use crate::key::base64url::Base64Url;
use crate::key::descending::{Descending, DescendingKey};
use crate::key::escaped::{Escaped, PercentEscaped};
use crate::key::table_key::TableKey;

/// A value that calls accept for a field of type `T`.
///
/// | `T` | accepted values |
/// |---|---|
/// | any | `T`, `&T` |
/// | [`Descending<T>`], [`Escaped<T>`], [`PercentEscaped<T>`], [`Base64Url<T>`] | `T`, `&T` too |
/// | `String`, and every column of text | `&str`, `&&str`, `Cow<str>`, `Box<str>`, `Arc<str>`, and references to them |
/// | `Cow<str>`, `Box<str>`, `Arc<str>` in a key | `&str`, `String`, `&String` |
/// | `Escaped<String>`, `PercentEscaped<String>` | `&str` |
/// | `Escaped<Descending<T>>`, a field of an index | `T`, `&T` |
/// | `Vec<u8>`, and every column of bytes but `[u8; N]` | `&[u8]`, `[u8; N]`, `&[u8; N]`, `Bytes` |
/// | `Base64Url<Vec<u8>>` | `&[u8]`, `[u8; N]`, `&[u8; N]`, `Bytes` |
/// | [`DateTime`][time], `Descending<DateTime>` | `SystemTime`; by feature, times of chrono, jiff and time |
/// | [`Guid`](crate::Guid) | with the feature `uuid-1`: `Uuid`, and the other way round |
///
/// In keys and patches, times of other types are rounded down to 100 ns, and a time outside the years 1 to 9999 is an
/// error. Filters compare the exact value: `lt` and `le` of a time between two steps of 100 ns both match the earlier
/// step, and `eq` matches no row.
///
/// Numbers must have the type of the field. The compiler infers it for a literal: `Blog::RATING.ge(3)`.
///
/// [time]: crate::DateTime
#[diagnostic::on_unimplemented(
    message = "a field of type `{T}` does not accept `{Self}`",
    label = "expected `{T}` or a reference to it",
    note = "a `Descending<T>` also accepts `T`, a `String` also `&str`; a number has the type of its field: `1.0` for an `f64`, `i64::try_from(..)` for a `usize`",
    note = "an `Option<T>` is passed as `T`: absence can be neither queried nor set; to remove a property make the \
            field `None` and `replace` the entity"
)]
pub trait Operand<T> {
    /// Returns the value of the field's own type.
    ///
    /// # Errors
    /// The field's type cannot represent the value.
    fn into_operand(self) -> Result<T, ValueError>;

    /// Returns the nearest value of the field's own type, and the order of this value relative to it, for a comparison.
    #[doc(hidden)]
    fn into_nearest(self) -> Result<(T, Ordering), ValueError>
    where
        Self: Sized,
    {
        Ok((self.into_operand()?, Ordering::Equal))
    }
}

impl<T> Operand<T> for T {
    fn into_operand(self) -> Result<T, ValueError> {
        Ok(self)
    }
}

impl<T: Clone> Operand<T> for &T {
    fn into_operand(self) -> Result<T, ValueError> {
        Ok(self.clone())
    }
}

// `do_not_recommend` below: otherwise a compile error lists all of these impls, which the note above sums up.

/// Accepts the inner value for a field that wraps it. Without the bounds, rustdoc would list the impls on each type.
macro_rules! wrapped {
    ($($wrapper:ident: $bound:path),*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: $bound> Operand<$wrapper<T>> for T {
            fn into_operand(self) -> Result<$wrapper<T>, ValueError> {
                Ok($wrapper(self))
            }
        }

        #[diagnostic::do_not_recommend]
        impl<T: $bound + Clone> Operand<$wrapper<T>> for &T {
            fn into_operand(self) -> Result<$wrapper<T>, ValueError> {
                Ok($wrapper(self.clone()))
            }
        }
    )*};
}
wrapped! { Descending: DescendingKey, Escaped: TableKey, PercentEscaped: TableKey, Base64Url: AsRef<[u8]> }

/// A field of an index row.
#[diagnostic::do_not_recommend]
impl<T: DescendingKey> Operand<Escaped<Descending<T>>> for T {
    fn into_operand(self) -> Result<Escaped<Descending<T>>, ValueError> {
        Ok(Escaped(Descending(self)))
    }
}

#[diagnostic::do_not_recommend]
impl<T: DescendingKey + Clone> Operand<Escaped<Descending<T>>> for &T {
    fn into_operand(self) -> Result<Escaped<Descending<T>>, ValueError> {
        Ok(Escaped(Descending(self.clone())))
    }
}

/// Accepts, for a field of type `$target`, any of the types after it, all of which borrow as a `$slice`.
macro_rules! copied {
    ($slice:ty: $($target:ty = $($given:ty),+;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl Operand<$target> for $given {
            fn into_operand(self) -> Result<$target, ValueError> {
                Ok(<$target>::from(AsRef::<$slice>::as_ref(&self).to_owned()))
            }
        }
    )+)*};
}
copied! { str:
    String = &str, &&str, Cow<'_, str>, &Cow<'_, str>, Box<str>, &Box<str>, Arc<str>, &Arc<str>;
    Box<str> = &str, String, &String;
    Arc<str> = &str, String, &String;
    Escaped<String> = &str;
    PercentEscaped<String> = &str;
}
macro_rules! cow {
    ($($given:ty),+) => {$(
        #[diagnostic::do_not_recommend]
        impl<'a> Operand<Cow<'a, str>> for $given {
            fn into_operand(self) -> Result<Cow<'a, str>, ValueError> {
                Ok(Cow::Owned(self.to_owned()))
            }
        }
    )+};
}
cow! { &str, String, &String }
copied! { [u8]:
    Vec<u8> = &[u8], Bytes, &Bytes;
    Base64Url<Vec<u8>> = &[u8], Bytes, &Bytes;
}
macro_rules! arrays {
    ($($target:ty = $($given:ty),+;)*) => {$($(
        #[diagnostic::do_not_recommend]
        impl<const N: usize> Operand<$target> for $given {
            fn into_operand(self) -> Result<$target, ValueError> {
                Ok(<$target>::from(self.to_vec()))
            }
        }
    )+)*};
}
arrays! {
    Vec<u8> = [u8; N], &[u8; N];
    Base64Url<Vec<u8>> = [u8; N], &[u8; N];
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::datetime::DateTime;

    use super::*;

    fn given<T>(value: impl Operand<T>) -> T {
        value.into_operand().unwrap()
    }

    #[test]
    fn a_literal_has_the_type_of_the_field() {
        assert_eq!(given::<u8>(3), 3);
        assert_eq!(given::<i64>(-3), -3);
        assert_eq!(given::<f32>(0.5), 0.5);
        assert_eq!(given::<Descending<u64>>(3), Descending(3));
        assert_eq!(given::<Escaped<i16>>(-3), Escaped(-3));
        assert_eq!(given::<Escaped<Descending<u8>>>(3), Escaped(Descending(3)));
        assert_eq!(given::<Escaped<Descending<u8>>>(Descending(3)), Escaped(Descending(3)));
        assert_eq!(given::<char>('x'), 'x');
        assert_eq!(given::<[u8; 2]>([1, 2]), [1, 2]);
        assert_eq!(given::<Vec<u8>>([1, 2]), [1, 2]);
        assert_eq!(given::<Vec<u8>>(b"ab"), b"ab");
        assert_eq!(given::<Base64Url<Vec<u8>>>(b"ab"), Base64Url(b"ab".to_vec()));
    }

    #[test]
    fn text_is_accepted_in_any_form() {
        let text = String::from("x");
        assert_eq!(given::<String>("x"), "x");
        assert_eq!(given::<String>(&"x"), "x");
        assert_eq!(given::<String>(&text), "x");
        assert_eq!(given::<String>(Cow::from("x")), "x");
        assert_eq!(given::<String>(Arc::<str>::from("x")), "x");
        assert_eq!(given::<String>(&Box::<str>::from("x")), "x");
        assert_eq!(&*given::<Arc<str>>("x"), "x");
        assert_eq!(&*given::<Box<str>>(&text), "x");
        assert_eq!(given::<Cow<'static, str>>(&*text), "x");
        assert_eq!(given::<Escaped<String>>("x").0, "x");
        assert_eq!(given::<Escaped<String>>(&text).0, "x");
        assert_eq!(given::<PercentEscaped<String>>(text).0, "x");
    }

    #[test]
    fn bytes_and_wrapped_values_are_accepted_by_reference() {
        assert_eq!(given::<Vec<u8>>(Bytes::from_static(b"ab")), b"ab");
        assert_eq!(given::<Vec<u8>>(&b"ab"[..]), b"ab");
        let time = DateTime::MAX;
        assert_eq!(given::<Descending<DateTime>>(&time), Descending(time));
        assert_eq!(given::<Descending<DateTime>>(&Descending(time)), Descending(time));
        assert_eq!(
            given::<DateTime>(std::time::SystemTime::UNIX_EPOCH),
            DateTime::from_unix_seconds(0)
        );
    }
}
