//! Points in time of other types than this crate's: properties, parts of keys and operands like [`DateTime`].
//!
//! Owns the code that all of them share. A type needs `TryFrom` (or `From`) to and from `DateTime`: `SystemTime` has it
//! in `datetime.rs`, the types of other crates in `chrono.rs`, `jiff.rs` and `time.rs`.

use std::time::SystemTime;

use crate::model::datetime::DateTime;
use crate::model::edm::{Edm, EdmType, WireValue};
use crate::model::error::ValueError;
use crate::model::key::descending::{Descending, DescendingKey};
use crate::model::key::{ReadTableKey, TableKey};
use crate::model::operand::Operand;
use crate::model::property::{Property, ReadProperty};

/// Implements the traits for a time type, given its value of 1970-01-01.
macro_rules! moment {
    ($type:ty, $epoch:expr) => {
        impl Property for $type {
            type Compared = Self;
            const EDM_TYPE: EdmType = EdmType::DateTime;

            fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
                Ok(Some(Edm::DateTime(DateTime::try_from(*self)?)))
            }
        }

        impl ReadProperty for $type {
            fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
                reached(value.as_datetime()?)
            }
        }

        /// Writes the text of [`DateTime`], rounded down to 100 ns.
        impl TableKey for $type {
            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                DateTime::try_from(*self)?.write_key(text)
            }
        }

        impl ReadTableKey for $type {
            fn read_key(text: &str) -> Result<Self, ValueError> {
                reached(DateTime::read_key(text)?)
            }
        }

        impl DescendingKey for $type {
            fn write_descending(&self, text: &mut String) -> Result<(), ValueError> {
                DateTime::try_from(*self)?.write_descending(text)
            }

            fn read_descending(text: &str) -> Result<Self, ValueError> {
                reached(DateTime::read_descending(text)?)
            }
        }

        /// Rounds down to 100 ns. A time before the year 1 or after the year 9999 becomes the nearest end, which
        /// compares the same with every stored time.
        #[diagnostic::do_not_recommend]
        impl Operand<DateTime> for $type {
            fn into_operand(self) -> DateTime {
                let end = if self < $epoch {
                    DateTime::MIN
                } else {
                    DateTime::MAX
                };
                DateTime::try_from(self).unwrap_or(end)
            }
        }

        /// As for a `DateTime`.
        #[diagnostic::do_not_recommend]
        impl Operand<Descending<DateTime>> for $type {
            fn into_operand(self) -> Descending<DateTime> {
                Descending(self.into_operand())
            }
        }
    };
}

moment!(SystemTime, SystemTime::UNIX_EPOCH);
#[cfg(feature = "chrono")]
moment!(chrono::DateTime<chrono::Utc>, chrono::DateTime::UNIX_EPOCH);
#[cfg(feature = "jiff")]
moment!(jiff::Timestamp, jiff::Timestamp::UNIX_EPOCH);
#[cfg(feature = "time")]
moment!(time::OffsetDateTime, time::OffsetDateTime::UNIX_EPOCH);

/// Converts a time that came from the service to another type.
fn reached<T: TryFrom<DateTime>>(time: DateTime) -> Result<T, ValueError> {
    T::try_from(time).map_err(|_| ValueError::new(format!("{time} is beyond the range of the field's type")))
}

/// The tests that every time type passes.
#[cfg(test)]
pub(super) mod tests {
    use std::fmt::Debug;
    use std::time::Duration;

    use super::*;
    use crate::model::edm::Token;
    use crate::model::key::key_text;

    /// Asserts that `time` is written and read back, as a property and as a key. `T` holds it.
    fn survives<T>(time: DateTime)
    where
        T: ReadProperty + Property + ReadTableKey + DescendingKey + TryFrom<DateTime> + Copy + PartialEq + Debug,
        T::Error: Debug,
    {
        let value = T::try_from(time).unwrap();
        assert_eq!(value.to_edm().unwrap(), Some(Edm::DateTime(time)));
        let wire = WireValue {
            annotation: Some(EdmType::DateTime),
            token: Token::Text(time.to_string().into()),
        };
        assert_eq!(T::from_wire(wire).unwrap(), value);
        assert_eq!(key_text(&value), key_text(&time));
        assert_eq!(T::read_key(&key_text(&time)).unwrap(), value);
        let descending = key_text(&Descending(time));
        assert_eq!(key_text(&Descending(value)), descending);
        assert_eq!(Descending::<T>::read_key(&descending).unwrap().0, value);
    }

    pub(in crate::model::property) fn is_a_moment<T>(greatest: DateTime)
    where
        T: ReadProperty + Property + ReadTableKey + DescendingKey + TryFrom<DateTime> + Copy + PartialEq + Debug,
        T: Operand<DateTime> + Operand<Descending<DateTime>>,
        T::Error: Debug,
    {
        let epoch = DateTime::from_unix_seconds(0);
        let tick = Duration::from_nanos(100);
        for time in [DateTime::MIN_STORED, epoch - tick, epoch, epoch + tick, greatest] {
            survives::<T>(time);
            assert_eq!(Operand::<DateTime>::into_operand(T::try_from(time).unwrap()), time);
            assert_eq!(
                Operand::<Descending<DateTime>>::into_operand(T::try_from(time).unwrap()),
                Descending(time)
            );
        }
    }

    #[test]
    fn system_time_is_a_property_and_a_key() {
        is_a_moment::<SystemTime>(DateTime::MAX);
        let before = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
        let rounded = DateTime::from_unix_seconds(0) - Duration::from_nanos(100);
        assert_eq!(before.to_edm().unwrap(), Some(Edm::DateTime(rounded)));
    }

    #[test]
    #[cfg(unix)]
    fn a_time_beyond_the_year_9999_is_an_error_to_store_and_the_end_to_compare() {
        let far = SystemTime::try_from(DateTime::MAX).unwrap() + Duration::from_secs(1);
        assert_eq!(
            far.to_edm().unwrap_err().to_string(),
            "the time is outside of the years 1 to 9999"
        );
        assert_eq!(Operand::<DateTime>::into_operand(far), DateTime::MAX);
    }
}
