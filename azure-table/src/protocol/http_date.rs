//! The header `x-ms-date`, formatted once per second because every request carries it.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use http::HeaderValue;

use crate::model::error::{Error, Result};
use crate::protocol::http_request::header_value;

/// The last second that can be formatted: later years have five digits.
const LAST_SECOND: u64 = 253_402_300_799;

/// The text of the second that was formatted last.
static LATEST: Mutex<Option<(u64, HeaderValue)>> = Mutex::new(None);

/// Formats the time as a request header, to the second.
///
/// # Errors
/// - `InvalidInput`: the time is before 1970 or after 9999.
pub(crate) fn http_date(time: SystemTime) -> Result<HeaderValue> {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()
        .map(|since| since.as_secs());
    let second = since.filter(|second| *second <= LAST_SECOND);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

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
            assert_eq!(http_date(time).unwrap_err().kind(), crate::ErrorKind::InvalidInput);
        }
    }
}
