//! The rows of a scan, with its position and its progress.
//!
//! After each page, [`ScanStream`] decides what follows: the next page of the range, its end, or the ranges that
//! replace its rest (`scan_ranges.rs`). The position changes once all rows of the page have been yielded.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::vec;

use azure_table_wire::error::Result;
use azure_table_wire::filter::expression::Expression;
use azure_table_wire::filter::key_range::KeyRange;
use azure_table_wire::value::ordinal;
use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::client::query::part_pages::{Part, PartPage, PartPages};
use crate::client::query::scan::scan_position::{RangePosition, Read, ScanPosition};
use crate::client::query::scan::scan_ranges::ScanRanges;
use crate::client::query::scan::split::PartFilter;
use crate::request::continuation::{self, Continuation};

pub(super) type OnProgress = dyn FnMut(&ScanProgress, &ScanPosition) + Send;

/// The characters in a URL from which the condition of a range is too long. The limit of the service is not documented,
/// and the conditions of the query need room too.
const LONG_CONDITION: usize = 8_192;

/// The progress of a scan in numbers, since it began or was resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanProgress {
    /// The number of ranges so far.
    ///
    /// It grows while a scan finds its own ranges.
    pub ranges: usize,
    /// The number of ranges read to their end.
    pub ranges_done: usize,
    /// The number of pages read.
    pub pages: u64,
    /// The number of rows read.
    pub rows: u64,
}

/// The rows of a [`Scan`](crate::query::Scan): a [`Stream`] with its own `try_next`.
///
/// Ends after the last row or an error.
#[must_use = "nothing is sent until it is polled"]
pub struct ScanStream<P> {
    pages: PartPages<P>,
    position: ScanPosition,
    progress: ScanProgress,
    finder: Option<Finder>,
    /// The range of the current page, and its state after the page.
    held: Option<(usize, Next)>,
    rows: vec::IntoIter<P>,
    wanted: usize,
    callback: Option<Box<OnProgress>>,
    /// The callback is due: the reader has the last row of a page, and has not requested more.
    is_due: bool,
}

/// The state of a range after a page.
enum Next {
    Page(Continuation),
    End,
    /// Other ranges replace the rest.
    Ranges(Vec<NumberedRange>),
}

/// A range with the number of its chain.
type NumberedRange = (usize, RangePosition);

/// The ranges that a scan finds.
pub(super) struct Finder {
    ranges: ScanRanges,
    /// The number of each range of the position.
    numbers: Vec<usize>,
    next_number: usize,
    /// The conditions that all ranges have.
    shared: Arc<[Expression]>,
    /// No range is split: the caller set them.
    is_fixed: bool,
}

impl Finder {
    pub(super) fn new(ranges: ScanRanges, position: &ScanPosition, shared: Arc<[Expression]>, is_fixed: bool) -> Self {
        let next_number = position.ranges.len();
        Self {
            ranges,
            numbers: (0..next_number).collect(),
            next_number,
            shared,
            is_fixed,
        }
    }

    fn index(&self, number: usize) -> Option<usize> {
        self.numbers.iter().position(|known| *known == number)
    }

    /// Returns the ranges that replace the rest of a range after this page, with their numbers and chains.
    fn replace<P>(
        &mut self,
        page: &PartPage<P>,
        next: &Continuation,
        position: &ScanPosition,
        free: usize,
    ) -> Option<(Vec<NumberedRange>, VecDeque<Part>)> {
        let range = position.ranges.get(self.index(page.part)?)?;
        let end = KeyRange::of(&*self.shared).end();
        let ends = range.to.as_deref().into_iter().chain(end);
        let to = ends.min_by(|a, b| ordinal::compare(a, b));
        let free = if self.is_fixed { 0 } else { free };
        let found = self.ranges.replace(page.part, range, to, page.keys.as_ref(), free);
        if found.is_empty() {
            return None;
        }
        let is_list = self.ranges.is_list();
        let (mut ranges, mut parts) = (Vec::new(), VecDeque::new());
        for mut range in found {
            range.location = continuation::location(next);
            if let Some(part) = part(self.next_number, &range, &self.shared) {
                if !is_list && is_long(&part.filter) {
                    return None;
                }
                parts.push_back(part);
                ranges.push((self.next_number, range));
                self.next_number += 1;
            }
        }
        self.ranges.enter(page.part, ranges.iter().map(|(number, _)| *number));
        Some((ranges, parts))
    }
}

/// Returns the chain that reads the rest of a range, or `None` if no row can be left.
pub(super) fn part(index: usize, range: &RangePosition, shared: &Arc<[Expression]>) -> Option<Part> {
    let from = match &range.read {
        Read::All => return None,
        Read::Nothing => None,
        Read::UpTo(continuation) => Some(continuation.clone()),
    };
    let filter = PartFilter::new(range.condition(), Arc::clone(shared));
    let known = filter.own().fold(KeyRange::of(&**shared), KeyRange::and);
    let is_empty = known.is_empty() || known.end().is_some_and(|end| range.is_after(end));
    (!is_empty).then_some(Part {
        index,
        filter,
        from,
        location: range.location,
    })
}

/// Returns `true` if the URL of a part may be too long. The chain that the part would replace has a shorter one.
fn is_long(filter: &PartFilter) -> bool {
    let encoded = |byte: u8| if byte.is_ascii_alphanumeric() { 1 } else { 3 };
    let characters = |one: &Expression| one.to_string().bytes().map(encoded).sum::<usize>();
    let own: usize = filter.own().map(characters).sum();
    own > LONG_CONDITION
}

impl<P> ScanStream<P> {
    pub(super) fn new(
        pages: PartPages<P>,
        position: ScanPosition,
        finder: Option<Finder>,
        limit: Option<usize>,
        callback: Option<Box<OnProgress>>,
    ) -> Self {
        Self {
            pages,
            progress: ScanProgress {
                ranges: position.ranges.len(),
                ranges_done: position.ranges.iter().filter(|range| range.read == Read::All).count(),
                ..ScanProgress::default()
            },
            position,
            finder,
            held: None,
            rows: Vec::new().into_iter(),
            wanted: limit.unwrap_or(usize::MAX),
            callback,
            is_due: false,
        }
    }

    /// Returns the next row, or `None` after the last.
    ///
    /// Requests: 1 per page of each range. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// See [`Scan`](crate::query::Scan).
    pub async fn try_next(&mut self) -> Result<Option<P>> {
        poll_fn(|cx| self.poll_row(cx)).await.transpose()
    }

    /// Returns the rows of the next page that is not empty, or `None` after the last page.
    ///
    /// The [`position`](Self::position) then moves past this page, so a program that processes whole pages repeats none
    /// when it resumes, except a page that the query's limit cuts short. The rows of a page belong to one range, in key
    /// order. After [`try_next`](Self::try_next), returns the rest of its page. If a row cannot be read, returns the
    /// rows before it and then the error, and the position stays before the page.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # table.create_table().await?;
    /// # for pk in ["alpha", "golf", "tango"] { table.insert(&DynamicEntity::new(pk, "1")).await?; }
    /// let mut rows = table.query().page_size(2).scan().stream();
    /// let mut stored = None;
    /// let mut count = 0;
    /// while let Some(page) = rows.try_next_page().await? {
    ///     count += page.len(); // process the page
    ///     stored = Some(rows.position().to_string());
    /// }
    /// assert_eq!(count, 3);
    /// # assert!(stored.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per page of each range. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// See [`Scan`](crate::query::Scan).
    pub async fn try_next_page(&mut self) -> Result<Option<Vec<P>>> {
        poll_fn(|cx| self.poll_page(cx)).await.transpose()
    }

    /// Returns the position to resume from: after the pages that were yielded completely.
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
        if let Some(Err(e)) = ready!(self.poll_rows(cx)) {
            return Poll::Ready(Some(Err(e)));
        }
        let row = self.rows.next();
        self.yielded(usize::from(row.is_some()));
        Poll::Ready(row.map(Ok))
    }

    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<P>>>> {
        let ready = ready!(self.poll_rows(cx));
        Poll::Ready(ready.map(|ready| {
            ready?;
            let rows: Vec<P> = self.rows.by_ref().take(self.wanted).collect();
            self.yielded(rows.len());
            Ok(rows)
        }))
    }

    /// Waits until rows of a page are left. Returns `None` after the last page.
    fn poll_rows(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<()>>> {
        loop {
            if mem::take(&mut self.is_due)
                && let Some(callback) = &mut self.callback
            {
                callback(&self.progress, &self.position);
            }
            if self.wanted == 0 {
                self.pages.clear();
                self.rows = Vec::new().into_iter();
                return Poll::Ready(None);
            }
            if !self.rows.as_slice().is_empty() {
                return Poll::Ready(Some(Ok(())));
            }
            self.rows = Vec::new().into_iter();
            let Some(page) = ready!(self.pages.poll_page(cx)) else {
                return Poll::Ready(None);
            };
            if let Err(e) = self.take_page(page) {
                return Poll::Ready(Some(Err(e)));
            }
        }
    }

    fn yielded(&mut self, rows: usize) {
        self.wanted -= rows;
        self.progress.rows += rows as u64;
        if rows > 0 && self.rows.as_slice().is_empty() {
            self.page_read();
        }
    }

    fn take_page(&mut self, mut part: PartPage<P>) -> Result<()> {
        let next = match part.page {
            Err(_) => None,
            // The position stays before the page: its error follows.
            Ok(page) if page.end.is_cut => {
                self.rows = page.into_items().into_iter();
                return Ok(());
            }
            Ok(ref page) => page.end.next().cloned(),
        };
        let next = match (next, &mut self.finder) {
            (None, None) => Next::End,
            (None, Some(finder)) => {
                finder.ranges.end(part.part);
                Next::End
            }
            (Some(next), None) => Next::Page(next),
            (Some(next), Some(finder)) => match finder.replace(&part, &next, &self.position, self.pages.free()) {
                None => Next::Page(next),
                Some((ranges, parts)) => {
                    self.pages.replace(part.part, parts);
                    Next::Ranges(ranges)
                }
            },
        };
        part.keys = None;
        let page = part.page?;
        self.progress.pages += 1;
        self.held = Some((part.part, next));
        self.rows = page.into_items().into_iter();
        if self.rows.as_slice().is_empty() {
            self.page_read();
        }
        Ok(())
    }

    /// Records that all rows of the page were yielded.
    fn page_read(&mut self) {
        let Some((number, next)) = self.held.take() else { return };
        let ranges = &mut self.position.ranges;
        let index = self.finder.as_ref().map_or(Some(number), |finder| finder.index(number));
        let Some(index) = index.filter(|index| *index < ranges.len()) else {
            return;
        };
        match (next, &mut self.finder) {
            (Next::Page(next), _) => ranges[index].read = Read::UpTo(next),
            (Next::End, None) => {
                ranges[index].read = Read::All;
                self.progress.ranges_done += 1;
            }
            (Next::End, Some(finder)) => {
                ranges.remove(index);
                finder.numbers.remove(index);
                self.progress.ranges_done += 1;
            }
            (Next::Ranges(found), Some(finder)) => {
                match found.len() {
                    0 => self.progress.ranges_done += 1,
                    some => self.progress.ranges += some - 1,
                }
                let (numbers, found): (Vec<_>, Vec<_>) = found.into_iter().unzip();
                finder.numbers.splice(index..=index, numbers);
                ranges.splice(index..=index, found);
            }
            (Next::Ranges(_), None) => {}
        }
        self.is_due = true;
    }
}

/// No row is ever pinned: rows are moved out.
impl<P> Unpin for ScanStream<P> {}

impl<P> Stream for ScanStream<P> {
    type Item = Result<P>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_row(cx)
    }
}

impl<P> FusedStream for ScanStream<P> {
    fn is_terminated(&self) -> bool {
        let is_over = self.wanted == 0 || self.rows.as_slice().is_empty() && self.pages.is_over();
        is_over && !(self.is_due && self.callback.is_some())
    }
}

impl<P> fmt::Debug for ScanStream<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanStream")
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}
