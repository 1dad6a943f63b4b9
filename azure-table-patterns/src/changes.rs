//! A tail of changes: the rows of a query that were inserted or updated since a position.
//!
//! Defines [`Changes`], which has the settings, and [`ChangePosition`], from which another process resumes.
//! `changes/change_stream.rs` polls.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use azure_table::{
    CallOptions, Column, DateTime, Error, ErrorKind, LocationMode, ReadEntity, Result, TableEntity, TableQuery,
    Versioned,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::change_stream::ChangeStream;

pub(super) mod change_stream;

/// The default overlap of two polls: 30 s for writes that the service is still working on, and 30 s for differences
/// between clocks.
///
/// Source: REST "Setting timeouts for Table service operations" (30 s).
const OVERLAP: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_secs(5);
const MAX_INTERVAL: Duration = Duration::from_secs(60);
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

/// A stream of inserted and updated rows, found by polling on Timestamp.
///
/// **Promise.** Each row is yielded at least once in its last version, if its Timestamp is at most the
/// [overlap](Self::overlap) behind the service's clock when the write becomes visible. One stream yields no version
/// twice. Intermediate versions of a row that is written often may be missing.
///
/// Each row is a [`Versioned`] entity. Rows are yielded as pages arrive, not in the order of the writes. The stream has
/// no end, unless you set [`max_polls`](Self::max_polls).
///
/// **Cost.** Timestamp has no index: each poll reads the whole range of the query, even if nothing has changed. Expect
/// one request per 1,000 rows of the range, most of them with an empty page. Name a partition or a prefix where you
/// can. Each poll receives the rows of the overlap again. The stream keeps one page in memory, and the key and ETag of
/// each row of the overlap.
///
/// | call | requests | entities |
/// |---|---|--:|
/// | `try_next` to the end of a poll, 2 rows | Query | 2 |
/// | `try_next` to the end of a poll, 2 pages of 1 row | Query, Query | 2 |
///
/// **Crash.** The position is the service's time at the start of a poll, less the overlap. It moves once all rows of
/// the poll were yielded. Nothing is lost if a program resumes from a position that it stored after it processed these
/// rows. A resumed stream yields the rows of the overlap again: recognize them by key and ETag, or make the processing
/// idempotent.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// use azure_table_patterns::Changes;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// # blogs.create_table().await?;
/// # for row in ["1", "2"] { blogs.insert(&DynamicEntity::new("Channel9", row)).await?; }
/// # let mut stored = String::new();
/// # let mut index = Vec::new();
/// let mut changes = Changes::new(blogs.query().partition("Channel9")).stream()?;
/// while let Some(blog) = changes.try_next().await? {
///     index.push(blog.row_key.clone());
///     stored = changes.position().to_string();   // once the row is processed
/// #   if index.len() == 2 { break }
/// }
///
/// // Later, in another process:
/// # blogs.insert_or_replace(&DynamicEntity::new("Channel9", "2")).await?;
/// let changes = Changes::new(blogs.query().partition("Channel9")).resume_from(stored.parse()?);
/// let mut changes = changes.max_polls(1).stream()?;
/// while let Some(blog) = changes.try_next().await? {
///     index.push(blog.row_key.clone());
/// }
/// assert_eq!(index, ["1", "2", "1", "2"]);       // "1" again: it lies in the overlap
/// # Ok(())
/// # }
/// ```
///
/// # Limits
/// - **Deletes** and **versions between two polls** are not seen. If you need every change, append to a
///   [`Log`](crate::Log).
/// - **A poll is the unit**: a tail that stops within a poll starts that poll again. Read a large table with
///   [`scan`](TableQuery::scan) first, then tail it [`since`](Self::since) a time before that scan.
/// - **Filters**: a change after which a row no longer meets the query's conditions is not seen.
/// - **Settings of the query**: its conditions, page size and options apply, and its `total_timeout` limits the pages of a
///   poll up to an error.
///   Its `limit`, [`OperationContext`](azure_table::telemetry::OperationContext) and location mode do not apply. Polls
///   read the primary, because the secondary lags behind its own clock.
/// - **Cosmos DB**: filters on Timestamp find no rows there. The stream therefore receives all rows of the range and
///   compares them itself. It is not confirmed that its Timestamps follow its `Date`.
///
/// Source: REST "Query Entities", "Understanding the Table service data model" (Timestamp).
#[derive(Clone, Debug)]
#[must_use = "nothing is sent until the stream is read"]
pub struct Changes<E> {
    query: TableQuery<E, Versioned<E>>,
    since: Option<DateTime>,
    from: Option<ChangePosition>,
    overlap: Duration,
    interval: Duration,
    max_interval: Duration,
    /// The number of polls; `None` is without end.
    polls: Option<u64>,
    /// The number of rows to receive per second.
    rate: Option<u32>,
}

impl<E: TableEntity + ReadEntity> Changes<E> {
    /// Creates a tail of the rows that the query selects.
    pub fn new(query: TableQuery<E>) -> Self {
        let primary = CallOptions::new().location_mode(LocationMode::PrimaryOnly);
        Self {
            // A limit would end a poll before its last row.
            query: query.versioned().limit(usize::MAX).with(&primary),
            since: None,
            from: None,
            overlap: OVERLAP,
            interval: INTERVAL,
            max_interval: MAX_INTERVAL,
            polls: None,
            rate: None,
        }
    }

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
        self.overlap = overlap;
        self
    }

    /// Sets the wait between the end of a poll and the start of the next one: 5 s by default, at least 1 ms.
    ///
    /// The wait doubles after each poll without a change and after each error, up to
    /// [`max_interval`](Self::max_interval).
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval.max(LEAST_INTERVAL);
        self
    }

    /// Sets the longest wait between two polls; 60 s by default, at least the [`interval`](Self::interval).
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.max_interval = interval;
        self
    }

    /// Ends the stream after this number of complete polls. Without it the stream has no end.
    ///
    /// With 1, a periodic job reads the changes since its last run. Store the position after the end too: it has moved
    /// even if no row was yielded.
    pub fn max_polls(mut self, most: u64) -> Self {
        self.polls = Some(most);
        self
    }

    /// Limits the rows received per second, including the rows of the overlap, to leave room for other clients.
    ///
    /// No limit by default. Pages are then not prefetched.
    pub fn max_rate(mut self, rows_per_second: u32) -> Self {
        self.query = self.query.prefetch(0);
        self.rate = Some(rows_per_second.max(1));
        self
    }

    /// Checks the query and the position, and returns the rows as a stream. Sends nothing.
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the query cannot be sent, or begins at a continuation.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the position belongs to another account, table or query.
    /// - [`Unsupported`](ErrorKind::Unsupported): the query compares the Timestamp on Cosmos DB.
    pub fn stream(self) -> Result<ChangeStream<E>> {
        let request = self.query.clone().request_text()?;
        let url = request.split_whitespace().nth(1).unwrap_or_default();
        if url.contains("NextPartitionKey=") {
            return Err(Error::invalid_input(
                "a continuation belongs to a single query: resume a tail of changes with `.resume_from(position)`",
            ));
        }
        let later = poll(self.query.clone(), DateTime::MAX).plan();
        let filters_timestamps = !later.is_err_and(|e| e.kind() == ErrorKind::Unsupported);
        let query = identity(url, filters_timestamps);
        let position = self.from.unwrap_or(ChangePosition {
            query,
            since: self.since,
        });
        if position.query != query {
            return Err(Error::invalid_input(
                "the position belongs to another query: resume in the same account and table, with the same conditions",
            ));
        }
        Ok(ChangeStream::new(self, position, filters_timestamps))
    }
}

/// Returns the query for rows whose Timestamp is `time` or later.
fn poll<E: TableEntity, P>(query: TableQuery<E, P>, time: DateTime) -> TableQuery<E, P> {
    query.filter(Column::<E, DateTime>::timestamp().ge(time))
}

/// Returns a hash of the table and the conditions in a URL. It is the same in every process (FNV-1a).
///
/// Table storage ignores the case of a table's name. Cosmos DB does not, and is the service that cannot filter by
/// Timestamp.
fn identity(url: &str, ignores_case: bool) -> u64 {
    let (table, parameters) = url.split_once('?').unwrap_or((url, ""));
    let filter = parameters
        .split('&')
        .find(|parameter| parameter.starts_with("$filter="));
    let table = match ignores_case {
        true => table.to_ascii_lowercase(),
        false => table.to_owned(),
    };
    let bytes = table.bytes().chain(filter.unwrap_or_default().bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The position of a tail of [`Changes`]: the time from which its next poll reads.
///
/// Store it as text that fits into a URL ([`Display`](fmt::Display) and [`FromStr`]), which is its serde form too. Pass
/// it to [`Changes::resume_from`] on the same table with the same conditions, even in another process. Other settings
/// may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangePosition {
    /// The identity of the query without its time.
    query: u64,
    since: Option<DateTime>,
}

/// The start of the text, with the version of its format.
const START: &str = "changes-1-";

impl ChangePosition {
    /// Returns the time from which the next poll reads, by the service's clock.
    ///
    /// It is the start of the last complete poll less the overlap. `None` reads all rows.
    pub fn since(&self) -> Option<DateTime> {
        self.since
    }

    fn parse(text: &str) -> Option<Self> {
        let (query, ticks) = text.strip_prefix(START)?.split_once('-')?;
        let since = match ticks {
            "" => None,
            ticks => Some(DateTime::from_ticks(ticks.parse().ok()?)?),
        };
        let query = u64::from_str_radix(query, 16).ok()?;
        Some(Self { query, since })
    }
}

/// Text of letters, digits and `-`.
impl fmt::Display for ChangePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{START}{:x}-", self.query)?;
        self.since.map_or(Ok(()), |since| since.ticks().fmt(f))
    }
}

impl FromStr for ChangePosition {
    type Err = Error;

    /// Parses the text of [`Display`](fmt::Display).
    ///
    /// # Errors
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the text is not a position of [`Changes`], or one of a newer
    ///   version.
    fn from_str(text: &str) -> Result<Self> {
        let not_one = || Error::invalid_input("the text is not a position of `Changes`, or one of a newer version");
        Self::parse(text).ok_or_else(not_one)
    }
}

impl Serialize for ChangePosition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ChangePosition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_is_parsed_from_its_text() {
        for (query, since) in [(0, None), (7, Some(DateTime::MIN)), (u64::MAX, Some(DateTime::MAX))] {
            let position = ChangePosition { query, since };
            let text = position.to_string();
            assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'), "{text}");
            assert_eq!(text.parse::<ChangePosition>().unwrap(), position);
            let json = serde_json::to_string(&position).unwrap();
            assert_eq!(serde_json::from_str::<ChangePosition>(&json).unwrap(), position);
        }
        // A later version reads it.
        let stored = "changes-1-7-638000000000000000".parse::<ChangePosition>().unwrap();
        assert_eq!(stored.since(), DateTime::from_ticks(638_000_000_000_000_000));
    }

    #[test]
    fn other_text_is_no_position() {
        for text in [
            "",
            "changes-1-",
            "changes-1-x-",
            "changes-1-7-x",
            "changes-2-7-",
            "e30",
            "7-7",
        ] {
            let error = text.parse::<ChangePosition>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
        }
    }

    #[test]
    fn identity_is_of_the_table_and_the_conditions() {
        const URL: &str = "http://host/a/Blogs()?$filter=x&$top=1";
        let own = identity(URL, true);
        assert_eq!(own, identity("http://host/a/bLOGS()?$filter=x", true));
        assert_ne!(identity(URL, false), identity("http://host/a/bLOGS()?$filter=x", false));
        for other in [
            "http://host/b/Blogs()?$filter=x",
            "http://host/a/Blogs()?$filter=X",
            "http://host/a/Blogs()",
        ] {
            assert_ne!(own, identity(other, true), "{other}");
        }
        assert_eq!(
            identity("a", true),
            0xaf63_dc4c_8601_ec8c,
            "stored positions contain it"
        );
    }
}
