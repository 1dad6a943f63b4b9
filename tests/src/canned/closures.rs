//! An observer and a retry policy made of closures.

use std::fmt::{Debug, Formatter, Result};

use azure_table::RetryPolicy;
use azure_table::retry::{Decision, FailedAttempt};
use azure_table::telemetry::{Event, Observer};

/// Passes each event to a closure.
pub struct Observe<F>(pub F);

impl<F: Fn(&Event<'_>) + Send + Sync + 'static> Observer for Observe<F> {
    fn on_event(&self, event: &Event<'_>) {
        self.0(event);
    }
}

/// Decides by a closure.
pub struct Decide<F>(pub F);

impl<F: Fn(&FailedAttempt<'_>) -> Decision + Send + Sync + 'static> RetryPolicy for Decide<F> {
    fn decide(&self, failed: &FailedAttempt<'_>) -> Decision {
        self.0(failed)
    }
}

impl<F> Debug for Observe<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("Observe")
    }
}

impl<F> Debug for Decide<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("Decide")
    }
}
