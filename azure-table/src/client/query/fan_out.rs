//! Splits one query into a chain of requests for each of its partitions or keys, read concurrently.
//!
//! Parts run as tasks that handle bytes only. If only the reader polled them, a slow reader would let healthy requests
//! time out.

use std::collections::VecDeque;
use std::fmt;
use std::future::ready;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::filter::expression::Expression;
use futures_util::TryStreamExt as _;

use crate::client::poll::total_timeout::total_timeout;
use crate::client::query::concurrent::{CONCURRENCY, Order};
use crate::client::query::entity_stream::EntityStream;
use crate::client::query::key_condition::{both, starts, under_prefix};
use crate::client::query::page_chain::PreparedQuery;
use crate::client::query::part_pages::Part;
use crate::client::query::query_plan::QueryPlan;
use crate::client::query::scan::split::{MAX_PARTS, PartFilter, TooMany, parts};
use crate::client::query::table_query::TableQuery;
use crate::client::shape::Shape;
use crate::entity::table_entity::TableEntity;
use crate::filter::access::{Access, AccessPath};
use crate::filter::typed;
use crate::key::fields::{IntoFields, partition_key};
use crate::key::key_start::Start;
use crate::key::prefix::KeyPrefix;
use crate::pipeline::options::call_options;

/// A query split into parts that are read concurrently.
///
/// Each partition, range or key of a set is a part with its own chain of requests. Built by [`TableQuery::fan_out`].
///
/// Set the parts with [`partitions`](Self::partitions) or [`each_prefix`](Self::each_prefix), or in the filter: `is_in`
/// on a key, or keys joined by `|`. Without a fan-out, the service would read a whole partition or table for such a
/// filter. A set of partitions and a set of RowKeys form one part per pair. Parts that may have rows in common are
/// merged, so every row is yielded once.
/// ```
/// use azure_table::{Emulator, TableEntity, TableServiceClient};
/// use azure_table::key::Bucket;
/// # #[derive(TableEntity)]
/// # #[table(partition_key = "{component};{bucket}")]
/// # struct Line { component: String, bucket: Bucket<16>, #[table(row_key)] id: String, level: i32 }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// # let lines = TableServiceClient::from_transport(Emulator::new()).table::<Line>("Lines")?;
/// # lines.create_table().await?;
/// let errors = lines
///     .query()
///     .filter(Line::LEVEL.ge(40))
///     .fan_out()
///     .partitions(Bucket::<16>::all().map(|bucket| ("web", bucket)))
///     .concurrency(4);
/// assert_eq!(errors.plan()?.requests(), 16);
/// let mut rows = errors.stream();
/// while let Some(line) = rows.try_next().await? {
///     println!("{}", line.id);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// On the first read:
/// - `InvalidInput`: a part would read the whole table, and the query does not [allow](TableQuery::allow_table_scan)
///   it.
/// - `InvalidInput`: the client [denies](crate::TableServiceClient::deny_access) the access path of a part.
/// - `InvalidInput`: a key cannot be sent.
/// - `InvalidInput`: there are more than 100,000 parts.
/// - `InvalidInput`: the query has a continuation, which belongs to a single chain.
/// - `InvalidInput`: the query has a [`prefetch`](TableQuery::prefetch), though parts fetch no page ahead.
///
/// On later reads, the errors of [`TableQuery`]. The first error ends the stream and cancels the requests in flight.
///
/// A limit applies to the whole fan-out, but each of the concurrent parts requests up to that number of rows.
#[must_use = "nothing is sent until it is read"]
pub struct FanOut<E, P = E> {
    query: TableQuery<E, P>,
    /// The conditions set in addition to the filter's.
    conditions: Option<PartConditions>,
    concurrency: usize,
    order: Order,
}

/// The condition of each part, or the reason that it cannot be sent.
type PartConditions = Vec<Result<Expression, Box<str>>>;

call_options!(FanOut[E: TableEntity, P], query.settings.options);
total_timeout!(
    FanOut[E: TableEntity, P],
    query.settings.total,
    "At the deadline, the stream ends with an error of kind `Timeout`."
);

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Reads each partition or key of a set separately and concurrently: see [`FanOut`].
    pub fn fan_out(self) -> FanOut<E, P> {
        FanOut {
            query: self,
            conditions: None,
            concurrency: CONCURRENCY,
            order: Order::OfKeys,
        }
    }
}

impl<E: TableEntity, P> FanOut<E, P> {
    /// Adds these partitions, each as in [`TableQuery::partition`].
    ///
    /// An empty set selects no rows.
    pub fn partitions<G>(self, partitions: impl IntoIterator<Item = G>) -> Self
    where
        G: IntoFields<E::PartitionFields>,
    {
        self.give(partitions.into_iter().map(|partition| {
            let key = partition_key::<E>(partition)?;
            Ok(starts("PartitionKey", &Start::Whole(key)))
        }))
    }

    /// Adds the entities under each of these key prefixes, each as in [`TableQuery::key_prefix`].
    #[doc(alias = "prefix")]
    pub fn each_prefix(self, prefixes: impl IntoIterator<Item = KeyPrefix<E>>) -> Self {
        self.give(
            prefixes
                .into_iter()
                .map(|prefix| typed::into_expression(under_prefix(&prefix))),
        )
    }

    fn give(mut self, conditions: impl Iterator<Item = Result<Expression>>) -> Self {
        let conditions = conditions.map(|condition| condition.map_err(|e| e.to_string().into()));
        self.conditions.get_or_insert_default().extend(conditions);
        self
    }

    /// Sets the number of parts read concurrently: 16 by default, at least one.
    ///
    /// Memory holds one page per part in progress.
    pub fn concurrency(mut self, parts: usize) -> Self {
        self.concurrency = parts.max(1);
        self
    }

    /// Yields the rows as they arrive, page by page.
    ///
    /// By default, rows come in key order, as from a single query. On Cosmos DB, only the parts come in key order: the
    /// rows of each part are in insertion order.
    pub fn unordered(mut self) -> Self {
        self.order = Order::AsTheyCome;
        self
    }

    /// Returns the plan of the fan-out without sending anything.
    ///
    /// The plan has the number of requests, their widest access path, and the first request. Planning blocks the thread
    /// for about 0.3 µs per part.
    ///
    /// # Errors
    /// - `InvalidInput`: a key, an operand or the page size cannot be sent.
    /// - `InvalidInput`: there are too many parts.
    /// - `InvalidInput`: the query has a continuation.
    ///
    /// You can plan a fan-out even if the client denies it, or if it scans the table.
    pub fn plan(&self) -> Result<QueryPlan> {
        let mut query = self.query.clone().allow_table_scan();
        let parts = Self::parts(&mut query, self.conditions.clone())?;
        let Some(first) = parts.first() else {
            return Ok(QueryPlan::for_nothing());
        };
        let shared = Access::of(first.shared());
        let path = |part: &&PartFilter| Access::of(part.own()).path_beside(&shared);
        let widest = parts.iter().max_by_key(path).unwrap_or(first).expression();
        let shown = query.shown_or_why_not(first.expression())?;
        Ok(QueryPlan::new(&Access::of(&widest), parts.len(), shown))
    }

    /// Returns the rows as a stream.
    ///
    /// Splitting the query into its parts blocks the thread for about 0.3 µs per part.
    ///
    /// Requests: 1 per page of each part. Lost response: [harmless](crate::guide::operations).
    pub fn stream(mut self) -> EntityStream<P> {
        let limit = self.query.settings.limit;
        let parts = self.chains();
        let pages = self.query.part_pages(parts, self.concurrency, self.order);
        EntityStream::from_parts(pages, limit)
    }

    /// Reads all rows into a `Vec`.
    ///
    /// Requests: 1 per page of each part. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the first error of any part.
    pub async fn all(self) -> Result<Vec<P>> {
        self.stream().try_collect().await
    }

    /// Reads the first row, or `None` if no row matches.
    ///
    /// Each of the concurrent parts requests one row.
    ///
    /// Requests: 1 per page of each part. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the first error of any part.
    pub async fn first(mut self) -> Result<Option<P>> {
        self.query = self.query.limit_at_most(1);
        self.stream().try_next().await
    }

    /// Counts the rows.
    ///
    /// Transfers one key per row, but the service reads as much as for whole rows.
    ///
    /// Requests: 1 per page of each part. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// Returns the first error of any part.
    pub async fn count(self) -> Result<usize> {
        let keys = FanOut {
            query: self.query.shaped(Shape::for_nothing()),
            conditions: self.conditions,
            concurrency: self.concurrency,
            order: Order::AsTheyCome,
        };
        keys.stream().try_fold(0, |count, ()| ready(Ok(count + 1))).await
    }

    /// Returns the condition of each part, in the order of the keys. Takes the conditions out of `query`.
    fn parts(query: &mut TableQuery<E, P>, conditions: Option<PartConditions>) -> Result<Vec<PartFilter>> {
        if query.settings.from.is_some() {
            let why =
                "a continuation belongs to one chain of pages, a fan-out has many: use `scan` for a query to resume";
            return Err(Error::invalid_input(why));
        }
        let each = |conditions: PartConditions| conditions.into_iter().collect::<Result<Vec<_>, _>>();
        let conditions = conditions.map(each).transpose();
        let conditions = conditions.map_err(|why| Error::invalid_input(String::from(why)))?;
        let conditions = conditions.map(|mut conditions| match conditions.len() {
            0 => typed::no_row(),
            1 => conditions.remove(0),
            _ => Expression::Or(conditions.into()),
        });
        let Some(filter) = both(conditions, query.condition()?) else {
            return Ok(vec![PartFilter::default()]);
        };
        parts(filter).map_err(|TooMany| {
            Error::invalid_input(format!(
                "the sets of keys form more parts than the limit of {MAX_PARTS}"
            ))
        })
    }

    fn chains(&mut self) -> Result<(PreparedQuery, VecDeque<Part>)> {
        let mut query = self.query.clone();
        let parts = Self::parts(&mut query, self.conditions.take())?;
        let shared = Access::of(parts.first().map(PartFilter::shared).unwrap_or_default());
        let chain = |(index, filter): (usize, PartFilter)| {
            let path = Access::of(filter.own()).path_beside(&shared);
            if path == AccessPath::TableScan && query.settings.allowed < Some(AccessPath::TableScan) {
                let why = "each request would read the whole table: name partitions with `.partitions(..)` or \
                           `.each_prefix(..)`, read ranges of the table with `scan`, or allow it for this call";
                return Err(Error::invalid_input(why));
            }
            query.settings.check_path(path, || Access::of(&filter.expression()))?;
            Ok(Part {
                index,
                filter,
                from: None,
                location: None,
            })
        };
        let chains = parts.into_iter().enumerate().map(chain).collect::<Result<_>>()?;
        Ok((query.settings.prepare_parts(&query.shape.form)?, chains))
    }
}

impl<E, P> Clone for FanOut<E, P> {
    fn clone(&self) -> Self {
        Self {
            query: self.query.clone(),
            conditions: self.conditions.clone(),
            ..*self
        }
    }
}

impl<E, P> fmt::Debug for FanOut<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FanOut")
            .field("query", &self.query)
            .field("conditions", &self.conditions.as_ref().map(Vec::len))
            .field("concurrency", &self.concurrency)
            .field("order", &self.order)
            .finish()
    }
}
