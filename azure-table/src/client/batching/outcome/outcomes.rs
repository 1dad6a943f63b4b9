//! The outcomes of the operations of a write, which reports them while it runs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_wire::error::Error;
use azure_table_wire::value::etag::ETag;

use crate::client::batching::outcome::leftover::LeftoverReason;
use crate::write::table_result::TableResult;

/// The outcome of one operation.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// Applied, with the new ETag of the entity, or `None` after a delete.
    Applied(Option<ETag>),
    /// A delete found no row after an earlier response was lost: either attempt may have deleted it.
    Gone,
    /// Not applied, or in doubt.
    Left(LeftoverReason),
}

impl WriteOutcome {
    /// Returns the error, if it counts as a failure.
    pub(crate) fn failure(&self) -> Option<&Arc<Error>> {
        match self {
            Self::Left(LeftoverReason::Rejected(error) | LeftoverReason::InDoubt(error)) => Some(error),
            _ => None,
        }
    }
}

/// The outcomes so far, shared by a write and an owner that may cancel it. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct SharedOutcomes(Arc<Mutex<Kept>>);

#[derive(Debug)]
struct Kept {
    /// In the order of the operations.
    outcomes: Vec<WriteOutcome>,
    /// The operations that were sent and have no response.
    in_flight: Vec<usize>,
    /// The operations of which an attempt has no result.
    lost: BTreeSet<usize>,
}

impl SharedOutcomes {
    pub(crate) fn new(operations: usize) -> Self {
        Self(Arc::new(Mutex::new(Kept {
            outcomes: (0..operations)
                .map(|_| WriteOutcome::Left(LeftoverReason::NotAttempted))
                .collect(),
            in_flight: Vec::new(),
            lost: BTreeSet::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails the operations of a cancelled write that have no response.
    pub(crate) fn cancel(&self, error: &Arc<Error>) {
        let in_flight = std::mem::take(&mut self.lock().in_flight);
        self.failed(&in_flight, error);
    }

    /// Returns the outcomes of a write that has ended.
    pub(crate) fn take(&self) -> Vec<WriteOutcome> {
        std::mem::take(&mut self.lock().outcomes)
    }

    /// Reports that a request with these operations is sent.
    pub(crate) fn sent(&self, operations: &[usize]) {
        operations.clone_into(&mut self.lock().in_flight);
    }

    /// Reports that the request has its response, or will have none.
    pub(crate) fn responded(&self) {
        self.lock().in_flight.clear();
    }

    /// Returns the operations of which an attempt has no result, and whether they are in doubt. The others were applied,
    /// and the attempt may still arrive.
    pub(crate) fn take_lost(&self) -> Vec<(usize, bool)> {
        let kept = &mut *self.lock();
        let lost = std::mem::take(&mut kept.lost);
        let outcomes = &kept.outcomes;
        let is_in_doubt = |index: usize| matches!(outcomes[index], WriteOutcome::Left(LeftoverReason::InDoubt(_)));
        lost.into_iter().map(|index| (index, is_in_doubt(index))).collect()
    }

    /// Reports operations that were applied. The results are in the same order. `may_recur` if an earlier attempt may
    /// still be applied.
    pub(crate) fn applied(&self, operations: &[usize], results: Vec<TableResult>, may_recur: bool) {
        let kept = &mut *self.lock();
        if may_recur {
            kept.lost.extend(operations);
        }
        for (index, result) in operations.iter().zip(results) {
            kept.outcomes[*index] = WriteOutcome::Applied(result.into_etag());
        }
    }

    /// Reports operations that failed, or are in doubt unless a later request decides.
    pub(crate) fn failed(&self, operations: &[usize], error: &Arc<Error>) {
        let kept = &mut *self.lock();
        if error.may_have_applied() {
            kept.lost.extend(operations);
        }
        for index in operations {
            kept.outcomes[*index] = WriteOutcome::Left(LeftoverReason::failed(Arc::clone(error)));
        }
    }

    /// Reports a delete that found no row, after an earlier response was lost.
    pub(crate) fn gone(&self, operation: usize) {
        let kept = &mut *self.lock();
        kept.lost.insert(operation);
        kept.outcomes[operation] = WriteOutcome::Gone;
    }
}
