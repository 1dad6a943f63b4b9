//! The error of a write that was sent in a batch with the writes of other callers.

use crate::error::Error;

impl Error {
    /// Returns the number of writes in the batch in which a grouped write failed.
    ///
    /// `None` for a write that was sent alone, and for all other calls.
    pub fn batch_size(&self) -> Option<usize> {
        self.inner.batch_size
    }
}
