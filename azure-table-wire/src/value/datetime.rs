//! The EDM type `Edm.DateTime`.
//!
//! Defines [`DateTime`]: its range, its arithmetic and its conversions from and to the system's time.
//! `datetime/iso8601.rs` reads and writes its text, `datetime/forms.rs` reads the shorter forms that the service
//! accepts, and `datetime/civil.rs` is the calendar. `datetime/{chrono,jiff,time}.rs` convert the time types of other
//! crates.

#[cfg(feature = "chrono-04")]
mod chrono;
pub mod civil;
mod forms;
mod iso8601;
#[cfg(feature = "jiff-02")]
mod jiff;
#[cfg(feature = "time-03")]
mod time;

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use ::time::OffsetDateTime;
use ::time::format_description::well_known::Rfc3339;

use crate::error::{ValueError, expected};
use crate::value::clock;
use crate::value::serde_text::serde_text;

/// The ticks of 100 ns in a second.
const PER_SECOND: i64 = 10_000_000;
/// The ticks from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH: i64 = 621_355_968_000_000_000;

/// A point in time in UTC, in steps of 100 ns: exactly the precision that the service stores.
///
/// Other time types count nanoseconds. A field of such a type is silently rounded down when it is written;
/// [`truncate`](Self::truncate) rounds a value beforehand.
///
/// A `DateTime` holds the years 1 to 9999. The service only stores 1601-01-01T00:00:00Z and later
/// ([`DateTime::MIN_STORED`]); the client checks this when it writes a value. The text is RFC 3339 with at most seven
/// fraction digits, without trailing zeros.
///
/// ```
/// use azure_table::DateTime;
/// let posted: DateTime = "2026-01-02T03:04:05.1234567Z".parse().unwrap();
/// assert_eq!(posted.to_string(), "2026-01-02T03:04:05.1234567Z");
/// assert_eq!(DateTime::from_unix_millis(0).to_string(), "1970-01-01T00:00:00Z");
/// ```
///
/// The operators `+` and `-` add and subtract a [`Duration`]. The result saturates at [`DateTime::MIN`] and
/// [`DateTime::MAX`]. Use [`checked_add`](Self::checked_add) and [`checked_sub`](Self::checked_sub) to detect this.
///
/// ```
/// use std::time::Duration;
/// use azure_table::DateTime;
/// const HOUR: Duration = Duration::from_secs(3_600);
/// let posted: DateTime = "2026-01-02T03:04:05Z".parse().unwrap();
/// assert_eq!((posted + HOUR).to_string(), "2026-01-02T04:04:05Z");
/// assert_eq!(DateTime::MAX + HOUR, DateTime::MAX);
/// assert_eq!((posted + HOUR).duration_since(posted), Ok(HOUR));
/// ```
///
/// Source: REST "Understanding the Table service data model", property types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DateTime(i64);

impl DateTime {
    /// 0001-01-01T00:00:00Z.
    pub const MIN: Self = Self(0);
    /// 9999-12-31T23:59:59.9999999Z.
    pub const MAX: Self = Self(3_155_378_975_999_999_999);
    /// 1601-01-01T00:00:00Z: the earliest value that the service stores.
    pub const MIN_STORED: Self = Self(504_911_232_000_000_000);

    /// Returns the current time.
    pub fn now() -> Self {
        Self::try_from(clock::now()).unwrap_or(Self::MAX)
    }

    /// Creates a time from .NET ticks: steps of 100 ns since 0001-01-01.
    ///
    /// Returns `None` outside of the years 1 to 9999.
    pub const fn from_ticks(ticks: i64) -> Option<Self> {
        if ticks < Self::MIN.0 || ticks > Self::MAX.0 {
            None
        } else {
            Some(Self(ticks))
        }
    }

    /// Returns the time in .NET ticks: steps of 100 ns since 0001-01-01.
    pub const fn ticks(self) -> i64 {
        self.0
    }

    /// Creates a time from milliseconds since 1970-01-01. Saturates outside of the years 1 to 9999.
    pub const fn from_unix_millis(millis: i64) -> Self {
        Self::saturating(millis.saturating_mul(PER_SECOND / 1_000).saturating_add(UNIX_EPOCH))
    }

    /// Creates a time from seconds since 1970-01-01. Saturates outside of the years 1 to 9999.
    pub const fn from_unix_seconds(seconds: i64) -> Self {
        Self::saturating(seconds.saturating_mul(PER_SECOND).saturating_add(UNIX_EPOCH))
    }

    /// Returns the milliseconds since 1970-01-01, rounded down.
    pub const fn unix_millis(self) -> i64 {
        (self.0 - UNIX_EPOCH).div_euclid(PER_SECOND / 1_000)
    }

    /// Returns the seconds since 1970-01-01, rounded down.
    pub const fn unix_seconds(self) -> i64 {
        (self.0 - UNIX_EPOCH).div_euclid(PER_SECOND)
    }

    /// Adds `duration`, rounded down to 100 ns. Returns `None` after the year 9999.
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        let ticks = i64::try_from(duration.as_nanos() / 100).ok()?;
        Self::from_ticks(self.0.checked_add(ticks)?)
    }

    /// Subtracts `duration`, rounded down to 100 ns. Returns `None` before the year 1.
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        let ticks = i64::try_from(duration.as_nanos() / 100).ok()?;
        Self::from_ticks(self.0.checked_sub(ticks)?)
    }

    /// Returns the time since `earlier`, like [`SystemTime::duration_since`].
    ///
    /// # Errors
    /// `earlier` is later than this time. [`abs_diff`](Self::abs_diff) returns the difference in either order.
    pub fn duration_since(self, earlier: Self) -> Result<Duration, ValueError> {
        if self < earlier {
            return Err(ValueError::new(format!("{self} is before {earlier}")));
        }
        Ok(self.abs_diff(earlier))
    }

    /// Returns the absolute difference between two times.
    pub const fn abs_diff(self, other: Self) -> Duration {
        let ticks = self.0.abs_diff(other.0);
        let per_second = PER_SECOND as u64;
        Duration::new(ticks / per_second, (ticks % per_second) as u32 * 100)
    }

    /// Rounds a time of another type down to 100 ns, the service's precision.
    ///
    /// Most clocks count nanoseconds. If you round a value before you write it, it equals the value that you read back:
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use azure_table::DateTime;
    /// let exact = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_234);
    /// assert_eq!(DateTime::truncate(exact), SystemTime::UNIX_EPOCH + Duration::from_nanos(1_200));
    /// ```
    ///
    /// Accepts `SystemTime` and, with their features, the types of chrono, jiff and time
    /// (`DateTime::truncate(Utc::now())`). An `OffsetDateTime` becomes UTC. A time outside of the years 1 to 9999 is
    /// returned unchanged, and writing it fails.
    pub fn truncate<T>(time: T) -> T
    where
        T: Copy + TryFrom<Self>,
        Self: TryFrom<T>,
    {
        let stored = Self::try_from(time).ok();
        stored.and_then(|stored| T::try_from(stored).ok()).unwrap_or(time)
    }

    /// Returns the nanoseconds since 1970-01-01.
    pub const fn unix_nanos(self) -> i128 {
        (self.0 - UNIX_EPOCH) as i128 * 100
    }

    /// Creates a time from nanoseconds since 1970-01-01, rounded down to 100 ns.
    ///
    /// # Errors
    /// The time is outside of the years 1 to 9999.
    pub(crate) fn from_unix_nanos(nanos: i128) -> Result<Self, ValueError> {
        i64::try_from(nanos.div_euclid(100) + i128::from(UNIX_EPOCH))
            .ok()
            .and_then(Self::from_ticks)
            .ok_or_else(|| ValueError::new("the time is outside of the years 1 to 9999"))
    }

    const fn saturating(ticks: i64) -> Self {
        if ticks < Self::MIN.0 {
            Self::MIN
        } else if ticks > Self::MAX.0 {
            Self::MAX
        } else {
            Self(ticks)
        }
    }
}

/// Parses any form that the service accepts: RFC 3339, and the same without zone (UTC), seconds or time.
///
/// # Errors
/// The text has none of these forms, or the time is outside of the years 1 to 9999.
pub fn of_service(text: &str) -> Result<DateTime, ValueError> {
    text.parse().or_else(|e| match forms::completed(text) {
        Some(whole) => whole.parse().map_err(|_| e),
        None => Err(e),
    })
}

/// Returns the text, in ASCII, and its length.
pub fn ascii(time: DateTime) -> ([u8; 28], usize) {
    iso8601::ascii(time.0)
}

/// Saturates at [`DateTime::MAX`]. The duration is rounded down to 100 ns.
impl Add<Duration> for DateTime {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        self.checked_add(duration).unwrap_or(Self::MAX)
    }
}

/// Saturates at [`DateTime::MIN`]. The duration is rounded down to 100 ns.
impl Sub<Duration> for DateTime {
    type Output = Self;
    fn sub(self, duration: Duration) -> Self {
        self.checked_sub(duration).unwrap_or(Self::MIN)
    }
}

impl AddAssign<Duration> for DateTime {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl SubAssign<Duration> for DateTime {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl TryFrom<SystemTime> for DateTime {
    type Error = ValueError;

    /// Rounds down to 100 ns; see [`DateTime::truncate`].
    ///
    /// # Errors
    /// The time is before the year 1 or after the year 9999.
    fn try_from(time: SystemTime) -> Result<Self, ValueError> {
        // The nanoseconds of a Duration fit into an i128: it has at most 2^64 seconds.
        let nanos = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => after.as_nanos() as i128,
            Err(before) => -(before.duration().as_nanos() as i128),
        };
        Self::from_unix_nanos(nanos)
    }
}

impl TryFrom<DateTime> for SystemTime {
    type Error = ValueError;

    /// # Errors
    /// The time is beyond the range of the system's clock, which begins in 1601 on Windows.
    fn try_from(time: DateTime) -> Result<Self, ValueError> {
        let epoch = DateTime(UNIX_EPOCH);
        let distance = time.abs_diff(epoch);
        let system = if time < epoch {
            Self::UNIX_EPOCH.checked_sub(distance)
        } else {
            Self::UNIX_EPOCH.checked_add(distance)
        };
        system.ok_or_else(|| ValueError::new(format!("{time} is beyond the system's clock")))
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, length) = ascii(*self);
        // Digits and punctuation: never an error.
        f.pad(std::str::from_utf8(&text[..length]).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for DateTime {
    type Err = ValueError;

    /// Parses RFC 3339. Converts an offset to UTC, and silently cuts digits beyond 100 ns.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        match iso8601::read(text) {
            Some(ticks) => Ok(Self(ticks)),
            None => rfc3339(text),
        }
    }
}

/// Parses any form of RFC 3339, the service's own included.
fn rfc3339(text: &str) -> Result<DateTime, ValueError> {
    OffsetDateTime::parse(text, &Rfc3339)
        .ok()
        .and_then(|time| DateTime::from_unix_nanos(time.unix_timestamp_nanos()).ok())
        .ok_or_else(|| expected("a date and time such as 2026-01-02T03:04:05Z", format_args!("{text:?}")))
}

serde_text!(DateTime);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TICK: Duration = Duration::from_nanos(100);

    #[test]
    fn ticks_and_text_agree_at_the_ends_of_the_range() {
        for (value, text) in [
            (DateTime::MIN, "0001-01-01T00:00:00Z"),
            (DateTime::MIN_STORED, "1601-01-01T00:00:00Z"),
            (DateTime::MAX, "9999-12-31T23:59:59.9999999Z"),
            (DateTime::from_unix_seconds(-1), "1969-12-31T23:59:59Z"),
            (DateTime::from_unix_millis(1_517_966_773_840), "2018-02-07T01:26:13.84Z"),
        ] {
            assert_eq!(value.to_string(), text);
            assert_eq!(text.parse::<DateTime>().unwrap(), value);
        }
        assert_eq!(DateTime::from_ticks(-1), None);
        assert_eq!(format!("{:>22}|", DateTime::MIN), "  0001-01-01T00:00:00Z|");
    }

    #[test]
    fn operators_saturate_and_checked_arithmetic_returns_none() {
        assert_eq!(DateTime::MIN.checked_sub(TICK), None);
        assert_eq!(DateTime::MAX.checked_add(TICK), None);
        assert_eq!(DateTime::MAX.checked_add(Duration::MAX), None);
        assert_eq!(DateTime::MIN - TICK, DateTime::MIN);
        assert_eq!(DateTime::MAX + Duration::MAX, DateTime::MAX);
        let mut time = DateTime::from_unix_seconds(0);
        time += Duration::from_nanos(1_999);
        assert_eq!(time.to_string(), "1970-01-01T00:00:00.0000019Z");
        time -= Duration::from_secs(1);
        assert_eq!((time.unix_seconds(), time.unix_millis()), (-1, -1_000));
    }

    #[test]
    fn difference_of_two_times_has_no_sign() {
        let whole = DateTime::MAX.duration_since(DateTime::MIN).unwrap();
        assert_eq!(whole, Duration::new(315_537_897_599, 999_999_900));
        assert_eq!(DateTime::MIN + whole, DateTime::MAX);
        let error = DateTime::MIN.duration_since(DateTime::MIN_STORED).unwrap_err();
        assert_eq!(error.to_string(), "0001-01-01T00:00:00Z is before 1601-01-01T00:00:00Z");
        assert_eq!(DateTime::MIN.abs_diff(DateTime::MIN + TICK), TICK);
    }

    #[test]
    fn offsets_become_utc_and_100_ns_are_kept() {
        for (other, utc) in [
            ("2026-01-02T04:04:05.0000001+01:00", "2026-01-02T03:04:05.0000001Z"),
            ("2026-01-02t03:04:05.123456789z", "2026-01-02T03:04:05.1234567Z"),
            ("0001-01-01T00:30:00+00:30", "0001-01-01T00:00:00Z"),
            // A leap second.
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.9999999Z"),
        ] {
            assert_eq!(other.parse::<DateTime>().unwrap().to_string(), utc);
        }
        for wrong in [
            "",
            "2026-01-02",
            "2026-13-01T00:00:00Z",
            "0001-01-01T00:00:00+00:01",
            "yesterday",
        ] {
            assert!(wrong.parse::<DateTime>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn shorter_forms_of_the_service_are_utc() {
        for (short, utc) in [
            ("2008-07-10T00:00:00", "2008-07-10T00:00:00Z"),
            ("2023-01-01", "2023-01-01T00:00:00Z"),
            ("2023-01-01T23:00", "2023-01-01T23:00:00Z"),
            ("2023-01-01T23:00Z", "2023-01-01T23:00:00Z"),
            ("2023-01-01T23:00+02:00", "2023-01-01T21:00:00Z"),
            ("2023-01-01T23:00:01-02:00", "2023-01-02T01:00:01Z"),
            ("2023-01-01T23:00:01.1234567", "2023-01-01T23:00:01.1234567Z"),
            ("2023-01-01T23:00:01.123Z", "2023-01-01T23:00:01.123Z"),
        ] {
            assert_eq!(of_service(short).unwrap().to_string(), utc, "{short}");
        }
        for wrong in [
            "",
            "2023-01",
            "2023-1-1",
            "2023-02-29",
            "2023-01-01Z",
            "2023-01-01T",
            "2023-01-01T23",
            "2023-01-01T23:00:",
            "2023-01-01T24:00",
            "2023-01-01T23:00:00+0200",
            "2023-01-01T23:00:00,5",
            "0001-01-01T00:00+00:01",
            "tomorrow at 8",
            "2023-01-0\u{e9}",
        ] {
            assert!(of_service(wrong).is_err(), "{wrong}");
        }
        assert!(
            "2023-01-01".parse::<DateTime>().is_err(),
            "only where the service reads"
        );
    }

    #[test]
    fn system_time_converts_before_and_after_1970() {
        let before = SystemTime::UNIX_EPOCH - Duration::from_nanos(1_500_000_050);
        let rounded = DateTime::try_from(before).unwrap();
        assert_eq!(rounded.to_string(), "1969-12-31T23:59:58.4999999Z");
        assert!(before.duration_since(SystemTime::try_from(rounded).unwrap()).unwrap() < TICK);
        assert!(DateTime::now() > DateTime::from_unix_seconds(1_700_000_000));
        for edge in [DateTime::MIN_STORED, DateTime::MAX] {
            assert_eq!(DateTime::try_from(SystemTime::try_from(edge).unwrap()).unwrap(), edge);
        }
    }

    /// Formats the time as the `time` crate does, with as many fraction digits as it needs.
    fn rfc3339_of(value: DateTime) -> String {
        let time = OffsetDateTime::from_unix_timestamp_nanos(value.unix_nanos()).unwrap();
        time.format(&Rfc3339).unwrap()
    }

    proptest! {
        #[test]
        fn text_is_that_of_the_time_crate(ticks in 0..=DateTime::MAX.0, zeros in 0..=7_u32) {
            let unit = 10_i64.pow(zeros);
            let value = DateTime(ticks / unit * unit);
            let text = value.to_string();
            prop_assert_eq!(&text, &rfc3339_of(value));
            prop_assert_eq!(iso8601::read(&text), Some(value.0));
            prop_assert_eq!(rfc3339(&text).unwrap(), value);
        }

        /// The hand-written reader agrees with the `time` crate. Digits and separators are close to the form.
        #[test]
        fn reader_agrees_with_the_time_crate(
            text in "[0-9]{4}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,8})?[Zz]"
        ) {
            match iso8601::read(&text) {
                Some(ticks) => prop_assert_eq!(rfc3339(&text).unwrap().0, ticks),
                None => prop_assert_eq!(text.parse::<DateTime>().ok(), rfc3339(&text).ok()),
            }
        }
    }
}
