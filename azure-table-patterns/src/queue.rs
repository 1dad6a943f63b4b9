//! Work items in rows, and the workers that hold them.
//!
//! Defines [`Queue`], [`Item`] and the row of an item. The rule for its times is in `term.rs`.

use std::fmt;
use std::marker::PhantomData;
use std::pin::pin;
use std::time::Duration;

use azure_table::telemetry::OperationContext;
use azure_table::{CallOptions, DateTime, Error, Guid, Result, TableClient, TableEntity, TableOperation, Versioned};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::conflict::{on_primary, was_unchanged};
use super::term::{Term, service_time, until};

/// A queue of work items in one partition, such as an outbox beside your own rows.
///
/// **Promise.** A pushed item is delivered until a worker completes it: at least once. At most one worker at a time has
/// an item that is [valid](Item::is_valid), whatever the clocks of the machines show. On Storage, items are taken in
/// the order of their [IDs](Item::id), if each is completed; Cosmos DB does not guarantee the order. The ID is the same
/// in every delivery: use it to skip work that is already done.
///
/// For other workers, an item is free again by the service's clock, a margin after the end of the visibility time. Its
/// worker stops by its own clock, a margin before the end. The margin is a tenth of that time, but at least 2 s, or a
/// quarter of a time below 8 s. The clocks must therefore run at the same speed, within the margin, but need not show
/// the same time. If the service's clocks of Timestamps and of `Date` differ by more than two margins, two workers may
/// have an item.
///
/// The items are any type with serde's traits, stored as JSON, in rows whose RowKey is `{prefix}{id}`. Queries of your
/// own rows exclude them with [`without_row_keys`](azure_table::TableQuery::without_row_keys). As an
/// [`operation`](Self::operation), an item is part of your own batch and is written only if the batch is.
///
/// **Cost.** [`push`](Self::push): one write. [`take`](Self::take): one query of up to 32 rows and one write; one more
/// write for each item that another worker takes meanwhile, and one more query for every 32 items in work.
/// [`complete`](Item::complete), [`abandon`](Item::abandon) and [`extend`](Item::extend): one write.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `push` | Insert | 1 |
/// | `take` | Query, Replace | 2 |
/// | `take`, one item in work | Query | 1 |
/// | `extend` | Replace | 1 |
/// | `abandon` | Replace | 1 |
/// | `complete` | Delete | 1 |
///
/// **Crash.** The item of a worker that ended is free a margin after its visibility time. A lost response to `push`,
/// `take` or `extend` is read back. If that fails as well, an item may be held without a known worker, and is delivered
/// later. A restarted process that pushes an item under the same ID may repeat one that is complete. As an
/// [`operation`](Self::operation) in the batch that inserts a row of your own, it is pushed once.
///
/// ```
/// use std::time::Duration;
/// use azure_table_patterns::Queue;
/// use azure_table::{DynamicEntity, Emulator, TableOperation, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let orders = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Orders")?;
/// orders.create_table().await?;
/// let mails = Queue::<String>::new(&orders, "customer-7", "~mail;");
///
/// // The order and the mail about it, or neither.
/// let mut batch = orders.batch();
/// batch.insert(&DynamicEntity::new("customer-7", "order-1"))?;
/// batch.push(mails.operation("order-1", &"thank you".to_owned())?)?;
/// batch.submit().await?;
///
/// let mail = mails.take(Duration::from_secs(30)).await?.expect("one waits");
/// assert_eq!((mail.id(), mail.payload().as_str()), ("order-1", "thank you"));
/// assert!(mails.take(Duration::from_secs(30)).await?.is_none(), "it is in work");
/// assert!(mail.complete().await?);
/// # Ok(())
/// # }
/// ```
pub struct Queue<T> {
    table: TableClient<ItemRow>,
    partition: String,
    prefix: String,
    payload: PhantomData<fn() -> T>,
}

/// An item in work. [`abandon`](Self::abandon) frees it immediately. A dropped item is free after its visibility time.
pub struct Item<T> {
    table: TableClient<ItemRow>,
    row: Versioned<ItemRow>,
    /// The length of the prefix in the RowKey.
    prefix: usize,
    payload: T,
    valid_until: Instant,
}

/// The row of an item. Its Timestamp is the start of its visibility time, if it has one.
#[derive(TableEntity, Clone, Debug, Default)]
struct ItemRow {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    key: String,
    #[table(rename = "Payload", chunked)]
    payload: String,
    #[table(rename = "Deliveries")]
    deliveries: i32,
    /// The visibility time of the worker that has the item.
    #[table(rename = "Milliseconds")]
    milliseconds: Option<i64>,
    #[table(write_id, rename = "Write")]
    write: Option<Guid>,
}

/// The maximum number of rows per query.
const PAGE: usize = 32;

impl<T> Queue<T> {
    /// Creates a handle to the queue in a partition. Its RowKeys begin with `prefix`, and no other RowKey of the
    /// partition may.
    pub fn new<E: TableEntity>(
        table: &TableClient<E>,
        partition_key: impl Into<String>,
        prefix: impl Into<String>,
    ) -> Self {
        Self {
            table: on_primary(&table.typed()),
            partition: partition_key.into(),
            prefix: prefix.into(),
            payload: PhantomData,
        }
    }

    /// Creates an ID that sorts by time, by this machine's clock.
    pub fn new_id() -> String {
        format!("{:019}-{}", DateTime::now().ticks(), Guid::random())
    }
}

impl<T: Serialize> Queue<T> {
    /// Adds an item under a [new ID](Self::new_id). Returns the ID.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`push_with_id`](Self::push_with_id).
    pub async fn push(&self, payload: &T) -> Result<String> {
        let id = Self::new_id();
        self.push_with_id(&id, payload).await?;
        Ok(id)
    }

    /// Adds an item under your own ID, which must be a valid part of a RowKey. Returns `false` if an item with this ID
    /// waits or is in work.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): the payload cannot be written as JSON, or the ID is
    ///   not a valid part of a RowKey.
    /// - The errors of [`insert`](TableClient::insert). After [`InDoubt`](azure_table::ErrorKind::InDoubt), call it
    ///   again with the same ID.
    pub async fn push_with_id(&self, id: &str, payload: &T) -> Result<bool> {
        let row = self.row(id, payload)?;
        Ok(self.table.insert_if_not_exists(&row).await?.is_some())
    }

    /// Returns the operation that adds an item, for a batch of the same partition.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): the payload cannot be written as JSON.
    pub fn operation(&self, id: &str, payload: &T) -> Result<TableOperation> {
        Ok(TableOperation::insert(&self.row(id, payload)?))
    }

    fn row(&self, id: &str, payload: &T) -> Result<ItemRow> {
        let payload = serde_json::to_string(payload);
        Ok(ItemRow {
            partition: self.partition.clone(),
            key: format!("{}{id}", self.prefix),
            payload: payload
                .map_err(|e| Error::invalid_input(format!("the item {id:?} cannot be written as JSON: {e}")))?,
            ..ItemRow::default()
        })
    }
}

impl<T: DeserializeOwned> Queue<T> {
    /// Takes the first free item for this visibility time.
    ///
    /// Returns `None` if all are in work, or the queue is empty.
    ///
    /// # Errors
    /// - [`Other`](azure_table::ErrorKind::Other): the payload is not a `T`. The item is taken nevertheless, and free
    ///   after its visibility time.
    /// - [`InDoubt`](azure_table::ErrorKind::InDoubt): an item may be held, without a known worker, until its
    ///   visibility time is over.
    pub async fn take(&self, visibility: Duration) -> Result<Option<Item<T>>> {
        let context = OperationContext::new();
        let recorded = CallOptions::new().context(&context);
        let query = self.table.query().partition(&self.partition);
        let query = query.filter(ItemRow::KEY.starts_with(&self.prefix)).versioned();
        let mut rows = query.page_size(PAGE).prefetch(0).with(&recorded).stream();
        while let Some(mut row) = rows.try_next().await? {
            let term = row.milliseconds.map(Term::stored);
            if term.is_some_and(|term| !term.is_over(&row, service_time(&context))) {
                continue;
            }
            row.deliveries = row.deliveries.saturating_add(1);
            let Some(valid_until) = write(&self.table, &mut row, Some(visibility)).await? else {
                continue;
            };
            return Ok(Some(Item {
                payload: serde_json::from_str(&row.payload).map_err(Error::other)?,
                table: self.table.clone(),
                row,
                prefix: self.prefix.len(),
                valid_until,
            }));
        }
        Ok(None)
    }
}

impl<T> Item<T> {
    /// Returns the ID, which is the same in every delivery of the item.
    pub fn id(&self) -> &str {
        self.row.key.get(self.prefix..).unwrap_or_default()
    }

    /// Returns the payload that was pushed.
    pub fn payload(&self) -> &T {
        &self.payload
    }

    /// Returns the number of deliveries, including this one. The [guide](crate::guide::patterns#a-worker-for-a-queue)
    /// sets aside an item that fails repeatedly.
    pub fn deliveries(&self) -> i32 {
        self.row.deliveries
    }

    /// Returns `true` while no other worker can have the item.
    pub fn is_valid(&self) -> bool {
        Instant::now() < self.valid_until
    }

    /// Runs `work` while the item is [valid](Self::is_valid). Returns `None` if `work` was dropped when that time
    /// ended. It is not polled after that time, however late the poll comes.
    pub async fn run<W>(&self, work: impl Future<Output = W>) -> Option<W> {
        until(self.valid_until, pin!(work)).await
    }

    /// Starts a new visibility time. Returns `false` if another worker has the item now, or it is complete.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`replace`](TableClient::replace). The item is valid for the shorter of both times.
    pub async fn extend(&mut self, visibility: Duration) -> Result<bool> {
        // If the write is applied and its response is lost, the shorter time applies to other workers.
        self.valid_until = self.valid_until.min(Term::new(visibility).valid_until());
        let written = write(&self.table, &mut self.row, Some(visibility)).await?;
        self.valid_until = written.unwrap_or_else(Instant::now);
        Ok(written.is_some())
    }

    /// Deletes the item. Returns `false` if another worker has it now, or it is complete.
    ///
    /// Requests: 1. Lost response: [repeated, not checked](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`delete`](TableClient::delete). If the delete was not applied, the item is delivered again.
    pub async fn complete(self) -> Result<bool> {
        Ok(was_unchanged(self.table.delete(&self.row).await)?.is_some())
    }

    /// Returns the operation that [completes](Self::complete) the item, for a batch of the same partition.
    ///
    /// The rows of that batch are then written once, however often the item is delivered. The batch fails with
    /// [`ConditionNotMet`](azure_table::ErrorKind::ConditionNotMet) if another worker has the item now.
    pub fn completion(&self) -> TableOperation {
        TableOperation::delete::<ItemRow>(&self.row)
    }

    /// Frees the item immediately. Returns `false` if another worker has it now, or it is complete.
    ///
    /// Requests: 1. Lost response: [reconciled](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`replace`](TableClient::replace). The item is free after its visibility time.
    pub async fn abandon(mut self) -> Result<bool> {
        Ok(write(&self.table, &mut self.row, None).await?.is_some())
    }
}

/// Writes the row under its ETag, with or without a worker. Returns the end for the worker, or `None` if another write
/// came first.
async fn write(
    table: &TableClient<ItemRow>,
    row: &mut Versioned<ItemRow>,
    visibility: Option<Duration>,
) -> Result<Option<Instant>> {
    let term = visibility.map(Term::new);
    let valid_until = term.map_or_else(Instant::now, Term::valid_until);
    row.milliseconds = term.map(Term::milliseconds);
    let written = table.replace(&*row).await.map(|etag| row.etag = etag);
    Ok(was_unchanged(written)?.map(|()| valid_until))
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self {
            table: self.table.clone(),
            partition: self.partition.clone(),
            prefix: self.prefix.clone(),
            payload: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("table", &self.table)
            .field("partition", &self.partition)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

/// Omits the payload, which may be large.
impl<T> fmt::Debug for Item<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("id", &self.id())
            .field("deliveries", &self.row.deliveries)
            .finish_non_exhaustive()
    }
}
