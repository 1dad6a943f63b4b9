//! A row that every transaction of a partition writes, so that several pages can be read as of one moment.
//!
//! Defines [`Revision`] and its row. The header of a fence is such a row too: see `fence.rs`.

use azure_table::filter::InKey;
use azure_table::{
    Column, DynamicEntity, ETag, Error, Guid, Key, ReadEntity, Result, TableClient, TableEntity, TableOperation,
    TableQuery, Versioned,
};

use super::conflict::{CONFLICTS, on_primary};

/// A row that every transaction of a partition writes, so that readers of several pages notice each transaction.
///
/// **Promise.** A [`snapshot`](Self::snapshot) has the rows of any number of pages as they were at one moment, if every
/// write of the partition is a transaction that writes the row, and none deletes it. Writes without it are not noticed.
///
/// The row is one of two:
/// - **The header of a [`Fence`](super::Fence)**: [`Fence::revision`](super::Fence::revision) returns its revision.
///   Every transaction of a fence writes the header.
/// - **A row of its own**, if transactions need no order: add its [`operation`](Self::operation) to each batch. It is
///   written without a condition, so no transaction waits for another or is rejected because of it.
///
/// You choose the RowKey of a row of its own, and exclude it from other queries with
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
/// | `snapshot_with_row`, 2 rows | Get, Query, Get | 4 |
///
/// **Crash.** A batch is applied as a whole or not at all, so nothing needs repair. A snapshot only reads.
///
/// Two rows around the partition that hold the same version, such as `!` and `~`, would save both reads. They would not
/// keep the promise: a batch in doubt is sent again with the version of its first attempt. If another transaction comes
/// between the two attempts, a reader finds equal versions around torn pages. An ETag is new each time. With a
/// [`Fence`](super::Fence) such rows are sound on Table storage: see the guide
/// [`systems`](crate::guide::systems#membership). Cosmos DB returns rows in the order of their insertion, so there both
/// may come first and show nothing.
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

/// The row of a revision without a fence, and the key of any row.
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
    /// A write of a single entity becomes a batch of two operations. The property `Write` of the row gets a new id, and
    /// other properties stay. The transactions of a [`Fence`](super::Fence) need no such operation: they write the
    /// header already.
    pub fn operation(&self) -> TableOperation {
        TableOperation::insert_or_merge(&self.row)
    }

    /// Reads the rows of a query as they were at one moment.
    ///
    /// The query selects rows of the partition, in any number of pages. Its conditions apply, and the row of the
    /// revision is left out. The row is read before the pages and after them. If its ETag differs, a transaction was
    /// applied meanwhile, and the pages are read again.
    ///
    /// All rows are kept in memory. Each read must see all earlier writes. For Cosmos DB accounts with weaker
    /// consistency levels, this is not confirmed.
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
        let (_, rows) = self.snapshot_with_row::<DynamicEntity, E, P>(query).await?;
        Ok(rows)
    }

    /// Reads the rows of a query together with the row of the revision, as they were at one moment: for example, the
    /// bookings of an account and the header with their sum.
    ///
    /// The row is `None` if it does not exist. To continue from a header that was read this way, pass it to
    /// [`Fence::with_header`](super::Fence::with_header).
    ///
    /// # Errors
    /// - The errors of [`snapshot`](Self::snapshot).
    /// - The errors of [`get`](TableClient::get), for example if the row is not an `H`.
    ///
    /// Source: "Windows Azure Table" (2009): a query is consistent within one page, and not across continuations.
    pub async fn snapshot_with_row<H, E, P>(&self, query: TableQuery<E, P>) -> Result<(Option<Versioned<H>>, Vec<P>)>
    where
        H: TableEntity + ReadEntity,
        E: TableEntity,
    {
        let query = self.others(query)?;
        let first = etag(self.read::<H>().await?.as_ref());
        let (mut before, mut changes) = (first.clone(), 0);
        loop {
            let rows = query.clone().all().await?;
            let row = self.read().await?;
            let after = etag(row.as_ref());
            if after == before {
                return Ok((row, rows));
            }
            changes += 1;
            if changes > self.conflicts {
                return Err(self.interrupted(changes, first, after));
            }
            before = after;
        }
    }

    /// Reads the row. The service gives each version a new ETag. A version inside the row would not suffice: a batch in
    /// doubt may be applied twice, with another batch in between.
    async fn read<H: TableEntity + ReadEntity>(&self) -> Result<Option<Versioned<H>>> {
        let key = Key::<H>::from_text(&self.row.partition, &self.row.key)?;
        self.table.typed::<H>().get(key).versioned().await
    }

    /// Selects the rows of the query that are in the partition, without the row of the revision.
    ///
    /// # Errors
    /// - `InvalidInput`: the query is of another table, or begins at a continuation.
    fn others<E: TableEntity, P>(&self, query: TableQuery<E, P>) -> Result<TableQuery<E, P>> {
        let key = Key::of(&self.row)?;
        let partition = Column::<E, String, InKey>::partition_key().eq(key.partition_key());
        let others = Column::<E, String, InKey>::row_key().ne(key.row_key());
        let query = query.filter(partition & others).on_primary_of(&self.table.typed())?;
        if query
            .clone()
            .allow_table_scan()
            .request_text()?
            .contains("NextPartitionKey=")
        {
            let why = "a snapshot reads a table from its first row on: create the query without `resume_from`";
            return Err(Error::invalid_input(why));
        }
        Ok(query)
    }

    fn interrupted(&self, changes: u32, first: Option<ETag>, last: Option<ETag>) -> Error {
        let (partition_key, row_key, most) = (&self.row.partition, &self.row.key, self.conflicts);
        let shown = |version: Option<ETag>| version.map_or("absent".to_owned(), |etag| etag.to_string());
        Error::contention(format!(
            "no snapshot: the row ({partition_key:?}, {row_key:?}) changed during each of {changes} reads, from {} to {}; \
             `max_conflicts` is {most}: raise it, or select fewer rows",
            shown(first),
            shown(last)
        ))
    }
}

/// Returns the ETag of the row, or `None` if it does not exist.
fn etag<H>(row: Option<&Versioned<H>>) -> Option<ETag> {
    row.map(|row| row.etag.clone())
}
