//! Numbers that are never returned twice.
//!
//! Defines [`Sequence`] and its row.

use std::ops::RangeInclusive;

use azure_table::{Guid, Result, TableClient, TableEntity};

use super::conflict::on_primary;

/// A source of numbers from 1 on, shared by all users of the same row.
///
/// **Promise.** No number is returned twice, by any number of processes, and the numbers of one `Sequence` value
/// increase. Numbers may be skipped: the rest of a block when a process ends, and a block whose response was lost.
///
/// **Cost.** One read and one write for each [block](Self::block) of numbers; the same again per conflict. No request
/// for the other numbers.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `next`, new row | Get, Insert | 1 |
/// | `next` within a block | none | 0 |
/// | `next`, new block | Get, Replace | 2 |
///
/// **Crash.** The rest of the block is never returned.
///
/// Rows that only need to sort by time need no sequence: with the feature `ulid-3` or `uuid-1`, a key field can be a
/// `ulid::Ulid` or a UUID of version 7, which is created without a request. IDs of the same millisecond are not
/// ordered, and neither are IDs of machines whose clocks differ.
///
/// ```
/// use azure_table_patterns::Sequence;
/// use azure_table::{Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let numbers = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Numbers")?;
/// numbers.create_table().await?;
/// let mut one = Sequence::new(&numbers, "sequences", "invoice").block(10);
/// let mut other = Sequence::new(&numbers, "sequences", "invoice").block(10);
/// assert_eq!((one.next().await?, other.next().await?, one.next().await?), (1, 11, 2));
/// # Ok(())
/// # }
/// ```
// Not `Clone`: both values would return the rest of the block.
#[derive(Debug)]
pub struct Sequence {
    table: TableClient<SequenceRow>,
    key: (String, String),
    block: u32,
    /// The remaining numbers of the current block: the next one, and the last.
    left: RangeInclusive<i64>,
}

/// No numbers.
#[expect(clippy::reversed_empty_ranges, reason = "it is meant to be empty")]
const NONE: RangeInclusive<i64> = 1..=0;

/// The maximum number of blocks that may be lost in one call.
const TRIES: u32 = 4;

/// The row of a sequence: the last number of the last block.
#[derive(TableEntity, Clone, Debug)]
struct SequenceRow {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    name: String,
    #[table(rename = "Last")]
    last: i64,
    #[table(write_id, rename = "Write")]
    write: Option<Guid>,
}

impl Sequence {
    /// Creates a handle to the sequence in the row with this key. The first block inserts the row.
    pub fn new<E: TableEntity>(
        table: &TableClient<E>,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Self {
        Self {
            table: on_primary(&table.typed()),
            key: (partition_key.into(), row_key.into()),
            block: 100,
            left: NONE,
        }
    }

    /// Sets the size of a block: 100 numbers by default, at least 1.
    #[must_use]
    pub fn block(mut self, numbers: u32) -> Self {
        self.block = numbers.max(1);
        self
    }

    /// Returns the next number.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): the next block would end beyond `i64::MAX`.
    /// - The errors of [`modify`](TableClient::modify). No number was returned; a block may have been skipped.
    pub async fn next(&mut self) -> Result<i64> {
        if let Some(number) = self.left.next() {
            return Ok(number);
        }
        self.left = self.take().await?;
        self.left.next().ok_or_else(used_up)
    }

    /// Takes the next block.
    async fn take(&self) -> Result<RangeInclusive<i64>> {
        let (partition, name) = &self.key;
        let block = i64::from(self.block);
        let first = || SequenceRow {
            partition: partition.clone(),
            name: name.clone(),
            last: block,
            write: None,
        };
        let take = |row: &mut SequenceRow| -> Result<()> {
            row.last = row.last.checked_add(block).ok_or_else(used_up)?;
            Ok(())
        };
        let mut tries = 0;
        loop {
            tries += 1;
            match self.table.modify((partition, name), take).or_insert(first).await {
                Ok(row) => return Ok(row.last - block + 1..=row.last),
                // The block may be taken, but no process has it. The next one is just as good.
                Err(e) if had_response(&e) && tries < TRIES => {}
                // Each earlier one was in doubt.
                Err(e) => return Err(e.after_writes(tries > 1)),
            }
        }
    }
}

/// Returns `true` if a write is in doubt, and the service responded to its last attempt.
fn had_response(error: &azure_table::Error) -> bool {
    error.last_failure().is_some_and(|last| last.status().is_some())
}

fn used_up() -> azure_table::Error {
    azure_table::Error::invalid_input("the numbers of the sequence are used up: i64::MAX is the last")
}
