//! A partition whose batches are guarded by one row.
//!
//! Owns [`Fence`].

use azure_table::{ErrorKind, ReadEntity, Result, TableClient, TableEntity, TableOperation, Versioned};

use super::conflict::on_primary;

/// A header row whose ETag guards every batch of its partition.
///
/// **Promise.** All transactions through fences on the same header are serialized, and each is based on the header that
/// the previous one wrote. So every state of the partition that anyone can read matches its header (a balance, a
/// length, a state).
///
/// The header is your entity, in the partition and the table of the rows that it guards. You choose its RowKey, and
/// exclude it from queries of the other rows with
/// [`without_row_keys`](azure_table::TableQuery::without_row_keys). Give it a
/// [`write_id`](macro@crate::TableEntity): after a lost response it shows whether the transaction was applied. Without
/// one, such a call fails with [`InDoubt`](azure_table::ErrorKind::InDoubt). Writes of the partition that do not go
/// through a fence are not guarded.
///
/// **Cost.** [`open`](Self::open): one read; two more requests for a new header. [`transact`](Self::transact): one
/// batch of the operations and the header; one more read and batch per conflict. A batch has up to 99 operations
/// besides the header.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `open`, new header | Get, Insert, Get | 2 |
/// | `open` | Get | 1 |
/// | `transact`, one operation | Batch | 2 |
/// | `transact` after a conflict | Batch, Get, Batch | 5 |
///
/// **Crash.** A batch is applied as a whole or not at all, so nothing needs repair.
///
/// ```
/// use azure_table::patterns::Fence;
/// use azure_table::{Emulator, Guid, TableEntity, TableOperation, TableServiceClient};
///
/// #[derive(TableEntity)]
/// #[table(row_key = "$header")]
/// struct Account {
///     #[table(partition_key)]
///     number: String,
///     balance: i64,
///     #[table(write_id)]
///     write: Option<Guid>,
/// }
///
/// #[derive(TableEntity)]
/// struct Booking {
///     #[table(partition_key)]
///     account: String,
///     #[table(row_key)]
///     id: String,
///     amount: i64,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let accounts = TableServiceClient::on(Emulator::new()).table::<Account>("Accounts")?;
/// accounts.create_table().await?;
///
/// let new = Account { number: "7".into(), balance: 0, write: None };
/// let mut account = Fence::open(&accounts, &new).await?;
/// account
///     .transact(|header| {
///         header.balance += 50;
///         let booking = Booking { account: header.number.clone(), id: "a".into(), amount: 50 };
///         Ok(vec![TableOperation::insert(&booking)])
///     })
///     .await?;
/// assert_eq!(account.header().balance, 50);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Fence<H> {
    table: TableClient<H>,
    header: Versioned<H>,
    /// The header differs from the stored one: a closure changed it, and the change was not written.
    is_stale: bool,
    conflicts: u32,
}

/// The default number of conflicts that one call tolerates.
const CONFLICTS: u32 = 16;

impl<H: TableEntity + ReadEntity> Fence<H> {
    /// Opens the fence with the header of this key, or inserts the given header.
    ///
    /// # Errors
    /// - The errors of [`get`](TableClient::get) and [`insert`](TableClient::insert).
    pub async fn open(table: &TableClient<H>, new: &H) -> Result<Self> {
        let (table, key) = (on_primary(table), azure_table::Key::of(new)?);
        let read = || table.get(key.clone()).versioned();
        let header = match read().await? {
            Some(header) => header,
            None => {
                table.insert_if_not_exists(new).await?;
                read().await?.ok_or_else(|| missing(&key))?
            }
        };
        Ok(Self {
            table,
            header,
            is_stale: false,
            conflicts: CONFLICTS,
        })
    }

    /// Sets the number of conflicting transactions that one call tolerates: 16 by default.
    #[must_use]
    pub fn max_conflicts(mut self, most: u32) -> Self {
        self.conflicts = most;
        self
    }

    /// Returns the header as it was last read or written.
    ///
    /// After a failed call it may contain the change of the closure: [`refresh`](Self::refresh) reads it again.
    pub fn header(&self) -> &H {
        &self.header
    }

    /// Reads the header again.
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the header was deleted.
    pub async fn refresh(&mut self) -> Result<()> {
        let key = azure_table::Key::of(&self.header)?;
        let read = self.table.get(key.clone()).versioned().await?;
        self.header = read.ok_or_else(|| missing(&key))?;
        self.is_stale = false;
        Ok(())
    }

    /// Changes the header and writes it with the operations that the closure returns, as one transaction.
    ///
    /// If another transaction came first, the header is read again and the closure is called again. It may run several
    /// times, so it must have no side effects.
    ///
    /// # Errors
    /// - [`ConditionNotMet`](ErrorKind::ConditionNotMet): more conflicts than [`max_conflicts`](Self::max_conflicts)
    ///   allows.
    /// - The error of an operation, with its [`batch_index`](crate::Error::batch_index): the header is 0, the
    ///   operations follow from 1. Nothing was written.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): an operation has another partition, there are more than 99, or two
    ///   have the same row.
    /// - The error that the closure returns. Nothing was written.
    pub async fn transact<F>(&mut self, mut change: F) -> Result<()>
    where
        F: FnMut(&mut H) -> Result<Vec<TableOperation>>,
    {
        let mut conflicts = 0;
        loop {
            if self.is_stale {
                self.refresh().await?;
            }
            self.is_stale = true;
            let operations = change(&mut self.header)?;
            let mut batch = self.table.batch();
            batch.replace(&self.header)?;
            for operation in operations {
                batch.push(operation)?;
            }
            let written = batch.submit().await;
            match written {
                Ok(results) => {
                    if let Some(etag) = results.first().and_then(|result| result.etag()) {
                        self.header.etag = etag.clone();
                        self.is_stale = false;
                    }
                    return Ok(());
                }
                Err(e) if is_conflict(&e) && conflicts < self.conflicts => conflicts += 1,
                Err(e) => return Err(e),
            }
        }
    }
}

/// Returns `true` if another transaction came first, and this one was certainly not applied.
fn is_conflict(error: &azure_table::Error) -> bool {
    error.kind() == ErrorKind::ConditionNotMet && error.batch_index() == Some(0)
}

fn missing<H>(key: &azure_table::Key<H>) -> azure_table::Error {
    azure_table::Error::invalid_input(format!(
        "the header ({:?}, {:?}) of the fence was deleted",
        key.partition_key(),
        key.row_key()
    ))
}
