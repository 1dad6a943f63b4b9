//! Whether and when to try again.
//!
//! Reads are repeated after every failure that may pass; writes only when nothing was sent, since a write whose answer
//! was lost may have been applied. Waits grow exponentially with ±20 % of chance, and never undercut what the service
//! asks for.

use std::fmt;
use std::time::Duration;

use http::HeaderMap;

use crate::pipeline::transport::Reached;
use crate::protocol::request::Effect;

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// No complete answer.
    Transport(Reached),
    /// An answer of this status.
    Status(u16),
}

/// Exponential waits between a few attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExponentialRetry {
    /// Attempts after the first.
    retries: u32,
    /// The wait before the first retry; doubled for each one after.
    first: Duration,
    most: Duration,
}

impl Default for ExponentialRetry {
    /// Three retries after about 0.4, 0.8 and 1.6 s: long enough for a partition to be moved away from a busy server's
    /// peak, short enough that a wrong address is reported within three seconds.
    fn default() -> Self {
        Self {
            retries: 3,
            first: Duration::from_millis(400),
            most: Duration::from_secs(20),
        }
    }
}

impl ExponentialRetry {
    /// How long to wait before the next attempt; `None` to give up. `attempts` were made, `floor` is what the service
    /// asks for; more than the longest wait of this policy ends the call.
    pub(crate) fn wait(
        &self,
        attempts: u32,
        effect: Effect,
        failure: Failure,
        floor: Option<Duration>,
    ) -> Option<Duration> {
        if attempts > self.retries || !may_repeat(effect, failure) {
            return None;
        }
        let grown = self
            .first
            .saturating_mul(1 << attempts.saturating_sub(1).min(16))
            .min(self.most);
        let jittered = grown.mul_f64(0.8 + 0.4 * fastrand::f64());
        match floor {
            // Who wants to wait that long says so: the caller is told instead.
            Some(floor) if floor > self.most => None,
            floor => Some(floor.map_or(jittered, |floor| jittered.max(floor))),
        }
    }
}

impl fmt::Display for ExponentialRetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "of reads {}, after {:?} ± 20 %, doubled each time up to {:?}; of writes as many where nothing was sent",
            self.retries, self.first, self.most
        )
    }
}

fn may_repeat(effect: Effect, failure: Failure) -> bool {
    match (failure, effect) {
        (Failure::Transport(Reached::NothingSent), _) => true,
        (_, Effect::Write) => false,
        (Failure::Transport(_), Effect::Read) => true,
        (Failure::Status(status), Effect::Read) => is_transient(status),
    }
}

/// Source: REST "Status and error codes"; 429 is Cosmos DB's throttling.
pub(crate) fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
}

/// The least wait that an answer asks for, in either of its headers.
pub(crate) fn wait_asked_for(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<u64>().ok();
    let millis = number("x-ms-retry-after-ms")
        .or_else(|| number("retry-after-ms"))
        .map(Duration::from_millis);
    millis.max(number("retry-after").map(Duration::from_secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: ExponentialRetry = ExponentialRetry {
        retries: 3,
        first: Duration::from_millis(400),
        most: Duration::from_secs(1),
    };

    fn wait(attempts: u32, effect: Effect, failure: Failure) -> Option<Duration> {
        RETRY.wait(attempts, effect, failure, None)
    }

    #[test]
    fn reads_are_repeated_and_writes_only_if_nothing_was_sent() {
        let lost = Failure::Transport(Reached::MaybeSent);
        let unsent = Failure::Transport(Reached::NothingSent);
        assert!(wait(1, Effect::Read, lost).is_some());
        assert!(wait(1, Effect::Read, Failure::Status(503)).is_some());
        assert_eq!(wait(1, Effect::Read, Failure::Status(404)), None);
        assert_eq!(wait(1, Effect::Read, Failure::Status(501)), None);
        assert!(wait(1, Effect::Write, unsent).is_some());
        assert_eq!(wait(1, Effect::Write, lost), None);
        assert_eq!(wait(1, Effect::Write, Failure::Transport(Reached::AnswerCut)), None);
        assert_eq!(wait(1, Effect::Write, Failure::Status(503)), None);
        assert_eq!(wait(4, Effect::Read, lost), None);
    }

    #[test]
    fn waits_grow_within_twenty_percent_up_to_the_most() {
        for (attempts, millis) in [(1, 400), (2, 800), (3, 1_000)] {
            for _ in 0..100 {
                let waited = wait(attempts, Effect::Read, Failure::Status(500)).unwrap().as_millis();
                assert!((millis * 8 / 10..=millis * 12 / 10).contains(&waited), "{waited}");
            }
        }
        let floor = Some(Duration::from_millis(900));
        assert_eq!(RETRY.wait(1, Effect::Read, Failure::Status(429), floor), floor);
        let day = Some(Duration::from_secs(86_400));
        assert_eq!(RETRY.wait(1, Effect::Read, Failure::Status(503), day), None);
    }

    #[test]
    fn the_service_may_ask_in_seconds_or_milliseconds() {
        let mut headers = HeaderMap::new();
        assert_eq!(wait_asked_for(&headers), None);
        headers.insert("x-ms-retry-after-ms", "250".parse().unwrap());
        assert_eq!(wait_asked_for(&headers), Some(Duration::from_millis(250)));
        headers.insert("retry-after", "2".parse().unwrap());
        assert_eq!(wait_asked_for(&headers), Some(Duration::from_secs(2)));
    }
}
