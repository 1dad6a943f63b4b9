//! Reads a whole table in ranges of partitions, concurrently and resumably.
//!
//! Owns [`Scan`], its stream, and the position and progress of both.

use std::collections::VecDeque;
use std::fmt;
use std::future::{poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use azure_table_core::filter::access::Access;
use azure_table_core::filter::expression::Expression;
use azure_table_core::filter::key_range::KeyRange;
use azure_table_core::filter::split::{PartFilter, conditions};
use azure_table_core::model::entity::TableEntity;
use azure_table_core::model::error::{Error, Result};
use azure_table_core::protocol::continuation::Continuation;
use futures_core::Stream;
use futures_core::stream::FusedStream;
use futures_util::TryStreamExt as _;

use crate::client::query::TableQuery;
use crate::client::query::concurrent::{CONCURRENCY, Order};
use crate::client::query::page_stream::{Page, Prefetch, PreparedQuery};
use crate::client::query::part_pages::{Part, PartPages};
use crate::client::query::scan_position::{Read, ScanPosition, ranges};
use crate::client::shape::Shape;
use crate::client::total_timeout::total_timeout;
use crate::pipeline::options::call_options;

/// A query over the whole table, read concurrently in ranges of PartitionKeys.
///
/// Built by [`TableQuery::scan`]. Rows are yielded as they arrive, page by page. A [`ScanPosition`] records the rows
/// that were read. Another process can resume from it. A [`limit`](TableQuery::limit) of the query applies to the whole
/// scan.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::with_transport(Emulator::new()).dynamic_table("Blogs")?;
/// # table.create_table().await?;
/// # for pk in ["alpha", "golf", "tango"] { table.insert(&DynamicEntity::new(pk, "1")).await?; }
/// let mut rows = table.query().scan().ranges(["g", "n", "t"]).concurrency(4).stream();
/// let mut count = 0;
/// while let Some(row) = rows.try_next().await? {
///     count += 1;
/// }
/// assert_eq!(count, 3);
/// assert_eq!(rows.progress().ranges_done, 4);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// On the first read:
/// - `InvalidInput`: a boundary of the ranges is not a valid PartitionKey.
/// - `InvalidInput`: the client [denies](crate::TableServiceClient::deny) the access path of the scan, and the query
///   does not [allow](TableQuery::allow_table_scan) it.
/// - `InvalidInput`: the position belongs to another query.
/// - `InvalidInput`: the query has a continuation, which belongs to a single chain.
///
/// On later reads, the errors of [`TableQuery`]. The first error ends the stream, and its position stays valid.
#[must_use = "nothing is sent until it is read"]
pub struct Scan<E, P = E> {
    query: TableQuery<E, P>,
    ends: Vec<String>,
    from: Option<ScanPosition>,
    concurrency: usize,
    callback: Option<Box<Hear>>,
}

type Hear = dyn FnMut(&ScanProgress, &ScanPosition) + Send;

/// The progress of a scan in numbers, since it began or was resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanProgress {
    /// The number of ranges.
    pub ranges: usize,
    /// The number of ranges read to their end.
    pub ranges_done: usize,
    /// The number of pages read.
    pub pages: u64,
    /// The number of rows read.
    pub rows: u64,
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
    /// The conditions and the row type are those of the query.
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
    /// No row needs to have such a key. `n` boundaries form `n + 1` ranges. The first range begins with the table, and
    /// the last ends with it. The scan is fastest if the ranges have similar numbers of rows.
    pub fn ranges(mut self, ends: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.ends.extend(ends.into_iter().map(Into::into));
        self
    }

    /// Resumes an earlier scan of the same query.
    ///
    /// The ranges of the position replace those set here.
    pub fn resume_from(mut self, position: ScanPosition) -> Self {
        self.from = Some(position);
        self
    }

    /// Sets the number of ranges read concurrently: 16 by default, at least one.
    ///
    /// Holds one page per range in progress. A [`prefetch`](TableQuery::prefetch) of the query adds none.
    pub fn concurrency(mut self, ranges: usize) -> Self {
        self.concurrency = ranges.max(1);
        self
    }

    /// Calls `callback` after each page with the progress in numbers and the position to store.
    pub fn on_progress(mut self, callback: impl FnMut(&ScanProgress, &ScanPosition) + Send + 'static) -> Self {
        self.callback = Some(Box::new(callback));
        self
    }

    /// Returns the rows as a stream.
    pub fn stream(self) -> ScanStream<P> {
        let limit = self.query.settings.limit;
        let (position, parts) = match self.begin() {
            Ok((position, parts)) => (position, Ok(parts)),
            // A position that the caller set is kept unchanged.
            Err(e) => (self.from.clone().unwrap_or_default(), Err(e)),
        };
        ScanStream {
            pages: self.query.part_pages(parts, self.concurrency, Order::AsTheyCome),
            progress: ScanProgress {
                ranges: position.ranges.len(),
                ranges_done: position.ranges.iter().filter(|range| range.read == Read::All).count(),
                ..ScanProgress::default()
            },
            position,
            held: None,
            rows: Vec::new().into_iter(),
            wanted: limit.unwrap_or(usize::MAX),
            callback: self.callback,
        }
    }

    /// Counts the rows.
    ///
    /// Reads one key per row: the service reads as much as for the rows themselves.
    ///
    /// # Errors
    /// Returns the first error of any range.
    pub async fn count(self) -> Result<usize> {
        let scan = Scan {
            query: self.query.shaped(Shape::of_nothing()),
            ends: self.ends,
            from: self.from,
            concurrency: self.concurrency,
            callback: self.callback,
        };
        scan.stream().try_fold(0, |count, ()| ready(Ok(count + 1))).await
    }

    /// Returns the ranges, and a chain for the remainder of each.
    fn begin(&self) -> Result<(ScanPosition, (PreparedQuery, VecDeque<Part>))> {
        let mut query = self.query.clone();
        if query.settings.from.is_some() {
            let why = "a continuation belongs to one chain of pages: resume a scan with `.resume_from(position)`";
            return Err(Error::invalid_input(why));
        }
        let filter = query.expression()?;
        let access = Access::of(&filter);
        query.check_path(access.path(), || access)?;
        let identity = query.prepare_for(filter.as_ref(), Prefetch::Never)?.request.identity();
        let mut position = match &self.from {
            Some(position) if position.query != identity => {
                let why = "the position belongs to another query: its table or its conditions differ";
                return Err(Error::invalid_input(why));
            }
            Some(position) => position.clone(),
            None => ScanPosition::new(identity, ranges(&self.ends)?),
        };
        let shared: Arc<[Expression]> = filter.map(conditions).unwrap_or_default().into();
        let known = KeyRange::of(&*shared);
        let mut parts = VecDeque::new();
        for (index, range) in position.ranges.iter_mut().enumerate() {
            let from = match &range.read {
                Read::All => continue,
                Read::Nothing => None,
                Read::UpTo(continuation) => Some(continuation.clone()),
            };
            let filter = PartFilter::new(range.condition(), Arc::clone(&shared));
            if filter.own().fold(known, KeyRange::and).is_empty() {
                range.read = Read::All;
                continue;
            }
            parts.push_back(Part { index, filter, from });
        }
        let mut prepared = query.prepare_parts()?;
        // The limit applies to all ranges together. A page that is cut short has no continuation to resume from.
        prepared.limit = None;
        Ok((position, (prepared, parts)))
    }
}

/// The rows of a [`Scan`]: a [`Stream`] with its own `try_next`.
///
/// Ends after the last row or an error.
#[must_use = "nothing is sent until it is polled"]
pub struct ScanStream<P> {
    pages: PartPages<P>,
    position: ScanPosition,
    progress: ScanProgress,
    /// The range of the current page, and the continuation after it.
    held: Option<(usize, Option<Continuation>)>,
    rows: vec::IntoIter<P>,
    wanted: usize,
    callback: Option<Box<Hear>>,
}

/// No row is ever pinned: rows are moved out.
impl<P> Unpin for ScanStream<P> {}

impl<P> ScanStream<P> {
    /// Returns the next row, or `None` after the last.
    ///
    /// # Errors
    /// See [`Scan`].
    pub async fn try_next(&mut self) -> Result<Option<P>> {
        poll_fn(|cx| self.poll_row(cx)).await.transpose()
    }

    /// Returns the position to resume from, after the pages whose rows were all yielded.
    ///
    /// A resumed scan yields the rows of a half-read page again.
    pub fn position(&self) -> &ScanPosition {
        &self.position
    }

    /// Returns the progress in numbers.
    pub fn progress(&self) -> ScanProgress {
        self.progress
    }

    fn poll_row(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<P>>> {
        loop {
            if self.wanted == 0 {
                self.pages.clear();
                return Poll::Ready(None);
            }
            if let Some(row) = self.rows.next() {
                self.wanted -= 1;
                self.progress.rows += 1;
                if self.rows.as_slice().is_empty() {
                    self.page_read();
                }
                return Poll::Ready(Some(Ok(row)));
            }
            self.rows = Vec::new().into_iter();
            match ready!(self.pages.poll_page(cx)) {
                Some((range, Ok(page))) => self.take_page(range, page),
                Some((_, Err(e))) => return Poll::Ready(Some(Err(e))),
                None => return Poll::Ready(None),
            }
        }
    }

    fn take_page(&mut self, range: usize, page: Page<P>) {
        self.progress.pages += 1;
        self.held = Some((range, page.next().cloned()));
        self.rows = page.into_items().into_iter();
        if self.rows.as_slice().is_empty() {
            self.page_read();
        }
    }

    /// Records that all rows of the page were yielded.
    fn page_read(&mut self) {
        let Some((index, next)) = self.held.take() else { return };
        let Some(range) = self.position.ranges.get_mut(index) else {
            return;
        };
        range.read = match next {
            Some(next) => Read::UpTo(next),
            None => {
                self.progress.ranges_done += 1;
                Read::All
            }
        };
        if let Some(callback) = &mut self.callback {
            callback(&self.progress, &self.position);
        }
    }
}

impl<P> Stream for ScanStream<P> {
    type Item = Result<P>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_row(cx)
    }
}

impl<P> FusedStream for ScanStream<P> {
    fn is_terminated(&self) -> bool {
        self.wanted == 0 || self.rows.as_slice().is_empty() && self.pages.is_over()
    }
}

impl<P> fmt::Debug for ScanStream<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanStream")
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
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
