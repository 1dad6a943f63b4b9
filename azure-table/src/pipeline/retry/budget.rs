//! The tokens that retries cost and successes earn.
//!
//! Owns [`RetryBudget`]. The policy that spends the tokens is [`WithBudget`](super::decorator::WithBudget), which also
//! sets the costs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The capacity of the default budget: about 35 retries in a row that all fail.
const CAPACITY: u32 = 500;

/// A budget of tokens that limits retries while a service is down.
///
/// Retries cost tokens and successes earn them. While a service is down, the clients that share a budget stop retrying.
/// They do not overload the service when it comes back. First attempts are never held back.
///
/// - A retry costs 14 tokens, or 5 after a throttled attempt. It gets them back if it succeeds.
/// - A call whose first attempt succeeds earns 1 token.
///
/// Clones share the tokens: pass one budget to all clients of an endpoint. By default, every client has its own budget
/// of 500 tokens.
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
    /// Creates a full budget of `tokens` tokens.
    pub fn new(tokens: u32) -> Self {
        Self {
            tokens: Arc::new(Tokens {
                left: AtomicU32::new(tokens),
                capacity: tokens,
            }),
        }
    }

    /// Returns the number of tokens left.
    pub fn available(&self) -> u32 {
        self.tokens.left.load(Ordering::Relaxed)
    }

    /// Takes `cost` tokens. Returns `false` and takes none if fewer are left.
    pub(super) fn take(&self, cost: u32) -> bool {
        let take = |left: u32| left.checked_sub(cost);
        self.tokens
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok()
    }

    pub(super) fn give(&self, tokens: u32) {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::pipeline::retry::linear::LinearRetry;
    use crate::pipeline::retry::{Decision, FailedAttempt, RetryPolicy};

    /// beyond a hundred attempts allowed, the budget ends it.
    #[test]
    fn the_budget_ends_what_always_fails_and_fills_again() {
        let budget = RetryBudget::new(100);
        let policy = LinearRetry::new(Duration::ZERO, 100).budget(budget.clone());
        let failed = FailedAttempt::with_response(500, None);
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
        call.retry_cancelled();
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
            assert_eq!(call.decide(&FailedAttempt::with_response(500, None)), Decision::Stop);
        }
        assert_eq!(tenant.available(), 100);
    }

    /// A wrapper of its own may ask it directly, without a policy of the call.
    #[test]
    fn budget_is_spent_without_a_policy_of_the_call_too() {
        let budget = RetryBudget::new(30);
        let policy = LinearRetry::new(Duration::ZERO, 100).budget(budget.clone());
        let failed = FailedAttempt::with_response(500, None);
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
        assert_ne!(call.decide(&FailedAttempt::with_response(429, None)), Decision::Stop);
        assert_eq!(budget.available(), 95);
    }
}
