//! Exponential backoff.

use std::time::Duration;

use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};

/// The default number of attempts after the first.
pub(crate) const RETRIES: u32 = 3;
/// The default wait before the first retry. Later waits double.
const DELAY: Duration = Duration::from_millis(400);

/// Exponential backoff: retries transient failures, with waits that double and ±20 % of jitter.
///
/// The default sends three retries: [the guide](crate::guide::retries#retry-policies) has their waits. They are long
/// enough for a short stall of a partition, and short enough to report a wrong URL within three seconds. After a
/// throttled attempt the first wait is about 1 s, because a partition over its target stays throttled for seconds.
/// [`storage_client_2010`](Self::storage_client_2010) has the waits of the storage clients of that year.
///
/// If the service requests a wait longer than `max`, the policy does not retry:
/// [`Error::retry_after`](crate::Error::retry_after) has that wait.
///
/// The wait before retry n, from 0: `min(min + U(0.8, 1.2) · min((2ⁿ − 1) · delta, max), max)`. The default also
/// spreads `min` by ±20 %.
///
/// Source: the retry policies of the .NET storage client library.
#[derive(Clone, Debug)]
pub struct ExponentialRetry {
    min: Duration,
    delta: Duration,
    max: Duration,
    retries: u32,
    /// The minimum of the first wait after a throttled attempt.
    throttled: Duration,
    /// The first wait has jitter too.
    spreads_first: bool,
}

impl Default for ExponentialRetry {
    fn default() -> Self {
        Self {
            throttled: Duration::from_secs(1),
            spreads_first: true,
            ..Self::new(DELAY, DELAY, Duration::from_secs(20), RETRIES)
        }
    }
}

impl ExponentialRetry {
    /// Creates a policy that waits at least `min` and at most `max`, growing by `delta`.
    ///
    /// It allows up to `retries` attempts after the first.
    pub const fn new(min: Duration, delta: Duration, max: Duration, retries: u32) -> Self {
        Self {
            min,
            delta,
            max,
            retries,
            throttled: Duration::ZERO,
            spreads_first: false,
        }
    }

    /// Creates a policy with the waits of the storage clients of 2010: 3 s, 27 to 39 s, 75 to 90 s.
    pub const fn storage_client_2010() -> Self {
        Self::new(
            Duration::from_secs(3),
            Duration::from_secs(30),
            Duration::from_secs(90),
            3,
        )
    }

    /// Sets the wait before the first retry. Later waits double.
    #[must_use]
    pub const fn delay(mut self, delay: Duration) -> Self {
        self.min = delay;
        self.delta = delay;
        self
    }

    /// Sets the longest wait. A response that requests a longer one ends the retries.
    #[must_use]
    pub const fn max_delay(mut self, max: Duration) -> Self {
        self.max = max;
        self
    }

    /// Sets the number of attempts after the first.
    #[must_use]
    pub const fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    fn wait(&self, failed: &FailedAttempt<'_>) -> Duration {
        let chance = || 0.8 + 0.4 * fastrand::f64();
        let doublings = failed.attempt().saturating_sub(1).min(16);
        let first = if self.spreads_first {
            self.min.mul_f64(chance())
        } else {
            self.min
        };
        let grown = self
            .delta
            .saturating_mul((1 << doublings) - 1)
            .min(self.max)
            .mul_f64(chance());
        let wait = (first + grown).min(self.max);
        if failed.is_throttled() {
            wait.max(self.throttled.mul_f64(chance()).min(self.max))
        } else {
            wait
        }
    }
}

impl RetryPolicy for ExponentialRetry {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        if failed.attempt() > self.retries || !failed.is_transient() {
            return Decision::Stop;
        }
        match failed.retry_after() {
            // If the service requests a longer wait than `max`, the caller decides: the error has the wait.
            Some(requested) if requested > self.max => Decision::Stop,
            _ => Decision::after(self.wait(failed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::transport::Delivery;

    use super::*;

    fn waits(policy: &ExponentialRetry, status: u16, code: Option<&'static str>) -> Vec<u128> {
        (1..)
            .map(|attempt| policy.decide(&FailedAttempt::with_response(status, code).at(attempt, Duration::ZERO)))
            .map_while(|decision| match decision {
                Decision::Retry { wait, .. } => Some(wait.as_millis()),
                Decision::Stop => None,
            })
            .collect()
    }

    #[test]
    fn only_transient_failures_are_retried() {
        let policy = ExponentialRetry::default();
        for status in [408, 429, 500, 502, 503, 504] {
            assert_eq!(waits(&policy, status, None).len(), 3, "{status}");
        }
        assert_eq!(waits(&ExponentialRetry::default().retries(5), 500, None).len(), 5);
        for status in [400, 401, 403, 404, 409, 412, 413, 501, 505] {
            assert_eq!(waits(&policy, status, None), [], "{status}");
        }
        for reached in [Delivery::NothingSent, Delivery::MaybeSent, Delivery::ResponseCut] {
            assert_ne!(policy.decide(&FailedAttempt::without_response(reached)), Decision::Stop);
        }
    }

    #[test]
    fn default_is_documented_in_the_guide() {
        let waits = (0..RETRIES).map(|n| format!("{}", (DELAY * 2_u32.pow(n)).as_secs_f64()));
        let waits = waits.collect::<Vec<_>>().join(", ");
        let guide = include_str!("../../guide/retries.md");
        assert!(guide.contains(&format!("about {waits} s")), "{waits}");
    }

    #[test]
    fn delays_can_be_set() {
        let policy = ExponentialRetry::default()
            .delay(Duration::from_millis(10))
            .max_delay(Duration::from_millis(50))
            .retries(4);
        let waits = waits(&policy, 500, None);
        for (waited, about) in waits.iter().zip([10, 20, 40, 50]) {
            assert!((about * 8 / 10..=50.min(about * 12 / 10)).contains(waited), "{waits:?}");
        }
        assert_eq!(waits.len(), 4);
    }

    #[test]
    fn waits_grow_within_twenty_percent() {
        for _ in 0..200 {
            let waits = waits(&ExponentialRetry::default(), 500, None);
            for (waited, about) in waits.iter().zip([400, 800, 1_600]) {
                assert!((about * 8 / 10..=about * 12 / 10).contains(waited), "{waits:?}");
            }
        }
        let throttled = waits(&ExponentialRetry::default(), 503, Some("ServerBusy"));
        assert!((800..=1_200).contains(&throttled[0]), "{throttled:?}");
    }

    #[test]
    fn waits_of_2010_are_the_published_ones() {
        for _ in 0..200 {
            let waits = waits(&ExponentialRetry::storage_client_2010(), 500, None);
            assert_eq!(waits[0], 3_000);
            assert!((27_000..=39_000).contains(&waits[1]), "{waits:?}");
            assert!((75_000..=90_000).contains(&waits[2]), "{waits:?}");
        }
    }

    #[test]
    fn request_for_more_than_the_longest_wait_ends_the_call() {
        let mut failed = FailedAttempt::with_response(503, None);
        failed.requested_wait = Some(Duration::from_secs(86_400));
        assert_eq!(ExponentialRetry::default().decide(&failed), Decision::Stop);
        failed.requested_wait = Some(Duration::from_secs(20));
        assert_ne!(ExponentialRetry::default().decide(&failed), Decision::Stop);
    }
}
