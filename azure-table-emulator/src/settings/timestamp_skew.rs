//! The Timestamps of servers whose clocks differ. No two of them are equal, because an ETag is derived from one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use azure_table_wire::value::datetime::DateTime;

/// The random differences of Timestamps from the clock. Clones share the draws.
#[derive(Clone)]
pub(crate) struct TimestampSkew {
    most: Duration,
    drawn: Arc<Mutex<Drawn>>,
}

struct Drawn {
    random: fastrand::Rng,
    /// The Timestamps that a later draw could repeat.
    recent: BTreeSet<DateTime>,
}

impl TimestampSkew {
    /// Creates skew by up to `most` in either direction.
    pub(crate) fn new(most: Duration, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let recent = BTreeSet::new();
        Self {
            most,
            drawn: Arc::new(Mutex::new(Drawn { random, recent })),
        }
    }

    /// Returns the Timestamp of a write at `time`. Each write has a later `time` than the previous one.
    pub(crate) fn of(&self, time: DateTime) -> DateTime {
        let most = (time + self.most).ticks() - time.ticks();
        let offset = {
            let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
            drawn.random.i64(-most..=most)
        };
        self.at(time, offset)
    }

    /// Returns the same with this difference in ticks, or one of a few more ticks if it would repeat a Timestamp.
    pub(crate) fn at(&self, time: DateTime, offset: i64) -> DateTime {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let first = time - self.most;
        while drawn.recent.first().is_some_and(|early| *early < first) {
            drawn.recent.pop_first();
        }
        let mut ticks = time.ticks().saturating_add(offset);
        loop {
            let drawn_time = DateTime::from_ticks(ticks).unwrap_or(DateTime::MAX);
            if drawn.recent.insert(drawn_time) || drawn_time == DateTime::MAX {
                return drawn_time;
            }
            ticks += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_surround_the_clock_and_never_repeat() {
        let started = DateTime::from_unix_seconds(1_800_000_000);
        let most = Duration::from_micros(100);
        let skew = TimestampSkew::new(most, 1);
        // Close enough that one draw in ten repeats an earlier one.
        let times: Vec<DateTime> = (0..10_000).map(|n| started + Duration::from_micros(n)).collect();
        let drawn: Vec<DateTime> = times.iter().map(|time| skew.of(*time)).collect();
        let late = Duration::from_micros(10);
        for (time, drawn) in times.iter().zip(&drawn) {
            assert!(
                *drawn >= *time - most && *drawn <= *time + most + late,
                "{drawn} at {time}"
            );
        }
        assert!(drawn.iter().zip(&times).any(|(drawn, time)| drawn < time));
        assert!(!drawn.is_sorted());
        let unique: BTreeSet<_> = drawn.iter().collect();
        assert_eq!(unique.len(), drawn.len());
        let held = skew.drawn.lock().unwrap().recent.len();
        assert!(held < 1_000, "{held} are remembered");

        let again = TimestampSkew::new(most, 1);
        assert!(times.iter().zip(&drawn).all(|(time, drawn)| again.of(*time) == *drawn));
    }
}
