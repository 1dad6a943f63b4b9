//! Reads a whole table in ranges of partitions, concurrently and resumably.
//!
//! [`Scan`] has the settings and checks the query. `scan/scan_stream.rs` yields the rows, and `scan/scan_ranges.rs`
//! finds the ranges.

use azure_table_wire::error::{Error, Result};
use azure_table_wire::filter::expression::Expression;
use futures_util::TryStreamExt as _;
use std::collections::VecDeque;
use std::fmt;
use std::future::ready;
use std::sync::Arc;

use crate::client::poll::total_timeout::total_timeout;
use crate::client::query::concurrent::{CONCURRENCY, Order};
use crate::client::query::page_chain::{Prefetch, PreparedQuery};
use crate::client::query::part_pages::Part;
use crate::client::query::scan::scan_position::{Read, ScanPosition, ranges};
use crate::client::query::scan::scan_ranges::ScanRanges;
use crate::client::query::scan::scan_stream::{Finder, OnProgress, ScanProgress, ScanStream, part};
use crate::client::query::scan::split::conditions;
use crate::client::query::table_query::TableQuery;
use crate::client::shape::key_recorder::RecordedRows;
use crate::client::shape::{KEYS, Shape};
use crate::entity::table_entity::TableEntity;
use crate::filter::access::Access;
use crate::pipeline::options::call_options;

pub(crate) mod scan_position;
mod scan_ranges;
pub(crate) mod scan_stream;
pub(crate) mod split;

/// A query over the whole table, read concurrently in ranges of PartitionKeys.
///
/// Built by [`TableQuery::scan`]. Rows are yielded as they arrive, page by page. A [`ScanPosition`] records which rows
/// were read, and even another process can resume from it. A [`limit`](TableQuery::limit) of the query applies to the
/// whole scan.
///
/// Set the [`ranges`](Self::ranges) yourself, or let the scan find them while it reads. It then begins with the whole
/// table. As long as the [`concurrency`](Self::concurrency) allows more ranges, it divides the rest of a range, guided
/// by the PartitionKeys on its pages:
///
/// - A row that exists from the start to the end of the scan is in exactly one range, and is yielded once.
/// - A scan of `n` pages reads at most `65 + n / 8` ranges, and a table of one page takes one request. Each range but
///   the first costs about half a page more than a sequential read.
/// - The rows of one partition are always read in sequence, since ranges end between partitions.
/// - A range is divided only after a page with rows. If a filter matches few rows, set the ranges yourself.
/// - A range is not divided if its keys would make the URL long: a condition of more than 8,192 encoded characters.
/// - Cosmos DB returns rows in no particular order. There, a scan without ranges reads the table in sequence.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// # table.create_table().await?;
/// # for pk in ["alpha", "golf", "tango"] { table.insert(&DynamicEntity::new(pk, "1")).await?; }
/// let mut rows = table.query().scan().stream();
/// let mut count = 0;
/// while let Some(row) = rows.try_next().await? {
///     count += 1;
/// }
/// assert_eq!(count, 3);
/// // Known boundaries cost no requests to find.
/// let mut rows = table.query().scan().ranges(["g", "n", "t"]).concurrency(4).stream();
/// while let Some(row) = rows.try_next().await? {
///     count += 1;
/// }
/// assert_eq!((count, rows.progress().ranges_done), (6, 4));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// On the first read:
/// - `InvalidInput`: a boundary of the ranges is not a valid PartitionKey.
/// - `InvalidInput`: the client [denies](crate::TableServiceClient::deny_access) the access path of the scan, and the
///   query does not [allow](TableQuery::allow_table_scan) it.
/// - `InvalidInput`: the position belongs to another query.
/// - `InvalidInput`: the query has a continuation, which belongs to a single chain.
/// - `InvalidInput`: the query has a [`prefetch`](TableQuery::prefetch), though ranges fetch no page ahead.
///
/// On later reads, the errors of [`TableQuery`]. The first error ends the stream, and its position stays valid.
#[must_use = "nothing is sent until it is read"]
pub struct Scan<E, P = E> {
    query: TableQuery<E, P>,
    ends: Vec<String>,
    from: Option<ScanPosition>,
    concurrency: usize,
    callback: Option<Box<OnProgress>>,
}

call_options!(Scan[E: TableEntity, P], query.settings.options);
total_timeout!(
    Scan[E: TableEntity, P],
    query.settings.total,
    "At the deadline, the stream ends with an error of kind `Timeout`. Its position stays valid."
);

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Reads the whole table concurrently in ranges of PartitionKeys: see [`Scan`].
    ///
    /// The conditions and the row type come from the query.
    pub fn scan(self) -> Scan<E, P> {
        Scan {
            query: self,
            ends: Vec::new(),
            from: None,
            concurrency: CONCURRENCY,
            callback: None,
        }
    }
}

impl<E: TableEntity, P> Scan<E, P> {
    /// Adds the boundaries between the ranges: PartitionKeys in any order. Duplicates are ignored.
    ///
    /// With boundaries, the scan finds none of its own. No row needs to have such a key. `n` boundaries form `n + 1`
    /// ranges, from the start of the table to its end. The scan is fastest if the ranges have similar numbers of rows.
    pub fn ranges(mut self, ends: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.ends.extend(ends.into_iter().map(Into::into));
        self
    }

    /// Resumes an earlier scan of the same query.
    ///
    /// The ranges of the position replace the ranges set here. Without boundaries, the scan divides them further.
    pub fn resume_from(mut self, position: ScanPosition) -> Self {
        self.from = Some(position);
        self
    }

    /// Sets the number of ranges read concurrently: 16 by default, at least one.
    ///
    /// With one, a scan without [`ranges`](Self::ranges) reads the table in sequence. Memory holds one page per range
    /// in progress.
    pub fn concurrency(mut self, ranges: usize) -> Self {
        self.concurrency = ranges.max(1);
        self
    }

    /// Calls `callback` after each page with the progress in numbers and the position to store.
    ///
    /// It runs once the reader requests more than the rows of the page. If you process each row before you request the
    /// next, you have processed all rows before the position.
    pub fn on_progress(mut self, callback: impl FnMut(&ScanProgress, &ScanPosition) + Send + 'static) -> Self {
        self.callback = Some(Box::new(callback));
        self
    }

    /// Returns the rows as a stream.
    ///
    /// Requests: 1 per page of each range. Lost response: [harmless](crate::guide::operations).
    pub fn stream(self) -> ScanStream<P> {
        self.read(RecordedRows::All)
    }

    /// Returns the PartitionKeys of the rows as a stream, each once, as text.
    ///
    /// After each page, the scan skips the rest of the page's last partition. The list therefore takes at most about
    /// one request per partition, and never more than a scan of the rows. The keys arrive in no particular order. A
    /// [`limit`](TableQuery::limit) of the query limits the number of keys. Its position can resume only such a list.
    ///
    /// A page has the keys of up to 1,000 rows, and the client keeps one per partition. If partitions have many rows, a
    /// small [`page_size`](TableQuery::page_size) transfers less.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # table.create_table().await?;
    /// # for pk in ["alpha", "golf", "golf", "tango"] { table.insert_or_replace(&DynamicEntity::new(pk, "1")).await?; }
    /// let mut keys = table.query().scan().partition_keys();
    /// while let Some(key) = keys.try_next().await? {
    ///     println!("{key}");
    /// }
    /// assert_eq!(keys.progress().rows, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per page of new partitions in each range. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// On the first read, besides the errors of [`Scan`]:
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): Cosmos DB does not return rows in key order.
    pub fn partition_keys(self) -> ScanStream<String> {
        self.shaped(Shape::for_partition_keys())
            .read(RecordedRows::FirstOfPartition)
    }

    /// Counts the rows.
    ///
    /// Transfers one key per row, but the service reads as much as for whole rows.
    ///
    /// Requests: 1 per page of each range. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the first error of any range.
    pub async fn count(self) -> Result<usize> {
        let scan = self.shaped(Shape::for_nothing());
        scan.stream().try_fold(0, |count, ()| ready(Ok(count + 1))).await
    }

    fn shaped<Q>(self, shape: Shape<Q>) -> Scan<E, Q> {
        Scan {
            query: self.query.shaped(shape),
            ends: self.ends,
            from: self.from,
            concurrency: self.concurrency,
            callback: self.callback,
        }
    }

    fn read(self, rows: RecordedRows) -> ScanStream<P> {
        let limit = self.query.settings.limit;
        let (position, finder, parts) = match self.begin(rows) {
            Ok(Prepared {
                position,
                finder,
                query,
                parts,
            }) => (position, finder, Ok((query, parts))),
            // A position that the caller set is kept unchanged.
            Err(e) => (self.from.clone().unwrap_or_default(), None, Err(e)),
        };
        let pages = self.query.part_pages(parts, self.concurrency, Order::AsTheyCome);
        let pages = pages.recording(finder.as_ref().map(|_| rows));
        ScanStream::new(pages, position, finder, limit, self.callback)
    }

    /// Returns the ranges, and a chain for the remainder of each.
    fn begin(&self, rows: RecordedRows) -> Result<Prepared> {
        let mut query = self.query.clone();
        if query.settings.from.is_some() {
            let why = "a continuation belongs to one chain of pages: resume a scan with `.resume_from(position)`";
            return Err(Error::invalid_input(why));
        }
        let is_list = rows == RecordedRows::FirstOfPartition;
        if is_list {
            query.settings.check_order("read the keys of all rows with `keys`")?;
        }
        let filter = query.condition()?;
        let access = Access::of(&filter);
        query.settings.check_path(access.path(), || access)?;
        let form = &query.shape.form;
        let request = query.settings.prepare(filter.as_ref(), form, Prefetch::Never)?.request;
        let identity = request.identity(&query.settings.pipeline.endpoint);
        let identity = if is_list { identity ^ LIST } else { identity };
        // A scan that was rejected before it began has the default position.
        let mut position = match self.from.as_ref().filter(|from| **from != ScanPosition::default()) {
            Some(position) if position.query == identity ^ LIST => {
                let why = "the position belongs to the other of `stream` and `partition_keys`";
                return Err(Error::invalid_input(why));
            }
            Some(position) if position.query != identity => {
                let why = "the position belongs to another query: its account, table or conditions differ";
                return Err(Error::invalid_input(why));
            }
            Some(position) => position.clone(),
            None => ScanPosition::new(identity, ranges(&self.ends)?),
        };
        let shared: Arc<[Expression]> = filter.map(conditions).unwrap_or_default().into();
        let mut parts = VecDeque::new();
        for (index, range) in position.ranges.iter_mut().enumerate() {
            match part(index, range, &shared) {
                Some(part) => parts.push_back(part),
                None => range.read = Read::All,
            }
        }
        let is_ordered = query.settings.pipeline.endpoint.profile().rules().is_ordered;
        let is_fixed = !self.ends.is_empty() || self.concurrency == 1 || !is_ordered;
        let finder = (is_list || !is_fixed).then(|| {
            let ranges = ScanRanges::new(self.concurrency, rows);
            Finder::new(ranges, &position, shared, is_fixed)
        });
        if finder.is_some() {
            query.shape.form.add_names(&KEYS);
        }
        let mut query = query.settings.prepare_parts(&query.shape.form)?;
        // The limit applies to all ranges together. A page that is cut short has no continuation to resume from.
        query.limit = None;
        Ok(Prepared {
            position,
            finder,
            query,
            parts,
        })
    }
}

/// Distinguishes the position of a list of PartitionKeys from the position of the rows of the same query.
const LIST: u64 = 0x7061_7274_6974_696f;

/// A scan that was checked, with a chain for the rest of each range.
struct Prepared {
    position: ScanPosition,
    finder: Option<Finder>,
    query: PreparedQuery,
    parts: VecDeque<Part>,
}

impl<E, P> fmt::Debug for Scan<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan")
            .field("query", &self.query)
            .field("ranges", &(self.ends.len() + 1))
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}
