//! The retry policy of the batches of a bulk.
//!
//! A budget limits the retries of independent callers, which start new calls while the others fail. A bulk starts none:
//! the batches in flight wait longer and longer, and then the bulk ends. With a shared budget, the first batch for
//! which nothing is left would end the bulk, and the sooner the more batches are in flight.

use std::sync::Arc;

use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::RetryPolicy;
use crate::pipeline::retry::exponential::ExponentialRetry;

/// The retries of a batch by default. A call has three: the waits of a fourth outlast each outage that a call may
/// survive, whatever their jitter.
const RETRIES: u32 = 4;

/// Returns the retry policy of batches with these options, the client's included.
///
/// It is the policy that was set, without its budget, or the default one with more retries.
pub(crate) fn batch_policy(options: &CallOptions) -> Arc<dyn RetryPolicy> {
    match &options.get().retry {
        Some(policy) => policy.without_budget().unwrap_or_else(|| Arc::clone(policy)),
        None => Arc::new(ExponentialRetry::default().retries(RETRIES)),
    }
}
