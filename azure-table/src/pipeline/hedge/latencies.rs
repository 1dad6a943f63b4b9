//! The distribution of recent latencies.
//!
//! [`Latencies`] is a histogram whose buckets grow with the latency. Whatever the traffic, it keeps a number of recent
//! latencies, not a period of time. Every read of a hedging client needs a percentile, so no list is sorted.

use std::mem;
use std::time::Duration;

/// The number of buckets per power of two of microseconds. A percentile is too long by at most an eighth.
const PER_OCTAVE: u64 = 8;
const OCTAVE_BITS: u32 = PER_OCTAVE.trailing_zeros();
/// The number of buckets up to the longest latency, 2^32 µs.
const BUCKETS: usize = 240;
/// The number of latencies after which the older half is dropped.
const GENERATION: u32 = 1_000;
/// The minimum number of latencies for a percentile.
const MIN_SAMPLES: u32 = 100;

/// Between 1,000 and 2,000 recent latencies.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    recent: Counts,
    older: Counts,
}

/// Counts of latencies by bucket. Takes no memory until the first one.
#[derive(Debug, Default)]
struct Counts {
    buckets: Vec<u32>,
    total: u32,
}

impl Latencies {
    pub(crate) fn record(&mut self, latency: Duration) {
        if self.recent.total == GENERATION {
            mem::swap(&mut self.recent, &mut self.older);
            self.recent.buckets.fill(0);
            self.recent.total = 0;
        }
        let Counts { buckets, total } = &mut self.recent;
        buckets.resize(BUCKETS, 0);
        if let Some(count) = buckets.get_mut(bucket(latency)) {
            *count += 1;
            *total += 1;
        }
    }

    /// Returns the latency that this percentage of the latencies does not exceed, or `None` with too few samples.
    pub(crate) fn percentile(&self, percent: u8) -> Option<Duration> {
        let total = self.recent.total + self.older.total;
        if total < MIN_SAMPLES {
            return None;
        }
        let rank = (total * u32::from(percent)).div_ceil(100);
        let mut seen = 0;
        let bucket = (0..BUCKETS).find(|bucket| {
            seen += self.recent.count(*bucket) + self.older.count(*bucket);
            seen >= rank
        });
        bucket.map(end)
    }
}

impl Counts {
    fn count(&self, bucket: usize) -> u32 {
        self.buckets.get(bucket).copied().unwrap_or_default()
    }
}

/// Returns the bucket of a latency. Those below 8 µs have a bucket for each microsecond.
fn bucket(latency: Duration) -> usize {
    let micros = u64::from(u32::try_from(latency.as_micros()).unwrap_or(u32::MAX));
    let octave = micros.checked_ilog2().unwrap_or_default().saturating_sub(OCTAVE_BITS);
    let in_octave = micros >> octave;
    usize::try_from(u64::from(octave) * PER_OCTAVE + in_octave).unwrap_or(BUCKETS - 1)
}

/// Returns the first latency above a bucket.
fn end(bucket: usize) -> Duration {
    let bucket = bucket as u64;
    let octave = (bucket / PER_OCTAVE).saturating_sub(1);
    Duration::from_micros((bucket - octave * PER_OCTAVE + 1) << octave)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn bucket_ends_above_its_latencies_by_at_most_an_eighth() {
        let mut micros = 0;
        while micros < 5_000_000_000_u64 {
            let latency = Duration::from_micros(micros);
            let found = bucket(latency);
            assert!(found < BUCKETS, "{micros}");
            if micros <= u64::from(u32::MAX) {
                assert!(end(found) > latency, "{micros}");
                assert!(
                    end(found).as_micros() <= u128::from(micros + micros / PER_OCTAVE + 1),
                    "{micros}: {:?}",
                    end(found)
                );
            }
            micros += 1 + micros / 100;
        }
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentile_needs_a_hundred_latencies() {
        let mut latencies = Latencies::default();
        for _ in 0..95 {
            latencies.record(10 * MILLI);
        }
        for _ in 0..4 {
            latencies.record(200 * MILLI);
        }
        assert_eq!(latencies.percentile(95), None);
        latencies.record(200 * MILLI);
        let within = |percent: u8, from: Duration| {
            let found = latencies.percentile(percent).unwrap();
            assert!((from..=from * 9 / 8).contains(&found), "{percent}: {found:?}");
        };
        within(50, 10 * MILLI);
        within(95, 10 * MILLI);
        within(96, 200 * MILLI);
        within(99, 200 * MILLI);
    }

    #[test]
    fn old_latencies_are_dropped() {
        let mut latencies = Latencies::default();
        for _ in 0..1_000 {
            latencies.record(10 * MILLI);
        }
        for _ in 0..1_000 {
            latencies.record(100 * MILLI);
        }
        assert!(latencies.percentile(50).unwrap() < 12 * MILLI, "half of them are old");
        latencies.record(100 * MILLI);
        assert!(latencies.percentile(50).unwrap() >= 100 * MILLI);
    }
}
