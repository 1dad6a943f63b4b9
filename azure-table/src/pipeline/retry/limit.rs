//! Policies that end another one's attempts.

use std::sync::Arc;
use std::time::Duration;

use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};

/// A policy with a limit of attempts. Made by [`RetryPolicy::limit_attempts`].
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

    fn withdrawn(&self) {
        self.policy.withdrawn();
    }
}

/// A policy with a limit of time. Made by [`RetryPolicy::limit_elapsed`].
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
                let wait = wait.max(failed.asked_wait().unwrap_or_default());
                if failed.elapsed().saturating_add(wait) > self.elapsed {
                    self.policy.withdrawn();
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

    fn withdrawn(&self) {
        self.policy.withdrawn();
    }
}

/// A policy that is shared is one, too.
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

    fn withdrawn(&self) {
        (**self).withdrawn();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::retry::linear::LinearRetry;

    #[test]
    fn attempts_and_time_are_limited() {
        let policy = LinearRetry::new(Duration::from_secs(3), 100)
            .limit_attempts(3)
            .limit_elapsed(Duration::from_secs(10));
        let decide = |attempt, elapsed| {
            policy.decide(&FailedAttempt::answered(500, None).at(attempt, Duration::from_secs(elapsed)))
        };
        assert_eq!(decide(1, 0), Decision::after(Duration::from_secs(3)));
        assert_eq!(decide(2, 7), Decision::after(Duration::from_secs(3)));
        assert_eq!(decide(2, 8), Decision::Stop);
        assert_eq!(decide(3, 0), Decision::Stop);
    }
}
