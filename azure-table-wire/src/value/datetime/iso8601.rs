//! The text of a date in the service's own form, `yyyy-MM-ddTHH:mm:ss[.f]Z` with one to seven fraction digits.
//!
//! Reading and writing are handwritten, because every row of a response has at least one date. The `time` crate reads
//! other forms of RFC 3339 (offsets, more digits), in `datetime.rs`.

use super::{PER_SECOND, civil};

const SECONDS_PER_DAY: u64 = 86_400;

/// Returns the ticks of a text of this form. `None` for any other text, which may still be a valid date.
#[inline]
pub(super) fn read(text: &str) -> Option<i64> {
    let (seconds, rest) = text.as_bytes().split_first_chunk::<{ "2026-01-02T03:04:05".len() }>()?;
    let rest = rest.strip_suffix(b"Z")?;
    if [4, 7, 10, 13, 16].map(|at| seconds[at]) != *b"--T::" {
        return None;
    }
    let (year, month, day) = (
        number(&seconds[..4])?,
        number(&seconds[5..7])?,
        number(&seconds[8..10])?,
    );
    let (hour, minute, second) = (
        number(&seconds[11..13])?,
        number(&seconds[14..16])?,
        number(&seconds[17..])?,
    );
    let (year, month, day) = (year as u16, month as u8, day as u8);
    // The `time` crate checks second 60, because it knows the leap seconds.
    if year == 0 || day == 0 || day > civil::days_in_month(year, month) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction = match rest {
        [] => 0,
        [b'.', digits @ ..] if (1..=7).contains(&digits.len()) => number(digits)? * 10_u32.pow(7 - digits.len() as u32),
        _ => return None,
    };
    let seconds =
        u64::from(civil::days_of(year, month, day)) * SECONDS_PER_DAY + u64::from(hour * 3_600 + minute * 60 + second);
    Some(seconds as i64 * PER_SECOND + i64::from(fraction))
}

/// Parses at most nine digits.
fn number(digits: &[u8]) -> Option<u32> {
    let mut number = 0;
    for digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        number = number * 10 + u32::from(value);
    }
    Some(number)
}

/// Returns the text in ASCII, and its length, for ticks from 0 to the end of the year 9999.
///
/// Trailing zeros of the fraction are left out.
pub(super) fn ascii(ticks: i64) -> ([u8; 28], usize) {
    let (seconds, fraction) = (ticks / PER_SECOND, (ticks % PER_SECOND) as u32);
    let (days, second) = (
        seconds as u64 / SECONDS_PER_DAY,
        (seconds as u64 % SECONDS_PER_DAY) as u32,
    );
    let (year, month, day) = civil::date_of(days as u32);

    let mut buffer = *b"0000-00-00T00:00:00.0000000Z";
    put(&mut buffer[0..4], year.into());
    put(&mut buffer[5..7], month.into());
    put(&mut buffer[8..10], day.into());
    put(&mut buffer[11..13], second / 3_600);
    put(&mut buffer[14..16], second / 60 % 60);
    put(&mut buffer[17..19], second % 60);
    let end = match fraction {
        0 => 19,
        _ => {
            // In two parts, which the processor can compute in parallel.
            put(&mut buffer[20..23], fraction / 10_000);
            put(&mut buffer[23..27], fraction % 10_000);
            27 - buffer[20..27].iter().rev().take_while(|&&digit| digit == b'0').count()
        }
    };
    buffer[end] = b'Z';
    (buffer, end + 1)
}

/// Fills `place` with the digits of a number that has at most as many.
fn put(place: &mut [u8], mut number: u32) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_services_own_form_is_read_here() {
        assert_eq!(read("0001-01-01T00:00:00Z"), Some(0));
        assert_eq!(read("0001-01-01T00:00:00.0000001Z"), Some(1));
        assert_eq!(read("0001-01-01T00:00:01.5Z"), Some(15_000_000));
        for other in [
            "",
            "Z",
            "0000-01-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2016-12-31T23:59:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.12345678Z",
            "2026-01-01T00:00:00.+1Z",
            "2026-01-01T00:00:00,1Z",
            "2026-01-01t00:00:00z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00+00:00",
            "2026-01-01T00:00:0xZ",
            "+026-01-01T00:00:00Z",
            "2026-01-01T00:00:00",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
        assert!(read("2024-02-29T00:00:00Z").is_some());
    }
}
