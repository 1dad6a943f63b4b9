//! Edm.DateTime.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::model::clock;
use crate::model::error::ValueError;

/// 100 ns ticks in a second.
const PER_SECOND: i64 = 10_000_000;
/// Ticks from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH: i64 = 621_355_968_000_000_000;

/// A point in time in UTC, in steps of 100 ns: what the service stores, exactly.
///
/// Holds the years 1 to 9999; the service takes 1601-01-01T00:00:00Z and later ([`DateTime::MIN_STORED`]), which is
/// checked when a value is written. Its text is RFC 3339 with at most seven fraction digits, trailing zeros left out.
///
/// ```
/// use azure_table::DateTime;
/// let posted: DateTime = "2026-01-02T03:04:05.1234567Z".parse().unwrap();
/// assert_eq!(posted.to_string(), "2026-01-02T03:04:05.1234567Z");
/// assert_eq!(DateTime::from_unix_millis(0).to_string(), "1970-01-01T00:00:00Z");
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
    /// 1601-01-01T00:00:00Z: the least value that the service stores.
    pub const MIN_STORED: Self = Self(504_911_232_000_000_000);

    /// The current time.
    pub fn now() -> Self {
        Self::try_from(clock::now()).unwrap_or(Self::MAX)
    }

    /// From .NET ticks: steps of 100 ns since 0001-01-01. `None` outside of the years 1 to 9999.
    pub const fn from_ticks(ticks: i64) -> Option<Self> {
        if ticks < Self::MIN.0 || ticks > Self::MAX.0 {
            None
        } else {
            Some(Self(ticks))
        }
    }

    /// .NET ticks: steps of 100 ns since 0001-01-01.
    pub const fn ticks(self) -> i64 {
        self.0
    }

    /// From milliseconds since 1970-01-01. Times beyond the years 1 to 9999 become the nearest end.
    pub const fn from_unix_millis(millis: i64) -> Self {
        Self::saturating(millis.saturating_mul(PER_SECOND / 1_000).saturating_add(UNIX_EPOCH))
    }

    /// From seconds since 1970-01-01. Times beyond the years 1 to 9999 become the nearest end.
    pub const fn from_unix_seconds(seconds: i64) -> Self {
        Self::saturating(seconds.saturating_mul(PER_SECOND).saturating_add(UNIX_EPOCH))
    }

    /// Milliseconds since 1970-01-01, rounded down.
    pub const fn unix_millis(self) -> i64 {
        (self.0 - UNIX_EPOCH).div_euclid(PER_SECOND / 1_000)
    }

    /// This time plus `duration` (cut to 100 ns). `None` after the year 9999.
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        let ticks = i64::try_from(duration.as_nanos() / 100).ok()?;
        Self::from_ticks(self.0.checked_add(ticks)?)
    }

    /// This time minus `duration` (cut to 100 ns). `None` before the year 1.
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        let ticks = i64::try_from(duration.as_nanos() / 100).ok()?;
        Self::from_ticks(self.0.checked_sub(ticks)?)
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

impl TryFrom<SystemTime> for DateTime {
    type Error = ValueError;

    /// Cuts to 100 ns.
    ///
    /// # Errors
    /// Before the year 1 or after the year 9999.
    fn try_from(time: SystemTime) -> Result<Self, ValueError> {
        let outside = || ValueError::new("the time is outside of the years 1 to 9999");
        let epoch = Self(UNIX_EPOCH);
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => epoch.checked_add(after).ok_or_else(outside),
            Err(before) => epoch.checked_sub(before.duration()).ok_or_else(outside),
        }
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = i128::from(self.0 - UNIX_EPOCH) * 100;
        let civil = OffsetDateTime::from_unix_timestamp_nanos(nanos).map_err(|_| fmt::Error)?;
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            civil.year(),
            u8::from(civil.month()),
            civil.day(),
            civil.hour(),
            civil.minute(),
            civil.second()
        )?;
        let (mut fraction, mut width) = (self.0 % PER_SECOND, 7);
        if fraction != 0 {
            while fraction % 10 == 0 {
                fraction /= 10;
                width -= 1;
            }
            write!(f, ".{fraction:0width$}")?;
        }
        f.write_str("Z")
    }
}

impl fmt::Debug for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for DateTime {
    type Err = ValueError;

    /// Reads RFC 3339; an offset is turned into UTC, digits beyond 100 ns are cut.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let invalid = || ValueError::expected("a date and time such as 2026-01-02T03:04:05Z", format_args!("{text:?}"));
        let civil = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| invalid())?;
        let ticks = civil.unix_timestamp_nanos().div_euclid(100) + i128::from(UNIX_EPOCH);
        i64::try_from(ticks).ok().and_then(Self::from_ticks).ok_or_else(invalid)
    }
}

impl Serialize for DateTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DateTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_text_agree_at_the_edges() {
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
        assert_eq!(DateTime::MIN.checked_sub(Duration::from_nanos(100)), None);
        assert_eq!(DateTime::MAX.checked_add(Duration::from_nanos(100)), None);
        assert_eq!(DateTime::from_ticks(-1), None);
    }

    #[test]
    fn offsets_become_utc_and_a_tenth_of_a_microsecond_survives() {
        let parsed: DateTime = "2026-01-02T04:04:05.0000001+01:00".parse().unwrap();
        assert_eq!(parsed.to_string(), "2026-01-02T03:04:05.0000001Z");
        for wrong in ["", "2026-01-02", "2026-13-01T00:00:00Z", "yesterday"] {
            assert!(wrong.parse::<DateTime>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_system_clock_converts_both_sides_of_1970() {
        let before = SystemTime::UNIX_EPOCH - Duration::from_millis(1_500);
        assert_eq!(
            DateTime::try_from(before).unwrap().to_string(),
            "1969-12-31T23:59:58.5Z"
        );
        assert!(DateTime::now() > DateTime::from_unix_seconds(1_700_000_000));
    }
}
