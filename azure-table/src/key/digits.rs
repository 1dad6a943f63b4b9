//! Integers and times as key text: decimal digits of a fixed width.
//!
//! Contains the text of `u8` to `u64`, of `i8` to `i64` and of the ticks of [`DateTime`] and [`Duration`], ascending
//! and descending. Each of these values is first mapped to an unsigned number in the order of the values
//! ([`Numbered`]). Its digits are the key.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::time::Duration;

use azure_table_wire::error::{ValueError, expected};
use azure_table_wire::value::datetime::DateTime;

use crate::entity::property::duration;
use crate::key::descending::DescendingKey;
use crate::key::table_key::{ReadTableKey, TableKey};

/// A type with an unsigned number for each value, in the order of the values.
trait Numbered: Copy {
    /// The number of the greatest value. The least has the number 0.
    const GREATEST: u64;
    /// The digits of `GREATEST`.
    const WIDTH: usize = Self::GREATEST.ilog10() as usize + 1;

    /// Returns the number of the value.
    ///
    /// # Errors
    /// The value cannot be stored.
    fn number(self) -> Result<u64, ValueError>;

    /// Returns the value with this number; `None` above `GREATEST`.
    fn from_number(number: u64) -> Option<Self>;
}

fn write<T: Numbered>(number: u64, text: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(text, "{number:0width$}", width = T::WIDTH);
}

/// Reads exactly the digits of a `T`.
fn read<T: Numbered>(text: &str) -> Result<u64, ValueError> {
    let number = if text.len() == T::WIDTH && text.bytes().all(|b| b.is_ascii_digit()) {
        text.parse().ok().filter(|number| *number <= T::GREATEST)
    } else {
        None
    };
    number.ok_or_else(|| {
        expected(
            &format!("{} digits, at most {}", T::WIDTH, T::GREATEST),
            format_args!("{text:?}"),
        )
    })
}

fn value<T: Numbered>(number: u64) -> Result<T, ValueError> {
    T::from_number(number).ok_or_else(|| ValueError::new(format!("{number} is beyond the type's greatest number")))
}

macro_rules! numbered {
    ($($type:ty: $digits:expr;)*) => {$(
        impl TableKey for $type {
            const DIGITS: Option<usize> = $digits;

            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                write::<Self>(self.number()?, text);
                Ok(())
            }

            fn write_nearest(&self, text: &mut String) -> Result<Ordering, ValueError> {
                self.write_key(text)?;
                let stored = Self::from_number(self.number()?);
                Ok(stored.is_some_and(|stored| stored != *self).cmp(&false))
            }
        }

        impl ReadTableKey for $type {
            fn read_key(text: &str) -> Result<Self, ValueError> {
                value(read::<Self>(text)?)
            }
        }

        impl DescendingKey for $type {
            fn write_descending(&self, text: &mut String) -> Result<(), ValueError> {
                write::<Self>(Self::GREATEST - self.number()?, text);
                Ok(())
            }

            fn read_descending(text: &str) -> Result<Self, ValueError> {
                value(Self::GREATEST - read::<Self>(text)?)
            }
        }
    )*};
}
// A template may shorten only a text whose leading digits are zero for small values.
numbered! {
    u8: Some(Self::WIDTH);
    u16: Some(Self::WIDTH);
    u32: Some(Self::WIDTH);
    u64: Some(Self::WIDTH);
    i8: None;
    i16: None;
    i32: None;
    i64: None;
    DateTime: None;
    Duration: None;
}

macro_rules! unsigned {
    ($($type:ty),*) => {$(
        impl Numbered for $type {
            const GREATEST: u64 = Self::MAX as u64;

            fn number(self) -> Result<u64, ValueError> {
                Ok(self.into())
            }

            fn from_number(number: u64) -> Option<Self> {
                number.try_into().ok()
            }
        }
    )*};
}
unsigned! { u8, u16, u32, u64 }

/// Numbers signed integers from the least value on, which is 0, by inverting the sign bit.
macro_rules! signed {
    ($($type:ty as $unsigned:ty),*) => {$(
        impl Numbered for $type {
            const GREATEST: u64 = <$unsigned>::MAX as u64;

            fn number(self) -> Result<u64, ValueError> {
                Ok(self.wrapping_sub(Self::MIN).cast_unsigned().into())
            }

            fn from_number(number: u64) -> Option<Self> {
                let number = <$unsigned>::try_from(number).ok()?;
                Some(number.cast_signed().wrapping_add(Self::MIN))
            }
        }
    )*};
}
signed! { i8 as u8, i16 as u16, i32 as u32, i64 as u64 }

/// The number of a time is its ticks.
impl Numbered for DateTime {
    const GREATEST: u64 = Self::MAX.ticks().cast_unsigned();

    fn number(self) -> Result<u64, ValueError> {
        Ok(self.ticks().cast_unsigned())
    }

    fn from_number(number: u64) -> Option<Self> {
        Self::from_ticks(number.try_into().ok()?)
    }
}

/// The number of a duration is its ticks, rounded down.
impl Numbered for Duration {
    const GREATEST: u64 = i64::MAX.cast_unsigned();

    fn number(self) -> Result<u64, ValueError> {
        duration::ticks(self).map(i64::cast_unsigned)
    }

    fn from_number(number: u64) -> Option<Self> {
        Some(duration::from_ticks(number))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::key::descending::Descending;
    use crate::key::table_key::key_text;

    fn is<T: ReadTableKey + PartialEq + Debug>(value: T, text: &str) {
        assert_eq!(key_text(&value), text);
        assert_eq!(T::read_key(text).unwrap(), value);
    }

    #[test]
    fn unsigned_numbers_are_padded() {
        is(7_u8, "007");
        is(u8::MAX, "255");
        is(7_u16, "00007");
        is(u16::MAX, "65535");
        is(7_u32, "0000000007");
        is(u32::MAX, "4294967295");
        is(7_u64, "00000000000000000007");
        is(u64::MAX, "18446744073709551615");
        assert_eq!(
            [u8::DIGITS, u16::DIGITS, u32::DIGITS, u64::DIGITS, i64::DIGITS],
            [Some(3), Some(5), Some(10), Some(20), None]
        );
    }

    #[test]
    fn signed_numbers_count_from_the_least_value() {
        is(i8::MIN, "000");
        is(-1_i8, "127");
        is(0_i8, "128");
        is(i8::MAX, "255");
        is(i16::MIN, "00000");
        is(0_i32, "2147483648");
        is(i64::MIN, "00000000000000000000");
        is(0_i64, "09223372036854775808");
        is(i64::MAX, "18446744073709551615");
    }

    #[test]
    fn ticks_have_nineteen_digits() {
        is(DateTime::MIN, &"0".repeat(19));
        is(DateTime::MAX, "3155378975999999999");
        assert!(DateTime::read_key("3155378976000000000").is_err());
    }

    #[test]
    fn descending_numbers_are_subtracted_from_the_greatest() {
        is(Descending(u8::MAX), "000");
        is(Descending(0_u16), "65535");
        is(Descending(1_u32), "4294967294");
        is(Descending(u64::MAX), "00000000000000000000");
        is(Descending(i8::MAX), "000");
        is(Descending(i8::MIN), "255");
        is(Descending(0_i64), "09223372036854775807");
        is(Descending(DateTime::MAX), &"0".repeat(19));
        is(Descending(DateTime::MIN), "3155378975999999999");
        assert_eq!(Descending::<u32>::DIGITS, None);
    }

    #[test]
    fn inverted_dates_are_those_of_the_classic_posts() {
        let first: DateTime = "2008-10-01T10:00:00Z".parse().unwrap();
        let second: DateTime = "2008-10-02T10:00:00Z".parse().unwrap();
        is(Descending(first), "2521794455999999999");
        is(Descending(second), "2521793591999999999");
        // From here on 18 digits would do, which is why the text has 19.
        let later: DateTime = "6831-02-15T14:13:20Z".parse().unwrap();
        is(Descending(later), "0999999999999999999");
    }

    #[test]
    fn other_text_is_an_error() {
        for wrong in [
            "",
            "7",
            "00000000007",
            "000000000x",
            "+000000007",
            "4294967296",
            "９９９９",
        ] {
            assert!(u32::read_key(wrong).is_err(), "{wrong}");
            assert!(Descending::<u32>::read_key(wrong).is_err(), "{wrong}");
        }
        assert!(u64::read_key("18446744073709551616").is_err());
        assert_eq!(
            u8::read_key("256").unwrap_err().to_string(),
            "expected 3 digits, at most 255, found \"256\""
        );
    }
}
