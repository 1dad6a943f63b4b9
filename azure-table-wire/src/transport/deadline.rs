//! The deadline of a call.

use std::time::Duration;

use crate::value::clock::{self, Instant};

/// The deadline of a call, if it has one.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    pub fn new(timeout: Option<Duration>) -> Self {
        Self(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
    }

    pub fn remaining(&self) -> Option<Duration> {
        self.0.map(|end| end.saturating_duration_since(Instant::now()))
    }

    /// Waits for `future` until the deadline. Returns `None` if the deadline passes first.
    pub async fn limit<F: Future>(&self, future: F) -> Option<F::Output> {
        match self.remaining() {
            None => Some(future.await),
            Some(left) => clock::within(left, future).await,
        }
    }
}
