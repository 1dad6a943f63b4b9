//! Queries: what is asked of a table, before it is sent.
//!
//! Owns [`TableQuery`]. Its pages and rows as they come are `query/stream.rs`.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use crate::client::query::stream::{EntityStream, PageStream};
use crate::filter::expression::{Comparison, Expression};
use crate::filter::typed::Filter;
use crate::model::edm::EdmValue;
use crate::model::entity::{ReadEntity, TableEntity};
use crate::model::error::{Error, Result};
use crate::model::name::TableName;
use crate::model::partition::{PartitionGivenAs, partition_key};
use crate::model::versioned::Versioned;
use crate::pipeline::run::{CallOptions, Pipeline};
use crate::protocol::continuation::Continuation;
use crate::protocol::query::{MAX_PAGE_SIZE, QueryRequest};

pub(crate) mod stream;

/// A query for entities of type `E`, read as `P`. One query is one chain of requests, a page each, in the order of the
/// keys (on Cosmos DB no order is promised).
///
/// Name a partition where you can: without one the service reads the whole table.
///
/// ```
/// use azure_table::{Column, DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main]
/// # async fn main() -> azure_table::Result<()> {
/// # let table = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
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
/// On the first read: `InvalidInput` — a key, an operand or the page size cannot be sent. On each page: `NotFound` —
/// the table does not exist; `Rejected` — the service refuses the filter; `InvalidResponse` — a row does not fit `P`,
/// its keys and the property are named.
///
/// Source: REST "Query Entities", "Query timeout and pagination".
#[must_use = "nothing is sent until the query is read"]
pub struct TableQuery<E, P = E> {
    pipeline: Arc<Pipeline>,
    table: TableName,
    partition: Option<Result<String>>,
    filter: Option<Filter<E>>,
    page_size: Option<u32>,
    limit: Option<usize>,
    from: Option<Continuation>,
    options: CallOptions,
    shape: PhantomData<fn() -> P>,
}

impl<E: TableEntity, P: ReadEntity> TableQuery<E, P> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName) -> Self {
        Self {
            pipeline: Arc::clone(pipeline),
            table: table.clone(),
            partition: None,
            filter: None,
            page_size: None,
            limit: None,
            from: None,
            options: CallOptions::default(),
            shape: PhantomData,
        }
    }

    /// Only this partition: the value of the PartitionKey's field, or the tuple of its fields if it has several.
    pub fn partition<G>(mut self, given: G) -> Self
    where
        E::PartitionFields: PartitionGivenAs<G>,
    {
        self.partition = Some(partition_key::<E, G>(given));
        self
    }

    /// Only rows that meet the condition; a second filter adds to the first.
    pub fn filter(mut self, filter: Filter<E>) -> Self {
        self.filter = Some(match self.filter.take() {
            Some(first) => first & filter,
            None => filter,
        });
        self
    }

    /// How many rows a page has at most: 1 to 1,000, which is what the service gives without it. Not a limit of the
    /// whole: see [`limit`](Self::limit).
    #[doc(alias = "top")]
    pub fn page_size(mut self, rows: u32) -> Self {
        self.page_size = Some(rows);
        self
    }

    /// How many rows the query gives at most, over all pages. When there are enough, nothing more is asked for.
    #[doc(alias = "take")]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }

    /// Goes on where an earlier run of the same query was: the continuation of its last page.
    pub fn resume_from(mut self, continuation: Continuation) -> Self {
        self.from = Some(continuation);
        self
    }

    /// The longest time for each page, all attempts and the waits between them included.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Reads each entity with its ETag and Timestamp.
    pub fn versioned(self) -> TableQuery<E, Versioned<P>> {
        TableQuery {
            pipeline: self.pipeline,
            table: self.table,
            partition: self.partition,
            filter: self.filter,
            page_size: self.page_size,
            limit: self.limit,
            from: self.from,
            options: self.options,
            shape: PhantomData,
        }
    }

    /// The pages as they come, empty ones too; the first is asked for when the stream is first polled.
    pub fn pages(self) -> PageStream<P> {
        let (pipeline, options, limit, from) =
            (Arc::clone(&self.pipeline), self.options, self.limit, self.from.clone());
        PageStream::new(pipeline, options, self.into_request(), from, limit)
    }

    /// The rows, page after page.
    pub fn stream(self) -> EntityStream<P> {
        EntityStream::new(self.pages())
    }

    /// All rows at once.
    ///
    /// # Errors
    /// Those of the first page that fails.
    pub async fn all(self) -> Result<Vec<P>> {
        let mut pages = self.pages();
        let mut rows = Vec::new();
        while let Some(page) = pages.try_next().await? {
            rows.extend(page.into_items());
        }
        Ok(rows)
    }

    /// The first row, if there is one.
    ///
    /// # Errors
    /// Those of the first page that fails.
    pub async fn first(self) -> Result<Option<P>> {
        self.limit(1).stream().try_next().await
    }

    fn into_request(self) -> Result<QueryRequest> {
        if let Some(rows @ (0 | 1_001..)) = self.page_size {
            return Err(Error::invalid_input(format!(
                "page size {rows}: it must be 1 to {MAX_PAGE_SIZE}"
            )));
        }
        let partition = self.partition.transpose()?;
        let partition =
            partition.map(|key| Expression::comparison("PartitionKey", Comparison::Eq, EdmValue::from(key)));
        let filter = self.filter.map(Filter::into_expression).transpose()?;
        let filter = match (partition, filter) {
            (Some(partition), Some(filter)) => Some(partition.and(filter)),
            (partition, filter) => partition.or(filter),
        };
        let limit = self
            .limit
            .and_then(|rows| u32::try_from(rows).ok())
            .filter(|rows| (1..=MAX_PAGE_SIZE).contains(rows));
        Ok(QueryRequest {
            table: self.table.as_str().to_owned(),
            filter: filter.map(|expression| expression.to_string()),
            select: P::SELECT,
            // A small limit is also the size of the page: no row comes that nobody asked for.
            top: match (self.page_size, limit) {
                (Some(page_size), Some(limit)) => Some(page_size.min(limit)),
                (page_size, limit) => page_size.or(limit),
            },
            metadata: P::METADATA,
        })
    }
}

impl<E, P> fmt::Debug for TableQuery<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableQuery")
            .field("table", &self.table.as_str())
            .field("partition", &self.partition)
            .field("filter", &self.filter)
            .field("page_size", &self.page_size)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
