//! The outcome of each operation of a bulk, and the report with the progress through its source.

use std::collections::BTreeMap;
use std::fmt;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::value::etag::ETag;

use crate::client::batching::outcome::leftover::{Leftover, LeftoverReason};
use crate::client::batching::outcome::outcomes::WriteOutcome;
use crate::client::batching::outcome::report::Report;
use crate::key::key_texts::KeyTexts;
use crate::write::operation::TableOperation;

/// The report of a bulk.
pub type BulkReport = Report<TableOperation, SourceProgress>;

/// The progress of a bulk through its source.
#[derive(Default)]
pub struct SourceProgress {
    throttled: u64,
    /// A bit for each operation: 1 if it has an outcome. A block without a 0 is removed, so each of them has an operation
    /// that waits or is left over: a slow partition of an endless source needs no more memory than its operations.
    blocks: BTreeMap<u64, [u64; WORDS]>,
    /// The number of blocks so far, including those that were removed.
    begun: u64,
    /// The first operation in doubt or not attempted. No operation after it counts as settled.
    stays: Option<u64>,
}

/// The length of a block, in words of 64 operations.
const WORDS: usize = 8;
const BLOCK: u64 = 64 * WORDS as u64;

/// Without the bits.
impl fmt::Debug for SourceProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceProgress")
            .field("throttled", &self.throttled)
            .field("settled", &self.settled())
            .finish_non_exhaustive()
    }
}

impl BulkReport {
    /// Returns the number of requests that the service throttled.
    ///
    /// The client sent them again, more slowly.
    pub fn throttled(&self) -> u64 {
        self.progress.throttled
    }

    /// Returns the number of operations from the start of the source that were all applied or rejected.
    ///
    /// Another process can resume after them: it skips this many operations, if its source yields the same operations
    /// in the same order. Later operations may have been applied too, so use upserts: the service rejects a repeated
    /// insert. Rejected operations among those skipped are not sent again, so record each when its outcome arrives. The
    /// number does not grow past an operation that is in doubt or was not sent.
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
        self.progress.settled()
    }

    pub(crate) fn set_throttled(&mut self, requests: u64) {
        self.progress.throttled = requests;
    }

    pub(crate) fn count(&mut self, index: u64, outcome: &WriteOutcome) {
        self.count_outcome(index, outcome);
        self.progress.count(index, outcome);
    }
}

impl SourceProgress {
    fn count(&mut self, index: u64, outcome: &WriteOutcome) {
        if let WriteOutcome::Left(LeftoverReason::InDoubt(_) | LeftoverReason::NotAttempted) = outcome {
            self.stays = Some(self.stays.map_or(index, |first| first.min(index)));
            return;
        }
        if self.stays.is_some_and(|first| index > first) {
            return;
        }
        let (number, place) = (index / BLOCK, (index % BLOCK) as usize);
        while self.begun <= number {
            self.blocks.insert(self.begun, [0; WORDS]);
            self.begun += 1;
        }
        if let Some(block) = self.blocks.get_mut(&number) {
            block[place / 64] |= 1 << (place % 64);
            if *block == [u64::MAX; WORDS] {
                self.blocks.remove(&number);
            }
        }
    }

    fn settled(&self) -> u64 {
        let Some((number, block)) = self.blocks.first_key_value() else {
            return self.begun * BLOCK;
        };
        let full = block.iter().take_while(|word| **word == u64::MAX).count();
        let next = block.get(full).map_or(0, |word| word.trailing_ones());
        number * BLOCK + 64 * full as u64 + u64::from(next)
    }
}

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn applied(progress: &mut SourceProgress, index: u64) {
        progress.count(index, &WriteOutcome::Applied(None));
    }

    /// The first operation is throttled, and another one now and then, while a million others are applied.
    #[test]
    fn operations_ahead_of_a_slow_partition_take_no_memory() {
        let mut progress = SourceProgress::default();
        for index in (1..1_000_000).filter(|index| index % 100_000 > 0) {
            applied(&mut progress, index);
        }
        assert_eq!(progress.settled(), 0);
        assert!(progress.blocks.len() <= 11, "{}", progress.blocks.len());
        for slow in 0..10 {
            applied(&mut progress, slow * 100_000);
        }
        assert_eq!((progress.settled(), progress.blocks.len()), (1_000_000, 1));
    }

    proptest! {
        #[test]
        fn settled_operations_are_those_before_the_first_without_an_outcome(
            order in Just((0..2_000_u64).collect::<Vec<_>>()).prop_shuffle(),
            in_doubt in prop::option::of(0..2_000_u64),
        ) {
            let (mut progress, mut waiting) = (SourceProgress::default(), vec![true; 2_001]);
            for index in order {
                if Some(index) == in_doubt {
                    progress.count(index, &WriteOutcome::Left(LeftoverReason::NotAttempted));
                } else {
                    applied(&mut progress, index);
                    waiting[index as usize] = false;
                }
                prop_assert_eq!(Some(progress.settled() as usize), waiting.iter().position(|waits| *waits));
            }
        }
    }
}
