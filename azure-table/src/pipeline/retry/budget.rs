//! The budget of retries that successful calls earn.
//!
//! Defines [`RetryBudget`]. The policy that spends it is [`WithBudget`](super::decorator::WithBudget).
//!
//! The balance is one number that returns to a floor over time: a leaky bucket with a constant inflow. Recent traffic
//! counts, old traffic does not, and no list of calls is kept.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table_wire::value::clock::Instant;

/// The defaults: the share of a retry that a successful call earns, and the retries that each second earns.
const SHARE: f64 = 0.2;
const PER_SECOND: u32 = 10;
/// The time after which about a third of the earned retries is left.
const WINDOW: Duration = Duration::from_secs(10);

/// A budget that limits retries to a share of the calls that succeeded recently.
///
/// While a service works, successful calls earn retries, so any number of callers survives a short failure. While it is
/// down, nothing is earned: the retries are soon spent, and do not overload the service when it recovers. First
/// attempts are never delayed.
///
/// By default, each successful call earns 0.2 retries, and each second 10 more. A retry costs 1. Earnings expire within
/// about 10 s:
///
/// | recent traffic | retries at the start of an outage |
/// |---|--:|
/// | none, such as a new client's | 100 |
/// | 100 successful calls/s | 300 |
/// | 10,000 successful calls/s | 20,100 |
///
/// In a lasting outage, 10 retries per second are sent, whatever the traffic.
///
/// Clones share the balance: pass one budget to all clients of an endpoint. By default, every client has its own. The
/// batches of a [`Bulk`](crate::Bulk) spend none, because its [`concurrency`](crate::Bulk::concurrency) already limits
/// them.
///
/// Source: the retry budget of Twitter's Finagle, with its defaults; "Site Reliability Engineering" (2016), chapter 21.
#[derive(Clone)]
pub struct RetryBudget {
    balance: Arc<Mutex<Balance>>,
    share: f64,
}

struct Balance {
    retries: f64,
    /// The balance without traffic.
    floor: f64,
    at: Instant,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::new(SHARE, PER_SECOND)
    }
}

impl RetryBudget {
    /// Creates a budget: each successful call earns `share` of a retry, and each second `per_second` retries.
    ///
    /// `share` is from 0 to 1. A share of 0.2 allows 20 retries for 100 successful calls.
    pub fn new(share: f64, per_second: u32) -> Self {
        let floor = f64::from(per_second) * WINDOW.as_secs_f64();
        Self {
            balance: Arc::new(Mutex::new(Balance {
                retries: floor,
                floor,
                at: Instant::now(),
            })),
            share: if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) },
        }
    }

    /// Returns the number of retries that may be sent now.
    pub fn available(&self) -> u32 {
        // The conversion saturates.
        self.now().retries as u32
    }

    /// Spends a retry. Returns `false` if none is left.
    pub(super) fn spend(&self) -> bool {
        let mut balance = self.now();
        let is_left = balance.retries >= 1.0;
        if is_left {
            balance.retries -= 1.0;
        }
        is_left
    }

    /// Returns a retry that was spent and never sent.
    pub(super) fn refund(&self) {
        self.now().retries += 1.0;
    }

    /// Earns the share of a successful call.
    pub(super) fn earn(&self) {
        self.now().retries += self.share;
    }

    /// Returns the current balance.
    fn now(&self) -> MutexGuard<'_, Balance> {
        let mut balance = self.balance.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let passed = now.saturating_duration_since(balance.at);
        if !passed.is_zero() {
            let kept = (-passed.as_secs_f64() / WINDOW.as_secs_f64()).exp();
            balance.retries = balance.floor + (balance.retries - balance.floor) * kept;
            balance.at = now;
        }
        balance
    }
}

impl fmt::Debug for RetryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RetryBudget({} retries)", self.available())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::retry::linear::LinearRetry;
    use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};

    fn always(budget: &RetryBudget) -> impl RetryPolicy {
        LinearRetry::new(Duration::ZERO, 1_000_000).budget(budget.clone())
    }

    fn retries(policy: &impl RetryPolicy) -> usize {
        let failed = FailedAttempt::with_response(500, None);
        (0..100_000)
            .take_while(|_| policy.decide(&failed) != Decision::Stop)
            .count()
    }

    #[tokio::test(start_paused = true)]
    async fn new_budget_has_ten_seconds_of_its_floor_and_refills_as_fast() {
        let budget = RetryBudget::default();
        let policy = always(&budget);
        assert_eq!((retries(&policy), budget.available()), (100, 0));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(retries(&policy), 9);
        tokio::time::advance(Duration::from_secs(100)).await;
        assert!((99..=100).contains(&budget.available()), "{budget:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn successful_calls_earn_retries_that_expire() {
        let budget = RetryBudget::new(0.2, 0);
        let policy = always(&budget);
        assert_eq!(retries(&policy), 0);
        for _ in 0..1_000 {
            policy.succeeded(1);
        }
        assert!((199..=200).contains(&budget.available()), "{budget:?}");
        tokio::time::advance(WINDOW).await;
        assert_eq!(budget.available(), 73, "a third is left");
        tokio::time::advance(6 * WINDOW).await;
        assert_eq!(budget.available(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn steady_traffic_keeps_the_retries_of_its_window() {
        let budget = RetryBudget::default();
        for _ in 0..60_000 {
            tokio::time::advance(Duration::from_millis(1)).await;
            budget.earn();
        }
        assert!((2_080..=2_110).contains(&budget.available()), "{budget:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn retry_that_is_never_sent_is_refunded() {
        let budget = RetryBudget::default();
        let policy = always(&budget);
        assert_ne!(policy.decide(&FailedAttempt::with_response(500, None)), Decision::Stop);
        assert_eq!(budget.available(), 99);
        policy.retry_cancelled();
        assert_eq!(budget.available(), 100);
    }

    #[tokio::test(start_paused = true)]
    async fn budget_beneath_an_empty_one_is_refunded() {
        let (tenant, shared) = (RetryBudget::default(), RetryBudget::new(0.2, 0));
        let policy = always(&tenant).budget(shared);
        assert_eq!(retries(&policy), 0);
        assert_eq!(tenant.available(), 100);
    }

    #[test]
    fn share_is_bounded() {
        for (share, bounded) in [(-1.0, 0.0), (f64::NAN, 0.0), (0.5, 0.5), (2.0, 1.0)] {
            assert_eq!(RetryBudget::new(share, 1).share, bounded, "{share}");
        }
    }
}
