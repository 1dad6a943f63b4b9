//! Decorators: policies that limit another policy by attempts, time or a budget.

use std::sync::Arc;
use std::time::Duration;

use crate::pipeline::retry::budget::RetryBudget;
use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};

/// A policy with a limit of attempts.
///
/// Created by [`RetryPolicy::limit_attempts`].
#[derive(Clone, Debug)]
pub struct LimitAttempts<P> {
    pub(super) policy: P,
    pub(super) attempts: u32,
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
        let attempts = self.attempts;
        Some(Arc::new(LimitAttempts { policy, attempts }))
    }

    fn without_budget(&self) -> Option<Arc<dyn RetryPolicy>> {
        let policy = self.policy.without_budget()?;
        let attempts = self.attempts;
        Some(Arc::new(LimitAttempts { policy, attempts }))
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
    pub(super) policy: P,
    pub(super) elapsed: Duration,
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
        let elapsed = self.elapsed;
        Some(Arc::new(LimitElapsed { policy, elapsed }))
    }

    fn without_budget(&self) -> Option<Arc<dyn RetryPolicy>> {
        let policy = self.policy.without_budget()?;
        let elapsed = self.elapsed;
        Some(Arc::new(LimitElapsed { policy, elapsed }))
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

    fn without_budget(&self) -> Option<Arc<dyn RetryPolicy>> {
        (**self).without_budget()
    }

    fn succeeded(&self, attempt: u32) {
        (**self).succeeded(attempt);
    }

    fn retry_cancelled(&self) {
        (**self).retry_cancelled();
    }
}

/// A policy whose retries are limited by a budget.
///
/// Created by [`RetryPolicy::budget`].
#[derive(Clone, Debug)]
pub struct WithBudget<P> {
    policy: Arc<P>,
    budget: RetryBudget,
}

impl<P: RetryPolicy> WithBudget<P> {
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
            Decision::Retry { .. } if !self.budget.spend() => {
                // The policy may have its own budget.
                self.policy.retry_cancelled();
                Decision::Stop
            }
            decision => decision,
        }
    }

    fn for_call(&self) -> Option<Arc<dyn RetryPolicy>> {
        let policy = self.policy.for_call()?;
        Some(Arc::new(WithBudget::new(policy, self.budget.clone())))
    }

    fn without_budget(&self) -> Option<Arc<dyn RetryPolicy>> {
        let policy = || Arc::clone(&self.policy) as _;
        Some(self.policy.without_budget().unwrap_or_else(policy))
    }

    fn succeeded(&self, attempt: u32) {
        self.budget.earn();
        self.policy.succeeded(attempt);
    }

    fn retry_cancelled(&self) {
        self.budget.refund();
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
    fn limited_policy_forwards_the_end_of_a_call() {
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

    #[test]
    fn limited_policy_keeps_the_policy_of_its_call() {
        /// One retry per call.
        #[derive(Debug, Default)]
        struct Once(AtomicU32);
        impl RetryPolicy for Once {
            fn decide(&self, _: &FailedAttempt<'_>) -> Decision {
                match self.0.fetch_add(1, Ordering::Relaxed) {
                    0 => Decision::after(Duration::ZERO),
                    _ => Decision::Stop,
                }
            }
            fn for_call(&self) -> Option<Arc<dyn RetryPolicy>> {
                Some(Arc::new(Self::default()))
            }
        }
        let minute = Duration::from_secs(60);
        let policies: [Arc<dyn RetryPolicy>; 3] = [
            Arc::new(Once::default().limit_attempts(2)),
            Arc::new(Once::default().limit_elapsed(minute)),
            Arc::new(Once::default().budget(RetryBudget::default())),
        ];
        for policy in policies {
            for _ in 0..2 {
                let call = policy.for_call().unwrap();
                assert_ne!(call.decide(&FailedAttempt::with_response(500, None)), Decision::Stop);
                assert_eq!(call.decide(&FailedAttempt::with_response(500, None)), Decision::Stop);
            }
        }
    }

    #[test]
    fn policy_without_its_budget_keeps_its_limits() {
        let empty = || RetryBudget::new(0.0, 0);
        let policy = LinearRetry::new(Duration::ZERO, 100)
            .budget(empty())
            .limit_attempts(3)
            .limit_elapsed(Duration::from_secs(10))
            .budget(empty());
        let failed =
            |attempt, elapsed| FailedAttempt::with_response(500, None).at(attempt, Duration::from_secs(elapsed));
        assert_eq!(policy.decide(&failed(1, 0)), Decision::Stop);
        let policy = policy.without_budget().unwrap();
        assert!(policy.without_budget().is_none());
        assert_ne!(policy.decide(&failed(2, 9)), Decision::Stop);
        assert_eq!(policy.decide(&failed(3, 0)), Decision::Stop);
        assert_eq!(policy.decide(&failed(1, 11)), Decision::Stop);
    }
}
