//! The interface through which a handle's writes join a group.
//!
//! `client/group` implements [`WriteGroup`]. A pipeline with a group passes single writes to it; all other calls are
//! sent as usual.

use std::fmt;
use std::sync::Arc;

use azure_table_wire::error::Result;
use azure_table_wire::transport::BoxFuture;

use crate::pipeline::options::CallOptions;
use crate::write::operation::TableOperation;
use crate::write::table_result::TableResult;

/// Sends the writes of many callers in batches.
pub(crate) trait WriteGroup: fmt::Debug + Send + Sync {
    /// Accepts a write, in the order of the calls.
    ///
    /// `options` contain the client's. With `creates_table`, the write creates a missing table.
    ///
    /// Dropping the future withdraws the write, unless it was sent.
    ///
    /// # Errors
    /// `InvalidInput`: the group is closed, or there is no runtime.
    fn write(
        self: Arc<Self>,
        operation: TableOperation,
        options: CallOptions,
        creates_table: bool,
    ) -> Result<BoxFuture<'static, Result<TableResult>>>;

    /// Waits until each write that was accepted so far has its result.
    fn flush(&self) -> BoxFuture<'static, ()>;

    /// Rejects all further writes.
    fn close(&self);

    /// Returns the settings and the counts so far.
    fn statistics(&self) -> GroupStatistics;
}

/// The limits of a group of writes, and its counts so far.
///
/// Returned by [`EffectiveSettings::group`](crate::telemetry::EffectiveSettings::group).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupStatistics {
    /// The maximum number of operations that wait or are in flight.
    pub max_pending: usize,
    /// The maximum size of these operations in bytes.
    pub max_pending_bytes: usize,
    /// The number of operations that wait or are in flight now.
    pub pending: usize,
    /// The size of these operations in bytes.
    pub pending_bytes: usize,
    /// The number of writes that were sent, each counted once.
    pub writes: u64,
    /// The number of batches in which they were sent. A write that was sent alone counts as one batch.
    pub batches: u64,
    /// The largest number of writes in a batch.
    pub largest_batch: usize,
}

impl fmt::Display for GroupStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{2} of {0} operations pending, {3} of {1} bytes; {4} writes sent in {5} batches, the largest of {6}",
            self.max_pending,
            self.max_pending_bytes,
            self.pending,
            self.pending_bytes,
            self.writes,
            self.batches,
            self.largest_batch
        )
    }
}
