//! Validates a query and prepares its chain of requests, or one chain per part of its rows.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::filter::expression::Expression;
use azure_table_wire::filter::parse::{compares, raw_fault};
use std::collections::VecDeque;
use std::sync::Arc;

use crate::client::query::concurrent::Order;
use crate::client::query::page_chain::{PageChain, Prefetch, PreparedQuery, top};
use crate::client::query::page_stream::PageStream;
use crate::client::query::part_pages::{Part, PartPages};
use crate::client::query::query_plan;
use crate::client::query::table_query::{QuerySettings, TableQuery};
use crate::client::shape::RowForm;
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

impl QuerySettings {
    /// Takes the conditions of the query, including those on the keys.
    fn condition(&mut self, filter: Option<Expression>) -> Result<Option<Expression>> {
        let keys = self.keys.take().transpose();
        let keys = keys.map_err(|why| Error::invalid_input(String::from(why)))?;
        let keys = keys.map(typed::into_expression).transpose()?;
        let excluded = self.excluded.take().map(typed::into_expression).transpose()?;
        let conditions = keys.into_iter().chain(filter).chain(excluded);
        let condition = conditions.reduce(Expression::and);
        if self.pipeline.endpoint.profile().is_cosmos() && condition.iter().any(|it| compares(it, "Timestamp")) {
            let why = "the filter compares the Timestamp, by which Cosmos DB finds no row: compare the Timestamps of \
                       `versioned` rows, or a time that you store";
            return Err(Error::new(ErrorKind::Unsupported, why));
        }
        Ok(condition)
    }

    /// Checks that the client allows this access path.
    ///
    /// # Errors
    /// `InvalidInput`: the client denies the access path of a condition.
    pub(super) fn check_path(&self, path: AccessPath, access: impl FnOnce() -> Access) -> Result<()> {
        let denied = self.pipeline.settings.denied;
        if denied.is_some_and(|denied| path >= denied) && self.allowed < Some(path) {
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
    pub(super) fn prepare(
        &self,
        filter: Option<&Expression>,
        form: &RowForm,
        prefetch: Prefetch,
    ) -> Result<PreparedQuery> {
        let limit = self.limit.filter(|_| form.on_bad_row.is_none());
        let top = top(self.page_size, limit)?;
        form.check_select()?;
        let request = QueryRequest {
            list: List::Entities(self.table.as_str().to_owned()),
            filter: None,
            select: form.select.clone(),
            top,
            metadata: form.metadata,
        };
        let all = PreparedQuery {
            limit: self.limit,
            prefetch: self.prefetch.map_or(Ok(prefetch), Prefetch::of)?,
            total: self.total,
            ..PreparedQuery::new(request)
        };
        Ok(all.filtered(filter))
    }

    /// Rejects a prefetch that would have no effect.
    pub(super) fn check_no_prefetch(&self, why: &str) -> Result<()> {
        match self.prefetch {
            None | Some(0) => Ok(()),
            Some(pages) => Err(Error::invalid_input(format!("`prefetch` {pages}: {why}; remove it"))),
        }
    }

    /// Prepares the chain of each part of the rows, except for its filter. It runs beside other chains and prefetches
    /// no page.
    ///
    /// # Errors
    /// `InvalidInput`: the caller set a prefetch, or the query cannot be sent.
    pub(super) fn prepare_parts(&self, form: &RowForm) -> Result<PreparedQuery> {
        self.check_no_prefetch("parts that are read concurrently fetch no page ahead")?;
        let mut query = self.prepare(None, form, Prefetch::Never)?;
        query.in_task = true;
        Ok(query)
    }

    /// Returns the chain of requests for the rows of a filter.
    fn chain(self, condition: Result<Option<Expression>>, form: &RowForm, prefetch: Prefetch) -> PageChain {
        let options = self.call_options();
        let prepared = condition.and_then(|condition| {
            let access = Access::of(&condition);
            self.check_path(access.path(), || access)?;
            self.prepare(condition.as_ref(), form, prefetch)
        });
        match prepared {
            Ok(query) => PageChain::new(self.pipeline, options, query, self.from),
            Err(e) => PageChain::rejected(self.pipeline, QueryRequest::entities(self.table.as_str()), e),
        }
    }

    /// Returns the first request for the rows of a condition as text, or the error of a filter that is too long for a
    /// URL.
    fn shown_or_why_not(self, filter: Option<&Expression>, form: &RowForm) -> Result<Result<String, Error>> {
        let is_long = filter.is_some_and(|filter| filter.to_string().len() > LONG_FILTER);
        let query = self.prepare(filter, form, Prefetch::Never)?;
        let options = self.call_options();
        match PageChain::new(self.pipeline, options, query, self.from).request() {
            Err(e) if is_long => Ok(Err(e)),
            shown => shown.map(Ok),
        }
    }
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Takes the conditions of the query, including those on the keys.
    pub(super) fn condition(&mut self) -> Result<Option<Expression>> {
        let filter = self.filter.take().map(typed::into_expression).transpose()?;
        self.settings.condition(filter)
    }

    pub(super) fn pages_with(mut self, prefetch: Prefetch) -> PageStream<P> {
        let condition = self.condition();
        PageStream::new(self.settings.chain(condition, &self.shape.form, prefetch), self.shape)
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
        let options = self.settings.call_options();
        PartPages::new(self.settings.pipeline, options, self.shape, parts, (concurrency, order))
    }

    /// Returns the first request for the rows of a condition as text, or the error of a filter that is too long for a
    /// URL.
    pub(super) fn shown_or_why_not(self, filter: Option<Expression>) -> Result<Result<String, Error>> {
        self.settings.shown_or_why_not(filter.as_ref(), &self.shape.form)
    }
}
