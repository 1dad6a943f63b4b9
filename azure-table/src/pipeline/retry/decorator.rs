//! Decorators: policies that limit another policy by attempts, time or a budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::pipeline::retry::budget::RetryBudget;
use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};

/// The cost of a retry after a throttled attempt, and after any other.
///
/// Source: the retry quota of the AWS SDKs, specification 2.1.
const THROTTLED: u32 = 5;
const TRANSIENT: u32 = 14;
/// The tokens earned by a call whose first attempt succeeds.
const EARNED: u32 = 1;

/// A policy with a limit of attempts.
///
/// Created by [`RetryPolicy::limit_attempts`].
#[derive(Clone, Debug)]
pub struct LimitAttempts<P> {
    policy: P,
    attempts: u32,
}

impl<P> LimitAttempts<P> {
    pub(crate) fn new(policy: P, attempts: u32) -> Self {
        Self { policy, attempts }
    }
}

impl<P: RetryPolicy> RetryPolicy for LimitAttempts<P> {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        if failed.attempt() >= self.attempts {
            return Decision::Stop;
        }
        self.policy.decide(failed)
    }

    fn for_call(&self) -> Option<Arc<dyn RetryPolicy>> {
        let policy = self.policy.for_call()?;
        Some(Arc::new(LimitAttempts::new(policy, self.attempts)))
    }

    fn succeeded(&self, attempt: u32) {
        self.policy.succeeded(attempt);
    }

    fn retry_cancelled(&self) {
        self.policy.retry_cancelled();
    }
}

/// A policy with a time limit.
///
/// Created by [`RetryPolicy::limit_elapsed`].
#[derive(Clone, Debug)]
pub struct LimitElapsed<P> {
    policy: P,
    elapsed: Duration,
}

impl<P> LimitElapsed<P> {
    pub(crate) fn new(policy: P, elapsed: Duration) -> Self {
        Self { policy, elapsed }
    }
}

impl<P: RetryPolicy> RetryPolicy for LimitElapsed<P> {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        let decision = self.policy.decide(failed);
        match decision {
            Decision::Retry { wait, .. } => {
                let wait = wait.max(failed.retry_after().unwrap_or_default());
                if failed.elapsed().saturating_add(wait) > self.elapsed {
                    self.policy.retry_cancelled();
                    Decision::Stop
                } else {
                    decision
                }
            }
            Decision::Stop => Decision::Stop,
        }
    }

    fn for_call(&self) -> Option<Arc<dyn RetryPolicy>> {
        let policy = self.policy.for_call()?;
        Some(Arc::new(LimitElapsed::new(policy, self.elapsed)))
    }

    fn succeeded(&self, attempt: u32) {
        self.policy.succeeded(attempt);
    }

    fn retry_cancelled(&self) {
        self.policy.retry_cancelled();
    }
}

/// Delegates to the shared policy.
impl RetryPolicy for Arc<dyn RetryPolicy> {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        (**self).decide(failed)
    }

    fn for_call(&self) -> Option<Arc<dyn RetryPolicy>> {
        (**self).for_call()
    }

    fn succeeded(&self, attempt: u32) {
        (**self).succeeded(attempt);
    }

    fn retry_cancelled(&self) {
        (**self).retry_cancelled();
    }
}

/// A policy whose retries cost tokens.
///
/// Created by [`RetryPolicy::budget`].
#[derive(Clone, Debug)]
pub struct WithBudget<P> {
    policy: Arc<P>,
    budget: RetryBudget,
}

impl<P> WithBudget<P> {
    pub(crate) fn new(policy: P, budget: RetryBudget) -> Self {
        Self {
            policy: Arc::new(policy),
            budget,
        }
    }
}

impl<P: RetryPolicy> RetryPolicy for WithBudget<P> {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        match self.policy.decide(failed) {
            Decision::Retry { .. } if !self.budget.take(cost(failed)) => {
                // A policy beneath may have paid for it, too.
                self.policy.retry_cancelled();
                Decision::Stop
            }
            decision => decision,
        }
    }

    fn for_call(&self) -> Option<Arc<dyn RetryPolicy>> {
        let policy: Arc<dyn RetryPolicy> = match self.policy.for_call() {
            Some(policy) => policy,
            None => Arc::clone(&self.policy) as _,
        };
        Some(Arc::new(OfCall {
            policy,
            budget: self.budget.clone(),
            last: AtomicU32::new(0),
        }))
    }
}

fn cost(failed: &FailedAttempt<'_>) -> u32 {
    if failed.is_throttled() { THROTTLED } else { TRANSIENT }
}

/// The budget policy of one call. It remembers the cost of its last retry.
#[derive(Debug)]
struct OfCall {
    policy: Arc<dyn RetryPolicy>,
    budget: RetryBudget,
    last: AtomicU32,
}

impl RetryPolicy for OfCall {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        let decision = self.policy.decide(failed);
        if let Decision::Retry { .. } = decision {
            if !self.budget.take(cost(failed)) {
                self.policy.retry_cancelled();
                return Decision::Stop;
            }
            self.last.store(cost(failed), Ordering::Relaxed);
        }
        decision
    }

    fn succeeded(&self, attempt: u32) {
        let last = self.last.load(Ordering::Relaxed);
        self.budget.give(if last == 0 { EARNED } else { last });
        self.policy.succeeded(attempt);
    }

    fn retry_cancelled(&self) {
        self.budget.give(self.last.swap(0, Ordering::Relaxed));
        self.policy.retry_cancelled();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::pipeline::retry::budget::RetryBudget;
    use crate::pipeline::retry::linear::LinearRetry;

    #[test]
    fn attempts_and_time_are_limited() {
        let policy = LinearRetry::new(Duration::from_secs(3), 100)
            .limit_attempts(3)
            .limit_elapsed(Duration::from_secs(10));
        let decide = |attempt, elapsed| {
            policy.decide(&FailedAttempt::with_response(500, None).at(attempt, Duration::from_secs(elapsed)))
        };
        assert_eq!(decide(1, 0), Decision::after(Duration::from_secs(3)));
        assert_eq!(decide(2, 7), Decision::after(Duration::from_secs(3)));
        assert_eq!(decide(2, 8), Decision::Stop);
        assert_eq!(decide(3, 0), Decision::Stop);
    }

    #[test]
    fn limited_policy_hears_of_the_end_of_a_call() {
        #[derive(Debug, Default)]
        struct Heard(Arc<(AtomicU32, AtomicU32)>);
        impl RetryPolicy for Heard {
            fn decide(&self, _: &FailedAttempt<'_>) -> Decision {
                Decision::Stop
            }
            fn succeeded(&self, attempt: u32) {
                self.0.0.fetch_add(attempt, Ordering::Relaxed);
            }
            fn retry_cancelled(&self) {
                self.0.1.fetch_add(1, Ordering::Relaxed);
            }
        }
        let heard = Arc::<(AtomicU32, AtomicU32)>::default();
        let policy = || Heard(Arc::clone(&heard));
        let minute = Duration::from_secs(60);
        let policies: [Arc<dyn RetryPolicy>; 2] = [
            Arc::new(policy().limit_attempts(9)),
            Arc::new(policy().limit_elapsed(minute)),
        ];
        for policy in policies {
            assert!(policy.for_call().is_none(), "it keeps no state of a call");
            policy.succeeded(2);
            policy.retry_cancelled();
        }
        assert_eq!(heard.0.load(Ordering::Relaxed), 4);
        assert_eq!(heard.1.load(Ordering::Relaxed), 2);
    }

    /// The tokens of a retry that succeeds come back, which only a policy of the call knows.
    #[test]
    fn limited_policy_keeps_its_state_of_a_call() {
        let budget = RetryBudget::new(100);
        let policy = LinearRetry::new(Duration::ZERO, 9).budget(budget.clone());
        let minute = Duration::from_secs(60);
        let policies: [Arc<dyn RetryPolicy>; 2] = [
            Arc::new(policy.clone().limit_attempts(2)),
            Arc::new(policy.limit_elapsed(minute)),
        ];
        for policy in policies {
            let call = policy.for_call().unwrap();
            assert_ne!(call.decide(&FailedAttempt::with_response(500, None)), Decision::Stop);
            call.succeeded(2);
            assert_eq!(budget.available(), 100);
            assert_ne!(call.decide(&FailedAttempt::with_response(500, None)), Decision::Stop);
            call.retry_cancelled();
            assert_eq!(budget.available(), 100);
            let second = FailedAttempt::with_response(500, None).at(2, minute + Duration::from_secs(1));
            assert_eq!(call.decide(&second), Decision::Stop, "limited still");
        }
    }
}
