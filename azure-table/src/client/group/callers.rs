//! The callers of a batch, which receive its outcomes.
//!
//! Turns a shared error into one for each caller, which names the caller's operation and row, and the size of the
//! batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind};
use azure_table_wire::value::clock::Instant;

use crate::account::table_name::TableName;
use crate::client::group::lanes::Caller;
use crate::client::partition_writes::held_operations::HeldOperations;
use crate::client::partition_writes::outcomes::Outcomes;
use crate::pipeline::Pipeline;
use crate::pipeline::observer::{Event, GroupedWrite};
use crate::write::operation::TableOperation;
use crate::write::table_result::TableResult;

/// The callers of a batch, in the order of its operations.
pub(super) struct Callers {
    pub(super) callers: Vec<Caller>,
    pub(super) operations: HeldOperations,
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) table: TableName,
    /// The deadline of the batch.
    pub(super) ends: Option<Instant>,
    /// The number of callers that have a result, or have withdrawn.
    pub(super) completed: AtomicUsize,
}

impl Callers {
    fn fail(&self, index: usize, error: Error, sent: usize) {
        self.report(index, sent, Some(error.kind()));
        self.callers[index].slot.complete(Err(self.named(error, index, sent)));
        self.count(1);
    }

    /// Reports the result of a write that was sent in a request of `batch_size` operations.
    fn report(&self, index: usize, batch_size: usize, error: Option<ErrorKind>) {
        let caller = &self.callers[index];
        let operation = caller.kind.name();
        caller.span.in_batch(operation, batch_size);
        if let Some(started) = caller.started {
            self.pipeline.observers.notify(&Event::GroupedWrite(GroupedWrite {
                operation,
                table: self.table.as_str(),
                batch_size,
                elapsed: started.elapsed(),
                error,
            }));
        }
    }

    /// Returns the error of a write that was sent in a request of `sent` operations.
    fn named(&self, error: Error, index: usize, sent: usize) -> Error {
        let operations = self.operations.lock();
        let keys = operations.get(index).and_then(TableOperation::keys).unwrap_or_default();
        of_write(error, self.callers[index].kind, keys, &self.table, sent)
    }

    fn count(&self, completed: usize) {
        self.completed.fetch_add(completed, Ordering::Relaxed);
    }
}

impl Outcomes for Callers {
    fn claim(&self, operations: &mut Vec<usize>) {
        let before = operations.len();
        operations.retain(|index| self.callers[*index].slot.claim(self.ends));
        self.count(before - operations.len());
    }

    fn release(&self, operations: &[usize]) {
        for index in operations {
            self.callers[*index].slot.release();
        }
    }

    fn applied(&self, operations: &[usize], results: Vec<TableResult>) {
        for (index, result) in operations.iter().zip(results) {
            self.report(*index, operations.len(), None);
            self.callers[*index].slot.complete(Ok(result));
        }
        self.count(operations.len());
    }

    fn failed(&self, operations: &[usize], error: &Arc<Error>, sent: usize) {
        for index in operations {
            self.fail(*index, error.copy(), sent);
        }
    }

    fn in_doubt(&self, operations: &[usize], _: &Arc<Error>) {
        for index in operations {
            self.callers[*index].slot.set_in_doubt();
        }
    }

    /// Like a single delete, which cannot know either whether it deleted the row.
    fn gone(&self, operation: usize, error: Error) {
        self.fail(operation, error, 1);
    }
}

/// The task of the batch may end early: no caller must wait forever.
impl Drop for Callers {
    fn drop(&mut self) {
        if self.completed.load(Ordering::Relaxed) >= self.callers.len() {
            return;
        }
        for (index, caller) in self.callers.iter().enumerate() {
            let error = shut_down().maybe_applied(caller.slot.has_left());
            caller.slot.complete(Err(self.named(error, index, 1)));
        }
    }
}

/// Returns the error of writes whose task is gone.
pub(super) fn shut_down() -> Error {
    let why = "the task of the write ended: its runtime is shutting down, or an observer panicked";
    Error::new(ErrorKind::Connection, why)
}

/// Returns an error for the caller of one write in a batch of `sent` operations.
pub(super) fn of_write(error: Error, kind: OperationKind, keys: (&str, &str), table: &TableName, sent: usize) -> Error {
    let (partition_key, row_key) = keys;
    let mut error = error.in_operation(kind, Some(table.as_str())).at_batch_index(None);
    let parts = error.parts_mut();
    parts.operation = Some(kind);
    parts.entity = Some((partition_key.to_owned(), row_key.to_owned()));
    parts.batch_size = (sent > 1).then_some(sent);
    error
}
