//! Feature `jiff-02`: `jiff::Timestamp` from and to [`DateTime`].

use crate::error::ValueError;
use crate::value::datetime::DateTime;

impl TryFrom<jiff::Timestamp> for DateTime {
    type Error = ValueError;

    /// Rounds down to 100 ns; see [`DateTime::truncate`].
    ///
    /// # Errors
    /// The time is before the year 1.
    fn try_from(time: jiff::Timestamp) -> Result<Self, ValueError> {
        Self::from_unix_nanos(time.as_nanosecond())
    }
}

impl TryFrom<DateTime> for jiff::Timestamp {
    type Error = ValueError;

    /// # Errors
    /// The time is in the last 26 hours of the year 9999, as is [`DateTime::MAX`]: jiff ends at 9999-12-30T22:00:00Z.
    fn try_from(time: DateTime) -> Result<Self, ValueError> {
        Self::from_nanosecond(time.unix_nanos())
            .map_err(|_| ValueError::new(format!("{time} is after the greatest jiff::Timestamp {}", Self::MAX)))
    }
}
