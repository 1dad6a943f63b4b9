//! The tail of the soak: it follows all workers through the same faults, and has observed every last version at the
//! end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::{ETag, TableClient};
use azure_table_patterns::{ChangeProgress, Changes};

use super::worker::Cell;

/// The bound of the skew of the service's Timestamps.
pub(crate) const SKEW: Duration = Duration::from_millis(500);
/// The skew, and the time of a delayed write.
const OVERLAP: Duration = Duration::from_secs(5);
const INTERVAL: Duration = Duration::from_millis(500);

/// The counts of the tail so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TailCounts {
    pub(crate) progress: ChangeProgress,
    pub(crate) errors: u64,
}

pub(crate) struct Tail {
    cells: TableClient<Cell>,
    counts: Arc<Mutex<TailCounts>>,
    /// The last version of each row that was yielded.
    seen: BTreeMap<(String, u32), ETag>,
}

impl Tail {
    pub(crate) fn new(cells: TableClient<Cell>, counts: Arc<Mutex<TailCounts>>) -> Self {
        let seen = BTreeMap::new();
        Self { cells, counts, seen }
    }

    /// Follows the table until a poll that began after the end is complete.
    pub(crate) async fn follow(mut self, is_over: Arc<AtomicBool>) -> Self {
        let changes = Changes::new(self.cells.query()).overlap(OVERLAP);
        let changes = changes.interval(INTERVAL).max_interval(INTERVAL);
        let mut changes = changes.stream().unwrap();
        let mut last_poll = None;
        while last_poll.is_none_or(|last| changes.progress().polls < last) {
            // Wakes up at intervals, because the stream has no end.
            match tokio::time::timeout(INTERVAL, changes.try_next()).await {
                Ok(Ok(Some(cell))) => {
                    self.seen.insert((cell.partition.clone(), cell.row), cell.etag);
                }
                Ok(Ok(None)) => break,
                Ok(Err(_)) => self.counts.lock().unwrap().errors += 1,
                Err(_) => {}
            }
            let progress = changes.progress();
            self.counts.lock().unwrap().progress = progress;
            if last_poll.is_none() && is_over.load(Ordering::Relaxed) {
                // The current one may have begun before.
                last_poll = Some(progress.polls + 2);
            }
        }
        self
    }

    /// Every stored row was yielded in its last version.
    pub(crate) async fn compare(&self, truth: &TableClient<Cell>) {
        let stored = truth.query().versioned().all().await.unwrap();
        for cell in &stored {
            let seen = self.seen.get(&(cell.partition.clone(), cell.row));
            assert_eq!(
                seen,
                Some(&cell.etag),
                "the tail missed {} {}",
                cell.partition,
                cell.row
            );
        }
        println!("the tail saw the last version of all {} rows", stored.len());
    }
}
