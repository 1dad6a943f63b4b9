//! Single writes of many tasks, sent in batches: a group commit.
//!
//! Defines [`Grouped`] and its [`GroupedError`]. The driver is a bulk over the queue of the writes. A bulk that ends
//! early is followed by another one.

use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use azure_table::bulk::LeftoverReason;
use azure_table::{BulkOutcome, ETag, Error, TableClient, TableOperation};
use futures_util::stream::{self, StreamExt as _};
use tokio::sync::{mpsc, oneshot};

/// Sends the writes of concurrent tasks in batches, each of one partition.
///
/// Clone it, and share it among all tasks that write. A write is sent immediately if no batch of its partition, and
/// fewer than 32 batches of all partitions, are in flight. Writes that arrive meanwhile form the next batch, of up to
/// 100 operations. There is no timer.
///
/// **Promise.** Each write has its own outcome, as in a [bulk](TableClient::bulk): a row that fails its batch is removed,
/// and the others are sent again. Two writes to one row are applied in the order in which their futures were first
/// polled: after a lost request that may still arrive, the next write to its row waits for 180 s. An error that
/// concerns no single row, such as `Forbidden` or a minute of throttling, also ends the waiting writes of other
/// partitions, and forgets which rows have a lost request. Later writes are sent again.
///
/// **Cost.** One request for each batch. Throttled batches are sent again at a rate that adapts to the service.
///
/// **Crash.** A write whose caller has no result may have been applied.
///
/// Dropping the future of [`write`](Self::write) cancels the write while it waits for the driver, which may have taken it
/// already. Any number of writes can wait. A cancelled one leaves a few hundred bytes until the driver reaches it. Without
/// a driver that is polled, writes wait for ever.
/// ```
/// use azure_table::{Emulator, TableEntity, TableOperation, TableServiceClient};
/// use azure_table_patterns::Grouped;
/// use futures::future::try_join_all;
/// # #[derive(TableEntity)]
/// # struct Visit { #[table(partition_key)] page: String, #[table(row_key)] id: u32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let table = TableServiceClient::from_transport(Emulator::new()).table::<Visit>("Visits")?;
/// # table.create_table().await?;
/// let (visits, driver) = Grouped::new(&table);
/// let driver = tokio::spawn(driver);
/// let writes = (0..250).map(|id| {
///     let visits = visits.clone();
///     async move { visits.write(TableOperation::insert(&Visit { page: "home".into(), id })).await }
/// });
/// let etags = try_join_all(writes).await?;
/// assert_eq!(etags.len(), 250);
///
/// drop(visits);
/// driver.await?; // after the last clone is dropped, and all writes are done
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Grouped {
    /// Unbounded, so that a write is in it after its first poll. With a bound, a later write can overtake one that waits
    /// for its place, or whose task has to yield.
    queue: mpsc::UnboundedSender<Write>,
}

struct Write {
    /// The caller owns the operation until the driver takes it, so that a cancelled write frees it.
    operation: Weak<Mutex<Option<TableOperation>>>,
    caller: Caller,
}

type Caller = oneshot::Sender<Result<Option<ETag>, GroupedError>>;

impl Grouped {
    /// Creates a group of writes to a table, and the driver that sends them: a future to spawn.
    ///
    /// The driver ends when the last clone of the group is dropped and each write has its outcome.
    pub fn new<E: 'static>(table: &TableClient<E>) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, writes) = mpsc::unbounded_channel();
        (Self { queue }, drive(table.clone(), writes))
    }

    /// Writes one entity. Returns its new ETag, or `None` after a delete.
    ///
    /// As in a bulk, a delete that finds no row after an earlier response was lost counts as applied, though the row may
    /// never have existed.
    ///
    /// Requests: 1 per batch. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// See [`GroupedError`].
    pub async fn write(&self, operation: TableOperation) -> Result<Option<ETag>, GroupedError> {
        let (caller, outcome) = oneshot::channel();
        let owned = Arc::new(Mutex::new(Some(operation)));
        let operation = Arc::downgrade(&owned);
        if self.queue.send(Write { operation, caller }).is_err() {
            let error = Error::other("the driver of the group has ended");
            return Err(GroupedError::not_attempted(Arc::new(error)));
        }
        outcome.await.unwrap_or_else(|_| {
            let error = Error::other("the driver of the group ended before the write had an outcome");
            Err(GroupedError::of(LeftoverReason::InDoubt(Arc::new(
                error.maybe_applied(true),
            ))))
        })
    }
}

/// Sends the writes in one bulk after the other, until the queue is closed.
async fn drive<E>(table: TableClient<E>, mut writes: mpsc::UnboundedReceiver<Write>) {
    while !(writes.is_closed() && writes.is_empty()) {
        let callers = Mutex::new(HashMap::new());
        let lock = || callers.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = stream::poll_fn(|cx| writes.poll_recv(cx));
        let taken = waiting.filter_map(|Write { operation, caller }| {
            let operation = operation.upgrade();
            let taken = operation.and_then(|it| it.lock().unwrap_or_else(PoisonError::into_inner).take());
            ready(taken.map(|operation| (operation, caller)))
        });
        let operations = taken.zip(stream::iter(0_u64..)).map(|((operation, caller), index)| {
            lock().insert(index, caller);
            operation
        });
        let bulk = table.bulk().max_failures(usize::MAX).write_stream(operations);
        let mut outcomes = bulk.outcomes();
        let mut not_attempted: Vec<Caller> = Vec::new();
        while let Some(outcome) = outcomes.next().await {
            let (index, result) = match outcome {
                BulkOutcome::Applied(applied) => (applied.index(), Ok(applied.etag().cloned())),
                BulkOutcome::Leftover(left) => (left.index(), Err(left.reason().clone())),
                _ => continue,
            };
            let Some(caller) = lock().remove(&index) else { continue };
            match result {
                Err(LeftoverReason::NotAttempted) => not_attempted.push(caller),
                // The caller may be gone.
                result => drop(caller.send(result.map_err(GroupedError::of))),
            }
        }
        if let Err(interrupted) = outcomes.finish() {
            // Another write may be in doubt, but not those that wait.
            let error = interrupted.into_error();
            let error = Arc::new(error.last_failure().unwrap_or(error));
            for caller in not_attempted {
                drop(caller.send(Err(GroupedError::not_attempted(Arc::clone(&error)))));
            }
        }
    }
}

/// The error of a write through [`Grouped`].
///
/// The writes of one batch share an error, so it may name a different row.
#[derive(Clone, Debug)]
pub struct GroupedError {
    reason: LeftoverReason,
    /// The error that ended the bulk before the write was sent.
    ended: Option<Arc<Error>>,
}

impl GroupedError {
    fn of(reason: LeftoverReason) -> Self {
        Self { reason, ended: None }
    }

    fn not_attempted(ended: Arc<Error>) -> Self {
        Self {
            reason: LeftoverReason::NotAttempted,
            ended: Some(ended),
        }
    }

    /// Returns the reason. You can safely repeat a write that was not attempted.
    pub fn reason(&self) -> &LeftoverReason {
        &self.reason
    }

    /// Returns `true` if the write may have been applied, or may still be.
    pub fn may_have_applied(&self) -> bool {
        !matches!(self.reason, LeftoverReason::Rejected(_) | LeftoverReason::NotAttempted)
    }

    /// Returns the error of the write or of its batch, or the one that ended the writes before this one was sent.
    pub fn error(&self) -> Option<&Error> {
        match &self.reason {
            LeftoverReason::Rejected(error) | LeftoverReason::InDoubt(error) => Some(error),
            _ => self.ended.as_deref(),
        }
    }
}

impl fmt::Display for GroupedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ended {
            Some(ended) => write!(f, "not attempted: {ended}"),
            None => self.reason.fmt(f),
        }
    }
}

impl std::error::Error for GroupedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error().map(|error| error as _)
    }
}

#[cfg(test)]
mod tests {
    use azure_table::DynamicEntity;
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn cancelled_write_frees_its_operation_while_it_is_in_the_queue() {
        let (queue, mut writes) = mpsc::unbounded_channel();
        let group = Grouped { queue };
        let mut write = || {
            let operation = TableOperation::insert(&DynamicEntity::new("p", "r"));
            let mut write = Box::pin(group.write(operation));
            assert!(write.as_mut().now_or_never().is_none());
            (write, writes.try_recv().unwrap().operation)
        };
        let ((live, waiting), (cancelled, freed)) = (write(), write());
        drop(cancelled);
        assert!(waiting.upgrade().is_some() && freed.upgrade().is_none());
        drop(live);
    }
}
