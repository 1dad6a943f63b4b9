//! A limit on entities per second, as a token bucket.

use std::time::Duration;

use azure_table_core::model::clock::Instant;

/// A bucket that refills at a rate up to its capacity. A request for more than the capacity waits until the bucket is
/// full, and leaves a debt.
#[derive(Debug)]
pub(crate) struct Bucket {
    rate: f64,
    most: f64,
    tokens: f64,
    at: Instant,
}

impl Bucket {
    /// Creates a full bucket with the tokens of `burst`.
    pub(crate) fn full(per_second: u32, burst: Duration, now: Instant) -> Self {
        let rate = f64::from(per_second.max(1));
        let most = (rate * burst.as_secs_f64()).max(1.0);
        Self {
            rate,
            most,
            tokens: most,
            at: now,
        }
    }

    /// Returns the time until `entities` can be taken, or `None` if they can be taken now.
    pub(crate) fn wait(&mut self, entities: u64, now: Instant) -> Option<Duration> {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.rate).min(self.most);
        self.at = now;
        let missing = (entities as f64).min(self.most) - self.tokens;
        // Sums of fractions may miss a whole number in their last digits.
        (missing > 1e-6).then(|| Duration::from_secs_f64(missing / self.rate))
    }

    pub(crate) fn take(&mut self, entities: u64) {
        self.tokens -= entities as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_allows_its_rate_and_its_saved_burst() {
        let start = Instant::now();
        let mut bucket = Bucket::full(1_000, Duration::from_millis(500), start);
        let mut taken = 0;
        for millisecond in 0..10_000 {
            let now = start + Duration::from_millis(millisecond);
            while bucket.wait(100, now).is_none() {
                bucket.take(100);
                taken += 100;
            }
        }
        assert_eq!(taken, 500 + 9_900, "what it held, and 9.999 s in whole hundreds");
        let now = start + Duration::from_secs(10);
        assert_eq!(bucket.wait(100, now), None);
        bucket.take(100);
        assert_eq!(bucket.wait(100, now), Some(Duration::from_millis(100)));
    }

    #[test]
    fn request_larger_than_the_bucket_leaves_a_debt() {
        let start = Instant::now();
        let mut bucket = Bucket::full(10, Duration::from_secs(1), start);
        assert_eq!(bucket.wait(100, start), None);
        bucket.take(100);
        assert_eq!(bucket.wait(1, start), Some(Duration::from_millis(9_100)));
    }
}
