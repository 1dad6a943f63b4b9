//! Dates without a time of day: Edm.DateTime at midnight in UTC, and text such as `2010-10-23` as a key.
//!
//! Owns [`Day`] as a property, and the code shared by the dates of other crates. Such a type needs `TryFrom` to `Day`
//! and `From` a `Day`, which are in `chrono.rs`, `jiff.rs` and `time.rs`.

use crate::model::edm::{Edm, EdmType, WireValue};
use crate::model::error::ValueError;
use crate::model::key::calendar::Day;
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
use crate::model::key::{ReadTableKey, TableKey, descending::DescendingKey};
use crate::model::property::{Property, ReadProperty};

impl Property for Day {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::DateTime;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::DateTime(self.start())))
    }
}

impl ReadProperty for Day {
    /// # Errors
    /// A time that is not midnight in UTC.
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        let time = value.as_datetime()?;
        let day = Self::from(time);
        if day.start() == time {
            Ok(day)
        } else {
            Err(ValueError::new(format!(
                "{time} is not a date: it is not midnight in UTC"
            )))
        }
    }
}

/// Implements the traits for a date type of another crate, by conversion to [`Day`].
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
macro_rules! date {
    ($type:ty) => {
        impl Property for $type {
            type Compared = Self;
            const EDM_TYPE: EdmType = EdmType::DateTime;

            fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
                Ok(Some(Edm::DateTime(Day::try_from(*self)?.start())))
            }
        }

        impl ReadProperty for $type {
            fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
                Day::from_wire(value).map(Self::from)
            }
        }

        /// The text of [`Day`].
        impl TableKey for $type {
            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                Day::try_from(*self)?.write_key(text)
            }
        }

        impl ReadTableKey for $type {
            fn read_key(text: &str) -> Result<Self, ValueError> {
                Day::read_key(text).map(Self::from)
            }
        }

        impl DescendingKey for $type {
            fn write_descending(&self, text: &mut String) -> Result<(), ValueError> {
                Day::try_from(*self)?.write_descending(text)
            }

            fn read_descending(text: &str) -> Result<Self, ValueError> {
                Day::read_descending(text).map(Self::from)
            }
        }
    };
}

#[cfg(feature = "chrono")]
date!(chrono::NaiveDate);
#[cfg(feature = "jiff")]
date!(jiff::civil::Date);
#[cfg(feature = "time")]
date!(time::Date);

/// Returns the day with these numbers, which are those of `date`.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub(super) fn day_of(
    year: impl TryInto<u16>,
    month: impl TryInto<u8>,
    day: impl TryInto<u8>,
    date: impl std::fmt::Display,
) -> Result<Day, ValueError> {
    let numbers = (year.try_into().ok(), month.try_into().ok(), day.try_into().ok());
    let found = match numbers {
        (Some(year), Some(month), Some(day)) => Day::new(year, month, day),
        _ => None,
    };
    found.ok_or_else(|| ValueError::new(format!("the date {date} is outside of the years 1 to 9999")))
}

/// The tests that every date type passes.
#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::datetime::DateTime;
    use crate::model::edm::Token;

    fn stored(time: &str) -> WireValue<'static> {
        WireValue {
            annotation: Some(EdmType::DateTime),
            token: Token::Text(time.to_owned().into()),
        }
    }

    #[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
    pub(in crate::model::property) fn is_a_date<T>()
    where
        T: ReadProperty + Property + ReadTableKey + DescendingKey + From<Day> + Copy + PartialEq + std::fmt::Debug,
        Day: TryFrom<T, Error = ValueError>,
    {
        use crate::model::key::{Descending, key_text};

        for text in ["0001-01-01", "1601-01-01", "1969-12-31", "2024-02-29", "9999-12-31"] {
            let day: Day = text.parse().unwrap();
            let date = T::from(day);
            assert_eq!(Day::try_from(date).unwrap(), day);
            assert_eq!(date.to_edm().unwrap(), Some(Edm::DateTime(day.start())));
            assert_eq!(T::from_wire(stored(&day.start().to_string())).unwrap(), date);
            assert_eq!(key_text(&date), text);
            assert_eq!(T::read_key(text).unwrap(), date);
            let descending = key_text(&Descending(day));
            assert_eq!(key_text(&Descending(date)), descending);
            assert_eq!(Descending::<T>::read_key(&descending).unwrap().0, date);
        }
    }

    #[test]
    fn day_is_stored_as_midnight() {
        let day = Day::new(2010, 10, 23).unwrap();
        let time: DateTime = "2010-10-23T00:00:00Z".parse().unwrap();
        assert_eq!(day.to_edm().unwrap(), Some(Edm::DateTime(time)));
        assert_eq!(Day::from_wire(stored("2010-10-23T00:00:00Z")).unwrap(), day);
    }

    #[test]
    fn time_of_day_is_an_error() {
        let error = Day::from_wire(stored("2010-10-23T00:00:00.0000001Z")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "2010-10-23T00:00:00.0000001Z is not a date: it is not midnight in UTC"
        );
    }
}
