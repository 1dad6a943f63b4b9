//! Reads that follow the order of the keys: after a row, before a row, the last rows.
//!
//! The service reads forward only, so the last rows of a query cost all of its pages. Cosmos DB does not return rows in
//! the order of the keys.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::filter::expression::Expression;
use azure_table_wire::filter::key_range::KeyRange;
use std::collections::VecDeque;

use crate::client::query::cursor::{Between, Cursor};
use crate::client::query::page_chain::Prefetch;
use crate::client::query::table_query::{QuerySettings, TableQuery};
use crate::entity::table_entity::TableEntity;
use crate::filter::typed;

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Selects only the rows after the cursor, in the order of the keys.
    ///
    /// It narrows the other conditions of the query, so a cursor of another partition selects no other rows. In one
    /// partition the service begins to read at the cursor. Over several, the condition is an `or` of both keys: see
    /// [`plan`](Self::plan). See [`Cursor`] for an example.
    ///
    /// # Errors
    /// On the first read:
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): Cosmos DB, whose rows are not in the order of the keys.
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the cursor has texts that no keys can have.
    ///
    /// Source: REST "Query Entities".
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.settings.cursors.after = Some(cursor);
        self
    }

    /// Selects only the rows before the cursor, in the order of the keys.
    ///
    /// The query still starts at its first row. [`last_rows`](Self::last_rows) returns those right before the cursor.
    /// See [`Cursor`] for an example.
    ///
    /// # Errors
    /// The errors of [`after`](Self::after).
    ///
    /// Source: REST "Query Entities".
    pub fn before(mut self, cursor: Cursor) -> Self {
        self.settings.cursors.before = Some(cursor);
        self
    }

    /// Reads the last `rows` rows, in the order of the keys.
    ///
    /// The service reads forward only, so this method reads **all rows of the query**, page by page, and returns the
    /// last ones. It fails beyond `max_pages` pages. Keep the range short: one partition, a prefix, or rows
    /// [`after`](Self::after) another cursor. With a [`Descending`](crate::Descending) key, the newest rows are the
    /// first ones, which [`limit`](Self::limit) reads at the cost of one page. See [`Cursor`] for an example.
    ///
    /// Requests: 1 per page of the whole query, at most `max_pages`. Lost response:
    /// [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the query has more than `max_pages` pages.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): Cosmos DB, whose rows are not in the order of the keys.
    /// - The error of the first page that fails.
    ///
    /// Source: REST "Query timeout and pagination".
    pub async fn last_rows(self, rows: usize, max_pages: usize) -> Result<Vec<P>> {
        let table = self.settings.table.as_str().to_owned();
        let in_query = |error: Error| error.in_operation(OperationKind::Query, Some(&table));
        self.settings
            .check_order("use `resume_from` with a continuation")
            .map_err(in_query)?;
        let mut pages = self.pages_with(Prefetch::Never);
        let mut last = VecDeque::new();
        for _ in 0..max_pages {
            let Some(page) = pages.try_next().await? else {
                return Ok(last.into());
            };
            let is_end = page.continuation().is_finished();
            last.extend(page.into_items());
            last.drain(..last.len().saturating_sub(rows));
            // A limit may end with a page.
            if is_end || pages.is_over() {
                return Ok(last.into());
            }
        }
        Err(in_query(Error::invalid_input(format!(
            "the query has more than {max_pages} pages: raise `max_pages`, or select a shorter range"
        ))))
    }
}

impl QuerySettings {
    /// Rejects a service that does not return rows in the order of the keys.
    pub(super) fn check_order(&self, remedy: &str) -> Result<()> {
        let profile = self.pipeline.endpoint.profile();
        if profile.rules().is_ordered {
            return Ok(());
        }
        let why = format!("{profile} does not return rows in the order of the keys: {remedy}");
        Err(Error::new(ErrorKind::Unsupported, why))
    }

    /// Returns the condition of the cursors, for a query with these other conditions.
    pub(super) fn cursor_condition<'f>(
        &self,
        others: impl Iterator<Item = &'f Expression>,
    ) -> Result<Option<Expression>> {
        if self.cursors.is_empty() {
            return Ok(None);
        }
        self.check_order("use `resume_from` with a continuation")?;
        let range = KeyRange::of(others);
        let partition = range.is_one_partition().then(|| range.start().0);
        Ok(match self.cursors.between(partition)? {
            Between::All => None,
            Between::None => Some(typed::no_row()),
            Between::Some(condition) => Some(condition),
        })
    }
}
