//! The retry policy of the batches of a bulk.
//!
//! A budget limits the retries of independent callers, which start new calls while others fail. A bulk starts none: its
//! batches in flight wait longer and longer, and then the bulk ends. With a shared budget, the first batch without a
//! retry left would end the bulk. The more batches are in flight, the sooner that happens.

use std::sync::Arc;

use crate::pipeline::options::CallOptions;
use crate::pipeline::retry::RetryPolicy;
use crate::pipeline::retry::exponential::{ExponentialRetry, RETRIES};

/// The default number of retries of a batch. It is one more than a call has, so that a batch outlasts each outage that
/// a call may survive, whatever the jitter.
const BATCH_RETRIES: u32 = RETRIES + 1;

/// Returns the retry policy of batches with these options, which contain the client's.
///
/// It is the policy that was set, without its budget, or the default one with more retries.
pub(crate) fn batch_policy(options: &CallOptions) -> Arc<dyn RetryPolicy> {
    match &options.get().retry {
        Some(policy) => policy.without_budget().unwrap_or_else(|| Arc::clone(policy)),
        None => Arc::new(ExponentialRetry::default().retries(BATCH_RETRIES)),
    }
}
