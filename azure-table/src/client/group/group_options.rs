//! The settings of a group of writes.

use std::time::Duration;

/// The default number of writes that wait or are in flight.
const PENDING: usize = 20_000;
/// The default number of their bytes: half of what a bulk holds, since a body in flight is held twice.
const PENDING_BYTES: usize = 32 << 20;

/// The settings of a group of writes. See [`TableClient::grouped_with`](crate::TableClient::grouped_with).
///
/// ```
/// use azure_table::batch::GroupOptions;
/// use std::time::Duration;
/// let options = GroupOptions::new().max_delay(Duration::from_millis(2)).max_pending(5_000);
/// ```
#[derive(Clone, Debug)]
#[must_use = "options have no effect until they are passed to `grouped_with`"]
pub struct GroupOptions {
    pub(crate) max_delay: Option<Duration>,
    pub(crate) max_pending: usize,
    pub(crate) max_pending_bytes: usize,
}

impl GroupOptions {
    /// Creates the default settings.
    pub fn new() -> Self {
        Self {
            max_delay: None,
            max_pending: PENDING,
            max_pending_bytes: PENDING_BYTES,
        }
    }

    /// Lets a write wait up to this long for others of its partition. By default it is sent immediately.
    ///
    /// A full batch is sent earlier. If few callers write to a partition, a delay makes their batches larger and each
    /// write slower.
    pub fn max_delay(mut self, time: Duration) -> Self {
        self.max_delay = Some(time).filter(|time| !time.is_zero());
        self
    }

    /// Limits the number of pending writes: accepted, but without a result yet. 20,000 by default, at least 1.
    ///
    /// Further writes wait in the order of their first poll, and are accepted when there is room.
    pub fn max_pending(mut self, writes: usize) -> Self {
        self.max_pending = writes.max(1);
        self
    }

    /// Limits the bytes of the pending writes: 32 MiB by default. A larger write is accepted when no other is pending.
    ///
    /// Writes in flight take the same amount again, for the bodies of their requests.
    pub fn max_pending_bytes(mut self, bytes: usize) -> Self {
        self.max_pending_bytes = bytes;
        self
    }
}

impl Default for GroupOptions {
    fn default() -> Self {
        Self::new()
    }
}
