//! [`TableQuery`]: the rows that it selects, and the type of each row.
//!
//! `results.rs` runs it. `key_order.rs` reads the last rows, `key_condition.rs` builds the conditions on keys, and
//! `gather.rs` sorts rows by variant.

use std::fmt;
use std::sync::Arc;

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Result;
use azure_table_wire::value::key_text::key_text_fault;

use crate::account::table_name::TableName;
use crate::client::poll::total_timeout::{TotalTimeout, total_timeout};
use crate::client::query::key_condition::{between, starts, under_any, under_prefix};
use crate::client::query::query_plan::QueryPlan;
use crate::client::shape::Shape;
use crate::client::shape::bad_row::BadRow;
use crate::entity::dynamic::DynamicEntity;
use crate::entity::row::Row;
use crate::entity::schema;
use crate::entity::table_entity::{ReadEntity, TableEntity};
use crate::entity::versioned::Versioned;
use crate::filter::access::{Access, AccessPath};
use crate::filter::exclusion::excluding;
use crate::filter::projection::Projection;
use crate::filter::select::Columns;
use crate::filter::typed::{self, Filter, FilterOf};
use crate::key::entity_key::Key;
use crate::key::fields::{IntoFields, partition_key};
use crate::key::key_start::Start;
use crate::key::prefix::KeyPrefix;
use crate::pipeline::Pipeline;
use crate::pipeline::options::{CallOptions, call_options};
use crate::request::continuation::{self, Continuation};

/// A query for entities of type `E`, read as `P`.
///
/// A query is a chain of requests, one per page. Rows come in key order. Cosmos DB guarantees no order.
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
/// - `Unsupported`: the filter has a condition on the Timestamp, which would find no row on Cosmos DB.
///
/// On each page:
/// - `TableNotFound`: the table does not exist.
/// - `Rejected`: the service rejects the filter.
/// - `InvalidResponse`: a row does not fit `P`. The error names its keys and the property.
///
/// Source: REST "Query Entities", "Query timeout and pagination".
#[must_use = "nothing is sent until the query is read"]
pub struct TableQuery<E, P = E> {
    pub(super) settings: QuerySettings,
    pub(super) filter: Option<Filter<E>>,
    pub(crate) shape: Shape<P>,
}

/// The part of a query that does not depend on its types.
#[derive(Clone)]
pub(super) struct QuerySettings {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) table: TableName,
    /// The condition on the keys, or the reason that it cannot be sent.
    pub(super) keys: Option<Result<Filter<()>, Box<str>>>,
    /// The RowKeys that the query excludes. Behind the other conditions, whatever was set first.
    pub(super) excluded: Option<Filter<()>>,
    pub(super) page_size: Option<usize>,
    pub(super) limit: Option<usize>,
    pub(super) from: Option<Continuation>,
    pub(super) prefetch: Option<usize>,
    /// The widest access path allowed for this call although the client denies it.
    pub(super) allowed: Option<AccessPath>,
    /// The query's own options. The client's options are merged in when it starts.
    pub(super) options: CallOptions,
    pub(super) total: TotalTimeout,
}

impl<E: TableEntity, P: ReadEntity> TableQuery<E, P> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: &TableName) -> Self {
        Self {
            settings: QuerySettings {
                pipeline: Arc::clone(pipeline),
                table: table.clone(),
                keys: None,
                excluded: None,
                page_size: None,
                limit: None,
                from: None,
                prefetch: None,
                allowed: None,
                options: CallOptions::new(),
                total: TotalTimeout::default(),
            },
            filter: None,
            shape: Shape::for_type(),
        }
    }
}

impl QuerySettings {
    /// Returns the options of its calls: the client's, overridden by its own.
    pub(super) fn call_options(&self) -> CallOptions {
        self.pipeline.settings.defaults.clone().with(&self.options)
    }
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Selects one partition.
    ///
    /// Takes the value of the PartitionKey's field, or a tuple if the PartitionKey has several fields.
    pub fn partition(mut self, value: impl IntoFields<E::PartitionFields>) -> Self {
        let key = partition_key::<E>(value);
        let keys = key.map(|key| Filter::of(starts("PartitionKey", &Start::Whole(key))));
        self.settings.keys = Some(keys.map_err(|e| e.to_string().into()));
        self
    }

    /// Selects the entities whose keys begin with a prefix.
    ///
    /// Build the prefix from fields with [`Key::prefix`](crate::Key::prefix), or from texts with
    /// [`KeyPrefix::from_text`]. A prefix with a whole PartitionKey selects a range of one partition, any other a range
    /// of partitions. Replaces [`partition`](Self::partition).
    #[doc(alias = "prefix")]
    #[doc(alias = "starts_with")]
    pub fn key_prefix(mut self, prefix: KeyPrefix<E>) -> Self {
        self.settings.keys = Some(Ok(under_prefix(&prefix).retyped()));
        self
    }

    /// Selects the entities under any of these prefixes, such as a parent and its children.
    ///
    /// One request reads from the first of their rows to the last, and returns only the rows under a prefix. Replaces
    /// [`partition`](Self::partition). To query each prefix separately, use
    /// [`FanOut::each_prefix`](crate::query::FanOut::each_prefix). See [`KeyPrefix::into_enum`] for an example.
    pub fn key_prefixes(mut self, prefixes: impl IntoIterator<Item = KeyPrefix<E>>) -> Self {
        self.settings.keys = Some(Ok(under_any(&prefixes.into_iter().collect::<Vec<_>>()).retyped()));
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
    /// - `InvalidInput`: all rows under `to` come before the rows under `from`.
    /// - `InvalidInput`: the prefixes differ in a field whose key text does not sort like its values: see
    ///   [`TableKey::SORTED`](crate::TableKey::SORTED).
    #[doc(alias = "range")]
    pub fn between(mut self, from: KeyPrefix<E>, to: KeyPrefix<E>) -> Self {
        // Keys that differ in a field whose text does not sort have no order in terms of the fields.
        self.settings.keys = Some(if from.unsorted != to.unsorted {
            Err(format!(
                "the range of keys from {from} to {to}: the two differ in a field whose text does not sort as its values \
                 do, such as an enum that is stored by name; select each of its values by `key_prefixes`"
            )
            .into())
        } else if to.start.ends_before(&from.start) {
            Err(format!(
                "the range of keys ends at {to}, before its first row at {from}: swap the two (a `Descending` field has its \
                 greatest value first)"
            )
            .into())
        } else {
            Ok(between(from, to).retyped())
        });
        self
    }

    /// Selects the rows that meet the condition.
    ///
    /// Several filters are combined with `and`.
    pub fn filter(mut self, filter: impl FilterOf<E>) -> Self {
        self.filter = typed::both(self.filter.take(), filter.into_filter());
        self
    }

    /// Limits the number of rows per page: 1 to 1,000; 1,000 by default.
    ///
    /// To limit the rows of all pages together, use [`limit`](Self::limit).
    #[doc(alias("maxPerPage", "TakeCount"))]
    #[doc(alias = "top")]
    pub fn page_size(mut self, rows: usize) -> Self {
        self.settings.page_size = Some(rows);
        self
    }

    /// Limits the total number of rows across all pages.
    ///
    /// No further page is requested once the limit is reached. A page that `limit` cut short counts as the last. To
    /// page through results, use [`page_size`](Self::page_size).
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
    /// The default continuation runs the whole query. A finished one yields nothing, and sends nothing.
    #[doc(alias = "TableContinuationToken")]
    pub fn resume_from(mut self, continuation: Continuation) -> Self {
        self.settings.from = continuation::after_start(continuation);
        self
    }

    /// Sets the number of pages fetched ahead of the reader: 0 or 1. With more, the first read fails with
    /// `InvalidInput`.
    ///
    /// With 1, prefetching starts with the first page, in a task that ends with the stream. By default it starts with
    /// the second page: if you read one page, the client sends one request; if you stop later, it may have sent one too
    /// many. For [`all`](Self::all) and [`count`](Self::count) it starts with the first page by default.
    ///
    /// Concurrent reads and writes over a query fetch no page ahead: [`fan_out`](Self::fan_out), [`scan`](Self::scan),
    /// and the methods whose names end in `_where` fail with `InvalidInput` if it is 1.
    pub fn prefetch(mut self, pages: usize) -> Self {
        self.settings.prefetch = Some(pages);
        self
    }

    /// Returns the plan of the query without sending anything: access path, reason, request and suggestions.
    ///
    /// # Errors
    /// - `InvalidInput`: a key, an operand or the page size cannot be sent. You can plan a query that the client
    ///   denies.
    pub fn plan(&self) -> Result<QueryPlan> {
        let mut query = self.clone().allow(AccessPath::TableScan);
        let filter = query.condition()?;
        let access = Access::of(filter.as_ref());
        let names = access.properties.iter().map(|(name, _)| &**name);
        let missed = names.flat_map(|name| {
            let older = schema::older_names(E::SCHEMA, name);
            older.into_iter().map(move |old| {
                format!(
                    "rows that store `{name}` under its older name `{old}` are skipped silently: upgrade them first"
                )
            })
        });
        let plan = QueryPlan::new(&access, 1, query.shown_or_why_not(filter)?);
        Ok(plan.with_notes(missed.collect::<Vec<_>>()))
    }

    /// Allows this query to read the whole table although the client
    /// [denies](crate::TableServiceClient::deny_access) it.
    pub fn allow_table_scan(self) -> Self {
        self.allow(AccessPath::TableScan)
    }

    pub(super) fn allow(mut self, path: AccessPath) -> Self {
        self.settings.allowed = Some(path);
        self
    }
}

impl<E: TableEntity, P: ReadEntity> TableQuery<E, P> {
    /// Reads each entity with its ETag and Timestamp.
    pub fn versioned(self) -> TableQuery<E, Versioned<P>> {
        let shape = self.shape.versioned();
        self.shaped(shape)
    }
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Reads only the keys.
    pub fn keys(self) -> TableQuery<E, Key<E>>
    where
        E: 'static,
    {
        self.shaped(Shape::for_keys())
    }

    /// Reads only the columns of the projection.
    pub fn project<Q: Projection<E>>(self) -> TableQuery<E, Q> {
        self.shaped(Shape::for_type())
    }

    /// Reads only these columns, as a tuple of their values: `.select((Blog::TEXT, Blog::RATING))`.
    pub fn select<C: Columns<E>>(self, columns: C) -> TableQuery<E, C::Values>
    where
        C::Values: 'static,
    {
        self.shaped(Shape::for_columns(columns))
    }

    /// Reads only the properties with these names, known at run time.
    ///
    /// Properties that a row lacks are absent.
    ///
    /// ```
    /// # use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # blogs.create_table().await?;
    /// let names = ["Text", "Rating"].map(String::from);
    /// let rows: Vec<DynamicEntity> = blogs.query().select_names(names).all().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The stream or page returns:
    /// - `InvalidInput`: a text is not a valid property name.
    pub fn select_names<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> TableQuery<E, DynamicEntity> {
        self.shaped(Shape::for_names(names.into_iter().map(Into::into).collect()))
    }

    /// Reads each row with a closure.
    ///
    /// The closure receives all properties with their types, and the ETag. It returns errors of this crate;
    /// [`Error::other`](crate::Error::other) converts any other error.
    ///
    /// ```
    /// # use azure_table::{DynamicEntity, Error, TableClient};
    /// # async fn numbered(blogs: TableClient<DynamicEntity>) -> azure_table::Result<()> {
    /// let numbered = blogs.query().partition("Channel9").resolve(|row| {
    ///     let number: u32 = row.row_key()?.parse().map_err(Error::other)?;
    ///     Ok((number, row.property::<String>("Text")?))
    /// });
    /// let rows: Vec<(u32, String)> = numbered.all().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "EntityResolver")]
    pub fn resolve<Q>(self, resolve: impl Fn(&Row<'_>) -> Result<Q> + Send + Sync + 'static) -> TableQuery<E, Q> {
        self.shaped(Shape::for_closure(resolve))
    }

    /// Continues after rows that do not fit the row type.
    ///
    /// Each item is a `P`, or a [`BadRow`] with the error. Requests the types of all properties.
    pub fn lenient(self) -> TableQuery<E, Result<P, BadRow>>
    where
        P: 'static,
    {
        let shape = self.shape.clone().lenient();
        self.shaped(shape)
    }

    /// Skips rows that do not fit the row type, and calls `seen` with each of them.
    ///
    /// Skipped rows do not count toward a limit. A count and a list of PartitionKeys read only keys, so they include
    /// such rows.
    pub fn skip_bad_rows(mut self, seen: impl Fn(&BadRow) + Send + Sync + 'static) -> Self {
        self.shape.form.on_bad_row = Some(Arc::new(seen));
        // Requests all types, so that a bad row can be shown unchanged.
        self.shape.form.metadata = MetadataLevel::Minimal;
        self
    }

    /// Excludes rows whose RowKeys begin with `prefix`, such as rows that a pattern stores beside the entities.
    ///
    /// The service filters them out, so limits, pages and counts apply to the remaining rows, but it still reads them.
    /// Each call excludes one more prefix and adds two comparisons to the filter.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Emulator, TableEntity, TableServiceClient};
    /// # #[derive(TableEntity, Debug, PartialEq)]
    /// # struct User { #[table(partition_key)] tenant: String, #[table(row_key)] id: u32, mail: String }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let users = TableServiceClient::from_transport(Emulator::new()).table::<User>("Users")?;
    /// # users.create_table().await?;
    /// # users.insert(&User { tenant: "t".into(), id: 7, mail: "ada@example.com".into() }).await?;
    /// users.typed().insert(&DynamicEntity::new("t", "~mail;ada@example.com")).await?;
    ///
    /// let all = users.query().partition("t");
    /// let error = all.clone().all().await.unwrap_err();
    /// assert!(error.to_string().contains("exclude it with `without_row_keys`"));
    /// assert_eq!(all.clone().without_row_keys("~mail;").all().await?.len(), 1);
    /// # assert_eq!((all.clone().count().await?, all.without_row_keys("~mail;").count().await?), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// On the first read:
    /// - `InvalidInput`: `prefix` is empty, which would exclude every row, or no RowKey can begin with it.
    ///
    /// Source: REST "Querying tables and entities".
    pub fn without_row_keys(mut self, prefix: &str) -> Self {
        let fault = match prefix {
            "" => Some("it is empty, which would exclude every row".to_owned()),
            prefix => key_text_fault(prefix),
        };
        let excluded = match fault {
            None => Filter::of(excluding("RowKey", prefix)),
            Some(fault) => typed::fault(format!("the prefix {prefix:?} of excluded RowKeys: {fault}")),
        };
        self.settings.excluded = typed::both(self.settings.excluded.take(), excluded);
        self
    }

    pub(super) fn shaped<Q>(self, mut shape: Shape<Q>) -> TableQuery<E, Q> {
        shape.form.on_bad_row = self.shape.form.on_bad_row;
        if shape.form.on_bad_row.is_some() {
            shape.form.metadata = MetadataLevel::Minimal;
        }
        TableQuery {
            settings: self.settings,
            filter: self.filter,
            shape,
        }
    }
}

call_options!(TableQuery[E: TableEntity, P], settings.options);
total_timeout!(
    TableQuery[E: TableEntity, P],
    settings.total,
    "At the deadline, the next page is an error of kind `Timeout`, unless it was prefetched. Earlier pages and \
     continuations stay valid."
);

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
