//! The comparison of the actual with the expected requests of a test double.
//!
//! Defines [`Verdict`]: the faults that a [`Script`](crate::Script) or a [`Replay`](crate::Replay) found. It reports
//! them to the test with a panic.

use azure_table_wire::transport::{Delivery, TransportError};
use bytes::Bytes;
use http::Response;

use crate::response_template::ResponseTemplate;

/// The faults found so far.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    unexpected: Vec<String>,
    /// Set once the test was notified.
    is_reported: bool,
}

impl Verdict {
    /// Records an unexpected request and responds to it.
    ///
    /// No client retries its status, and it leaves no write in doubt.
    pub(crate) fn reject(&mut self, why: String) -> Result<Response<Bytes>, TransportError> {
        let response = ResponseTemplate::new(501).code("NotExpected").message(&why).response();
        self.unexpected.push(why);
        response.map_err(|e| TransportError::new(Delivery::NothingSent, e))
    }

    /// Returns the report for the end of the test, once: unexpected requests, and expected ones that are missing.
    pub(crate) fn tell(&mut self, who: &str, missing: &[String]) -> Option<String> {
        if self.is_reported || (self.unexpected.is_empty() && missing.is_empty()) {
            return None;
        }
        self.is_reported = true;
        let mut text = format!("{who}:");
        for why in &self.unexpected {
            text = format!("{text}\n  unexpected: {why}");
        }
        for what in missing {
            text = format!("{text}\n  not received: {what}");
        }
        Some(text)
    }
}

/// Fails the test.
#[track_caller]
#[expect(clippy::panic, reason = "a test says what failed by panicking")]
pub(crate) fn fail(text: Option<String>) {
    if let Some(text) = text {
        panic!("{text}");
    }
}

/// Fails the test when a double is dropped, unless it has failed already.
pub(crate) fn fail_in_drop(text: Option<String>) {
    if !std::thread::panicking() {
        fail(text);
    }
}
