//! How much a query does before it lets others go first.
//!
//! Owns [`Turn`]. A query releases the store and yields to other tasks at the end of each turn. The end depends on the rows and
//! the filter alone, not on the time, so that tests on a paused clock run the same way each time.

/// The work of a turn: comparisons, rows, and quarters of a KiB. About 0.1 ms.
const WORK: usize = 2_048;
/// Bytes of a row whose reading takes as long as a comparison.
const BYTES: usize = 256;

/// What is left of a turn.
#[derive(Debug)]
pub(crate) struct Turn(usize);

impl Turn {
    pub(crate) fn new() -> Self {
        Self(WORK)
    }

    /// Takes the work on an item of `bytes` bytes, of which so many comparisons are made. Returns `false` if the turn is over.
    pub(crate) fn take(&mut self, comparisons: usize, bytes: usize) -> bool {
        let has_room = self.0 > 0;
        self.0 = self.0.saturating_sub(1 + comparisons + bytes / BYTES);
        has_room
    }
}
