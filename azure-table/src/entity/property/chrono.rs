//! Feature `chrono-04`: `chrono::DateTime<Utc>` from and to [`DateTime`], and `NaiveDate` from and to [`Day`].
//! `moment.rs` makes them properties, key parts and operands.

use azure_table_wire::error::ValueError;
use chrono::{Datelike as _, NaiveDate};

use crate::entity::property::date::day_of;
use crate::key::calendar::Day;

impl TryFrom<NaiveDate> for Day {
    type Error = ValueError;

    /// # Errors
    /// The date is before the year 1 or after the year 9999.
    fn try_from(date: NaiveDate) -> Result<Self, ValueError> {
        day_of(date.year(), date.month(), date.day(), date)
    }
}

impl From<Day> for NaiveDate {
    fn from(day: Day) -> Self {
        let date = Self::from_ymd_opt(day.year().into(), day.month().into(), day.day().into());
        // Never fails: chrono's range is far wider than the years 1 to 9999.
        date.unwrap_or(Self::MAX)
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::datetime::DateTime;
    use chrono::Utc;

    use super::*;
    use crate::entity::property::tests::{is_a_date, is_a_moment};

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
