//! Feature `time-03`: `time::OffsetDateTime` from and to [`DateTime`], and `Date` from and to [`Day`]. `moment.rs`
//! makes them properties, key parts and operands.

use azure_table_wire::error::ValueError;
use time::{Date, Month};

use crate::entity::property::date::day_of;
use crate::key::calendar::Day;

impl TryFrom<Date> for Day {
    type Error = ValueError;

    /// # Errors
    /// The date is before the year 1 or after the year 9999.
    fn try_from(date: Date) -> Result<Self, ValueError> {
        day_of(date.year(), date.month(), date.day(), date)
    }
}

impl From<Day> for Date {
    fn from(day: Day) -> Self {
        let month = Month::try_from(day.month()).unwrap_or(Month::January);
        // Never fails: time covers the years 1 to 9999.
        Self::from_calendar_date(day.year().into(), month, day.day()).unwrap_or(Self::MAX)
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::datetime::DateTime;
    use time::{OffsetDateTime, UtcOffset};

    use super::*;
    use crate::entity::property::tests::{is_a_date, is_a_moment};

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
