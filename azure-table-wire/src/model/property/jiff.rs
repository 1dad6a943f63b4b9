//! Feature `jiff-02`: `jiff::Timestamp` from and to [`DateTime`], and `civil::Date` from and to [`Day`]. `moment.rs`
//! makes them properties, key parts and operands.

use jiff::civil::Date;

use crate::model::datetime::DateTime;
use crate::model::error::ValueError;
use crate::model::key::calendar::Day;
use crate::model::property::date::day_of;

impl TryFrom<jiff::Timestamp> for DateTime {
    type Error = ValueError;

    /// Rounds down to 100 ns; see [`DateTime::truncate`].
    ///
    /// # Errors
    /// Before the year 1.
    fn try_from(time: jiff::Timestamp) -> Result<Self, ValueError> {
        Self::from_unix_nanos(time.as_nanosecond())
    }
}

impl TryFrom<DateTime> for jiff::Timestamp {
    type Error = ValueError;

    /// # Errors
    /// The last 26 hours of the year 9999, [`DateTime::MAX`] among them: a timestamp ends at 9999-12-30T22:00:00Z.
    fn try_from(time: DateTime) -> Result<Self, ValueError> {
        Self::from_nanosecond(time.unix_nanos())
            .map_err(|_| ValueError::new(format!("{time} is after the greatest jiff::Timestamp {}", Self::MAX)))
    }
}

impl TryFrom<Date> for Day {
    type Error = ValueError;

    /// # Errors
    /// Before the year 1.
    fn try_from(date: Date) -> Result<Self, ValueError> {
        day_of(date.year(), date.month(), date.day(), date)
    }
}

impl From<Day> for Date {
    fn from(day: Day) -> Self {
        let year = day.year().cast_signed();
        let date = Self::new(year, day.month().cast_signed(), day.day().cast_signed());
        // Its range has the years 1 to 9999.
        date.unwrap_or(Self::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::property::tests::{is_a_date, is_a_moment};

    #[test]
    fn civil_date_is_a_property_and_a_key() {
        is_a_date::<Date>();
        assert_eq!(
            Day::try_from(jiff::civil::date(0, 2, 3)).unwrap_err().to_string(),
            "the date 0000-02-03 is outside of the years 1 to 9999"
        );
    }

    #[test]
    fn timestamp_is_a_property_and_a_key() {
        is_a_moment::<jiff::Timestamp>("9999-12-30T22:00:00Z".parse().unwrap());
        let time: DateTime = "2026-01-02T03:04:05.1234567Z".parse().unwrap();
        assert_eq!(jiff::Timestamp::try_from(time).unwrap().to_string(), time.to_string());
        assert!(DateTime::try_from(jiff::Timestamp::MIN).is_err());
        assert_eq!(
            DateTime::try_from(jiff::Timestamp::MAX).unwrap().to_string(),
            "9999-12-30T22:00:00.9999999Z"
        );
        assert_eq!(
            jiff::Timestamp::try_from(DateTime::MAX).unwrap_err().to_string(),
            "9999-12-31T23:59:59.9999999Z is after the greatest jiff::Timestamp 9999-12-30T22:00:00.999999999Z"
        );
    }
}
