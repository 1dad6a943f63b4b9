//! Events in one order, each with a number.
//!
//! Defines [`Log`], [`LogReader`], [`LogStream`], the header and the rows of a log. Its transactions use `fence.rs`.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use azure_table::operation::GetEntity;
use azure_table::query::EntityStream;
use azure_table::{Error, ErrorKind, Guid, Result, TableClient, TableEntity, TableOperation};
use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::conflict::on_primary;
use super::fence::Fence;

/// The events of one partition, numbered from 0 without a gap.
///
/// **Promise.** An append is applied completely or not at all, and its events have consecutive positions. A reader sees
/// the events in the order of their positions, without gaps. An append with a [key](Self::append_once) is applied at
/// most once, however often and by however many processes it is called.
///
/// The events are any type with serde's traits, stored as JSON. The log needs a partition of its own: the header
/// `$log`, a row per event whose RowKey is the position in 20 digits, and a row `~{key}` per append with a key. Cosmos
/// DB does not guarantee the order of rows, so use a log only on Table storage.
///
/// **Cost.** [`open`](Self::open): one read; two more requests for a new log. [`append`](Self::append) and
/// [`append_at`](Self::append_at): one batch of the events and the header; one more read and batch per conflict.
/// [`append_once`](Self::append_once): the same with one more row; at most two batches and one read if it was appended
/// before. [`position`](Self::position): one read. [`read_from`](Self::read_from): one request per 1,000 events, and
/// one read at the end. A [`reader`](Self::reader) reads at the same cost, and creating it sends nothing.
/// [`trim`](Self::trim): one batch for the header, one request per 1,000 rows to find, one batch per 100 to delete.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `open`, new log | Get, Insert, Get | 2 |
/// | `open` | Get | 1 |
/// | `append`, 2 events | Batch | 3 |
/// | `append` after a conflict | Batch, Get, Batch | 7 |
/// | `append_at`, 2 events | Batch | 3 |
/// | `append_once`, 2 events | Batch | 4 |
/// | `append_once` again | Batch, Get | 5 |
/// | `position` | Get | 1 |
/// | `read_from`, 8 events | Query, Get | 9 |
/// | `reader`, `read_from`, 8 events | Query, Get | 9 |
/// | `reader`, `position` | Get | 1 |
/// | `trim`, 8 events and a key | Batch, Query, Batch, Query, Delete | 19 |
///
/// **Crash.** A batch is applied completely or not at all. After a lost response the events show whether they were
/// appended. If that cannot be read either, the error is [`InDoubt`](azure_table::ErrorKind::InDoubt), and an append
/// with a key can be repeated. Without a key, a restarted process checks whether its events are there, then uses
/// [`append_at`](Self::append_at). The next `trim` completes one that was interrupted.
///
/// ```
/// use azure_table_patterns::Log;
/// use azure_table::{Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let logs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Logs")?;
/// logs.create_table().await?;
///
/// let mut orders = Log::<String>::open(&logs, "orders").await?;
/// assert_eq!(orders.append(&["placed".into(), "paid".into()]).await?, 0..2);
/// assert_eq!(orders.append_once("shipping-7", &["shipped".into()]).await?, 2..3);
/// assert_eq!(orders.append_once("shipping-7", &["shipped".into()]).await?, 2..3);
///
/// let mut events = orders.read_from(1);
/// while let Some((position, event)) = events.try_next().await? {
///     println!("{position} {event}");            // 1 paid, 2 shipped
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Log<T> {
    fence: Fence<LogRow>,
    table: TableClient<EventRow>,
    event: PhantomData<fn() -> T>,
}

/// The header.
#[derive(TableEntity, Clone, Debug)]
#[table(row_key = "$log")]
struct LogRow {
    #[table(partition_key)]
    partition: String,
    /// The position of the first event that was not trimmed.
    #[table(rename = "First")]
    first: i64,
    /// The position of the next event.
    #[table(rename = "Next")]
    next: i64,
    #[table(write_id, rename = "Write")]
    write: Option<Guid>,
}

impl LogRow {
    /// Returns the position of the first event, and of the next.
    fn positions(&self) -> Range<u64> {
        self.first.unsigned_abs()..self.next.unsigned_abs()
    }
}

/// An event.
#[derive(TableEntity, Clone, Debug)]
struct EventRow {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    position: u64,
    #[table(rename = "Event", chunked)]
    event: String,
    #[table(write_id, rename = "Write")]
    write: Option<Guid>,
}

/// The key of an append, with the positions of its events.
#[derive(TableEntity, Clone, Debug)]
struct AppendRow {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    key: String,
    #[table(rename = "First")]
    first: i64,
    #[table(rename = "Next")]
    next: i64,
    #[table(write_id, rename = "Write")]
    write: Option<Guid>,
}

/// The maximum number of operations in a batch besides the header.
const MAX_EVENTS: usize = 99;
/// The prefix of the RowKeys for keys: it sorts after all digits.
const KEYS: &str = "~";

impl<T> Log<T> {
    /// Opens the log of a partition, or creates an empty one.
    ///
    /// # Errors
    /// - The errors of [`Fence::open`].
    pub async fn open<E: TableEntity>(table: &TableClient<E>, partition_key: impl Into<String>) -> Result<Self> {
        let new = LogRow {
            partition: partition_key.into(),
            first: 0,
            next: 0,
            write: None,
        };
        Ok(Self {
            fence: Fence::open(&table.typed(), &new).await?,
            table: on_primary(&table.typed()),
            event: PhantomData,
        })
    }

    /// Creates a read-only handle to the log of a partition. Sends nothing, and creates no log.
    pub fn reader<E: TableEntity>(table: &TableClient<E>, partition_key: impl Into<String>) -> LogReader<T> {
        LogReader {
            table: on_primary(&table.typed()),
            partition: partition_key.into(),
            event: PhantomData,
        }
    }

    /// Reads the positions of the first stored event and of the next event.
    ///
    /// Requests: 1. Lost response: [harmless](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`Fence::refresh`].
    pub async fn position(&mut self) -> Result<Range<u64>> {
        self.fence.refresh().await?;
        Ok(self.fence.header().positions())
    }

    /// Deletes the events before a position, and the keys of appends that end before it. Returns the number of deleted
    /// rows.
    ///
    /// An append whose key was deleted would be applied again: keep events for longer than callers retry.
    ///
    /// # Errors
    /// - The errors of [`Fence::transact`].
    /// - [`InDoubt`](ErrorKind::InDoubt): a deletion failed. The next call deletes the remaining rows.
    pub async fn trim(&mut self, before: u64) -> Result<u64> {
        // The header first, so that no event after the first position is missing.
        self.fence
            .transact(|header| {
                let before = i64::try_from(before).unwrap_or(i64::MAX).min(header.next);
                header.first = header.first.max(before);
                Ok(Vec::new())
            })
            .await?;
        let LogRow { partition, first, .. } = self.fence.header();
        let events = self.table.query().partition(partition);
        let events = events.filter(EventRow::POSITION.lt(first.unsigned_abs()) & EventRow::POSITION.ge(0));
        let keys = self.table.typed::<AppendRow>();
        let old = keys.query().partition(partition);
        let old = old.filter(AppendRow::KEY.ge(KEYS) & AppendRow::NEXT.le(*first));
        let deleted = async {
            let events = self.table.delete_where(events).await?;
            let keys = keys.delete_where(old).await?;
            Ok(events.applied() + keys.applied())
        };
        // The header was written, and the error of a deletion says nothing about it.
        deleted.await.map_err(|e: Error| e.after_writes(true))
    }
}

impl<T: Serialize> Log<T> {
    /// Appends 1 to 99 events. Returns their positions.
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): no events, more than 99, or one that cannot be written as JSON.
    /// - The errors of [`Fence::transact`].
    pub async fn append(&mut self, events: &[T]) -> Result<Range<u64>> {
        let appended = self.transact(events, AppendCondition::None).await?;
        appended.ok_or_else(|| Error::invalid_input("an append without a position was rejected for its position"))
    }

    /// Appends 1 to 99 events if the next position is `position`. Otherwise returns `false` and writes nothing.
    ///
    /// # Errors
    /// - The errors of [`append`](Self::append).
    pub async fn append_at(&mut self, position: u64, events: &[T]) -> Result<bool> {
        if position > self.fence.header().next.unsigned_abs() {
            self.fence.refresh().await?;
        }
        let appended = self.transact(events, AppendCondition::Position(position)).await?;
        Ok(appended.is_some())
    }

    /// Appends 1 to 98 events, unless an append with this key was applied before. Returns their positions in both
    /// cases.
    ///
    /// The caller chooses the key, such as the ID of an order. It must be a valid part of a RowKey.
    ///
    /// # Errors
    /// - The errors of [`append`](Self::append). Call it again after [`InDoubt`](azure_table::ErrorKind::InDoubt).
    pub async fn append_once(&mut self, key: &str, events: &[T]) -> Result<Range<u64>> {
        let appended = self.transact(events, AppendCondition::Once(key)).await;
        match appended {
            Ok(Some(positions)) => Ok(positions),
            Err(e) if !is_known_key(&e) => Err(e),
            Ok(None) | Err(_) => self.appended(key).await,
        }
    }

    /// Returns the positions of the append with this key.
    async fn appended(&self, key: &str) -> Result<Range<u64>> {
        let rows = self.table.typed::<AppendRow>();
        let partition = &self.fence.header().partition;
        let row = rows.get((partition, format!("{KEYS}{key}"))).await?;
        let row =
            row.ok_or_else(|| Error::invalid_input(format!("the key {key:?} of the log was trimmed meanwhile")))?;
        Ok(row.first.unsigned_abs()..row.next.unsigned_abs())
    }

    /// Appends the events under a condition. Returns `None` if the log is at another position.
    async fn transact(&mut self, events: &[T], condition: AppendCondition<'_>) -> Result<Option<Range<u64>>> {
        let most = match condition {
            AppendCondition::Once(_) => MAX_EVENTS - 1,
            AppendCondition::None | AppendCondition::Position(_) => MAX_EVENTS,
        };
        if events.is_empty() || events.len() > most {
            let count = events.len();
            let why = format!("{count} events in one append, the limits are 1 and {most}: split them");
            return Err(Error::invalid_input(why));
        }
        let texts: serde_json::Result<Vec<_>> = events.iter().map(serde_json::to_string).collect();
        let texts = texts.map_err(|e| Error::invalid_input(format!("an event cannot be written as JSON: {e}")))?;
        let mut positions = 0..0;
        let mut is_elsewhere = false;
        let written = self
            .fence
            .transact(|header| {
                let first = header.next.unsigned_abs();
                is_elsewhere = matches!(condition, AppendCondition::Position(position) if position != first);
                if is_elsewhere {
                    return Err(Error::invalid_input("the log is at another position"));
                }
                positions = first..first + texts.len() as u64;
                header.next = positions.end.cast_signed();
                Ok(rows(&header.partition, &positions, &texts, condition))
            })
            .await;
        match written {
            Ok(()) => Ok(Some(positions)),
            Err(_) if is_elsewhere => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl<T: DeserializeOwned> Log<T> {
    /// Returns a stream of the events from `position` to the last one, each with its position.
    pub fn read_from(&self, position: u64) -> LogStream<T> {
        stream(&self.table, &self.fence.header().partition, position)
    }
}

/// A read-only handle to the log of a partition. Created by [`Log::reader`].
///
/// A missing log reads as an empty one. To append after a read, [open](Log::open) the log and call
/// [`append_at`](Log::append_at) with the position after the last event.
///
/// ```
/// use azure_table_patterns::Log;
/// use azure_table::{Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let logs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Logs")?;
/// logs.create_table().await?;
///
/// let order = Log::<String>::reader(&logs, "order-7");
/// let mut events = order.read_from(0);               // one request per 1,000 events, and one
/// let mut next = 0;
/// while let Some((position, _)) = events.try_next().await? {
///     next = position + 1;
/// }
/// let placed = ["placed".to_owned()];
/// assert!(Log::open(&logs, "order-7").await?.append_at(next, &placed).await?);
/// assert_eq!(order.position().await?, 0..1);
/// # Ok(())
/// # }
/// ```
pub struct LogReader<T> {
    table: TableClient<EventRow>,
    partition: String,
    event: PhantomData<fn() -> T>,
}

impl<T> LogReader<T> {
    /// Reads the positions of the first stored event and of the next event. Returns `0..0` if no log exists.
    ///
    /// Requests: 1. Lost response: [harmless](azure_table::guide::operations).
    ///
    /// # Errors
    /// - The errors of [`get`](TableClient::get).
    pub async fn position(&self) -> Result<Range<u64>> {
        let header = self.table.typed::<LogRow>().get((&self.partition,)).await?;
        Ok(header.map_or(0..0, |header| header.positions()))
    }
}

impl<T: DeserializeOwned> LogReader<T> {
    /// Returns a stream of the events from `position` to the last one, each with its position.
    pub fn read_from(&self, position: u64) -> LogStream<T> {
        stream(&self.table, &self.partition, position)
    }
}

impl<T> Clone for LogReader<T> {
    fn clone(&self) -> Self {
        Self {
            table: self.table.clone(),
            partition: self.partition.clone(),
            event: PhantomData,
        }
    }
}

impl<T> fmt::Debug for LogReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogReader")
            .field("table", &self.table)
            .field("partition", &self.partition)
            .finish_non_exhaustive()
    }
}

fn stream<T>(table: &TableClient<EventRow>, partition: &str, position: u64) -> LogStream<T> {
    let query = table.query().partition(partition);
    let rows = query.filter(EventRow::POSITION.ge(position) & EventRow::POSITION.le(u64::MAX));
    LogStream {
        rows: rows.stream(),
        header: Some(table.typed().get((partition,))),
        next: position,
        event: PhantomData,
    }
}

/// The events of a [`Log`], each with its position. Also a `futures::Stream`.
///
/// It ends after the last stored event. Then it reads the header, which shows whether further events were trimmed,
/// before or while it read.
///
/// # Errors
/// - [`InvalidInput`](ErrorKind::InvalidInput): the event at the position was trimmed.
/// - [`Other`](ErrorKind::Other): an event is not a `T`.
/// - The errors of [`TableQuery`](azure_table::TableQuery).
#[must_use = "nothing is sent until the stream is read"]
pub struct LogStream<T> {
    rows: EntityStream<EventRow>,
    /// The read of the header after the last event, until it ends.
    header: Option<GetEntity<LogRow>>,
    /// The position of the next event.
    next: u64,
    event: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> LogStream<T> {
    /// Reads the next event and its position. Returns `None` after the last event, or the error of a page.
    pub async fn try_next(&mut self) -> Result<Option<(u64, T)>> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<(u64, T)>>> {
        if let Some(row) = ready!(Pin::new(&mut self.rows).poll_next(cx)) {
            self.header.take_if(|_| row.is_err());
            return Poll::Ready(row.and_then(|row| self.event(&row)).map(Some));
        }
        let Some(read) = &mut self.header else {
            return Poll::Ready(Ok(None));
        };
        let header = ready!(Pin::new(read).poll(cx));
        self.header = None;
        Poll::Ready(match header?.map_or(0, |header| header.positions().start) {
            first if self.next < first => Err(self.trimmed(first)),
            _ => Ok(None),
        })
    }

    fn event(&mut self, row: &EventRow) -> Result<(u64, T)> {
        if row.position != self.next {
            return Err(self.trimmed(row.position));
        }
        self.next += 1;
        let event = serde_json::from_str(&row.event).map_err(Error::other)?;
        Ok((row.position, event))
    }

    fn trimmed(&self, first: u64) -> Error {
        let next = self.next;
        Error::invalid_input(format!("the event {next} of the log was trimmed: read from {first} on"))
    }
}

impl<T: DeserializeOwned> Stream for LogStream<T> {
    type Item = Result<(u64, T)>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(cx).map(Result::transpose)
    }
}

impl<T> fmt::Debug for LogStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogStream")
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// The condition of an append.
#[derive(Clone, Copy)]
enum AppendCondition<'a> {
    None,
    Position(u64),
    Once(&'a str),
}

/// Returns the operations that append events at these positions.
fn rows(
    partition: &str,
    positions: &Range<u64>,
    texts: &[String],
    condition: AppendCondition<'_>,
) -> Vec<TableOperation> {
    let mut operations = Vec::with_capacity(texts.len() + 1);
    if let AppendCondition::Once(key) = condition {
        operations.push(TableOperation::insert(&AppendRow {
            partition: partition.to_owned(),
            key: format!("{KEYS}{key}"),
            first: positions.start.cast_signed(),
            next: positions.end.cast_signed(),
            write: None,
        }));
    }
    operations.extend(positions.clone().zip(texts).map(|(position, event)| {
        TableOperation::insert(&EventRow {
            partition: partition.to_owned(),
            position,
            event: event.clone(),
            write: None,
        })
    }));
    operations
}

/// Returns `true` if the key of the append exists: its row is the first operation after the header.
fn is_known_key(error: &Error) -> bool {
    error.kind() == ErrorKind::AlreadyExists && error.batch_index() == Some(1)
}
