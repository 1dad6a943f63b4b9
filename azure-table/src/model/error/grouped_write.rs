//! The error of a write that was sent in a batch with those of other callers.

use crate::model::error::Error;
use crate::model::operation_kind::OperationKind;

impl Error {
    /// Returns the error for one of the writes that were sent in a batch of this size, with its operation and entity.
    pub(crate) fn of_grouped_write(
        mut self,
        operation: OperationKind,
        (partition_key, row_key): (&str, &str),
        batch_size: usize,
    ) -> Self {
        self.inner.operation = Some(operation);
        self.inner.entity = Some((partition_key.to_owned(), row_key.to_owned()));
        self.inner.batch_index = None;
        self.inner.batch_size = (batch_size > 1).then_some(batch_size);
        self
    }

    /// Returns the number of writes in the batch in which a [grouped](crate::TableClient::grouped) write failed.
    ///
    /// `None` for a write that was sent alone, and for all other calls.
    pub fn batch_size(&self) -> Option<usize> {
        self.inner.batch_size
    }
}
