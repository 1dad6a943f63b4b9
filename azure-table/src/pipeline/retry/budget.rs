//! What all calls of a process may spend on retries.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};

/// What a retry after a throttled attempt costs, and after any other.
///
/// Source: the retry quota of the AWS SDKs, specification 2.1.
const THROTTLED: u32 = 5;
const TRANSIENT: u32 = 14;
/// What a call earns that succeeds at once.
const EARNED: u32 = 1;
/// The tokens of the default budget: about 35 retries in a row that all fail.
const CAPACITY: u32 = 500;

/// Tokens that retries cost and successes earn: while a service is down, clients that share a budget stop to repeat what
/// fails anyway, and do not hammer it when it comes back. First attempts are never kept back.
///
/// A retry costs 14 tokens, 5 after a throttled attempt, and gets them back if it succeeds; a call that succeeds at once earns 1.
/// Clones share the tokens: give one to all clients of one endpoint. Every client has a budget of 500 tokens of its own by default.
///
/// Source: the retry quota of the AWS SDKs.
#[derive(Clone)]
pub struct RetryBudget {
    tokens: Arc<Tokens>,
}

struct Tokens {
    left: AtomicU32,
    capacity: u32,
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::new(CAPACITY)
    }
}

impl RetryBudget {
    /// A full budget of so many tokens.
    pub fn new(tokens: u32) -> Self {
        Self {
            tokens: Arc::new(Tokens {
                left: AtomicU32::new(tokens),
                capacity: tokens,
            }),
        }
    }

    /// How many tokens are left.
    pub fn available(&self) -> u32 {
        self.tokens.left.load(Ordering::Relaxed)
    }

    fn take(&self, cost: u32) -> bool {
        let take = |left: u32| left.checked_sub(cost);
        self.tokens
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }

    fn give(&self, tokens: u32) {
        let give = |left: u32| Some(left.saturating_add(tokens).min(self.tokens.capacity));
        // It always gives something.
        let _ = self
            .tokens
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, give);
    }
}

impl fmt::Debug for RetryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RetryBudget({} of {})", self.available(), self.tokens.capacity)
    }
}

/// A policy whose retries cost tokens. Made by [`RetryPolicy::budget`].
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
                self.policy.withdrawn();
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

/// The same for one call, which knows what its last retry cost.
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
                self.policy.withdrawn();
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

    fn withdrawn(&self) {
        self.budget.give(self.last.swap(0, Ordering::Relaxed));
        self.policy.withdrawn();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::pipeline::retry::linear::LinearRetry;

    /// beyond a hundred attempts allowed, the budget ends it.
    #[test]
    fn the_budget_ends_what_always_fails_and_fills_again() {
        let budget = RetryBudget::new(100);
        let policy = LinearRetry::new(Duration::ZERO, 100).budget(budget.clone());
        let failed = FailedAttempt::answered(500, None);
        let call = policy.for_call().unwrap();
        let retries = (0..100).take_while(|_| call.decide(&failed) != Decision::Stop).count();
        assert_eq!((retries, budget.available()), (7, 2));

        for _ in 0..20 {
            policy.for_call().unwrap().succeeded(1);
        }
        assert_eq!(budget.available(), 22);
        let call = policy.for_call().unwrap();
        assert_ne!(call.decide(&failed), Decision::Stop);
        call.succeeded(2);
        assert_eq!(budget.available(), 22, "a retry that succeeds is paid back");
        let call = policy.for_call().unwrap();
        assert_ne!(call.decide(&failed), Decision::Stop);
        call.withdrawn();
        assert_eq!(budget.available(), 22, "and one that there is no time for");
        for _ in 0..200 {
            policy.for_call().unwrap().succeeded(1);
        }
        assert_eq!(budget.available(), 100, "never more than it was made with");
    }

    #[test]
    fn budget_beneath_an_empty_one_gets_its_tokens_back() {
        let (tenant, shared) = (RetryBudget::new(100), RetryBudget::new(0));
        let policy = LinearRetry::new(Duration::ZERO, 100)
            .budget(tenant.clone())
            .budget(shared);
        for _ in 0..3 {
            let call = policy.for_call().unwrap();
            assert_eq!(call.decide(&FailedAttempt::answered(500, None)), Decision::Stop);
        }
        assert_eq!(tenant.available(), 100);
    }

    /// A wrapper of its own may ask it directly, without a policy of the call.
    #[test]
    fn budget_is_spent_without_a_policy_of_the_call_too() {
        let budget = RetryBudget::new(30);
        let policy = LinearRetry::new(Duration::ZERO, 100).budget(budget.clone());
        let failed = FailedAttempt::answered(500, None);
        let retries = (0..9).take_while(|_| policy.decide(&failed) != Decision::Stop).count();
        assert_eq!((retries, budget.available()), (2, 2));
    }

    #[test]
    fn throttled_retries_cost_less() {
        let budget = RetryBudget::new(100);
        let call = LinearRetry::new(Duration::ZERO, 100)
            .budget(budget.clone())
            .for_call()
            .unwrap();
        assert_ne!(call.decide(&FailedAttempt::answered(429, None)), Decision::Stop);
        assert_eq!(budget.available(), 95);
    }
}
