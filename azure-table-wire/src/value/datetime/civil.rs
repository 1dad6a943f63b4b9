//! The Gregorian calendar: the days since 0001-01-01 as year, month and day, and back.
//!
//! It counts the days of dates in the years 1 to 9999. `iso8601.rs` handles hours, minutes and fractions;
//! `key/calendar.rs` has the calendar types of keys. The arithmetic counts years from March, so that the leap day is
//! the last day of a year.

/// Days from 0000-03-01, where the count of 400-year cycles begins, to 0001-01-01.
const SHIFT: u32 = 306;
/// Days of 400 years.
const CYCLE: u32 = 146_097;

/// Returns the days from 0001-01-01 to a date, whose month and day must exist.
pub const fn days_of(year: u16, month: u8, day: u8) -> u32 {
    let (year, month) = match month {
        1 | 2 => (year as u32 - 1, month as u32 + 9),
        _ => (year as u32, month as u32 - 3),
    };
    let (cycle, year) = (year / 400, year % 400);
    let day_of_year = (153 * month + 2) / 5 + day as u32 - 1;
    cycle * CYCLE + year * 365 + year / 4 - year / 100 + day_of_year - SHIFT
}

/// Returns the year, month and day of a number of days since 0001-01-01.
pub const fn date_of(days: u32) -> (u16, u8, u8) {
    let days = days + SHIFT;
    let (cycle, day_of_cycle) = (days / CYCLE, days % CYCLE);
    let year = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..10 => (year, month + 3),
        _ => (year + 1, month - 9),
    };
    ((cycle * 400 + year) as u16, month as u8, day as u8)
}

/// Returns the days of a month, or 0 for a month that does not exist.
pub const fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_the_years_1_to_9999_converts_to_its_number_and_back() {
        let mut days = 0;
        for year in 1..=9999 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    assert_eq!(days_of(year, month, day), days);
                    assert_eq!(date_of(days), (year, month, day));
                    days += 1;
                }
            }
        }
        assert_eq!(days, 3_652_059);
    }
}
