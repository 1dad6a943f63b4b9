//! The sending rate of a bulk, derived from the service's throttling responses.
//!
//! It keeps one rate for the account, and one for each throttled partition. Nothing is delayed before the first
//! throttled batch. Between two throttled batches, their scope was at its limit. The limit is the number of entities
//! accepted in between, divided by the time. The bulk sends slightly below it, then slowly faster until the next
//! throttled batch measures it again.
//!
//! Latency is not a usable signal: with four batches of a partition in flight, the partition's queue cannot grow. The
//! retry policy does not retry throttled batches here; otherwise two loops would wait for each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_wire::error::{Error, ErrorKind};
use azure_table_wire::value::clock::{self, Instant};

use crate::pipeline::next_step::MAX_REQUESTED_WAIT;
use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};

/// The share of the measured limit at which the bulk sends.
const BELOW_LIMIT: f64 = 0.985;
/// The deepest cut of a rate. If the bulk sent little, the few accepted entities do not show the limit.
const DEEPEST_CUT: f64 = 0.7;
/// The time for which a measured rate is kept before it grows. The growth then doubles after each `DOUBLING`.
///
/// A rate that was measured for a shorter time is kept for that time, and grows faster.
const HOLD: Duration = Duration::from_secs(10);
const GROWTH_PER_SECOND: f64 = 0.005;
const FIRST_GROWTH_PER_SECOND: f64 = 0.05;
const DOUBLING: Duration = Duration::from_secs(20);
const MAX_GROWTH_PER_SECOND: f64 = 0.5;
/// The delay that costs no throughput: timers have a resolution of milliseconds, and other tasks run in between.
const LATENESS: Duration = Duration::from_millis(10);
/// The first pause after a throttled batch. It doubles until a batch is accepted, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The minimum time over which a limit is measured before it is measured again.
const MEASURED: Duration = Duration::from_secs(10);
/// The time within which two throttled partitions indicate the account's limit.
const TOGETHER: Duration = Duration::from_secs(1);
/// From this number of rates on, partitions that were not throttled within `FORGOTTEN` are forgotten: they are far from
/// their limit.
const MANY_PARTITIONS: usize = 1_024;
const FORGOTTEN: Duration = Duration::from_secs(60);
/// The time without an accepted batch after which a throttled one is final.
const PATIENCE: Duration = Duration::from_secs(60);

/// The rates of a bulk. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct SendingRate(Arc<Mutex<Rates>>);

#[derive(Debug)]
struct Rates {
    account: Rate,
    partitions: HashMap<Box<str>, Rate>,
    /// The number of partitions from which on some are forgotten.
    max_partitions: usize,
    /// The partition that was throttled last, with the time.
    last_throttled: Option<(Box<str>, Instant)>,
    /// The time of the first throttled batch since the last accepted one.
    throttled_since: Option<Instant>,
    throttled: u64,
}

/// The rate of one scope.
#[derive(Debug)]
struct Rate {
    /// In entities per second; infinite while no limit is known.
    per_second: f64,
    most: f64,
    /// The time from which the next batch may be sent.
    next: Instant,
    paused_until: Instant,
    pause: Duration,
    /// The start of the measurement, and the entities accepted since.
    measured_since: Option<Instant>,
    accepted: f64,
    /// The time for which the rate was measured, up to [`MEASURED`].
    measured_for: Duration,
    /// The time at which it was last throttled.
    throttled_at: Option<Instant>,
    grown_at: Instant,
    /// `true` if a batch waited for the rate since its last growth.
    is_used: bool,
}

impl SendingRate {
    /// Creates a rate with a ceiling of entities per second across all partitions.
    pub(crate) fn new(most: Option<f64>) -> Self {
        let now = Instant::now();
        Self(Arc::new(Mutex::new(Rates {
            account: Rate::new(most.unwrap_or(f64::INFINITY), now),
            partitions: HashMap::new(),
            max_partitions: MANY_PARTITIONS,
            last_throttled: None,
            throttled_since: None,
            throttled: 0,
        })))
    }

    /// Waits until this number of entities may be sent to a partition, and returns the time.
    pub(crate) async fn acquire(&self, partition_key: &str, entities: usize) -> Instant {
        loop {
            let now = Instant::now();
            let wait = self.rates().wait(partition_key, entities, now);
            if wait.is_zero() {
                return now;
            }
            clock::sleep(wait).await;
        }
    }

    /// Counts entities that the service accepted or rejected: both show its limit.
    pub(crate) fn accepted(&self, partition_key: &str, entities: usize) {
        let now = Instant::now();
        let mut rates = self.rates();
        rates.throttled_since = None;
        rates.account.accepted(entities, now);
        if let Some(rate) = rates.partitions.get_mut(partition_key) {
            rate.accepted(entities, now);
        }
    }

    /// Counts a batch that was sent at this time and throttled. Returns `true` if it should be sent again.
    pub(crate) fn throttled(&self, partition_key: &str, sent_at: Instant, error: &Error) -> bool {
        let now = Instant::now();
        let mut rates = self.rates();
        rates.throttled += 1;
        let requested = error.retry_after().unwrap_or_default();
        if requested > MAX_REQUESTED_WAIT {
            return false;
        }
        let says_account = error.service_message().is_some_and(|text| text.contains("account"));
        let others_too = rates
            .last_throttled
            .as_ref()
            .is_some_and(|(other, at)| &**other != partition_key && now - *at < TOGETHER);
        rates.last_throttled = Some((partition_key.into(), now));
        if says_account || others_too {
            rates.account.throttled(sent_at, now, requested);
        }
        if !says_account {
            rates.forget(now);
            let rate = rates.partitions.entry(partition_key.into());
            rate.or_insert_with(|| Rate::new(f64::INFINITY, now))
                .throttled(sent_at, now, requested);
        }
        now - *rates.throttled_since.get_or_insert(now) < PATIENCE
    }

    /// Returns the number of requests that were throttled.
    pub(crate) fn throttled_requests(&self) -> u64 {
        self.rates().throttled
    }

    fn rates(&self) -> MutexGuard<'_, Rates> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rates {
    /// Limits the number of rates, since a bulk may write to any number of partitions.
    fn forget(&mut self, now: Instant) {
        if self.partitions.len() < self.max_partitions {
            return;
        }
        self.partitions
            .retain(|_, rate| rate.throttled_at.is_some_and(|at| now - at < FORGOTTEN));
        // Runs again once the number of partitions has doubled.
        self.max_partitions = MANY_PARTITIONS.max(2 * self.partitions.len());
    }

    /// Returns the time to wait.
    ///
    /// It is zero if both scopes allow it now; then the entities are counted as sent.
    fn wait(&mut self, partition_key: &str, entities: usize, now: Instant) -> Duration {
        let mut wait = self.account.wait(now);
        if let Some(rate) = self.partitions.get_mut(partition_key) {
            wait = wait.max(rate.wait(now));
        }
        if wait.is_zero() {
            self.account.leave(entities, now);
            if let Some(rate) = self.partitions.get_mut(partition_key) {
                rate.leave(entities, now);
            }
        }
        wait
    }
}

impl Rate {
    fn new(most: f64, now: Instant) -> Self {
        Self {
            per_second: most,
            most,
            next: now,
            paused_until: now,
            pause: FIRST_PAUSE,
            measured_since: None,
            accepted: 0.0,
            measured_for: MEASURED,
            throttled_at: None,
            grown_at: now,
            is_used: false,
        }
    }

    fn wait(&mut self, now: Instant) -> Duration {
        let wait = self.next.max(self.paused_until).saturating_duration_since(now);
        self.is_used |= !wait.is_zero();
        wait
    }

    fn leave(&mut self, entities: usize, now: Instant) {
        if self.per_second.is_finite() {
            // Timers are late: the unused share of the last moment may be used now.
            let begin = self.next.max(now.checked_sub(LATENESS).unwrap_or(now));
            self.next = begin + Duration::from_secs_f64(entities as f64 / self.per_second);
        }
    }

    fn accepted(&mut self, entities: usize, now: Instant) {
        self.accepted += entities as f64;
        self.pause = FIRST_PAUSE;
        let trust = self.measured_for.as_secs_f64() / MEASURED.as_secs_f64();
        let hold = HOLD.mul_f64(trust);
        let kept = self.throttled_at.map(|at| now - at);
        let kept = kept.filter(|kept| *kept >= hold && self.is_used);
        let Some(kept) = kept else {
            self.grown_at = now;
            return;
        };
        let first = (GROWTH_PER_SECOND / trust.max(1e-3)).min(FIRST_GROWTH_PER_SECOND);
        let doublings = (kept - hold).as_secs_f64() / DOUBLING.as_secs_f64();
        let growth = (first * doublings.exp2()).min(MAX_GROWTH_PER_SECOND);
        let grown = self.per_second * (1.0 + growth * (now - self.grown_at).as_secs_f64());
        self.per_second = grown.min(self.most);
        (self.grown_at, self.is_used) = (now, false);
    }

    fn throttled(&mut self, sent_at: Instant, now: Instant, requested: Duration) {
        let until = now + self.pause.max(requested);
        // Batches that were in flight together count as one throttling response.
        if self.throttled_at.is_some_and(|at| sent_at < at) {
            self.paused_until = self.paused_until.max(now + requested);
            return;
        }
        self.paused_until = self.paused_until.max(until);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        let time = self.measured_since.map(|since| now - since);
        if let Some(time) = time.filter(|_| self.accepted > 0.0) {
            let limit = self.accepted / time.as_secs_f64();
            let least = if self.per_second.is_finite() {
                DEEPEST_CUT * self.per_second
            } else {
                1.0
            };
            self.per_second = (BELOW_LIMIT * limit).max(least).max(1.0).min(self.most);
            self.measured_for = time.min(MEASURED);
        }
        // If nothing was accepted, other clients had the capacity: the time says nothing about the limit.
        if self.accepted == 0.0 || time.is_none_or(|time| time >= MEASURED) {
            (self.measured_since, self.accepted) = (Some(now), 0.0);
        }
        self.throttled_at = Some(now);
        (self.grown_at, self.next) = (now, now);
    }
}

/// The retry policy of a bulk's writes.
///
/// A throttled write is not retried by its call: the bulk sends it again, at its own rate. The underlying policy
/// retries reads within the call, which reconcile a write in doubt.
#[derive(Debug)]
struct LeavesThrottled {
    inner: Arc<dyn RetryPolicy>,
}

/// Returns the policy that leaves throttled writes to the sending rate, and other failures to `inner`.
pub(crate) fn leaving_throttled(inner: Arc<dyn RetryPolicy>) -> Arc<dyn RetryPolicy> {
    Arc::new(LeavesThrottled { inner })
}

impl RetryPolicy for LeavesThrottled {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        // After a lost response the call itself reconciles the write.
        if !failed.is_write() || !failed.is_throttled() || failed.attempt() > 1 {
            return self.inner.decide(failed);
        }
        Decision::Stop
    }

    fn for_call(&self) -> Option<Arc<dyn RetryPolicy>> {
        Some(leaving_throttled(self.inner.for_call()?))
    }

    fn succeeded(&self, attempt: u32) {
        self.inner.succeeded(attempt);
    }

    fn retry_cancelled(&self) {
        self.inner.retry_cancelled();
    }
}

/// Returns `true` if the error is throttling, and nothing was applied.
pub(crate) fn is_throttled(error: &Error) -> bool {
    error.kind() == ErrorKind::Throttled
}

#[cfg(test)]
mod tests {

    use super::*;

    fn throttled(requested: Option<Duration>) -> Error {
        let mut error = Error::new(ErrorKind::Throttled, "busy");
        error.parts_mut().retry_after = requested;
        error
    }

    #[tokio::test(start_paused = true)]
    async fn partition_waits_as_its_own_response_requests() {
        let rate = SendingRate::new(None);
        let sent_at = Instant::now();
        let requested = [Some(Duration::from_secs(20)), None];
        for (partition, requested) in ["a", "b"].into_iter().zip(requested) {
            assert!(rate.throttled(partition, sent_at, &throttled(requested)));
            tokio::time::advance(2 * TOGETHER).await;
        }
        for (partition, seconds) in [("b", 4.0..4.1), ("a", 20.0..20.1)] {
            rate.acquire(partition, 1).await;
            let elapsed = sent_at.elapsed().as_secs_f64();
            assert!(seconds.contains(&elapsed), "{partition}: {elapsed}");
        }
    }

    /// A bulk may run for days, over any number of partitions.
    #[tokio::test(start_paused = true)]
    async fn partitions_that_were_not_throttled_lately_are_forgotten() {
        let rate = SendingRate::new(None);
        let error = throttled(None);
        for partition in 0..10 * MANY_PARTITIONS {
            assert!(rate.throttled(&partition.to_string(), Instant::now(), &error));
            rate.accepted("another", 1);
            tokio::time::advance(Duration::from_millis(100)).await;
            // Partitions of the last minute are kept.
            let recent = partition.saturating_sub(500).to_string();
            assert!(
                rate.rates().partitions.contains_key(&*recent),
                "{recent} at {partition}"
            );
        }
        let known = rate.rates().partitions.len();
        assert!((600..=2 * MANY_PARTITIONS).contains(&known), "{known}");
    }
}
