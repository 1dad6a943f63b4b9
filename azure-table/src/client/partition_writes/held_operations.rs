//! The operations of a write, shared by the write and its owner.
//!
//! An operation in a composed batch is held only as its place in the body of the batch. It becomes a value again if the
//! batch fails, or if the operation is left over. Otherwise each operation of a bulk would be in memory twice, and the
//! batches in flight would fall out of the processor's cache.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table_wire::error::operation_kind::OperationKind;

use crate::write::operation::TableOperation;
use crate::write::sent_batch::SentBatch;

/// An operation of a write.
#[derive(Debug)]
pub(crate) enum HeldOperation {
    Whole(TableOperation),
    /// The operation at this index of a batch.
    InBatch(Arc<SentBatch>, usize),
}

impl HeldOperation {
    pub(crate) fn kind(&self) -> OperationKind {
        match self {
            Self::Whole(operation) => operation.kind(),
            Self::InBatch(batch, index) => batch.row_write(*index).kind,
        }
    }

    /// Returns the PartitionKey and the RowKey, or `None` if the operation could not be encoded.
    pub(crate) fn keys(&self) -> Option<(&str, &str)> {
        match self {
            Self::Whole(operation) => operation.keys(),
            Self::InBatch(batch, index) => batch.keys(*index),
        }
    }

    /// Returns its body; empty if the operation could not be encoded.
    pub(crate) fn body(&self) -> &[u8] {
        match self {
            Self::Whole(operation) => operation.body(),
            Self::InBatch(batch, index) => batch.row_write(*index).body,
        }
    }

    /// Returns the operation as a value that can be sent.
    pub(crate) fn to_operation(&self) -> TableOperation {
        match self {
            Self::Whole(operation) => operation.copy(),
            Self::InBatch(batch, index) => TableOperation::plain(&batch.row_write(*index)),
        }
    }

    /// Returns the operation as a value, if it was encoded.
    pub(crate) fn into_operation(self) -> Option<TableOperation> {
        match self {
            Self::Whole(operation) => operation.if_encoded(),
            Self::InBatch(batch, index) => Some(TableOperation::plain(&batch.row_write(index))),
        }
    }
}

impl fmt::Display for HeldOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.keys()) {
            (Self::InBatch(..), Some((partition_key, row_key))) => {
                write!(f, "{} ({partition_key:?}, {row_key:?})", self.kind().name())
            }
            _ => self.to_operation().fmt(f),
        }
    }
}

/// The operations of a write, in their order. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct HeldOperations(Arc<Mutex<Vec<HeldOperation>>>);

impl HeldOperations {
    pub(crate) fn new(operations: impl Iterator<Item = TableOperation>) -> Self {
        Self(Arc::new(Mutex::new(operations.map(HeldOperation::Whole).collect())))
    }

    /// Keeps the operations of a batch as their places in it.
    pub(crate) fn in_batch(batch: &Arc<SentBatch>) -> Self {
        let places = (0..batch.len()).map(|place| HeldOperation::InBatch(Arc::clone(batch), place));
        Self(Arc::new(Mutex::new(places.collect())))
    }

    /// Locks the operations. Report no outcome while holding the lock, because its receiver may lock them too.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<HeldOperation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the operations of a batch as their places in it. `indices` are theirs, in the order of the batch.
    pub(crate) fn keep_as_places(&self, indices: &[usize], batch: &Arc<SentBatch>) {
        let operations = &mut *self.lock();
        for (place, index) in indices.iter().enumerate() {
            // An operation with a rare part, such as a condition, cannot be rebuilt from its place in a body.
            if !matches!(&operations[*index], HeldOperation::Whole(operation) if !operation.is_plain()) {
                operations[*index] = HeldOperation::InBatch(Arc::clone(batch), place);
            }
        }
    }

    /// Turns operations back into values after their batch failed, so that its body does not stay in memory for a few
    /// of them.
    pub(crate) fn keep_as_values(&self, indices: &[usize]) {
        let operations = &mut *self.lock();
        for index in indices {
            let operation = &mut operations[*index];
            if matches!(operation, HeldOperation::InBatch(..)) {
                *operation = HeldOperation::Whole(operation.to_operation());
            }
        }
    }

    /// Takes all operations.
    pub(crate) fn take(&self) -> Vec<HeldOperation> {
        std::mem::take(&mut *self.lock())
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::account::endpoint::Endpoint;
    use azure_table_wire::value::etag::ETag;
    use proptest::prelude::*;

    use super::*;
    use crate::entity::dynamic::DynamicEntity;
    use crate::write::batch::ChangeSet;

    fn operation(kind: usize, row: &str, text: &str) -> TableOperation {
        let mut entity = DynamicEntity::new("p’", row);
        entity.insert("Text", text);
        match kind {
            0 => TableOperation::insert(&entity),
            1 => TableOperation::insert_returning(&entity),
            2 => TableOperation::replace(&entity).if_match(ETag::new("W/\"1\"")),
            3 => TableOperation::merge(&entity),
            4 => TableOperation::insert_or_replace(&entity),
            _ => TableOperation::delete::<DynamicEntity>((&entity.partition_key, row)),
        }
    }

    proptest! {
        #[test]
        fn operation_that_was_sent_is_the_same_value_again(
            operations in prop::collection::vec((0..6_usize, any::<String>()), 1..20),
        ) {
            let endpoint = Endpoint::parse("https://acct.table.core.windows.net", None).unwrap();
            let all = || operations.iter().enumerate().map(|(n, (kind, text))| operation(*kind, &n.to_string(), text));
            let held = HeldOperations::new(all());
            // A batch has its operations in any order.
            let indices: Vec<usize> = (0..operations.len()).rev().collect();
            let mut change_set = ChangeSet::new(&endpoint, "Things");
            for index in &indices {
                change_set.add(all().nth(*index).unwrap()).unwrap();
            }
            let batch = change_set.into_call().1;
            held.keep_as_places(&indices, &batch);
            let failed = HeldOperations::new(all());
            failed.keep_as_places(&indices, &batch);
            failed.keep_as_values(&indices);
            for (held, before) in failed.lock().iter().zip(all()) {
                let HeldOperation::Whole(after) = held else { panic!("it holds the body of its batch") };
                prop_assert_eq!(after.body(), before.body());
            }
            for (held, before) in held.take().into_iter().zip(all()) {
                prop_assert_eq!(matches!(held, HeldOperation::InBatch(..)), before.is_plain());
                prop_assert_eq!(held.kind(), before.kind());
                prop_assert_eq!(held.keys(), before.keys());
                prop_assert_eq!(held.to_string(), before.to_string());
                let after = held.into_operation().unwrap();
                prop_assert_eq!(after.body(), before.body());
                prop_assert_eq!((after.keys(), after.entity(), after.write_id()), (before.keys(), before.entity(), before.write_id()));
                prop_assert_eq!(after.to_string(), before.to_string());
            }
        }
    }
}
