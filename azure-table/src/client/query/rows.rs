//! The rows that a query selects: keys, filter, limits, and the position to resume from.
//!
//! `key_order.rs` selects the rows before or after a cursor. `key_condition.rs` builds the conditions on keys.

use azure_table_core::filter::access::{Access, AccessPath};
use azure_table_core::filter::typed::{self, FilterOf};
use azure_table_core::model::entity::TableEntity;
use azure_table_core::model::error::Result;
use azure_table_core::model::key_start::Start;
use azure_table_core::model::partition::{IntoPartitionKey, partition_key};
use azure_table_core::model::prefix::{self, KeyPrefix};
use azure_table_core::protocol::continuation::{self, Continuation};

use crate::client::query::TableQuery;
use crate::client::query::key_condition::{between, starts, under, under_any};
use crate::client::query::query_plan::QueryPlan;

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Selects one partition.
    ///
    /// Takes the value of the PartitionKey's field, or a tuple of its fields if it has several.
    pub fn partition(mut self, value: impl IntoPartitionKey<E::PartitionFields>) -> Self {
        let key = partition_key::<E>(value);
        let keys = key.map(|key| starts("PartitionKey", &Start::Whole(key)));
        self.settings.keys = Some(keys.map_err(|e| e.to_string().into()));
        self
    }

    /// Selects the entities whose keys begin with a prefix.
    ///
    /// Build the prefix from fields with [`Key::prefix`](crate::Key::prefix), or from texts with
    /// [`KeyPrefix::from_text`]. With a whole PartitionKey it selects a range of one partition, otherwise a range of
    /// partitions. Replaces [`partition`](Self::partition).
    #[doc(alias = "prefix")]
    #[doc(alias = "starts_with")]
    pub fn key_prefix(mut self, prefix: KeyPrefix<E>) -> Self {
        self.settings.keys = Some(Ok(under(prefix::start(&prefix))));
        self
    }

    /// Selects the entities under any of these prefixes, such as a parent and its children.
    ///
    /// One request reads from the first of their rows to the last, and returns only the rows under a prefix. Replaces
    /// [`partition`](Self::partition). To query each prefix separately, use
    /// [`FanOut::each_prefix`](crate::query::FanOut::each_prefix). See [`KeyPrefix::into_enum`] for an example.
    pub fn key_prefixes(mut self, prefixes: impl IntoIterator<Item = KeyPrefix<E>>) -> Self {
        let prefixes: Vec<_> = prefixes.into_iter().collect();
        self.settings.keys = Some(match under_any(prefixes.iter().map(prefix::start)) {
            Some(condition) => Ok(condition),
            None => typed::into_expression(typed::nothing::<E>()).map_err(|e| e.to_string().into()),
        });
        self
    }

    /// Selects the entities from the first one under `from` to the last one under `to`, both included.
    ///
    /// The range follows the order of the rows: with a [`Descending`](crate::Descending) field the newest row is first.
    /// If both prefixes name the same partition, the service reads a range of that partition. Otherwise it reads a
    /// range of partitions. Replaces [`partition`](Self::partition).
    /// ```
    /// use azure_table::{Emulator, Key, TableEntity, TableServiceClient};
    /// use azure_table::filter::AccessPath;
    /// #[derive(TableEntity)]
    /// #[table(row_key = "{employee}_{year}")]
    /// struct Review {
    ///     #[table(partition_key)]
    ///     department: String,
    ///     employee: String,
    ///     year: u16,
    /// }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let reviews = TableServiceClient::from_transport(Emulator::new()).table::<Review>("Reviews")?;
    /// # reviews.create_table().await?;
    /// let year = |year: u16| Key::<Review>::prefix(("sales", "e1", year));
    /// let query = reviews.query().between(year(2020)?, year(2025)?);    // of `e1`, and not of `e10`
    /// assert_eq!(query.plan()?.path(), AccessPath::RowRange);
    /// # query.all().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// On the first read:
    /// - `InvalidInput`: all rows under `to` are before those under `from`.
    #[doc(alias = "range")]
    pub fn between(mut self, from: KeyPrefix<E>, to: KeyPrefix<E>) -> Self {
        self.settings.keys = Some(match prefix::start(&to).ends_before(prefix::start(&from)) {
            false => Ok(between(prefix::start(&from), prefix::start(&to))),
            true => Err(format!(
                "the range of keys ends at {to}, before its first row at {from}: swap the two (a `Descending` field has its \
                 greatest value first)"
            )
            .into()),
        });
        self
    }

    /// Selects the rows that meet the condition.
    ///
    /// A second filter is combined with the first by `and`.
    pub fn filter(mut self, filter: impl FilterOf<E>) -> Self {
        let filter = filter.into_filter();
        self.filter = Some(match self.filter.take() {
            Some(first) => first & filter,
            None => filter,
        });
        self
    }

    /// Limits the number of rows per page: 1 to 1,000; 1,000 by default.
    ///
    /// [`limit`](Self::limit) limits the rows of all pages.
    #[doc(alias = "top")]
    pub fn page_size(mut self, rows: usize) -> Self {
        self.settings.page_size = Some(rows);
        self
    }

    /// Limits the total number of rows across all pages.
    ///
    /// No further page is requested once the limit is reached. A page that `limit` cut short counts as the end: use
    /// [`page_size`](Self::page_size) for pages that are linked.
    #[doc(alias = "take")]
    pub fn limit(mut self, rows: usize) -> Self {
        self.settings.limit = Some(rows);
        self
    }

    /// Limits the rows, unless a lower limit is set.
    pub(crate) fn limit_at_most(self, rows: usize) -> Self {
        let limit = self.settings.limit.map_or(rows, |limit| limit.min(rows));
        self.limit(limit)
    }

    /// Resumes an earlier run of the same query from the [`continuation`](crate::Page::continuation) of its last page.
    ///
    /// From the start, it is the whole query. From the end, it yields nothing and sends nothing.
    pub fn resume_from(mut self, continuation: Continuation) -> Self {
        self.settings.from = continuation::after_start(continuation);
        self
    }

    /// Sets the number of pages fetched ahead of the reader: 0 or 1. A greater number is an `InvalidInput` on the first
    /// read.
    ///
    /// With 1, prefetching starts with the first page, in a task that ends with the stream. By default it starts with
    /// the second page, so a reader of one page causes one request. By default [`all`](Self::all) and
    /// [`count`](Self::count) start with the first page.
    pub fn prefetch(mut self, pages: usize) -> Self {
        self.settings.prefetch = Some(pages);
        self
    }

    /// Returns the plan of the query without sending anything: access path, reason, request and suggestions.
    ///
    /// # Errors
    /// - `InvalidInput`: a key, an operand or the page size cannot be sent. A query that the client denies has a plan.
    pub fn plan(&self) -> Result<QueryPlan> {
        let mut query = self.clone().allow(AccessPath::TableScan);
        let filter = query.expression()?;
        let access = Access::of(filter.as_ref());
        Ok(QueryPlan::new(&access, 1, query.shown_or_why_not(filter)?))
    }

    /// Allows this query to read the whole table although the client [denies](crate::TableServiceClient::deny) it.
    pub fn allow_table_scan(self) -> Self {
        self.allow(AccessPath::TableScan)
    }

    pub(super) fn allow(mut self, path: AccessPath) -> Self {
        self.settings.allowed = Some(path);
        self
    }
}
