//! Feature `time-03`: `time::OffsetDateTime` from and to [`DateTime`].

use time::OffsetDateTime;

use crate::error::ValueError;
use crate::value::datetime::DateTime;

impl TryFrom<OffsetDateTime> for DateTime {
    type Error = ValueError;

    /// Converts to UTC and rounds down to 100 ns; see [`DateTime::truncate`].
    ///
    /// # Errors
    /// The time is before the year 1 or after the year 9999, in UTC.
    fn try_from(time: OffsetDateTime) -> Result<Self, ValueError> {
        Self::from_unix_nanos(time.unix_timestamp_nanos())
    }
}

impl From<DateTime> for OffsetDateTime {
    /// Converts to a time in UTC.
    fn from(time: DateTime) -> Self {
        // Its range includes the years 1 to 9999.
        Self::from_unix_timestamp_nanos(time.unix_nanos()).unwrap_or(Self::UNIX_EPOCH)
    }
}
