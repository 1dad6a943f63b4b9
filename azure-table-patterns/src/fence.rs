//! A partition whose batches are guarded by one row.
//!
//! Defines [`Fence`].

use azure_table::{
    DateTime, ETag, ErrorKind, Key, ReadEntity, Result, TableClient, TableEntity, TableOperation, Versioned,
};

use super::conflict::{CONFLICTS, on_primary, stored_or_inserted};
use super::revision::Revision;

/// A header row whose ETag guards every batch of its partition.
///
/// **Promise.** All transactions through fences on the same header are serialized, and each is based on the header that
/// the previous one wrote. Every state of the partition that a reader can see therefore matches its header (a balance,
/// a length, a state).
///
/// The header is your entity, in the partition and the table of the rows that it guards. You choose its RowKey, and
/// exclude it from queries of the other rows with [`without_row_keys`](azure_table::TableQuery::without_row_keys).
/// Give it a [`write_id`](macro@azure_table::TableEntity): after a lost response it shows whether the transaction was
/// applied. Without one, such a call fails with [`InDoubt`](azure_table::ErrorKind::InDoubt). Writes of the partition
/// that do not go through a fence are not guarded.
///
/// Its [`revision`](Self::revision) reads the header and the rows of any number of pages as they were at one moment, if
/// all writes of the partition go through fences.
///
/// **Cost.** [`open`](Self::open): one read; two more requests for a new header. [`with_header`](Self::with_header) and
/// [`with_new_header`](Self::with_new_header): none. [`transact`](Self::transact): one batch of the operations and
/// the header; one more read and batch per conflict. A batch has up to 99 operations besides the header.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `open`, new header | Get, Insert, Get | 2 |
/// | `open` | Get | 1 |
/// | `transact`, one operation | Batch | 2 |
/// | `transact`, one operation and a new header | Batch | 2 |
/// | `transact` after a conflict | Batch, Get, Batch | 5 |
///
/// **Crash.** A batch is applied as a whole or not at all, so nothing needs repair.
///
/// ```
/// use azure_table_patterns::Fence;
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
/// let accounts = TableServiceClient::from_transport(Emulator::new()).table::<Account>("Accounts")?;
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
///
/// let bookings = accounts.typed::<Booking>().query();
/// let (header, bookings) = account.revision()?.snapshot_with_row::<Account, _, _>(bookings).await?;
/// let sum: i64 = bookings.iter().map(|booking| booking.amount).sum();
/// assert_eq!(header.map(|header| header.balance), Some(sum));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Fence<H> {
    table: TableClient<H>,
    /// The key of the header before any closure changed it, once it was needed.
    key: Option<Key<H>>,
    header: Versioned<H>,
    /// The header has no ETag yet: the first transaction inserts it.
    is_new: bool,
    /// The header differs from the stored one: a closure changed it, and the change was not written.
    is_stale: bool,
    conflicts: u32,
}

impl<H: TableEntity + ReadEntity> Fence<H> {
    /// Opens the fence of the stored header with this key, or inserts `new` as its header.
    ///
    /// # Errors
    /// - [`Contention`](ErrorKind::Contention): the header was absent 16 times, because others delete it or reads lag.
    /// - The errors of [`get`](TableClient::get) and [`insert`](TableClient::insert).
    /// - [`InDoubt`](ErrorKind::InDoubt): instead of any of these, if the header was inserted.
    pub async fn open(table: &TableClient<H>, new: &H) -> Result<Self> {
        let table = on_primary(table);
        let header = stored_or_inserted(&table, new, &mut false).await?;
        Ok(Self::with_header(&table, header))
    }

    /// Creates the fence of a header that was already read, for example by a query. Sends nothing.
    ///
    /// If the header has changed since, the first [`transact`](Self::transact) reads it again.
    pub fn with_header(table: &TableClient<H>, header: Versioned<H>) -> Self {
        Self::new(table, header, false)
    }

    /// Creates the fence of a header that does not exist yet. It sends nothing: the first [`transact`](Self::transact)
    /// inserts the header, in the batch of its operations.
    ///
    /// If another transaction inserted the header first, this one conflicts with it: the closure is called again with
    /// the stored header. With [`max_conflicts(0)`](Self::max_conflicts), the call fails with
    /// [`AlreadyExists`](ErrorKind::AlreadyExists).
    ///
    /// After a call that failed for another reason, create the fence again.
    ///
    /// ```
    /// use azure_table_patterns::Fence;
    /// use azure_table::{DynamicEntity, Emulator, ErrorKind, TableOperation, TableServiceClient};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let orders = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Orders")?;
    /// orders.create_table().await?;
    ///
    /// let lines = |_: &mut DynamicEntity| Ok(vec![TableOperation::insert(&DynamicEntity::new("7", "line 1"))]);
    /// let header = || DynamicEntity::new("7", "$header");
    /// Fence::with_new_header(&orders, header()).transact(lines).await?; // one request
    ///
    /// let mut again = Fence::with_new_header(&orders, header()).max_conflicts(0);
    /// assert_eq!(again.transact(lines).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_new_header(table: &TableClient<H>, new: H) -> Self {
        // The service assigns ETag and Timestamp.
        let header = Versioned {
            entity: new,
            etag: ETag::new(""),
            timestamp: DateTime::from_unix_seconds(0),
        };
        Self::new(table, header, true)
    }

    fn new(table: &TableClient<H>, header: Versioned<H>, is_new: bool) -> Self {
        Self {
            table: on_primary(table),
            key: None,
            header,
            is_new,
            is_stale: false,
            conflicts: CONFLICTS,
        }
    }

    /// Sets the number of conflicting transactions that one call tolerates: 16 by default.
    #[must_use]
    pub fn max_conflicts(mut self, most: u32) -> Self {
        self.conflicts = most;
        self
    }

    /// Returns the header as it was last read or written.
    ///
    /// After a failed call it may contain the closure's changes: [`refresh`](Self::refresh) reads it again.
    pub fn header(&self) -> &H {
        &self.header
    }

    /// Returns the ETag of the [`header`](Self::header), or `None` if no transaction inserted it yet.
    ///
    /// The ETag identifies the state of the partition: two fences with the same ETag have read the same state.
    ///
    /// ```
    /// use azure_table_patterns::Fence;
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let orders = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Orders")?;
    /// orders.create_table().await?;
    ///
    /// let mut order = Fence::with_new_header(&orders, DynamicEntity::new("7", "$header"));
    /// assert_eq!(order.etag(), None);
    /// order.transact(|_| Ok(Vec::new())).await?;
    /// let reader = Fence::open(&orders, &DynamicEntity::new("7", "$header")).await?;
    /// assert_eq!(reader.etag(), order.etag());
    /// # Ok(())
    /// # }
    /// ```
    pub fn etag(&self) -> Option<&ETag> {
        (!self.is_new).then_some(&self.header.etag)
    }

    /// Reads the header again.
    ///
    /// Requests: 1. Lost response: [harmless](azure_table::guide::operations).
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the header was deleted.
    pub async fn refresh(&mut self) -> Result<()> {
        let key = self.key()?;
        let read = self.table.get(key.clone()).versioned().await?;
        self.header = read.ok_or_else(|| missing(&key))?;
        (self.is_new, self.is_stale) = (false, false);
        Ok(())
    }

    /// Returns a [`Revision`] for snapshots of the partition. Sends nothing.
    ///
    /// It reads the header, and rows of several pages, as they were at one moment. It has the fence's
    /// [`max_conflicts`](Self::max_conflicts).
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the header has no valid key.
    pub fn revision(&self) -> Result<Revision> {
        let key = match &self.key {
            Some(key) => key.clone(),
            None => Key::of(&self.header)?,
        };
        let revision = Revision::new(&self.table, key.partition_key(), key.row_key());
        Ok(revision.max_conflicts(self.conflicts))
    }

    /// Changes the header and writes it with the operations that the closure returns, as one transaction.
    ///
    /// If another transaction came first, the header is read again and the closure is called again. It may run several
    /// times, so it must have no side effects.
    ///
    /// # Errors
    /// - [`Contention`](ErrorKind::Contention): more conflicts than [`max_conflicts`](Self::max_conflicts) allows.
    /// - [`ConditionNotMet`](ErrorKind::ConditionNotMet), for a new header [`AlreadyExists`](ErrorKind::AlreadyExists):
    ///   another transaction came first, and `max_conflicts` is 0.
    /// - The error of an operation, with its [`batch_index`](azure_table::Error::batch_index): the header is 0, the
    ///   operations follow from 1. Nothing was written.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): an operation has another partition, there are more than 99, or two
    ///   have the same row. Or the closure changed a key of the header.
    /// - The error that the closure returns. Nothing was written.
    pub async fn transact<F>(&mut self, mut change: F) -> Result<()>
    where
        F: FnMut(&mut H) -> Result<Vec<TableOperation>>,
    {
        let key = self.key()?;
        let mut conflicts = 0;
        loop {
            if self.is_stale {
                self.refresh().await?;
            }
            self.is_stale = true;
            let operations = change(&mut self.header)?;
            let changed = Key::of(&self.header)?;
            if changed != key {
                return Err(azure_table::Error::invalid_input(format!(
                    "the closure changed the key of the header from {key} to {changed}: a fence writes one header"
                )));
            }
            let mut batch = self.table.batch();
            if self.is_new {
                batch.insert(&self.header.entity)?
            } else {
                batch.replace(&self.header)?
            };
            for operation in operations {
                batch.push(operation)?;
            }
            let written = batch.submit().await;
            match written {
                Ok(results) => {
                    if let Some(etag) = results.first().and_then(|result| result.etag()) {
                        self.header.etag = etag.clone();
                        (self.is_new, self.is_stale) = (false, false);
                    }
                    return Ok(());
                }
                Err(e) if is_conflict(&e) && self.conflicts > 0 => {
                    conflicts += 1;
                    if conflicts > self.conflicts {
                        return Err(contention(conflicts, self.conflicts, &e));
                    }
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Returns the key of the header. Its first call precedes the first closure.
    fn key(&mut self) -> Result<Key<H>> {
        let key = match self.key.take() {
            Some(key) => key,
            None => Key::of(&self.header)?,
        };
        Ok(self.key.insert(key).clone())
    }
}

/// Returns `true` if another transaction came first, and this one was certainly not applied.
fn is_conflict(error: &azure_table::Error) -> bool {
    let is_other_header = matches!(error.kind(), ErrorKind::ConditionNotMet | ErrorKind::AlreadyExists);
    is_other_header && error.batch_index() == Some(0)
}

fn contention(conflicts: u32, most: u32, last: &azure_table::Error) -> azure_table::Error {
    azure_table::Error::contention(format!(
        "{conflicts} conflicting transactions, more than the limit of {most}: raise `max_conflicts`, or reduce concurrent \
         writers; the last: {last}"
    ))
}

fn missing<H>(key: &Key<H>) -> azure_table::Error {
    azure_table::Error::invalid_input(format!(
        "the header ({:?}, {:?}) of the fence was deleted",
        key.partition_key(),
        key.row_key()
    ))
}
