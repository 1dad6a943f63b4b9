//! The selection of rows to write, by a condition or a whole query.

use std::sync::Arc;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::location::Location;

use crate::client::poll::total_timeout::TotalTimeout;
use crate::client::query::page_stream::PageStream;
use crate::client::query::table_query::TableQuery;
use crate::client::shape::Shape;
use crate::client::shape::bad_row::OnBadRow;
use crate::client::table_handle::TableClient;
use crate::entity::dynamic::DynamicEntity;
use crate::entity::table_entity::TableEntity;
use crate::filter::typed::Filter;
use crate::pipeline::options::CallOptions;
use crate::request::continuation::{self, Continuation};

/// The rows of `E` to write: a [`Filter`] or a [`TableQuery`].
///
/// The partition, prefix, limit, page size, continuation and options of a query apply. `update_where` also uses its row
/// type, an entity or a projection. Other writes ignore that type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` selects no rows of `{E}`",
    label = "expected a `Filter<{E}>` or a `TableQuery<{E}>`",
    note = "compare a column of `{E}`, as in `{E}::COLUMN.lt(value)`, or pass a query, as in `table.query().partition(..)`",
    note = "all rows of the table are `table.query()`"
)]
pub trait RowSelection<E> {
    /// The row type of the selection.
    type Row;

    #[doc(hidden)]
    fn into_query(self, table: &TableClient<E>) -> TableQuery<E, ()>;
}

impl<E: TableEntity> RowSelection<E> for Filter<E> {
    type Row = E;

    fn into_query(self, table: &TableClient<E>) -> TableQuery<E, ()> {
        let query = TableQuery::<E, DynamicEntity>::new(table.pipeline(), table.name());
        query.filter(self).into_query(table)
    }
}

impl<E: TableEntity, P> RowSelection<E> for TableQuery<E, P> {
    type Row = P;

    fn into_query(self, _: &TableClient<E>) -> TableQuery<E, ()> {
        let select = self.shape.form.select.clone();
        let mut query = self.shaped(Shape::for_nothing());
        query.shape.form.select = select;
        query
    }
}

/// The pages of a query whose rows are written.
pub(crate) struct Walk<P> {
    pub(crate) pages: PageStream<P>,
    /// The callback for rows that do not fit, if they are skipped.
    pub(crate) on_bad_row: Option<Arc<OnBadRow>>,
    /// The position of the first page.
    pub(crate) from: Option<Continuation>,
    /// The identity of the query.
    pub(crate) identity: u64,
    /// The options of its writes: the table's, combined with the query's.
    pub(crate) options: CallOptions,
    /// The time limit of all pages and writes.
    pub(crate) total: TotalTimeout,
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Returns the query for rows of this table on which writes depend: it reads from the primary, in any location mode,
    /// because the secondary lacks recent writes.
    ///
    /// ```
    /// # use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # blogs.create_table().await?;
    /// # blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
    /// // No page is prefetched, so the ETags of a page are as new as the writes of the page before.
    /// let query = blogs.query().partition("Channel9").versioned();
    /// let mut pages = query.on_primary_of(&blogs)?.prefetch(0).pages();
    /// while let Some(page) = pages.try_next().await? {
    ///     for mut blog in page.into_items() {
    ///         blog.insert("Rating", 5);
    ///         blogs.replace(&blog).await?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - `InvalidInput`: the query belongs to another table.
    /// - `InvalidInput`: its continuation comes from the secondary.
    pub fn on_primary_of(mut self, table: &TableClient<E>) -> Result<Self> {
        let (own, other) = (table.name().as_str(), self.settings.table.as_str());
        let endpoint = &table.pipeline().endpoint;
        if !endpoint.profile().is_same_table(own, other) || *endpoint != self.settings.pipeline.endpoint {
            let base = self.settings.pipeline.endpoint.base();
            let why = format!("the query is for the table {other} of {base}: create it with the client of {own}");
            return Err(rejected(own, why));
        }
        if self.settings.from.as_ref().and_then(continuation::location) == Some(Location::Secondary) {
            let why = "the continuation is of the secondary location, and the rows are those of the primary: start \
                       without it, or use one from a query that reads only the primary";
            return Err(rejected(own, why.to_owned()));
        }
        self.settings.options = self.settings.options.for_write();
        Ok(self)
    }
}

fn rejected(table: &str, why: String) -> Error {
    Error::invalid_input(why).in_operation(OperationKind::Query, Some(table))
}

impl<E: TableEntity> TableQuery<E, ()> {
    /// Returns the pages of the query from `from`, or from its own continuation, with rows of this shape.
    ///
    /// # Errors
    /// - The errors of [`on_primary_of`](Self::on_primary_of).
    /// - `InvalidInput`: the caller set a prefetch.
    /// - `InvalidInput`: it may select rows of other variants of an enum than the one that it names.
    pub(crate) fn walk<P>(
        mut self,
        table: &TableClient<E>,
        shape: Shape<P>,
        from: Option<Continuation>,
        options: &CallOptions,
        total: TotalTimeout,
    ) -> Result<Walk<P>> {
        self.settings.from = from.or(self.settings.from);
        // The next page is read after the writes of this one, so that its ETags are current.
        let prefetched = self
            .settings
            .check_no_prefetch("a page is read after the writes of the page before it");
        prefetched.map_err(|e| e.in_operation(OperationKind::Query, Some(table.name().as_str())))?;
        self = self.with(options).on_primary_of(table)?.prefetch(0);
        let keys = self.settings.keys.as_ref().and_then(|keys| keys.as_ref().ok());
        if self.filter.as_ref().is_some_and(|filter| filter.is_wide) || keys.is_some_and(|keys| keys.is_wide) {
            let why = "the filter or the prefix selects a variant by the form of its keys, which rows of other variants may \
                       meet too: give the enum a `tag` or each variant a `row_key_prefix`, or read the rows and use `bulk()`";
            return Err(rejected(table.name().as_str(), why.to_owned()));
        }
        self.settings.total = total.or(self.settings.total);
        self.settings.total.begin();
        let on_bad_row = self.shape.form.on_bad_row.take();
        let (from, total) = (self.settings.from.clone(), self.settings.total);
        let options = table.pipeline().settings.defaults.clone().with(&self.settings.options);
        let pages = self.shaped(shape).pages();
        Ok(Walk {
            on_bad_row,
            from,
            identity: pages.chain().identity(),
            options,
            total,
            pages,
        })
    }
}
