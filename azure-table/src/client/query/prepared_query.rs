//! What a query asks for, checked: one chain of requests, or one for each part of its rows.

use crate::client::query::TableQuery;
use crate::client::query::page_stream::PageStream;
use crate::client::query::prefetch::Prefetch;
use crate::client::query::query_plan;
use crate::client::total_timeout::TotalTimeout;
use crate::filter::access::Access;
use crate::filter::expression::Expression;
use crate::filter::typed::Filter;
use crate::model::entity::TableEntity;
use crate::model::error::{Error, Result};
use crate::protocol::query::{List, MAX_PAGE_SIZE, QueryRequest};

/// What a stream is to give.
pub(crate) struct Asked {
    pub(crate) request: QueryRequest,
    /// How many comparisons its filter has.
    pub(crate) comparisons: usize,
    /// Whether keys are among those of which one has to hold.
    pub(crate) has_keys: bool,
    /// How many rows are still wanted.
    pub(crate) limit: Option<usize>,
    pub(crate) prefetch: Prefetch,
    /// Whether pages come while nobody polls: a reader of several streams may be long at one of them.
    pub(crate) in_task: bool,
    /// The time of all pages together.
    pub(crate) total: TotalTimeout,
}

/// Filters from this length on may be longer than a URL, encoded.
const LONG_FILTER: usize = 16_384;

/// The most rows of a page. A limit within one page is also its size: no row comes that nobody asked for. The size stays the same
/// on every page, as the service wants it.
pub(crate) fn top(page_size: Option<u32>, limit: Option<usize>) -> Result<Option<u32>> {
    if let Some(rows @ (0 | 1_001..)) = page_size {
        return Err(Error::invalid_input(format!(
            "page size {rows}: it must be 1 to {MAX_PAGE_SIZE}"
        )));
    }
    let limit = limit
        .and_then(|rows| u32::try_from(rows).ok())
        .filter(|rows| (1..=MAX_PAGE_SIZE).contains(rows));
    Ok(match (page_size, limit) {
        (Some(page_size), Some(limit)) => Some(page_size.min(limit)),
        (page_size, limit) => page_size.or(limit),
    })
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// The conditions on the keys and all others.
    pub(super) fn expression(&mut self) -> Result<Option<Expression>> {
        let keys = self
            .keys
            .take()
            .transpose()
            .map_err(|why| Error::invalid_input(String::from(why)))?;
        let filter = self.filter.take().map(Filter::into_expression).transpose()?;
        Ok(match (keys, filter) {
            (Some(keys), Some(filter)) => Some(keys.and(filter)),
            (keys, filter) => keys.or(filter),
        })
    }

    pub(super) fn asked(&mut self, prefetch: Prefetch) -> Result<Asked> {
        let filter = self.expression()?;
        self.check_access(filter.as_ref())?;
        self.asked_for(filter, prefetch)
    }

    /// Whether the client lets a condition read as much as it does.
    pub(super) fn check_access(&self, filter: Option<&Expression>) -> Result<()> {
        let access = Access::of(filter);
        let path = access.path();
        if self.pipeline.settings.denied.is_some_and(|denied| path >= denied) && self.allowed < Some(path) {
            let advice = query_plan::advice(&access).unwrap_or("ask for less");
            return Err(Error::invalid_input(format!(
                "it would read {path}, which this client denies: {}; {advice}, or allow it for this call",
                query_plan::why(&access)
            )));
        }
        Ok(())
    }

    /// One chain of requests for the rows of a condition.
    pub(super) fn asked_for(&self, filter: Option<Expression>, prefetch: Prefetch) -> Result<Asked> {
        let top = top(self.page_size, self.limit)?;
        let request = QueryRequest {
            list: List::Entities(self.table.as_str().to_owned()),
            filter: filter.as_ref().map(Expression::to_string),
            select: self.shape.select.clone(),
            top,
            metadata: self.shape.metadata,
        };
        let access = Access::of(filter.as_ref());
        Ok(Asked {
            request,
            comparisons: access.comparisons,
            has_keys: access.has_key_in_or,
            limit: self.limit,
            prefetch: self.prefetch.map_or(Ok(prefetch), Prefetch::of)?,
            in_task: false,
            total: self.total,
        })
    }

    /// The same for a part of the rows, several of which are read at once: as many pages are held, and none ahead.
    pub(super) fn part_for(&self, filter: Option<Expression>) -> Result<Asked> {
        let mut asked = self.asked_for(filter, Prefetch::Never)?;
        (asked.prefetch, asked.in_task) = (Prefetch::Never, true);
        Ok(asked)
    }

    /// The first request for the rows of a condition as text; of a filter that no URL can hold, why there is none.
    pub(super) fn shown_or_why_not(self, filter: Option<Expression>) -> Result<Result<String, Error>> {
        let is_long = filter
            .as_ref()
            .is_some_and(|filter| filter.to_string().len() > LONG_FILTER);
        let asked = self.asked_for(filter, Prefetch::Never)?;
        let options = self.call_options();
        let shown = PageStream::new(self.pipeline, options, asked, self.from, self.shape).request();
        match shown {
            Err(e) if is_long => Ok(Err(e)),
            shown => shown.map(Ok),
        }
    }
}
