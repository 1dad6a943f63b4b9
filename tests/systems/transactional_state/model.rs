//! The state that a load must see: the versions in memory, after each batch of a store.

use std::collections::BTreeMap;

use super::version;
use crate::systems::transactional_state::{Prepared, StoredState, Update};

/// The versions that a batch changes at most: 100 operations without the row `k` and the boundary rows.
const BATCH: usize = 97;

/// The content of a loaded state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) committed: u64,
    pub(super) state: Option<String>,
    pub(super) metadata: String,
    pub(super) pending: Vec<Prepared>,
}

impl Seen {
    pub(super) fn of(state: &StoredState) -> Self {
        Self {
            committed: state.committed_sequence_id(),
            state: state.committed_state().map(str::to_owned),
            metadata: state.metadata().to_owned(),
            pending: state.pending().cloned().collect(),
        }
    }

    /// Checks that this version is committed, and that no other is prepared.
    #[track_caller]
    pub(super) fn is_committed(&self, sequence_id: u64, value: u64) {
        assert_eq!(
            (self.committed, self.state.clone()),
            (sequence_id, Some(value.to_string()))
        );
        assert_eq!(self.pending, []);
    }

    /// Checks that the versions from 1 on are prepared, each with its own number.
    #[track_caller]
    pub(super) fn is_prepared(&self, count: u64) {
        let versions: Vec<Prepared> = (1..=count).map(|id| version(id, id)).collect();
        assert_eq!((self.committed, &self.pending), (0, &versions));
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    committed: u64,
    metadata: String,
    states: BTreeMap<u64, Prepared>,
}

impl Model {
    pub(super) fn seen(&self) -> Seen {
        let later = self.states.range(self.committed + 1..).map(|(_, state)| state);
        Seen {
            committed: self.committed,
            state: self.states.get(&self.committed).map(|state| state.state.clone()),
            metadata: self.metadata.clone(),
            pending: later.take_while(|state| state.manager.is_some()).cloned().collect(),
        }
    }

    /// Returns the state after each batch. Cancelled versions go, from the last on. Prepared versions come, in their
    /// order. With the last of these, the metadata and the commit are there. Then obsolete versions go, which no load
    /// shows.
    pub(super) fn after_each_batch(&self, update: &Update) -> Vec<Self> {
        let committed = update.commit_up_to.unwrap_or(self.committed);
        let mut prepared: Vec<Prepared> = update.prepare.clone();
        prepared.retain(|state| state.sequence_id >= committed);
        let is_cancelled = |id: &u64| {
            let is_replaced = update.prepare.iter().any(|state| state.sequence_id == *id);
            update.abort_after.is_some_and(|last| *id > last) && !is_replaced
        };
        let cancelled = self.states.keys().rev().copied().filter(is_cancelled);
        let changes: Vec<(u64, Option<Prepared>)> = cancelled
            .map(|id| (id, None))
            .chain(prepared.into_iter().map(|state| (state.sequence_id, Some(state))))
            .collect();
        let obsolete = self.states.range(..committed).count();
        let batches = (changes.len() + obsolete).div_ceil(BATCH).max(1);
        let mut now = self.clone();
        (0..batches)
            .map(|batch| {
                for (id, state) in changes.iter().skip(batch * BATCH).take(BATCH) {
                    match state {
                        Some(state) => now.states.insert(*id, state.clone()),
                        None => now.states.remove(id),
                    };
                }
                let is_complete = changes.len() <= (batch + 1) * BATCH;
                if is_complete && now.committed <= committed {
                    now.committed = committed;
                    now.metadata
                        .clone_from(update.metadata.as_ref().unwrap_or(&self.metadata));
                    now.states = now.states.split_off(&committed);
                }
                now.clone()
            })
            .collect()
    }
}
