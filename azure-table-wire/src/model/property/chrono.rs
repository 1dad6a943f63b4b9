//! Feature `chrono-04`: `chrono::DateTime<Utc>` from and to [`DateTime`], and `NaiveDate` from and to [`Day`].
//! `moment.rs` makes them properties, key parts and operands.

use chrono::{Datelike as _, NaiveDate, Utc};

use crate::model::datetime::DateTime;
use crate::model::error::ValueError;
use crate::model::key::calendar::Day;
use crate::model::property::date::day_of;

impl TryFrom<chrono::DateTime<Utc>> for DateTime {
    type Error = ValueError;

    /// Rounds down to 100 ns; see [`DateTime::truncate`]. A leap second becomes the last 100 ns before it.
    ///
    /// # Errors
    /// Before the year 1 or after the year 9999.
    fn try_from(time: chrono::DateTime<Utc>) -> Result<Self, ValueError> {
        // In a leap second the nanoseconds exceed a second.
        let nanos = time.timestamp_subsec_nanos().min(999_999_999);
        Self::from_unix_nanos(i128::from(time.timestamp()) * 1_000_000_000 + i128::from(nanos))
    }
}

impl From<DateTime> for chrono::DateTime<Utc> {
    fn from(time: DateTime) -> Self {
        let nanos = time.unix_nanos().rem_euclid(1_000_000_000) as u32;
        // Its range is far wider than the years 1 to 9999.
        Self::from_timestamp(time.unix_seconds(), nanos).unwrap_or(Self::MAX_UTC)
    }
}

impl TryFrom<NaiveDate> for Day {
    type Error = ValueError;

    /// # Errors
    /// Before the year 1 or after the year 9999.
    fn try_from(date: NaiveDate) -> Result<Self, ValueError> {
        day_of(date.year(), date.month(), date.day(), date)
    }
}

impl From<Day> for NaiveDate {
    fn from(day: Day) -> Self {
        let date = Self::from_ymd_opt(day.year().into(), day.month().into(), day.day().into());
        // Its range is far wider than the years 1 to 9999.
        date.unwrap_or(Self::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::property::tests::{is_a_date, is_a_moment};

    #[test]
    fn naive_date_is_a_property_and_a_key() {
        is_a_date::<NaiveDate>();
        let date = NaiveDate::from_ymd_opt(-1, 2, 3).unwrap();
        assert_eq!(
            Day::try_from(date).unwrap_err().to_string(),
            "the date -0001-02-03 is outside of the years 1 to 9999"
        );
        assert!(Day::try_from(NaiveDate::MAX).is_err());
    }

    #[test]
    fn utc_time_is_a_property_and_a_key() {
        is_a_moment::<chrono::DateTime<Utc>>(DateTime::MAX);
        let time: DateTime = "2026-01-02T03:04:05.1234567Z".parse().unwrap();
        assert_eq!(
            chrono::DateTime::from(time).to_string(),
            "2026-01-02 03:04:05.123456700 UTC"
        );
        for beyond in [chrono::DateTime::<Utc>::MIN_UTC, chrono::DateTime::<Utc>::MAX_UTC] {
            assert!(DateTime::try_from(beyond).is_err());
        }
        assert_eq!(
            chrono::DateTime::from(DateTime::MIN).timestamp(),
            DateTime::MIN.unix_seconds()
        );
        let leap = chrono::DateTime::from_timestamp(1_483_228_799, 1_500_000_000).unwrap();
        assert_eq!(
            DateTime::try_from(leap).unwrap().to_string(),
            "2016-12-31T23:59:59.9999999Z"
        );
    }
}
