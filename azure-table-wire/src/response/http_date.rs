//! The headers `x-ms-date` and `Date`, formatted and parsed once per second: every request and every response has one.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use http::HeaderValue;

use crate::error::{Error, Result};
use crate::request::http_request::header_value;

/// The last second that can be formatted: later years have five digits.
const LAST_SECOND: u64 = 253_402_300_799;

/// The text of the second that was formatted last.
static LATEST: Mutex<Option<(u64, HeaderValue)>> = Mutex::new(None);

/// The text that was parsed last, and its time.
static PARSED: Mutex<Option<(HeaderValue, SystemTime)>> = Mutex::new(None);

/// Formats the time as a request header, to the second.
///
/// # Errors
/// - `InvalidInput`: the time is before 1970 or after 9999.
pub fn http_date(time: SystemTime) -> Result<HeaderValue> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok();
    let second = since
        .map(|since| since.as_secs())
        .filter(|second| *second <= LAST_SECOND);
    let second =
        second.ok_or_else(|| Error::invalid_input("the clock of this machine is before 1970 or after 9999"))?;
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    match &*latest {
        Some((of, text)) if *of == second => Ok(text.clone()),
        _ => {
            let text = header_value("x-ms-date", httpdate::fmt_http_date(time))?;
            *latest = Some((second, text.clone()));
            Ok(text)
        }
    }
}

/// Returns the time of a `Date` header, or `None` if it is not a date.
pub fn parsed(date: &HeaderValue) -> Option<SystemTime> {
    let mut latest = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*latest {
        Some((text, time)) if text == date => Some(*time),
        _ => {
            let time = httpdate::parse_http_date(date.to_str().ok()?).ok()?;
            // A copy: the header itself shares the memory of its response.
            *latest = Some((HeaderValue::from_bytes(date.as_bytes()).ok()?, time));
            Some(time)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_date_is_parsed() {
        let parsed = |text| parsed(&HeaderValue::from_static(text));
        for _ in 0..2 {
            for second in 0..2 {
                let text = ["Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:01 GMT"][second];
                assert_eq!(
                    parsed(text),
                    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(second as u64))
                );
            }
            assert_eq!(parsed("soon"), None);
        }
    }

    #[test]
    fn each_second_is_formatted() {
        let at = |millis| SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        for millis in [0, 999, 1_000, 1_001, 999, 86_400_000] {
            assert_eq!(http_date(at(millis)).unwrap(), httpdate::fmt_http_date(at(millis)));
        }
        assert!(http_date(at(LAST_SECOND * 1_000)).is_ok());
        for time in [
            at(LAST_SECOND * 1_000 + 1_000),
            SystemTime::UNIX_EPOCH - Duration::from_secs(1),
        ] {
            assert_eq!(
                http_date(time).unwrap_err().kind(),
                crate::error::ErrorKind::InvalidInput
            );
        }
    }
}
