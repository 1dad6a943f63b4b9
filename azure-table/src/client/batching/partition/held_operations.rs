//! The operations of a write, shared by the write and its owner.
//!
//! An operation in a batch that was sent is held only as its index in that batch. If the batch fails, it gets its own
//! text back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::write::operation::TableOperation;
use crate::write::sent_batch::SentBatch;

/// The operations of a write, in their order. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct HeldOperations(Arc<Mutex<Vec<TableOperation>>>);

impl HeldOperations {
    pub(crate) fn new(operations: Vec<TableOperation>) -> Self {
        Self(Arc::new(Mutex::new(operations)))
    }

    /// Locks the operations. Report no outcome while holding the lock, because its receiver may lock them too.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Vec<TableOperation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the operations of a batch as their indices in it. `indices` are theirs, in the order of the batch.
    pub(crate) fn place_in(&self, batch: &Arc<SentBatch>, indices: &[usize]) {
        let operations = &mut *self.lock();
        for (place, index) in indices.iter().enumerate() {
            operations[*index].place_in(batch, place);
        }
    }

    /// Copies operations out of their batch, which failed, so that its body does not stay in memory for a few of them.
    pub(crate) fn detach(&self, indices: &[usize]) {
        let operations = &mut *self.lock();
        indices.iter().for_each(|index| operations[*index].detach());
    }

    /// Takes all operations.
    pub(crate) fn take(&self) -> Vec<TableOperation> {
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
            let held = HeldOperations::new(all().collect());
            // A batch has its operations in any order.
            let indices: Vec<usize> = (0..operations.len()).rev().collect();
            let mut change_set = ChangeSet::new(&endpoint, "Things");
            for index in &indices {
                change_set.add(all().nth(*index).unwrap()).unwrap();
            }
            let batch = change_set.into_request().1;
            held.place_in(&batch, &indices);
            prop_assert_eq!(Arc::strong_count(&batch), 1 + operations.len());
            let same = |held: &HeldOperations| {
                for (after, before) in held.lock().iter().zip(all()) {
                    prop_assert_eq!(format!("{:?}", after.row()), format!("{:?}", before.row()));
                    prop_assert_eq!((after.entity(), after.is_plain()), (before.entity(), before.is_plain()));
                    prop_assert_eq!(after.to_string(), before.to_string());
                }
                Ok(())
            };
            same(&held)?;
            held.detach(&indices);
            prop_assert_eq!(Arc::strong_count(&batch), 1, "none holds the body of its batch");
            same(&held)?;
        }
    }
}
