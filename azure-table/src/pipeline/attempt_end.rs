//! The end of one request of a call.
//!
//! `attempt.rs` returns an [`AttemptEnd`]; the retry loop, the history and the spans read it. Its [`Rejection`] has the
//! effective status and code; for a batch, of the failed operation. This file also reads the wait that a response
//! requests.

use std::time::{Duration, SystemTime};

use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::response::{self, batch_parts};
use azure_table_wire::transport::Delivery;
use azure_table_wire::value::clock;
use bytes::Bytes;
use http::{HeaderMap, Response};

use crate::pipeline::retry::Failure;
use crate::pipeline::transport::rejected_certificate::is_certificate_rejected;
use crate::write::operation_request::OperationRequest;
use crate::write::row_write::WrittenRow;

/// The end of a call that does not fail.
#[derive(Debug)]
pub(crate) enum CallEnd {
    /// A complete response of any status.
    Responded(Response<Bytes>),
    /// The response was lost. The write was read back, and it was applied.
    ReadBack(Vec<WrittenRow>),
}

impl CallEnd {
    /// Returns the response of a call that is never read back, because it writes no rows.
    pub(crate) fn into_response(self) -> Result<Response<Bytes>> {
        match self {
            Self::Responded(response) => Ok(response),
            Self::ReadBack(_) => Err(Error::invalid_response("the response was lost")),
        }
    }
}

/// The end of an attempt.
pub(crate) struct AttemptEnd {
    pub(crate) started: SystemTime,
    pub(crate) elapsed: Duration,
    /// The time that the request was signed with.
    pub(crate) signed_at: SystemTime,
    /// The generation of the credential that authorized it.
    pub(crate) generation: u64,
    /// The response, or the progress of the request and the reason why no response arrived.
    pub(crate) outcome: Result<Response<Bytes>, (Delivery, Error)>,
    /// The rejection, if the response rejects the request.
    pub(crate) rejection: Option<Rejection>,
}

impl AttemptEnd {
    /// Returns the failure of the attempt: a rejection, or no complete response.
    pub(crate) fn failure(&self) -> Option<Failure<'_>> {
        match (&self.outcome, &self.rejection) {
            (Ok(_), rejection) => rejection
                .as_ref()
                .map(|rejection| Failure::Response(rejection.status, rejection.code.as_deref())),
            (Err((reached, _)), _) => Some(Failure::Transport(*reached)),
        }
    }

    /// Returns `true` if the attempt failed because of a certificate, so that a retry would fail too.
    pub(crate) fn is_certificate_rejected(&self) -> bool {
        matches!(&self.outcome, Err((_, error)) if is_certificate_rejected(error))
    }

    /// Returns the end of a call that ends with this attempt.
    pub(crate) fn into_call_end(self) -> Result<CallEnd> {
        self.outcome.map(CallEnd::Responded).map_err(|(_, e)| e)
    }
}

/// The status and the code of a rejection.
#[derive(Clone, Debug)]
pub(crate) struct Rejection {
    pub(crate) status: u16,
    pub(crate) code: Option<String>,
}

impl Rejection {
    /// Returns the rejection of a response, or `None` if it does not reject.
    pub(crate) fn of(call: &OperationRequest, response: &Response<Bytes>) -> Option<Self> {
        let status = response.status().as_u16();
        if status >= 400 {
            let error = response::error(response);
            // Too many requests for tokens are throttled, though with the status 401.
            let is_throttled = error.kind() == ErrorKind::Throttled && status == 401;
            return Some(Self {
                status: if is_throttled { 429 } else { status },
                code: error.code().map(str::to_owned),
            });
        }
        if !call.has_responses_inside() {
            return None;
        }
        batch_parts::part_error(response).map(|part| Self {
            status: part.status,
            code: part.code,
        })
    }
}

/// Returns the wait that a response, or the rejecting part of a batch response, requests.
pub(crate) fn requested_wait(call: &OperationRequest, response: &Response<Bytes>) -> Option<Duration> {
    let whole = wait_requested(response.headers());
    if call.has_responses_inside() && response.status().is_success() {
        let part = batch_parts::part_error(response).and_then(|part_error| wait_requested(&part_error.headers));
        return whole.max(part);
    }
    whole
}

/// Returns the minimum wait that a response requests in either of its headers.
///
/// `Retry-After` may be a number of seconds or a date.
///
/// Source: RFC 9110, section 10.2.3.
fn wait_requested(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    let millis = number("x-ms-retry-after-ms")
        .or_else(|| number("retry-after-ms"))
        .map(Duration::from_millis);
    let seconds = number("retry-after").map(Duration::from_secs);
    let until_date = || {
        let date = httpdate::parse_http_date(text("retry-after")?).ok()?;
        // Uses the clock that produced the date. A date in the past requests no wait.
        let now = response::date(headers).unwrap_or_else(clock::now);
        Some(date.duration_since(now).unwrap_or_default())
    };
    millis.max(seconds.or_else(until_date))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_in_seconds_or_milliseconds() {
        let mut headers = HeaderMap::new();
        assert_eq!(wait_requested(&headers), None);
        headers.insert("x-ms-retry-after-ms", "250".parse().unwrap());
        assert_eq!(wait_requested(&headers), Some(Duration::from_millis(250)));
        headers.insert("retry-after", "2".parse().unwrap());
        assert_eq!(wait_requested(&headers), Some(Duration::from_secs(2)));
    }

    #[test]
    fn wait_may_be_a_date() {
        let requested = |date: Option<&str>, retry_after: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", retry_after.parse().unwrap());
            if let Some(date) = date {
                headers.insert("date", date.parse().unwrap());
            }
            wait_requested(&headers)
        };
        let date = Some("Fri, 21 Nov 2036 10:00:00 GMT");
        assert_eq!(
            requested(date, "Fri, 21 Nov 2036 10:00:07 GMT"),
            Some(Duration::from_secs(7)),
            "by the service's clock"
        );
        assert_eq!(requested(date, "Fri, 21 Nov 2036 09:59:00 GMT"), Some(Duration::ZERO));
        let ahead = clock::now() + Duration::from_secs(30);
        let by_own_clock = requested(None, &httpdate::fmt_http_date(ahead)).unwrap();
        assert!((28..=30).contains(&by_own_clock.as_secs()), "{by_own_clock:?}");
        assert_eq!(requested(date, "soon"), None);
    }
}
