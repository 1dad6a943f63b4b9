//! The outcomes of a bulk, individually and as counts.
//!
//! All bulk writes share [`Counts`], so that both reports use the same words. [`FirstOf`] shortens the lists in their
//! texts.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::value::etag::ETag;

use crate::client::batching::outcome::interrupted::Report;
use crate::client::batching::outcome::outcomes::{LeftoverReason, WriteOutcome};
use crate::key::key_texts::KeyTexts;
use crate::write::operation::TableOperation;
use crate::write::operation::shared::shared;

/// The number of leftovers in the `Debug` text of a report.
const MAX_SHOWN: usize = 3;

/// The outcome of one operation of a bulk.
#[derive(Debug)]
#[non_exhaustive]
pub enum BulkOutcome {
    /// The operation was applied.
    Applied(AppliedOperation),
    /// The operation was not applied, or is in doubt.
    Leftover(Leftover),
}

/// An operation that was applied.
#[derive(Debug)]
pub struct AppliedOperation {
    pub(crate) index: u64,
    pub(crate) kind: OperationKind,
    pub(crate) keys: KeyTexts,
    pub(crate) etag: Option<ETag>,
}

impl AppliedOperation {
    /// Returns the position of the operation in the source, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the kind of the operation.
    pub fn kind(&self) -> OperationKind {
        self.kind
    }

    /// Returns the PartitionKey and the RowKey.
    pub fn keys(&self) -> (&str, &str) {
        self.keys.pair()
    }

    /// Returns the entity's new ETag, or `None` after a delete.
    pub fn etag(&self) -> Option<&ETag> {
        self.etag.as_ref()
    }
}

/// An operation that was not applied or is in doubt, with the reason.
///
/// The operation can be sent again, unless it could not be encoded.
#[derive(Debug)]
pub struct Leftover {
    pub(crate) index: u64,
    pub(crate) operation: Option<TableOperation>,
    pub(crate) why: LeftoverReason,
}

impl Leftover {
    /// Returns the position of the operation in the source, from 0.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Returns the operation, or `None` if it could not be encoded.
    pub fn operation(&self) -> Option<&TableOperation> {
        self.operation.as_ref()
    }

    /// Returns the operation to send again, or `None` if it could not be encoded.
    pub fn into_operation(self) -> Option<TableOperation> {
        match self.why {
            LeftoverReason::InDoubt(_) => self.operation.map(shared),
            LeftoverReason::Rejected(_) | LeftoverReason::NotAttempted => self.operation,
        }
    }

    /// Returns the reason.
    pub fn reason(&self) -> &LeftoverReason {
        &self.why
    }
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.operation {
            Some(operation) => write!(f, "{operation}: ")?,
            None => write!(f, "operation {} of the source: ", self.index)?,
        }
        self.why.fmt(f)
    }
}

/// The number of operations or rows with each outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) applied: u64,
    pub(crate) unchanged: u64,
    pub(crate) gone: u64,
    /// Rows that another program changed after they were read.
    pub(crate) changed: u64,
    pub(crate) rejected: u64,
    pub(crate) in_doubt: u64,
    pub(crate) not_attempted: u64,
}

impl Counts {
    /// Returns the error of all writes, which is in doubt if any of them was or may have been applied.
    pub(crate) fn interrupt(&self, mut error: Error) -> Error {
        if self.applied + self.gone + self.in_doubt > 0 {
            error = error.maybe_applied(true);
            // It covers the writes of one request only, which are all if there is one.
            if self.applied + self.gone > 0 || self.in_doubt > 1 {
                error.parts_mut().doubt = None;
            }
        }
        error
    }

    pub(crate) fn count(&mut self, outcome: &WriteOutcome) {
        *match outcome {
            WriteOutcome::Applied(_) => &mut self.applied,
            WriteOutcome::Gone => &mut self.gone,
            WriteOutcome::Left(LeftoverReason::Rejected(_)) => &mut self.rejected,
            WriteOutcome::Left(LeftoverReason::InDoubt(_)) => &mut self.in_doubt,
            WriteOutcome::Left(LeftoverReason::NotAttempted) => &mut self.not_attempted,
        } += 1;
    }
}

/// Formats the counts in one line, without those that are zero: `250 applied, 3 unchanged, 1 gone, 2 rejected`.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} applied", self.applied)?;
        for (count, what) in [
            (self.unchanged, "unchanged"),
            (self.gone, "gone"),
            (self.changed, "changed by others"),
            (self.rejected, "rejected"),
            (self.in_doubt, "in doubt"),
            (self.not_attempted, "not attempted"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

/// The outcomes of all operations of a bulk.
///
/// Each operation that was read is counted once.
#[derive(Default)]
#[must_use = "operations may be left: see `leftovers`"]
pub struct BulkReport {
    counts: Counts,
    pub(crate) throttled: u64,
    leftovers: Vec<Leftover>,
    settled: u64,
    /// One flag per operation, from the first operation without an outcome on: `true` if the operation has one.
    ahead: VecDeque<bool>,
    /// The first operation in doubt or not attempted. No operation after it counts as settled.
    stays: Option<u64>,
    /// The first operation that was rejected or is in doubt, and its error.
    first_failure: Option<(u64, Arc<Error>)>,
}

impl BulkReport {
    /// Returns the number of operations that were applied.
    pub fn applied(&self) -> u64 {
        self.counts.applied
    }

    /// Returns the number of operations that the service rejected, or that cannot be sent.
    pub fn rejected(&self) -> u64 {
        self.counts.rejected
    }

    /// Returns the number of operations in doubt: the response was lost, or the service failed.
    pub fn in_doubt(&self) -> u64 {
        self.counts.in_doubt
    }

    /// Returns the number of operations that were read from the source and never sent.
    pub fn not_attempted(&self) -> u64 {
        self.counts.not_attempted
    }

    /// Returns the number of requests that the service throttled.
    ///
    /// They were sent again, more slowly.
    pub fn throttled(&self) -> u64 {
        self.throttled
    }

    /// Returns the operations that were not applied or are in doubt, in the order of the source.
    ///
    /// [`ensure_no_leftovers`](Self::ensure_no_leftovers) turns them into an error.
    ///
    /// Operations that the [outcomes](crate::bulk::BulkWrite::outcomes) yielded are not included. After
    /// [`finish`](crate::bulk::BulkOutcomes::finish), operations that were in flight or waited are included.
    pub fn leftovers(&self) -> &[Leftover] {
        &self.leftovers
    }

    /// Returns the error of the first operation that was not applied or is in doubt, if any.
    ///
    /// It covers all operations that the report counts, those that the [outcomes](crate::bulk::BulkWrite::outcomes)
    /// yielded included. For writes that must all succeed:
    /// ```
    /// # use azure_table::{DynamicEntity, Emulator, ErrorKind, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # blogs.create_table().await?;
    /// # let rows = || (0..5).map(|n| DynamicEntity::new("Channel9", n.to_string()));
    /// blogs.bulk().insert(rows()).await?.ensure_no_leftovers()?;
    ///
    /// // The rows exist now.
    /// let report = blogs.bulk().insert(rows()).await?;
    /// let error = report.ensure_no_leftovers().unwrap_err();
    /// assert_eq!((error.kind(), report.rejected()), (ErrorKind::AlreadyExists, 5));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - The error of the first operation in the source that was rejected or is in doubt.
    /// - `Timeout`: no operation has an error, and the bulk ended before some were sent.
    pub fn ensure_no_leftovers(&self) -> Result<()> {
        if let Some((_, error)) = &self.first_failure {
            return Err(error.copy());
        }
        match (self.counts.not_attempted, self.stays) {
            (1.., Some(first)) => {
                let why = format!("the bulk ended before operation {first} of its source was sent");
                Err(Error::new(ErrorKind::Timeout, why))
            }
            _ => Ok(()),
        }
    }

    /// Returns the [`leftovers`](Self::leftovers), to send them again.
    pub fn into_leftovers(self) -> Vec<Leftover> {
        self.leftovers
    }

    /// Returns the number of operations at the start of the source that were all applied or rejected.
    ///
    /// Another process can resume after them: it skips this number of operations, if its source yields the same
    /// operations in the same order. Operations after them may have been applied too, so use upserts: the service
    /// rejects a repeated insert. Rejected operations before them are not sent again, so record each when its outcome
    /// arrives. The number does not grow past an operation that is in doubt or was not sent.
    ///
    /// ```
    /// # use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// # use azure_table::emulator::ServiceModel;
    /// # use std::sync::atomic::{AtomicU64, Ordering};
    /// # use std::time::Duration;
    /// # static SETTLED: AtomicU64 = AtomicU64::new(0);
    /// # fn saved() -> u64 { SETTLED.load(Ordering::Relaxed) }
    /// # fn save(settled: u64) { SETTLED.store(settled, Ordering::Relaxed); }
    /// # #[derive(TableEntity, Clone)]
    /// # struct Reading { #[table(partition_key)] sensor: String, #[table(row_key)] at: u32, value: f64 }
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let slow = ServiceModel::new().write_latency(Duration::from_millis(100));
    /// # let service = TableServiceClient::from_transport(Emulator::new().service_model(slow));
    /// # let readings = service.table::<Reading>("Readings")?;
    /// # readings.create_table().await?;
    /// # let rows = (0..50_000).map(|n| Reading { sensor: format!("s{}", n % 7), at: n, value: 0.5 });
    /// # let crashed = readings.bulk().insert_or_replace(rows.clone()).on_progress(|so_far| save(so_far.settled()));
    /// # assert!(tokio::time::timeout(Duration::from_millis(250), crashed).await.is_err());
    /// # assert!((1..50_000).contains(&saved()), "{}", saved());
    /// let before = saved();                           // from a file, for example; 0 at first
    /// let report = readings
    ///     .bulk()
    ///     .insert_or_replace(rows.skip(before as usize))
    ///     .on_progress(move |so_far| save(before + so_far.settled()))
    ///     .await?;
    /// # assert_eq!((report.applied(), saved()), (50_000 - before, 50_000));
    /// # assert_eq!(readings.query().count().await?, 50_000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn settled(&self) -> u64 {
        self.settled
    }

    pub(crate) fn keep(&mut self, leftover: Leftover) {
        self.leftovers.push(leftover);
    }

    /// Sorts the leftovers in the order of the source, so that two writes to one row are sent again in their order.
    pub(crate) fn sort_leftovers(&mut self) {
        self.leftovers.sort_by_key(|left| left.index);
    }

    pub(crate) fn count(&mut self, index: u64, outcome: &WriteOutcome) {
        self.counts.count(outcome);
        if let Some(error) = outcome.failure()
            && self.first_failure.as_ref().is_none_or(|(first, _)| index < *first)
        {
            self.first_failure = Some((index, Arc::clone(error)));
        }
        if let WriteOutcome::Left(LeftoverReason::InDoubt(_) | LeftoverReason::NotAttempted) = outcome {
            self.stays = Some(self.stays.map_or(index, |first| first.min(index)));
            return;
        }
        if self.stays.is_some_and(|first| index > first) {
            return;
        }
        let Ok(place) = usize::try_from(index - self.settled) else {
            return;
        };
        if place == 0 && self.ahead.is_empty() {
            self.settled += 1;
            return;
        }
        if self.ahead.len() <= place {
            self.ahead.resize(place + 1, false);
        }
        self.ahead[place] = true;
        while self.ahead.front() == Some(&true) {
            self.ahead.pop_front();
            self.settled += 1;
        }
    }
}

impl Report for BulkReport {
    fn interrupt(&self, error: Error) -> Error {
        self.counts.interrupt(error)
    }
}

/// Shows the counts and only the first leftovers, since every operation may be left over. Leftovers with an error come
/// first.
impl fmt::Debug for BulkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_not_attempted = |left: &&Leftover| matches!(left.why, LeftoverReason::NotAttempted);
        let failed = self.leftovers.iter().filter(|left| !is_not_attempted(left));
        let not_attempted = self.leftovers.iter().filter(is_not_attempted);
        f.debug_struct("BulkReport")
            .field("counts", &self.counts)
            .field("throttled", &self.throttled)
            .field("settled", &self.settled)
            .field(
                "leftovers",
                &FirstOf::new(failed.chain(not_attempted), self.leftovers.len()),
            )
            .finish_non_exhaustive()
    }
}

/// Shows the first items of a list, then the number of the others.
pub(crate) struct FirstOf<'a, T> {
    shown: Vec<&'a T>,
    others: usize,
}

impl<'a, T> FirstOf<'a, T> {
    pub(crate) fn new(items: impl Iterator<Item = &'a T>, count: usize) -> Self {
        let shown: Vec<&T> = items.take(MAX_SHOWN).collect();
        let others = count - shown.len();
        Self { shown, others }
    }
}

impl<T: fmt::Debug> fmt::Debug for FirstOf<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        list.entries(&self.shown);
        if self.others > 0 {
            list.entry(&format_args!("and {} more", self.others));
        }
        list.finish()
    }
}

impl fmt::Display for BulkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.fmt(f)
    }
}
