//! Feature `jiff-02`: `jiff::Timestamp` from and to [`DateTime`], and `civil::Date` from and to [`Day`]. `moment.rs`
//! makes them properties, key parts and operands.

use azure_table_wire::error::ValueError;
use jiff::civil::Date;

use crate::entity::property::date::day_of;
use crate::key::calendar::Day;

impl TryFrom<Date> for Day {
    type Error = ValueError;

    /// # Errors
    /// The date is before the year 1.
    fn try_from(date: Date) -> Result<Self, ValueError> {
        day_of(date.year(), date.month(), date.day(), date)
    }
}

impl From<Day> for Date {
    fn from(day: Day) -> Self {
        let year = day.year().cast_signed();
        let date = Self::new(year, day.month().cast_signed(), day.day().cast_signed());
        // Never fails: jiff covers the years 1 to 9999.
        date.unwrap_or(Self::MAX)
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::datetime::DateTime;

    use super::*;
    use crate::entity::property::tests::{is_a_date, is_a_moment};

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
