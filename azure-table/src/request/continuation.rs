//! The position at which a query continues.

use std::fmt;
use std::str::FromStr;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::location::Location;
use http::HeaderMap;
use http::header::HeaderName;
use serde::{Deserialize, Serialize};

use crate::request::position::{self, PositionKind, QUERY};

const NEXT_PARTITION_KEY: HeaderName = HeaderName::from_static("x-ms-continuation-nextpartitionkey");
const NEXT_ROW_KEY: HeaderName = HeaderName::from_static("x-ms-continuation-nextrowkey");
const NEXT_TABLE_NAME: HeaderName = HeaderName::from_static("x-ms-continuation-nexttablename");

/// The position of a query, or of a list of tables: its start, the next page, or its end.
///
/// It is opaque. Store it with serde, or as text that fits into a URL ([`Display`](fmt::Display) and [`FromStr`]).
/// Later, even in another process, pass it to `TableQuery::resume_from` of the same query: the same table and
/// conditions. Columns and page size may differ. A position is not a snapshot: the query sees rows that were inserted
/// after the position in the meantime, and misses rows that were inserted before it.
///
/// [`default`](Default::default) is the start. A query that resumes from its end yields nothing, so a job that stores
/// the position of each page does its work once:
///
/// ```
/// use azure_table::{Continuation, DynamicEntity, Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let blogs = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// # blogs.create_table().await?;
/// # for n in 0..3 { blogs.insert(&DynamicEntity::new("p", n.to_string())).await?; }
/// let mut stored = Continuation::default().to_string();
/// let mut rows = 0;
/// for _run in 0..2 {
///     let mut pages = blogs.query().page_size(2).resume_from(stored.parse()?).pages();
///     while let Some(page) = pages.try_next().await? {
///         rows += page.items().len();
///         stored = page.continuation().to_string();
///     }
/// }
/// assert_eq!(rows, 3);
/// assert!(stored.parse::<Continuation>()?.is_finished());
/// # Ok(())
/// # }
/// ```
///
/// The text contains the keys of a row: encrypt it if clients must not read them. Later versions read the positions of
/// earlier ones.
///
/// Source: REST "Query timeout and pagination".
#[doc(alias = "TableContinuationToken")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Continuation {
    #[serde(default)]
    kind: PositionKind<QUERY>,
    #[serde(default, skip_serializing_if = "At::is_page")]
    at: At,
    pub(crate) next_partition_key: Option<String>,
    pub(crate) next_row_key: Option<String>,
    /// The position in the list of an account's tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_table_name: Option<String>,
    /// The identity of the query. Missing at the start, and in continuations that an earlier version stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<u64>,
    /// The location that returned the continuation. Earlier versions stored none for a query without a location mode,
    /// which reads from the primary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) location: Option<Location>,
}

/// The kind of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum At {
    Start,
    /// Stored without its name, because earlier versions knew no other kind.
    #[default]
    Page,
    End,
}

impl At {
    fn is_page(&self) -> bool {
        *self == Self::Page
    }
}

/// The start of any query.
impl Default for Continuation {
    fn default() -> Self {
        Self::at(At::Start)
    }
}

/// Text of letters, digits, `-` and `_`, which fits into a URL.
impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        position::write(self, f)
    }
}

impl FromStr for Continuation {
    type Err = Error;

    /// Parses the text of [`Display`](fmt::Display).
    ///
    /// # Errors
    /// - `InvalidInput`: the text is not a continuation. For a position of another type, the error names it.
    fn from_str(text: &str) -> Result<Self> {
        let read: Self = position::parse::<_, QUERY>(text)?;
        read.check()?;
        Ok(read)
    }
}

impl Continuation {
    const fn at(at: At) -> Self {
        Self {
            kind: PositionKind,
            at,
            next_partition_key: None,
            next_row_key: None,
            next_table_name: None,
            query: None,
            location: None,
        }
    }

    /// Creates a continuation from the tokens of another client: the headers `x-ms-continuation-NextPartitionKey` and
    /// `x-ms-continuation-NextRowKey` as they were received.
    ///
    /// The tokens do not show which query they belong to, so the client cannot reject a wrong one.
    ///
    /// ```
    /// use azure_table::Continuation;
    /// # fn main() -> azure_table::Result<()> {
    /// let continuation = Continuation::from_tokens("1!8!Qmxv", Some("1!4!MQ--"))?;
    /// assert_eq!(continuation.tokens(), Some(("1!8!Qmxv", Some("1!4!MQ--"))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - `InvalidInput`: `next_partition_key` is empty. It names neither the start nor the end of a query.
    pub fn from_tokens(next_partition_key: &str, next_row_key: Option<&str>) -> Result<Self> {
        if next_partition_key.is_empty() {
            return Err(Error::invalid_input(
                "the continuation names no position: its NextPartitionKey is empty",
            ));
        }
        Ok(Self {
            next_partition_key: Some(next_partition_key.to_owned()),
            next_row_key: next_row_key.filter(|text| !text.is_empty()).map(str::to_owned),
            ..Self::at(At::Page)
        })
    }

    /// Returns NextPartitionKey and NextRowKey for another client. `None` at the start and at the end of a query, and
    /// for a list of tables.
    pub fn tokens(&self) -> Option<(&str, Option<&str>)> {
        Some((self.next_partition_key.as_deref()?, self.next_row_key.as_deref()))
    }

    /// Returns `true` if no page follows. A query that resumes from here yields nothing.
    pub fn is_finished(&self) -> bool {
        self.at == At::End
    }

    /// Checks that the continuation names a position.
    ///
    /// # Errors
    /// - `InvalidInput`: it names no position. A query would then begin again.
    pub(crate) fn check(&self) -> Result<()> {
        match self.parameters().next() {
            None if self.at == At::Page => Err(Error::invalid_input("the continuation names no position")),
            _ => Ok(()),
        }
    }

    /// Returns the query parameters that continue a query here.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let parts = [
            ("NextPartitionKey", &self.next_partition_key),
            ("NextRowKey", &self.next_row_key),
            ("NextTableName", &self.next_table_name),
        ];
        parts
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }
}

/// Returns the continuation in the headers of a page, or `None` on the last page. An empty header counts as absent.
pub(crate) fn of(headers: &HeaderMap) -> Result<Option<Continuation>> {
    let next = Continuation {
        next_partition_key: header(headers, NEXT_PARTITION_KEY)?,
        next_row_key: header(headers, NEXT_ROW_KEY)?,
        next_table_name: header(headers, NEXT_TABLE_NAME)?,
        ..Continuation::at(At::Page)
    };
    let is_one = next.parameters().next().is_some();
    Ok(is_one.then_some(next))
}

/// Returns the end of a query.
pub(crate) fn end(query: u64) -> Continuation {
    Continuation {
        query: Some(query),
        ..Continuation::at(At::End)
    }
}

/// Returns the continuation, or `None` for the start.
pub(crate) fn after_start(continuation: Continuation) -> Option<Continuation> {
    (continuation.at != At::Start).then_some(continuation)
}

/// Returns the location that the continuation is valid in. The start and the end are valid in any.
pub(crate) fn location(continuation: &Continuation) -> Option<Location> {
    (continuation.at == At::Page).then(|| continuation.location.unwrap_or(Location::Primary))
}

/// Binds the continuation to its query and its location.
pub(crate) fn bind(continuation: &mut Continuation, query: u64, location: Location) {
    continuation.query = Some(query);
    continuation.location = Some(location);
}

/// Checks that an empty page, requested at `from`, continues at another position.
///
/// # Errors
/// - `InvalidResponse`: it continues at its own position. A query would follow it for ever.
pub(crate) fn check_progress(from: Option<&Continuation>, next: Option<&Continuation>) -> Result<()> {
    match (from, next) {
        (Some(from), Some(next)) if from.parameters().eq(next.parameters()) => {
            let position: Vec<_> = next.parameters().map(|(name, key)| format!("{name}={key}")).collect();
            Err(Error::invalid_response(format!(
                "the page is empty and repeats its continuation, {}: resume from it later",
                position.join("&")
            )))
        }
        _ => Ok(()),
    }
}

/// Returns a continuation header, or `None` if it is missing or empty. An unreadable one is an error: the listing would
/// otherwise end early without notice.
fn header(headers: &HeaderMap, name: HeaderName) -> Result<Option<String>> {
    let value = headers.get(&name).map(|value| value.as_bytes()).unwrap_or_default();
    match std::str::from_utf8(value) {
        Ok("") => Ok(None),
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(Error::invalid_response(format!("the header {name} is not UTF-8"))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn continuation_is_parsed_from_its_text(
            keys in any::<[Option<String>; 3]>(), query in any::<Option<u64>>(), has_location in any::<bool>()
        ) {
            prop_assume!(keys.iter().any(Option::is_some));
            let [next_partition_key, next_row_key, next_table_name] = keys;
            let location = has_location.then_some(Location::Secondary);
            let keys = Continuation { next_partition_key, next_row_key, next_table_name, ..Continuation::at(At::Page) };
            let continuation = Continuation { query, location, ..keys };
            let text = continuation.to_string();
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(text.parse::<Continuation>().unwrap(), continuation);
        }

        #[test]
        fn start_and_end_are_parsed_from_their_text(query in any::<u64>()) {
            let (start, end) = (Continuation::default(), end(query));
            prop_assert_eq!(&start.to_string().parse::<Continuation>().unwrap(), &start);
            prop_assert_eq!(&end.to_string().parse::<Continuation>().unwrap(), &end);
            prop_assert!(end.is_finished() && !start.is_finished());
            prop_assert_eq!((after_start(start), after_start(end.clone())), (None, Some(end)));
        }

        #[test]
        fn invalid_text_is_rejected(text in "[A-Za-z0-9_-]{0,20}|\\PC{0,20}|e30|eyJhIjoxfQ") {
            let error = text.parse::<Continuation>().unwrap_err();
            prop_assert_eq!(error.kind(), azure_table_wire::error::ErrorKind::InvalidInput);
        }
    }
    /// The text of version 0.1.0, and what a later version may add.
    #[test]
    fn stored_continuation_stays_readable() {
        let stored = r#"{"kind":"query","next_partition_key":"1!4!YQ--","next_row_key":"1!4!Yg--","query":7}"#;
        let read: Continuation = serde_json::from_str(stored).unwrap();
        assert_eq!(
            (read.next_row_key.as_deref(), read.query, read.at),
            (Some("1!4!Yg--"), Some(7), At::Page)
        );
        assert_eq!(serde_json::to_string(&read).unwrap(), stored);
        let later = stored.replace('}', r#","added":[1]}"#);
        assert_eq!(serde_json::from_str::<Continuation>(&later).unwrap(), read);
        let unknown = stored.replace('}', r#","at":"middle"}"#);
        assert!(serde_json::from_str::<Continuation>(&unknown).is_err());
    }
}
