//! Whether what came is what a double was told to expect.
//!
//! Owns [`Verdict`]: what a [`Script`](crate::testing::Script) and a [`Replay`](crate::testing::Replay) found wrong,
//! and how a test hears of it, which is by a panic.

use bytes::Bytes;
use http::Response;

use crate::pipeline::transport::{Delivery, TransportError};
use crate::testing::response_template::ResponseTemplate;

/// What is wrong so far.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    unexpected: Vec<String>,
    /// Whether the test was told.
    is_told: bool,
}

impl Verdict {
    /// Takes down a request that is not expected, and answers it: with a status that no client tries again, and of
    /// which a write is not in doubt.
    pub(crate) fn refuse(&mut self, why: String) -> Result<Response<Bytes>, TransportError> {
        let answer = ResponseTemplate::new(501).code("NotExpected").message(&why).response();
        self.unexpected.push(why);
        answer.map_err(|e| TransportError::new(Delivery::NothingSent, e))
    }

    /// What a test is to hear at its end, once: what came and was not expected, and what was expected and did not come.
    pub(crate) fn tell(&mut self, who: &str, missing: &[String]) -> Option<String> {
        if self.is_told || (self.unexpected.is_empty() && missing.is_empty()) {
            return None;
        }
        self.is_told = true;
        let mut text = format!("{who}:");
        for why in &self.unexpected {
            text = format!("{text}\n  not expected: {why}");
        }
        for what in missing {
            text = format!("{text}\n  did not come: {what}");
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

/// The same when a double is dropped, where the test has not failed already.
pub(crate) fn fail_in_drop(text: Option<String>) {
    if !std::thread::panicking() {
        fail(text);
    }
}
