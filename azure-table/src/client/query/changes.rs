//! A tail of changes: the rows that were inserted or updated since a position.
//!
//! [`Changes`] has the settings and the plan. `changes/change_stream.rs` polls, `changes/change_position.rs` is the
//! position to resume from, and `changes/change_window.rs` remembers the versions that were yielded.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::datetime::DateTime;
use std::fmt;
use std::time::Duration;

use crate::client::query::changes::change_position::ChangePosition;
use crate::client::query::changes::change_stream::{ChangeQuery, ChangeSettings, ChangeStream, Found, since};
use crate::client::query::page_chain::Prefetch;
use crate::client::query::query_plan::QueryPlan;
use crate::client::query::table_query::TableQuery;
use crate::client::sending_rate::SendingRate;
use crate::client::table_handle::TableClient;
use crate::client::total_timeout::{TotalTimeout, total_timeout};
use crate::entity::table_entity::{ReadEntity, TableEntity};
use crate::filter::access::Access;
use crate::pipeline::options::call_options;

pub(crate) mod change_position;
pub(crate) mod change_stream;
mod change_window;

/// The default overlap of two polls: 30 s for writes that the service is still working on, and 30 s for differences
/// between clocks.
///
/// Source: REST "Setting timeouts for Table service operations" (30 s).
const OVERLAP: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_secs(5);
const MAX_INTERVAL: Duration = Duration::from_secs(60);
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

/// A tail of changes: a stream of the rows that were inserted or updated, found by polls on Timestamp.
///
/// Built by [`TableClient::changes`] for a table, and by [`TableQuery::changes`] for the rows of a query. Each row is a
/// [`Versioned`](crate::Versioned) entity. Rows are yielded as pages arrive, not in the order of the writes. The stream
/// has no end, unless [`max_polls`](Self::max_polls) or a [`limit`](TableQuery::limit) sets one.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// use azure_table::query::ChangePosition;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// # blogs.create_table().await?;
/// # for row in ["1", "2"] { blogs.insert(&DynamicEntity::new("Channel9", row)).await?; }
/// # let mut stored = String::new();
/// # let mut index = Vec::new();
/// let mut changes = blogs.changes().stream();
/// while let Some(blog) = changes.try_next().await? {
///     index.push(blog.row_key.clone());
///     stored = changes.position().to_string();   // once the row is processed
/// #   if index.len() == 2 { break }
/// }
///
/// // Later, in another process:
/// # blogs.insert_or_replace(&DynamicEntity::new("Channel9", "2")).await?;
/// let position: ChangePosition = stored.parse()?;
/// let mut changes = blogs.changes().resume_from(position).max_polls(1).stream();
/// while let Some(blog) = changes.try_next().await? {
///     index.push(blog.row_key.clone());
/// }
/// assert_eq!(index, ["1", "2", "1", "2"]);       // "1" again: it lies in the overlap
/// # Ok(())
/// # }
/// ```
///
/// # Promise
/// Each row is yielded at least once in its last version, if its Timestamp is at most the [overlap](Self::overlap)
/// behind the service's clock when the write becomes visible. Intermediate versions of a row that is written often may
/// be missing.
///
/// One stream yields no version twice. A resumed stream yields the rows of the overlap again: recognize them by key and
/// ETag, or make the processing idempotent.
///
/// The position is the service's time at the start of a poll, less the overlap. It moves once all rows of the poll were
/// yielded. Nothing is lost if a program resumes from a position that it stored after it processed these rows.
///
/// # Limits
/// - **Deletes** and **versions between two polls** are not seen. If you need every change, append to a `Log` of
///   [`azure-table-patterns`](https://docs.rs/azure-table-patterns).
/// - **Timestamp has no index**: each poll reads the whole range, whatever has changed. Expect one request per 1,000
///   rows of the range, most of them with an empty page. Name a partition or a prefix where you can.
///   [`plan`](Self::plan) shows the request.
/// - **The overlap is read again**: each poll reads from one overlap before the start of the last poll. The stream
///   drops the rows that it has yielded.
/// - **A poll is the unit**: a tail that stops within a poll starts that poll again. Read a large table with
///   [`scan`](TableQuery::scan) first, then tail it [`since`](Self::since) a time before that scan.
/// - **Memory**: a page, and the key and ETag of each row written since the start of the last poll less the overlap.
/// - **Filters**: a row that changes so that it no longer meets the query's conditions is not seen.
/// - **Cosmos DB**: filters on Timestamp are not reliable there. The client therefore receives all rows of the range
///   and compares them itself. It is not confirmed that its Timestamps follow its `Date`.
///
/// Polls read the primary, whatever the [location mode](crate::LocationMode): the secondary lags behind its own clock.
///
/// # Errors
/// On the first read, which ends the stream:
/// - `InvalidInput`: a key, an operand or the page size cannot be sent.
/// - `InvalidInput`: the client [denies](crate::TableServiceClient::deny_access) the access path, and the query does
///   not [allow](TableQuery::allow_table_scan) it.
/// - `InvalidInput`: the position belongs to another table or query, or comes from a newer version of this crate.
///
/// Later:
/// - The errors of [`TableQuery`]. The stream does not end: the next read waits for the interval, then requests the
///   failed page again. A row that does not fit the entity type fails each time. [`TableQuery::lenient`] and
///   [`TableQuery::skip_bad_rows`] continue after it.
/// - `InvalidResponse`: the first response of a poll has no header `Date`.
/// - `Timeout`, which ends the stream: the [total timeout](Self::total_timeout) has passed.
///
/// Source: REST "Query Entities", "Understanding the Table service data model" (Timestamp).
#[must_use = "nothing is sent until the stream is read"]
pub struct Changes<E, P = E> {
    query: TableQuery<E, P>,
    since: Option<DateTime>,
    from: Option<ChangePosition>,
    settings: ChangeSettings,
}

call_options!(Changes[E: TableEntity, P], query.settings.options);
total_timeout!(
    Changes[E: TableEntity, P],
    query.settings.total,
    "At the deadline, the stream ends with an error of kind `Timeout`. Its position stays valid."
);

impl<E: TableEntity + ReadEntity> TableClient<E> {
    /// Yields the rows of the whole table that are inserted or updated: see [`Changes`](crate::query::Changes).
    ///
    /// Each poll reads the whole table. For a part of it, or for another row type, start with a query:
    /// `table.query().partition("Channel9").changes()`.
    pub fn changes(&self) -> Changes<E> {
        self.query().changes()
    }
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Yields the selected rows as they are inserted or updated: see [`Changes`](crate::query::Changes).
    ///
    /// The conditions and the row type come from the query. Each row always has its ETag and Timestamp. A limit ends
    /// the stream after this number of rows. The position then still lies before the poll that found them, so a stream
    /// that resumes from it yields them again.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Emulator, KeyPrefix, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
    /// # blogs.create_table().await?;
    /// # blogs.insert(&DynamicEntity::new("Channel9", "2026-01")).await?;
    /// let of_2026 = KeyPrefix::from_text("Channel9", "2026")?;
    /// let mut keys = blogs.query().key_prefix(of_2026).keys().changes().max_polls(1).stream();
    /// while let Some(changed) = keys.try_next().await? {
    ///     println!("{} since {}", changed.entity, changed.timestamp);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn changes(self) -> Changes<E, P> {
        Changes {
            query: self,
            since: None,
            from: None,
            settings: ChangeSettings {
                overlap: OVERLAP,
                interval: INTERVAL,
                max_interval: MAX_INTERVAL,
                polls: None,
                limit: usize::MAX,
                rate: None,
                total: TotalTimeout::default(),
            },
        }
    }
}

impl<E: TableEntity, P> Changes<E, P> {
    /// Begins with the rows whose Timestamp is `time` or later. By default the first poll yields all rows.
    ///
    /// No overlap is subtracted from `time`.
    pub fn since(mut self, time: DateTime) -> Self {
        self.since = Some(time);
        self
    }

    /// Resumes an earlier tail of the same query. Replaces [`since`](Self::since).
    pub fn resume_from(mut self, position: ChangePosition) -> Self {
        self.from = Some(position);
        self
    }

    /// Sets the overlap of two polls; 60 s by default.
    ///
    /// A poll reads from the service's time at the start of the last poll, less the overlap. A write is seen if, when
    /// it becomes visible, its Timestamp is at most this far behind the service's clock. The default covers the 30 s
    /// for which the service may work on a write, and 30 s between the clocks of its servers. A shorter overlap reads
    /// fewer rows again.
    pub fn overlap(mut self, overlap: Duration) -> Self {
        self.settings.overlap = overlap;
        self
    }

    /// Sets the wait between the end of a poll and the start of the next one: 5 s by default, at least 1 ms.
    ///
    /// The wait doubles after each poll without a change and after each error, up to
    /// [`max_interval`](Self::max_interval).
    pub fn interval(mut self, interval: Duration) -> Self {
        self.settings.interval = interval.max(LEAST_INTERVAL);
        self
    }

    /// Sets the longest wait between two polls; 60 s by default, at least the [`interval`](Self::interval).
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.settings.max_interval = interval;
        self
    }

    /// Ends the stream after this number of complete polls. Without it the stream has no end.
    ///
    /// With 1, a periodic job reads the changes since its last run. Store the position after the end too: it has moved
    /// even if no row was yielded.
    pub fn max_polls(mut self, most: u64) -> Self {
        self.settings.polls = Some(most);
        self
    }

    /// Limits the rows received per second, including the rows of the overlap, to leave room for other clients.
    ///
    /// No limit by default. Pages are then not prefetched, unless the query [enables it](TableQuery::prefetch).
    pub fn max_rate(mut self, rows_per_second: u32) -> Self {
        self.settings.rate = Some(SendingRate::new(Some(f64::from(rows_per_second.max(1)))));
        self
    }

    /// Returns the plan of one poll without sending anything, with notes about its cost and its limits.
    ///
    /// # Errors
    /// - `InvalidInput`: a key, an operand or the page size cannot be sent.
    pub fn plan(&self) -> Result<QueryPlan>
    where
        P: 'static,
    {
        const NOTES: [&str; 2] = [
            "Timestamp has no index: each poll reads this whole range, with about one request per 1,000 rows",
            "deletes are not seen, nor are versions between two polls: if you need every change, append to \
             a `Log` of azure-table-patterns",
        ];
        let mut query = self.query.clone().keyed_versions().allow_table_scan();
        let filter = query.condition()?;
        let position = self.from.as_ref().map(ChangePosition::since);
        let filter = if query.settings.pipeline.endpoint.profile().rules().filters_timestamps {
            since(filter, position.unwrap_or(self.since))
        } else {
            filter
        };
        let plan = QueryPlan::new(&Access::of(&filter), 1, query.shown_or_why_not(filter)?);
        Ok(plan.with_notes(NOTES.map(str::to_owned)))
    }

    /// Returns the rows as a stream.
    ///
    /// Requests: 1 per page of each poll. Lost response: [harmless](crate::guide::operations).
    pub fn stream(self) -> ChangeStream<P>
    where
        P: 'static,
    {
        let table = self.query.settings.table.as_str();
        let started = self
            .begin()
            .map_err(|e| e.in_operation(OperationKind::Query, Some(table)));
        let (position, query) = match started {
            Ok((position, query)) => (position, Ok(query)),
            Err(e) => {
                let first = || ChangePosition::new(table, None, self.since);
                (self.from.clone().unwrap_or_else(first), Err(e))
            }
        };
        let settings = ChangeSettings {
            limit: self.query.settings.limit.unwrap_or(usize::MAX),
            total: self.query.settings.total,
            ..self.settings
        };
        ChangeStream::new(query, settings, position)
    }

    /// Returns the first position, and the query of each poll.
    fn begin(&self) -> Result<(ChangePosition, ChangeQuery<P>)>
    where
        P: 'static,
    {
        let mut query = self.query.clone().keyed_versions();
        if query.settings.from.is_some() {
            let why = "a continuation belongs to a single query: resume a tail of changes with \
                       `.resume_from(position)`";
            return Err(Error::invalid_input(why));
        }
        // The limit counts changes. A page also has rows that were yielded before.
        query.settings.limit = None;
        let filter = query.condition()?;
        let access = Access::of(&filter);
        query.settings.check_path(access.path(), || access)?;
        let prefetch = match self.settings.rate {
            Some(_) => Prefetch::Never,
            None => Prefetch::AfterFirst,
        };
        let prepared = query.settings.prepare(filter.as_ref(), &query.shape.form, prefetch)?;
        let (table, identity) = (
            query.settings.table.as_str(),
            prepared.request.identity(&query.settings.pipeline.endpoint),
        );
        let position = match &self.from {
            Some(position) => {
                position.check(table, identity)?;
                position.clone()
            }
            None => ChangePosition::new(table, Some(identity), self.since),
        };
        // The secondary lags behind the time that it sends.
        let options = query.settings.call_options().for_write();
        let query = ChangeQuery {
            pipeline: query.settings.pipeline,
            options,
            shape: query.shape,
            prepared,
            filter,
        };
        Ok((position, query))
    }
}

impl<E: TableEntity, P> TableQuery<E, P> {
    /// Reads each row with its key, its ETag and its Timestamp.
    fn keyed_versions(self) -> TableQuery<E, Found<P>>
    where
        P: 'static,
    {
        let shape = self.shape.clone().keyed_versions();
        self.shaped(shape)
    }
}

impl<E, P> fmt::Debug for Changes<E, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("query", &self.query)
            .field("since", &self.since)
            .field("from", &self.from)
            .field("overlap", &self.settings.overlap)
            .field("interval", &self.settings.interval)
            .field("max_interval", &self.settings.max_interval)
            .field("polls", &self.settings.polls)
            .field("rate", &self.settings.rate)
            .finish()
    }
}
