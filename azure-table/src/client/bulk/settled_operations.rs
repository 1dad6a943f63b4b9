//! The outcomes that are known and that the owner of the engine has not taken yet.
//!
//! Outcomes of a batch stay together until they are taken one by one. A list of all outcomes would be another copy of
//! each.

use std::collections::VecDeque;
use std::vec;

use crate::client::partition_writes::held_operations::HeldOperation;
use crate::client::partition_writes::outcomes::Outcome;

/// An operation with its outcome.
#[derive(Debug)]
pub(crate) struct Settled {
    /// The number it was pushed with.
    pub(crate) index: u64,
    pub(crate) operation: HeldOperation,
    pub(crate) outcome: Outcome,
}

/// Returns the text of an operation with its outcome, for an error.
pub(crate) fn describe((index, operation, outcome): (u64, &HeldOperation, &Outcome)) -> String {
    match operation.keys() {
        Some(_) => format!("{operation}: {outcome}"),
        None => format!("operation {index} of the source: {outcome}"),
    }
}

/// Known outcomes, in the order in which they became known.
#[derive(Debug, Default)]
pub(crate) struct SettledOperations(VecDeque<Together>);

/// Outcomes that became known together, at least one.
#[derive(Debug)]
struct Together {
    indices: vec::IntoIter<u64>,
    operations: vec::IntoIter<HeldOperation>,
    outcomes: vec::IntoIter<Outcome>,
}

impl SettledOperations {
    pub(crate) fn push(&mut self, indices: Vec<u64>, operations: Vec<HeldOperation>, outcomes: Vec<Outcome>) {
        if !indices.is_empty() {
            self.0.push_back(Together {
                indices: indices.into_iter(),
                operations: operations.into_iter(),
                outcomes: outcomes.into_iter(),
            });
        }
    }

    /// Returns the next one.
    pub(crate) fn pop(&mut self) -> Option<Settled> {
        while let Some(first) = self.0.front_mut() {
            let next = (first.indices.next(), first.operations.next(), first.outcomes.next());
            if first.indices.as_slice().is_empty() {
                self.0.pop_front();
            }
            if let (Some(index), Some(operation), Some(outcome)) = next {
                return Some(Settled {
                    index,
                    operation,
                    outcome,
                });
            }
        }
        None
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all of them, each with its number and operation.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &HeldOperation, &Outcome)> {
        self.0.iter().flat_map(|together| {
            let operations = together.indices.as_slice().iter().zip(together.operations.as_slice());
            let all = operations.zip(together.outcomes.as_slice());
            all.map(|((index, operation), outcome)| (*index, operation, outcome))
        })
    }
}
