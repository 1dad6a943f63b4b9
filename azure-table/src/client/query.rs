//! Queries: the request for rows of a table, before it is sent.
//!
//! The methods of [`TableQuery`] are in `query/rows.rs` (the rows to select), `query/columns.rs` (the type of each row)
//! and `query/results.rs` (streams, pages). `query/gather.rs` sorts rows by variant.

use std::fmt;
use std::sync::Arc;

use azure_table_core::filter::access::AccessPath;
use azure_table_core::filter::expression::Expression;
use azure_table_core::filter::nested::Variant;
use azure_table_core::filter::typed::Filter;
use azure_table_core::model::entity::{ReadEntity, TableEntity};
use azure_table_core::model::error::Result;
use azure_table_core::model::name::TableName;
use azure_table_core::protocol::continuation::Continuation;

use crate::client::query::cursor::Cursors;
use crate::client::shape::Shape;
use crate::client::total_timeout::{TotalTimeout, total_timeout};
use crate::pipeline::Pipeline;
use crate::pipeline::options::{CallOptions, call_options};

// rustdoc lists a type's methods in the order of the modules, so the most used ones come first.
mod rows;

mod results;

mod columns;

pub(crate) mod changes;
pub(crate) mod concurrent;
pub(crate) mod cursor;
pub(crate) mod entity_stream;
mod excluded_rows;
pub(crate) mod fan_out;
pub(crate) mod gather;
pub(crate) mod get_many;
mod key_condition;
mod key_order;
pub(crate) mod list_tables;
pub(crate) mod page_stream;
mod part_pages;
pub(crate) mod prepared_query;
pub(crate) mod query_plan;
pub(crate) mod scan;
pub(crate) mod selection;

/// A query for entities of type `E`, read as `P`.
///
/// A query is a chain of requests, each for one page, in the order of the keys. Cosmos DB guarantees no order.
///
/// Name a partition if you can. Without one the service reads the whole table.
/// ```
/// use azure_table::{Column, DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main]
/// # async fn main() -> azure_table::Result<()> {
/// # let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// # table.create_table().await?;
/// let rating = Column::<DynamicEntity, i32>::property("Rating");
/// let mut best = table.query().partition("Channel9").filter(rating.ge(3)).limit(50).stream();
/// while let Some(blog) = best.try_next().await? {
///     println!("{}", blog.row_key);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// On the first read:
/// - `InvalidInput`: a key, an operand or the page size cannot be sent.
///
/// On each page:
/// - `NotFound`: the table does not exist.
/// - `Rejected`: the service rejects the filter.
/// - `InvalidResponse`: a row does not fit `P`. The error names its keys and the property.
///
/// Source: REST "Query Entities", "Query timeout and pagination".
#[must_use = "nothing is sent until the query is read"]
pub struct TableQuery<E, P = E> {
    settings: QuerySettings,
    filter: Option<Filter<E>>,
    pub(crate) shape: Shape<P>,
}

/// The part of a query that does not depend on its types.
#[derive(Clone)]
struct QuerySettings {
    pipeline: Arc<Pipeline>,
    table: TableName,
    /// The condition on the keys, or the reason that it cannot be sent.
    keys: Option<Result<Expression, Box<str>>>,
    cursors: Cursors,
    page_size: Option<usize>,
    limit: Option<usize>,
    from: Option<Continuation>,
    prefetch: Option<usize>,
    /// The widest access path allowed for this call although the client denies it.
    allowed: Option<AccessPath>,
    /// The query's own options. The client's options are merged in when it starts.
    options: CallOptions,
    total: TotalTimeout,
}

call_options!(TableQuery[E: TableEntity, P], settings.options);
total_timeout!(
    TableQuery[E: TableEntity, P],
    settings.total,
    "At the deadline, the next page is an error of kind `Timeout`. Earlier pages and continuations stay valid."
);

impl<E: TableEntity, P: ReadEntity> TableQuery<E, P> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName) -> Self {
        let variant = pipeline.settings.variant;
        Self {
            settings: QuerySettings {
                pipeline: Arc::clone(pipeline),
                table: table.clone(),
                keys: None,
                cursors: Cursors::default(),
                page_size: None,
                limit: None,
                from: None,
                prefetch: None,
                allowed: None,
                options: CallOptions::new(),
                total: TotalTimeout::default(),
            },
            filter: variant.map(|variant| Variant::<E, E>::new(variant.mark).only()),
            shape: Shape::of_type().of_variant(variant),
        }
    }
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Returns the options of its calls: the client's, overridden by its own.
    fn call_options(&self) -> CallOptions {
        self.settings
            .pipeline
            .settings
            .defaults
            .clone()
            .with(&self.settings.options)
    }
}

impl<E, P> Clone for TableQuery<E, P> {
    fn clone(&self) -> Self {
        Self {
            settings: self.settings.clone(),
            filter: self.filter.clone(),
            shape: self.shape.clone(),
        }
    }
}

impl<E, P> fmt::Debug for TableQuery<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableQuery")
            .field("table", &self.settings.table.as_str())
            .field("keys", &self.settings.keys)
            .field("filter", &self.filter)
            .field("page_size", &self.settings.page_size)
            .field("limit", &self.settings.limit)
            .finish_non_exhaustive()
    }
}
