//! Times and dates of other types than this crate's: properties and parts of keys like [`DateTime`] and `Day`, and
//! operands like `DateTime`.
//!
//! Contains the code that all of them share. A type needs `TryFrom` (or `From`) to and from the type that is stored:
//! `SystemTime` has it in `datetime.rs`, the types of other crates in `chrono.rs`, `jiff.rs` and `time.rs`.

use std::cmp::Ordering;
use std::fmt::Display;
use std::time::SystemTime;

use azure_table_wire::error::ValueError;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::property::{Property, ReadProperty};
#[cfg(any(feature = "chrono-04", feature = "jiff-02", feature = "time-03"))]
use crate::key::calendar::Day;
use crate::key::descending::{Descending, DescendingKey};
use crate::key::operand::Operand;
use crate::key::table_key::{ReadTableKey, TableKey};

/// Implements the traits for a type that is stored as another: a time as a [`DateTime`], rounded down to 100 ns, a
/// date as a `Day`.
macro_rules! stored_as {
    ($stored:ty: $($(#[$feature:meta])? $type:ty;)*) => {$(
        $(#[$feature])?
        impl Property for $type {
            type Compared = Self;
            const EDM_TYPE: EdmType = <$stored as Property>::EDM_TYPE;

            fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
                Ok(<$stored>::try_from(*self)?.to_edm()?.map(Edm::into_owned))
            }

            fn is_rounded(&self) -> bool {
                is_rounded::<$stored, _>(*self)
            }
        }

        $(#[$feature])?
        impl ReadProperty for $type {
            fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
                reached(<$stored>::from_wire(value)?)
            }
        }

        #[doc = concat!("Writes the text of `", stringify!($stored), "`.")]
        $(#[$feature])?
        impl TableKey for $type {
            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                <$stored>::try_from(*self)?.write_key(text)
            }

            fn write_nearest(&self, text: &mut String) -> Result<Ordering, ValueError> {
                self.write_key(text)?;
                Ok(is_rounded::<$stored, _>(*self).cmp(&false))
            }
        }

        $(#[$feature])?
        impl ReadTableKey for $type {
            fn read_key(text: &str) -> Result<Self, ValueError> {
                reached(<$stored>::read_key(text)?)
            }
        }

        $(#[$feature])?
        impl DescendingKey for $type {
            fn write_descending(&self, text: &mut String) -> Result<(), ValueError> {
                <$stored>::try_from(*self)?.write_descending(text)
            }

            fn read_descending(text: &str) -> Result<Self, ValueError> {
                reached(<$stored>::read_descending(text)?)
            }
        }
    )*};
}
stored_as! { DateTime:
    SystemTime;
    #[cfg(feature = "chrono-04")]
    chrono::DateTime<chrono::Utc>;
    #[cfg(feature = "jiff-02")]
    jiff::Timestamp;
    #[cfg(feature = "time-03")]
    time::OffsetDateTime;
}
#[cfg(any(feature = "chrono-04", feature = "jiff-02", feature = "time-03"))]
stored_as! { Day:
    #[cfg(feature = "chrono-04")]
    chrono::NaiveDate;
    #[cfg(feature = "jiff-02")]
    jiff::civil::Date;
    #[cfg(feature = "time-03")]
    time::Date;
}

/// Implements the operands for a time type, given its value of 1970-01-01.
macro_rules! operand {
    ($type:ty, $epoch:expr) => {
        /// Rounds down to 100 ns. A time before the year 1 or after the year 9999 is an error, except in a comparison:
        /// the nearest end compares the same with every stored time.
        #[diagnostic::do_not_recommend]
        impl Operand<DateTime> for $type {
            fn into_operand(self) -> Result<DateTime, ValueError> {
                DateTime::try_from(self)
            }

            fn into_nearest(self) -> Result<(DateTime, Ordering), ValueError> {
                Ok(match DateTime::try_from(self) {
                    Ok(time) if is_rounded::<DateTime, _>(self) => (time, Ordering::Greater),
                    Ok(time) => (time, Ordering::Equal),
                    Err(_) if self < $epoch => (DateTime::MIN, Ordering::Less),
                    Err(_) => (DateTime::MAX, Ordering::Greater),
                })
            }
        }

        /// As for a `DateTime`.
        #[diagnostic::do_not_recommend]
        impl Operand<Descending<DateTime>> for $type {
            fn into_operand(self) -> Result<Descending<DateTime>, ValueError> {
                Operand::<DateTime>::into_operand(self).map(Descending)
            }

            fn into_nearest(self) -> Result<(Descending<DateTime>, Ordering), ValueError> {
                let (time, order) = Operand::<DateTime>::into_nearest(self)?;
                Ok((Descending(time), order))
            }
        }
    };
}
operand!(SystemTime, SystemTime::UNIX_EPOCH);
#[cfg(feature = "chrono-04")]
operand!(chrono::DateTime<chrono::Utc>, chrono::DateTime::UNIX_EPOCH);
#[cfg(feature = "jiff-02")]
operand!(jiff::Timestamp, jiff::Timestamp::UNIX_EPOCH);
#[cfg(feature = "time-03")]
operand!(time::OffsetDateTime, time::OffsetDateTime::UNIX_EPOCH);

/// Returns `true` if storing the value rounds it down.
fn is_rounded<S: TryFrom<T>, T: TryFrom<S> + PartialEq + Copy>(value: T) -> bool {
    let stored = S::try_from(value).ok().and_then(|stored| T::try_from(stored).ok());
    stored.is_some_and(|stored| stored != value)
}

/// Converts a time or a date that came from the service to another type.
fn reached<S: Copy + Display, T: TryFrom<S>>(stored: S) -> Result<T, ValueError> {
    T::try_from(stored).map_err(|_| ValueError::new(format!("{stored} is beyond the range of the field's type")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::entity::property::tests::is_a_moment;

    #[test]
    fn system_time_is_a_property_and_a_key() {
        is_a_moment::<SystemTime>(DateTime::MAX);
        let before = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
        let rounded = DateTime::from_unix_seconds(0) - Duration::from_nanos(100);
        assert_eq!(before.to_edm().unwrap(), Some(Edm::DateTime(rounded)));
    }

    #[test]
    #[cfg(unix)]
    fn a_time_beyond_the_year_9999_is_an_error_in_a_key_and_the_end_to_compare() {
        let far = SystemTime::try_from(DateTime::MAX).unwrap() + Duration::from_secs(1);
        assert_eq!(
            far.to_edm().unwrap_err().to_string(),
            "the time is outside of the years 1 to 9999"
        );
        assert!(Operand::<DateTime>::into_operand(far).is_err());
        assert_eq!(
            Operand::<DateTime>::into_nearest(far).unwrap(),
            (DateTime::MAX, Ordering::Greater)
        );
    }
}
