//! A row that every transaction of a partition writes, for partitions without a fence.
//!
//! Defines [`Revision`] and its row. `snapshot.rs` has the check.

use azure_table::{ETag, Guid, Key, Result, TableClient, TableEntity, TableOperation, TableQuery};

use super::conflict::on_primary;
use super::snapshot::{CONFLICTS, Rows, VersionRow};

/// A row that every transaction of a partition writes, so that a reader of several pages notices each of them.
///
/// **Promise.** A [`snapshot`](Self::snapshot) has the rows of any number of pages as they were at one moment, if every
/// write of the partition is a batch with the [`operation`](Self::operation). Writes without it are not noticed.
///
/// Transactions do not wait for each other, and none is rejected because of another: the row is written without a
/// condition. If they depend on what they read, use a [`Fence`](super::Fence), which has snapshots of its own.
///
/// You choose the RowKey of the row, and exclude it from other queries with
/// [`without_row_keys`](azure_table::TableQuery::without_row_keys). Its write id shows after a lost response whether
/// the batch was applied, whatever the other operations are. Programs without this crate take part if their batches
/// write the same row.
///
/// **Cost.** One of the 100 operations of each batch. [`snapshot`](Self::snapshot): the pages and two reads; the pages
/// and one read again for each transaction that interrupts it.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `operation` in a batch of 2 | Batch | 2 |
/// | `snapshot`, 2 rows | Get, Query, Get | 4 |
/// | `snapshot`, 2 pages of 1 row | Get, Query, Query, Get | 4 |
///
/// **Crash.** A batch is applied as a whole or not at all, so nothing needs repair. A snapshot only reads.
///
/// Two rows around the partition that hold the same version, such as `!` and `~`, would save both reads. They would not
/// keep the promise: a batch in doubt is sent again with the version of its first attempt. If another transaction comes
/// between the two attempts, a reader finds equal versions around torn pages. An ETag is new each time. With a
/// [`Fence`](super::Fence) such rows are sound on Table storage: see the guide
/// [`membership`](crate::guide::membership). Cosmos DB returns rows in the order of their insertion, so there both may
/// come first and show nothing.
///
/// ```
/// use azure_table_patterns::Revision;
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let stock = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Stock")?;
/// stock.create_table().await?;
/// let revision = Revision::new(&stock, "warehouse-7", "!");
///
/// let mut batch = stock.batch();
/// batch.push(revision.operation())?;
/// batch.insert_or_replace(&DynamicEntity::new("warehouse-7", "bolts"))?;
/// batch.insert_or_replace(&DynamicEntity::new("warehouse-7", "nuts"))?;
/// batch.submit().await?;
///
/// let rows: Vec<DynamicEntity> = revision.snapshot(stock.query().page_size(1)).await?;
/// assert_eq!(rows.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Revision {
    table: TableClient<RevisionRow>,
    row: RevisionRow,
    conflicts: u32,
}

/// The row.
#[derive(TableEntity, Clone, Debug)]
struct RevisionRow {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    key: String,
    #[table(write_id, rename = "Write")]
    write: Option<Guid>,
}

impl Revision {
    /// Creates a handle to the row of a partition. It sends nothing, and the row need not exist.
    pub fn new<E: TableEntity>(
        table: &TableClient<E>,
        partition_key: impl Into<String>,
        row_key: impl Into<String>,
    ) -> Self {
        Self {
            table: on_primary(&table.typed()),
            row: RevisionRow {
                partition: partition_key.into(),
                key: row_key.into(),
                write: None,
            },
            conflicts: CONFLICTS,
        }
    }

    /// Sets the number of transactions that may interrupt one snapshot: 16 by default.
    #[must_use]
    pub fn max_conflicts(mut self, most: u32) -> Self {
        self.conflicts = most;
        self
    }

    /// Returns an operation that writes the row. Add it to each batch of the partition.
    ///
    /// A write of a single entity becomes a batch of two operations.
    pub fn operation(&self) -> TableOperation {
        TableOperation::insert_or_replace(&self.row)
    }

    /// Reads the rows of a query as they were at one moment.
    ///
    /// The query selects rows of the partition, in any number of pages. Its conditions apply, and the row of the
    /// revision is left out. All rows are kept in memory. Each read must see all earlier writes. This is not confirmed
    /// for Cosmos DB accounts with weaker consistency levels.
    ///
    /// # Errors
    /// - [`Contention`](azure_table::ErrorKind::Contention): transactions interrupted more reads than
    ///   [`max_conflicts`](Self::max_conflicts) allows. The error has their number, and the first and the last ETag.
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): the query is of another table, or begins at a
    ///   continuation.
    /// - The errors of [`TableQuery`].
    ///
    /// Source: "Windows Azure Table" (2009): a query is consistent within one page, and not across continuations.
    pub async fn snapshot<E: TableEntity, P>(&self, query: TableQuery<E, P>) -> Result<Vec<P>> {
        let key = Key::of(&self.row)?;
        let rows = Rows::beside(&self.table, &key, query, self.conflicts)?;
        rows.read(&mut Version(&self.table, key)).await
    }
}

/// The row to read.
struct Version<'a>(&'a TableClient<RevisionRow>, Key<RevisionRow>);

impl VersionRow for Version<'_> {
    async fn read(&mut self) -> Result<Option<ETag>> {
        let row = self.0.get(self.1.clone()).versioned().await?;
        Ok(row.map(|row| row.etag))
    }
}
