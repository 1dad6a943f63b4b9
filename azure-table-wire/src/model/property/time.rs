//! Feature `time-03`: `time::OffsetDateTime` from and to [`DateTime`], and `Date` from and to [`Day`]. `moment.rs`
//! makes them properties, key parts and operands.

use time::{Date, Month, OffsetDateTime};

use crate::model::datetime::DateTime;
use crate::model::error::ValueError;
use crate::model::key::calendar::Day;
use crate::model::property::date::day_of;

impl TryFrom<OffsetDateTime> for DateTime {
    type Error = ValueError;

    /// Converts to UTC and rounds down to 100 ns; see [`DateTime::truncate`].
    ///
    /// # Errors
    /// Before the year 1 or after the year 9999, in UTC.
    fn try_from(time: OffsetDateTime) -> Result<Self, ValueError> {
        Self::from_unix_nanos(time.unix_timestamp_nanos())
    }
}

impl From<DateTime> for OffsetDateTime {
    /// Converts to a time in UTC.
    fn from(time: DateTime) -> Self {
        // Its range has the years 1 to 9999.
        Self::from_unix_timestamp_nanos(time.unix_nanos()).unwrap_or(Self::UNIX_EPOCH)
    }
}

impl TryFrom<Date> for Day {
    type Error = ValueError;

    /// # Errors
    /// Before the year 1 or after the year 9999.
    fn try_from(date: Date) -> Result<Self, ValueError> {
        day_of(date.year(), date.month(), date.day(), date)
    }
}

impl From<Day> for Date {
    fn from(day: Day) -> Self {
        let month = Month::try_from(day.month()).unwrap_or(Month::January);
        // Its range has the years 1 to 9999.
        Self::from_calendar_date(day.year().into(), month, day.day()).unwrap_or(Self::MAX)
    }
}

#[cfg(test)]
mod tests {
    use time::UtcOffset;

    use super::*;
    use crate::model::property::tests::{is_a_date, is_a_moment};

    #[test]
    fn date_is_a_property_and_a_key() {
        is_a_date::<Date>();
        assert_eq!(
            Day::try_from(Date::MIN).unwrap_err().to_string(),
            "the date -9999-01-01 is outside of the years 1 to 9999"
        );
    }

    #[test]
    fn offset_date_time_is_a_property_and_a_key() {
        is_a_moment::<OffsetDateTime>(DateTime::MAX);
        let utc: DateTime = "2026-01-02T03:04:05.1234567Z".parse().unwrap();
        let elsewhere = OffsetDateTime::from(utc).to_offset(UtcOffset::from_hms(-3, 30, 0).unwrap());
        assert_eq!(DateTime::try_from(elsewhere).unwrap(), utc);
        assert_eq!(OffsetDateTime::from(DateTime::MIN).year(), 1);
        let before = OffsetDateTime::from(DateTime::MIN) - std::time::Duration::from_nanos(1);
        assert!(DateTime::try_from(before).is_err());
    }
}
