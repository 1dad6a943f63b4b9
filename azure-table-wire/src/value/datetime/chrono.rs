//! Feature `chrono-04`: `chrono::DateTime<Utc>` from and to [`DateTime`].

use chrono::Utc;

use crate::error::ValueError;
use crate::value::datetime::DateTime;

impl TryFrom<chrono::DateTime<Utc>> for DateTime {
    type Error = ValueError;

    /// Rounds down to 100 ns; see [`DateTime::truncate`]. A leap second becomes the last 100 ns before it.
    ///
    /// # Errors
    /// The time is before the year 1 or after the year 9999.
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
