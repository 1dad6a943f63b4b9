//! Validates a query and prepares its chain of requests, or one chain per part of its rows.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::filter::expression::Expression;
use azure_table_wire::filter::parse::{compares, raw_fault};
use std::collections::VecDeque;
use std::sync::Arc;

use crate::client::query::concurrent::Order;
use crate::client::query::key_condition::both;
use crate::client::query::page_stream::{PageStream, Prefetch, PreparedQuery, top};
use crate::client::query::part_pages::{Part, PartPages};
use crate::client::query::query_plan;
use crate::client::query::table_query::TableQuery;
use crate::entity::table_entity::TableEntity;
use crate::filter::access::{Access, AccessPath};
use crate::filter::typed;
use crate::request::query::{List, QueryRequest};

/// The length of a filter from which its encoded URL may be too long.
const LONG_FILTER: usize = 16_384;

impl PreparedQuery {
    /// Returns the query of the rows that meet `filter`.
    pub(super) fn filtered(&self, filter: Option<&Expression>) -> Self {
        let access = Access::of(filter);
        let mut query = self.clone();
        query.request.filter = filter.map(Expression::to_string);
        query.fault = filter.and_then(raw_fault).map(Arc::from);
        (query.comparisons, query.has_keys) = (access.comparisons, access.has_key_in_or);
        query
    }
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Takes the conditions of the query, those on the keys included.
    pub(super) fn expression(&mut self) -> Result<Option<Expression>> {
        let keys = self
            .settings
            .keys
            .take()
            .transpose()
            .map_err(|why| Error::invalid_input(String::from(why)))?;
        let filter = self.filter.take().map(typed::into_expression).transpose()?;
        let range = self.cursor_condition(keys.iter().chain(&filter))?;
        let condition = both(both(keys, range), filter);
        let is_cosmos = self.settings.pipeline.endpoint.profile().is_cosmos();
        if is_cosmos
            && condition
                .as_ref()
                .is_some_and(|condition| compares(condition, "Timestamp"))
        {
            let why = "the filter compares the Timestamp, by which Cosmos DB finds no row: compare the Timestamps of \
                       `versioned` rows, or a time that you store";
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        Ok(condition)
    }

    pub(super) fn prepare(&mut self, prefetch: Prefetch) -> Result<PreparedQuery> {
        let filter = self.expression()?;
        let access = Access::of(&filter);
        self.check_path(access.path(), || access)?;
        self.prepare_for(filter.as_ref(), prefetch)
    }

    /// Checks that the client allows this access path.
    ///
    /// # Errors
    /// `InvalidInput`: the client denies the access path of a condition.
    pub(super) fn check_path(&self, path: AccessPath, access: impl FnOnce() -> Access) -> Result<()> {
        if self
            .settings
            .pipeline
            .settings
            .denied
            .is_some_and(|denied| path >= denied)
            && self.settings.allowed < Some(path)
        {
            let access = access();
            let advice = query_plan::advice(&access).unwrap_or("read fewer rows");
            return Err(Error::invalid_input(format!(
                "it would read {path}, which this client denies: {}; {advice}, or allow it for this call",
                query_plan::why(&access)
            )));
        }
        Ok(())
    }

    /// Prepares one chain of requests for the rows of a condition.
    pub(super) fn prepare_for(&self, filter: Option<&Expression>, prefetch: Prefetch) -> Result<PreparedQuery> {
        let limit = self.settings.limit.filter(|_| !self.shape.may_drop_rows());
        let top = top(self.settings.page_size, limit)?;
        self.shape.check_select()?;
        let request = QueryRequest {
            list: List::Entities(self.settings.table.as_str().to_owned()),
            filter: None,
            select: self.shape.select.clone(),
            top,
            metadata: self.shape.metadata,
        };
        let all = PreparedQuery {
            limit: self.settings.limit,
            prefetch: self.settings.prefetch.map_or(Ok(prefetch), Prefetch::of)?,
            total: self.settings.total,
            ..PreparedQuery::new(request)
        };
        Ok(all.filtered(filter))
    }

    /// Prepares the chain of each part of the rows, except for its filter. It runs beside other chains and prefetches
    /// no page.
    pub(super) fn prepare_parts(&self) -> Result<PreparedQuery> {
        let mut query = self.prepare_for(None, Prefetch::Never)?;
        (query.prefetch, query.in_task) = (Prefetch::Never, true);
        Ok(query)
    }

    /// Returns the pages of the parts, read in this order by this number of chains.
    pub(super) fn part_pages(
        self,
        parts: Result<(PreparedQuery, VecDeque<Part>)>,
        concurrency: usize,
        order: Order,
    ) -> PartPages<P> {
        let table = self.settings.table.as_str();
        let parts = parts.map_err(|e| e.in_operation(OperationKind::Query, Some(table)));
        let options = self.call_options();
        PartPages::new(self.settings.pipeline, options, self.shape, parts, (concurrency, order))
    }

    /// Returns the first request for the rows of a condition as text, or the error of a filter that is too long for a
    /// URL.
    pub(super) fn shown_or_why_not(self, filter: Option<Expression>) -> Result<Result<String, Error>> {
        let is_long = filter
            .as_ref()
            .is_some_and(|filter| filter.to_string().len() > LONG_FILTER);
        let query = self.prepare_for(filter.as_ref(), Prefetch::Never)?;
        let options = self.call_options();
        let shown = PageStream::new(self.settings.pipeline, options, query, self.settings.from, self.shape).request();
        match shown {
            Err(e) if is_long => Ok(Err(e)),
            shown => shown.map(Ok),
        }
    }
}
