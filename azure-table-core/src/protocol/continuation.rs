//! The position at which a query continues.

use std::fmt;
use std::str::FromStr;

use http::HeaderMap;
use http::header::HeaderName;
use serde::{Deserialize, Serialize};

use crate::model::error::{Error, ErrorInternals, Result};
use crate::model::location::Location;
use crate::protocol::position::{self, Owner, QUERY};

const NEXT_PARTITION_KEY: HeaderName = HeaderName::from_static("x-ms-continuation-nextpartitionkey");
const NEXT_ROW_KEY: HeaderName = HeaderName::from_static("x-ms-continuation-nextrowkey");
const NEXT_TABLE_NAME: HeaderName = HeaderName::from_static("x-ms-continuation-nexttablename");

/// The position of the next page of a query, or of a list of tables.
///
/// It is opaque. Store it with serde, or as text that fits into a URL ([`Display`](fmt::Display) and [`FromStr`]).
/// Later, also in another process, pass it to `TableQuery::resume_from` of the same query: the same table and
/// conditions. Columns and page size may differ. A position is not a snapshot: the query returns rows that are inserted
/// after the position in the meantime, and misses rows that are inserted before it.
///
/// ```
/// use azure_table::{Continuation, DynamicEntity, Emulator, TableServiceClient};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let blogs = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
/// # blogs.create_table().await?;
/// # for n in 0..3 { blogs.insert(&DynamicEntity::new("p", n.to_string())).await?; }
/// let page = blogs.query().page_size(2).pages().try_next().await?.expect("a first page");
/// let link = format!("/blogs?after={}", page.continuation().expect("a third row"));
/// let position: Continuation = link.trim_start_matches("/blogs?after=").parse()?;
/// let rest = blogs.query().page_size(2).resume_from(position).all().await?;
/// assert_eq!(rest.len(), 1);
/// # Ok(())
/// # }
/// ```
///
/// The text names the keys of a row: encrypt it where clients must not read them.
///
/// Source: REST "Query timeout and pagination".
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Continuation {
    #[serde(default)]
    of: Owner<QUERY>,
    pub(crate) next_partition_key: Option<String>,
    pub(crate) next_row_key: Option<String>,
    /// The position in the list of an account's tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_table_name: Option<String>,
    /// The identity of the query. Missing in continuations that an earlier version stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) query: Option<u64>,
    /// The location that returned the continuation, if the query may read from another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) location: Option<Location>,
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
    /// # Errors
    /// - `InvalidInput`: it names no position. A query would then begin again.
    pub(crate) fn check(&self) -> Result<()> {
        match self.parameters().next() {
            Some(_) => Ok(()),
            None => Err(Error::invalid_input("the continuation names no position")),
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
pub fn of(headers: &HeaderMap) -> Result<Option<Continuation>> {
    let next = Continuation {
        of: Owner,
        next_partition_key: header(headers, NEXT_PARTITION_KEY)?,
        next_row_key: header(headers, NEXT_ROW_KEY)?,
        next_table_name: header(headers, NEXT_TABLE_NAME)?,
        query: None,
        location: None,
    };
    let is_one = next.parameters().next().is_some();
    Ok(is_one.then_some(next))
}

/// Returns the location that the continuation is valid in, if the query may read from another one.
pub fn location(continuation: &Continuation) -> Option<Location> {
    continuation.location
}

/// Binds the continuation to its query, and to a location if the query may read from several.
pub fn bind(continuation: &mut Continuation, query: u64, location: Option<Location>) {
    continuation.query = Some(query);
    continuation.location = location;
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
            let continuation = Continuation { of: Owner, next_partition_key, next_row_key, next_table_name, query, location };
            let text = continuation.to_string();
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(text.parse::<Continuation>().unwrap(), continuation);
        }

        #[test]
        fn invalid_text_is_rejected(text in "[A-Za-z0-9_-]{0,20}|\\PC{0,20}|e30|eyJhIjoxfQ") {
            let error = text.parse::<Continuation>().unwrap_err();
            prop_assert_eq!(error.kind(), crate::model::error::ErrorKind::InvalidInput);
        }
    }
}
