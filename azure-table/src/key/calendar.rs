//! Calendar dates as key text: partitions of a year, a month, a week or a day.
//!
//! Defines [`Year`], [`Month`], [`Week`] and [`Day`]: the valid dates, and the date of a time. `calendar/fields.rs`
//! turns their fields into text, ascending and descending.

mod fields;

use std::fmt;
use std::str::FromStr;

use azure_table_wire::error::{ValueError, expected};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::datetime::civil;
use serde::{Deserialize, Serialize};

use self::fields::Calendar;
use crate::key::descending::DescendingKey;
use crate::key::table_key::{ReadTableKey, TableKey};

/// A year from 1 to 9999 in UTC, as part of a key.
///
/// Text: `2008`. [`Descending`](crate::Descending): `7991`, which is 9999 - 2008.
///
/// ```
/// use azure_table::{DateTime, Descending, TableKey};
/// use azure_table::key::Year;
/// let time: DateTime = "2008-07-03T12:00:00Z".parse().unwrap();
/// assert_eq!(Year::from(time), Year::new(2008).unwrap());
/// let mut key = String::from("Football_");
/// Descending(Year::from(time)).write_key(&mut key).unwrap();
/// assert_eq!(key, "Football_7991");
/// ```
///
/// Source: the Windows Azure Storage Team on tables, 2009 and 2010: inverted dates as keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Year([u16; 1]);

/// A month of a year, as part of a key.
///
/// Text: `2008_07`. [`Descending`](crate::Descending): `7991_06`, which is 9999 - year and 13 - month, so
/// that a month ranges from 12 (January) to 01 (December).
///
/// All months of a year have texts that begin with the year and `_`: see
/// [`prefix_range`](crate::key::prefix_range).
///
/// ```
/// use azure_table::{DateTime, Descending, TableKey};
/// use azure_table::key::Month;
/// let time: DateTime = "2008-07-03T12:00:00Z".parse().unwrap();
/// assert_eq!(Month::from(time).to_string(), "2008_07");
/// let mut key = String::from("Football_");
/// Descending(Month::from(time)).write_key(&mut key).unwrap();
/// assert_eq!(key, "Football_7991_06");
/// ```
///
/// Source: the Windows Azure Storage Team on tables, 2009 and 2010: inverted dates as keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Month([u16; 2]);

/// A week of a month, as part of a key.
///
/// Days 1 to 7 are week 1, days 29 to 31 are week 5, so a week never extends into another month.
///
/// Text: `2008_10_01`. [`Descending`](crate::Descending): `7991_03_04`, which is 9999 - year, 13 - month
/// and 5 - week, so that a week ranges from 04 (the first) to 00.
///
/// ```
/// use azure_table::{DateTime, Descending, TableKey};
/// use azure_table::key::Week;
/// let time: DateTime = "2008-10-03T12:00:00Z".parse().unwrap();
/// assert_eq!(Week::from(time).to_string(), "2008_10_01");
/// let mut key = String::from("Football_");
/// Descending(Week::from(time)).write_key(&mut key).unwrap();
/// assert_eq!(key, "Football_7991_03_04");
/// ```
///
/// Source: the Windows Azure Storage Team on tables, 2009 and 2010: inverted dates as keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Week([u16; 3]);

/// A day, as part of a key or, stored as midnight in UTC, as a property.
///
/// Text: `2010-10-23`. [`Descending`](crate::Descending): `7989-02-08`, which is 9999 - year, 12 - month
/// and 31 - day. A month ranges from 11 (January) to 00, and a day from 30 (the first) to 00. [`Month`] uses a
/// different convention.
///
/// ```
/// use azure_table::{DateTime, Descending, TableKey};
/// use azure_table::key::Day;
/// let time: DateTime = "2010-10-23T12:00:00Z".parse().unwrap();
/// assert_eq!(Day::from(time).to_string(), "2010-10-23");
/// let mut key = String::new();
/// Descending(Day::from(time)).write_key(&mut key).unwrap();
/// assert_eq!(key, "7989-02-08");
/// ```
///
/// Source: the Windows Azure Storage Team on tables, 2009 and 2010: inverted dates as keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Day([u16; 3]);

impl Year {
    /// Creates a year, or returns `None` unless it is from 1 to 9999.
    pub fn new(year: u16) -> Option<Self> {
        Self::from_fields([year])
    }

    /// Returns the first moment of the year.
    pub fn start(self) -> DateTime {
        midnight(self.year(), 1, 1)
    }
}

impl Month {
    /// Creates a month, 1 to 12, of a year. `None` if no such month exists.
    pub fn new(year: u16, month: u8) -> Option<Self> {
        Self::from_fields([year, month.into()])
    }

    /// Returns the month, 1 to 12.
    pub const fn month(self) -> u8 {
        self.0[1] as u8
    }

    /// Returns the first moment of the month.
    pub fn start(self) -> DateTime {
        midnight(self.year(), self.month(), 1)
    }
}

impl Week {
    /// Creates a week, 1 to 5, of a month. `None` if no such week exists. February has a fifth week in leap years only.
    pub fn new(year: u16, month: u8, week: u8) -> Option<Self> {
        Self::from_fields([year, month.into(), week.into()])
    }

    /// Returns the month, 1 to 12.
    pub const fn month(self) -> u8 {
        self.0[1] as u8
    }

    /// Returns the week of the month, 1 to 5.
    pub const fn week(self) -> u8 {
        self.0[2] as u8
    }

    /// Returns the first moment of the week.
    pub fn start(self) -> DateTime {
        midnight(self.year(), self.month(), self.week() * 7 - 6)
    }
}

impl Day {
    /// Creates a day of a month, both from 1. `None` if no such day exists.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        Self::from_fields([year, month.into(), day.into()])
    }

    /// Returns the month, 1 to 12.
    pub const fn month(self) -> u8 {
        self.0[1] as u8
    }

    /// Returns the day of the month, 1 to 31.
    pub const fn day(self) -> u8 {
        self.0[2] as u8
    }

    /// Returns the first moment of the day.
    pub fn start(self) -> DateTime {
        midnight(self.year(), self.month(), self.day())
    }
}

const TICKS_PER_DAY: i64 = 864_000_000_000;

fn midnight(year: u16, month: u8, day: u8) -> DateTime {
    let days = civil::days_of(year, month, day);
    // A date that exists is within the range.
    DateTime::from_ticks(i64::from(days) * TICKS_PER_DAY).unwrap_or(DateTime::MAX)
}

/// Returns the year, month and day of a time.
fn date_of(time: DateTime) -> (u16, u8, u8) {
    civil::date_of((time.ticks() / TICKS_PER_DAY) as u32)
}

macro_rules! calendar {
    ($($name:ident<$fields:literal>: $separator:literal, $mirror:expr, $example:literal, $exists:expr, $of_date:expr;)*) => {$(
        impl Calendar<$fields> for $name {
            const SEPARATOR: char = $separator;
            const MIRROR: [u16; $fields] = $mirror;

            fn from_fields(fields: [u16; $fields]) -> Option<Self> {
                let exists: fn([u16; $fields]) -> bool = $exists;
                ((1..=9_999).contains(&fields[0]) && exists(fields)).then_some(Self(fields))
            }
        }

        impl $name {
            /// Returns the year, 1 to 9999.
            pub const fn year(self) -> u16 {
                self.0[0]
            }
        }

        impl From<DateTime> for $name {
            fn from(time: DateTime) -> Self {
                let of_date: fn(u16, u16, u16) -> [u16; $fields] = $of_date;
                let (year, month, day) = date_of(time);
                Self(of_date(year, month.into(), day.into()))
            }
        }

        /// Writes the ascending key text.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fields::write(self.0, Self::SEPARATOR, f)
            }
        }

        /// Reads the ascending key text.
        impl FromStr for $name {
            type Err = ValueError;

            fn from_str(text: &str) -> Result<Self, ValueError> {
                fields::read(text, Self::SEPARATOR)
                    .and_then(Self::from_fields)
                    .ok_or_else(|| expected(concat!("text such as ", $example), format_args!("{text:?}")))
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = ValueError;

            fn try_from(text: String) -> Result<Self, ValueError> {
                text.parse()
            }
        }

        impl TableKey for $name {
            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                fields::append(self.0, Self::SEPARATOR, text);
                Ok(())
            }
        }

        impl ReadTableKey for $name {
            fn read_key(text: &str) -> Result<Self, ValueError> {
                text.parse()
            }
        }

        impl DescendingKey for $name {
            fn write_descending(&self, text: &mut String) -> Result<(), ValueError> {
                let mirrored = fields::mirrored::<$fields, Self>(self.0)
                    .ok_or_else(|| ValueError::new(format!("{self} has no descending text")))?;
                fields::append(mirrored, Self::SEPARATOR, text);
                Ok(())
            }

            fn read_descending(text: &str) -> Result<Self, ValueError> {
                fields::read(text, Self::SEPARATOR)
                    .and_then(fields::mirrored::<$fields, Self>)
                    .and_then(Self::from_fields)
                    .ok_or_else(|| {
                        expected(concat!("the inverse of text such as ", $example), format_args!("{text:?}"))
                    })
            }
        }
    )*};
}
calendar! {
    Year<1>: '_', [9_999], "2008", |_| true, |year, _, _| [year];
    Month<2>: '_', [9_999, 13], "2008_07", |[_, month]| (1..=12).contains(&month), |year, month, _| [year, month];
    Week<3>: '_', [9_999, 13, 5], "2008_10_01",
        |[year, month, week]| (1..=5).contains(&week) && has_day(year, month, week * 7 - 6),
        |year, month, day| [year, month, (day - 1) / 7 + 1];
    Day<3>: '-', [9_999, 12, 31], "2010-10-23",
        |[year, month, day]| has_day(year, month, day), |year, month, day| [year, month, day];
}

/// Returns `true` if such a day exists, all three counted from 1.
fn has_day(year: u16, month: u16, day: u16) -> bool {
    let days = u8::try_from(month).map_or(0, |month| civil::days_in_month(year, month));
    (1..=days.into()).contains(&day)
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::key::descending::Descending;
    use crate::key::table_key::key_text;

    fn has_texts<T: Copy + DescendingKey + ReadTableKey + PartialEq + Debug>(value: Option<T>, up: &str, down: &str) {
        let value = value.unwrap();
        assert_eq!((&*key_text(&value), &*key_text(&Descending(value))), (up, down));
        assert_eq!(T::read_key(up).unwrap(), value);
        assert_eq!(Descending::<T>::read_key(down).unwrap().0, value);
    }

    #[test]
    fn texts_are_those_of_the_classic_posts() {
        has_texts(Year::new(2008), "2008", "7991");
        has_texts(Month::new(2008, 7), "2008_07", "7991_06");
        has_texts(Week::new(2008, 10, 1), "2008_10_01", "7991_03_04");
        has_texts(Day::new(2010, 10, 23), "2010-10-23", "7989-02-08");
    }

    #[test]
    fn first_and_last_dates_have_texts() {
        has_texts(Year::new(1), "0001", "9998");
        has_texts(Year::new(9_999), "9999", "0000");
        has_texts(Month::new(1, 1), "0001_01", "9998_12");
        has_texts(Month::new(9_999, 12), "9999_12", "0000_01");
        has_texts(Week::new(2024, 2, 5), "2024_02_05", "7975_11_00");
        has_texts(Day::new(1, 1, 1), "0001-01-01", "9998-11-30");
        has_texts(Day::new(9_999, 12, 31), "9999-12-31", "0000-00-00");
    }

    #[test]
    fn the_days_of_a_month_are_in_five_weeks() {
        for (day, week) in [(1, 1), (7, 1), (8, 2), (14, 2), (28, 4), (29, 5), (31, 5)] {
            let time = Day::new(2008, 10, day).unwrap().start();
            assert_eq!(Week::from(time), Week::new(2008, 10, week).unwrap());
        }
        let week = Week::new(2008, 10, 2).unwrap();
        assert_eq!(week.start().to_string(), "2008-10-08T00:00:00Z");
        assert_eq!((week.year(), week.month(), week.week()), (2008, 10, 2));
        assert_eq!(
            Month::new(2008, 10).unwrap().start().to_string(),
            "2008-10-01T00:00:00Z"
        );
        assert_eq!(Year::from(DateTime::MAX).start().to_string(), "9999-01-01T00:00:00Z");
        assert_eq!(Day::from(DateTime::MAX).day(), 31);
    }

    #[test]
    fn dates_that_do_not_exist_are_rejected() {
        assert_eq!(Year::new(0), None);
        assert_eq!(Year::new(10_000), None);
        assert_eq!(Month::new(2008, 0), None);
        assert_eq!(Month::new(2008, 13), None);
        assert_eq!(Week::new(2023, 2, 5), None);
        assert_eq!(Week::new(2008, 1, 0), None);
        assert_eq!(Day::new(2023, 2, 29), None);
        assert_eq!(Day::new(2023, 1, 0), None);
        for wrong in [
            "", "2008", "2008-07", "2008_7", "2008_13", "208_007", "2008_07_", "+008_07", "10000_01",
        ] {
            assert!(Month::read_key(wrong).is_err(), "{wrong}");
        }
        for wrong in ["7991_00", "7991_13", "7991_14", "9999_01", "7991-06"] {
            assert!(Descending::<Month>::read_key(wrong).is_err(), "{wrong}");
        }
        assert!(Descending::<Day>::read_key("7976-10-02").is_err(), "29 February 2023");
        let error = Day::read_key("2010_10_23").unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected text such as 2010-10-23, found \"2010_10_23\""
        );
    }

    #[test]
    fn serde_sees_the_text() {
        let day = Day::new(2010, 10, 23).unwrap();
        assert_eq!(serde_json::to_string(&day).unwrap(), "\"2010-10-23\"");
        assert_eq!(serde_json::from_str::<Day>("\"2010-10-23\"").unwrap(), day);
        assert!(serde_json::from_str::<Day>("\"2010-02-30\"").is_err());
    }
}
