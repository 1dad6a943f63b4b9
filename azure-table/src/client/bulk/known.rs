//! What is known of the operations of a partition while they are written.
//!
//! Owns [`Known`], which who writes them shares with who may stop waiting: whoever stops knows what was applied before, what is in
//! doubt, and what was never sent. What is sent when is `partition_write.rs`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::client::bulk::partition_write::Outcome;
use crate::model::error::Error;

/// Clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Known(Arc<Mutex<Facts>>);

#[derive(Debug)]
pub(crate) struct Facts {
    /// In the order of the operations.
    pub(crate) outcomes: Vec<Outcome>,
    /// Those that were sent and have no answer.
    on_their_way: Vec<usize>,
}

impl Known {
    pub(crate) fn new(outcomes: Vec<Outcome>) -> Self {
        Self(Arc::new(Mutex::new(Facts {
            outcomes,
            on_their_way: Vec::new(),
        })))
    }

    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These are sent now.
    pub(crate) fn sends(&self, operations: &[usize]) {
        operations.clone_into(&mut self.facts().on_their_way);
    }

    /// What was sent has its answer.
    pub(crate) fn answered(&self) {
        self.facts().on_their_way.clear();
    }

    /// The outcomes, if nobody waits any more: of what has no answer, this.
    pub(crate) fn given_up(&self, error: &Arc<Error>) -> Vec<Outcome> {
        let mut facts = self.facts();
        for index in std::mem::take(&mut facts.on_their_way) {
            facts.outcomes[index] = Outcome::Failed(Arc::clone(error));
        }
        std::mem::take(&mut facts.outcomes)
    }
}
