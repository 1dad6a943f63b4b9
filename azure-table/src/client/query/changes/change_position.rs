//! The position of a tail of changes, and its text.

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::datetime::DateTime;
use serde::{Deserialize, Serialize};

use crate::request::position::position_text;
use crate::request::position::{CHANGES, Owner};

/// The version of the format, which a later format would raise.
const VERSION: u32 = 1;

/// The position of a [tail of changes](crate::query::Changes): the time from which its next poll reads.
///
/// Store it with serde, or as text that fits into a URL ([`Display`](std::fmt::Display) and
/// [`FromStr`](std::str::FromStr)). Pass it to [`Changes::resume_from`](crate::query::Changes::resume_from) on the same
/// table with the same conditions, even in another process. Row types and settings may differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangePosition {
    #[serde(default)]
    of: Owner<CHANGES>,
    version: u32,
    table: String,
    /// The identity of the query without its time; `None` if it could not be built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    query: Option<u64>,
    /// The least Timestamp of the next poll; `None` is the start of the table's history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) since: Option<DateTime>,
}

impl ChangePosition {
    pub(super) fn new(table: &str, query: Option<u64>, since: Option<DateTime>) -> Self {
        Self {
            of: Owner,
            version: VERSION,
            table: table.to_owned(),
            query,
            since,
        }
    }

    /// Returns the time from which the next poll reads, by the service's clock.
    ///
    /// It is the start of the last complete poll less the overlap. `None` reads all rows.
    pub fn since(&self) -> Option<DateTime> {
        self.since
    }

    /// Checks that the position belongs to this table and query.
    ///
    /// # Errors
    /// `InvalidInput`: the position has another form, or is of another table or query.
    pub(super) fn check(&self, table: &str, query: u64) -> Result<()> {
        if self.version != VERSION {
            return Err(Error::invalid_input(format!(
                "the position has version {}, this client reads version {VERSION}: resume with a newer client, or \
                 start over",
                self.version
            )));
        }
        if !self.table.eq_ignore_ascii_case(table) {
            return Err(Error::invalid_input(format!(
                "the position belongs to the table {}, not to {table}",
                self.table
            )));
        }
        if self.query.is_some_and(|other| other != query) {
            return Err(Error::invalid_input(
                "the position belongs to another query: resume in the same account, with the same conditions",
            ));
        }
        Ok(())
    }
}

position_text!(ChangePosition, CHANGES);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn text_of_a_position_reads_back(
            table in "[A-Za-z][A-Za-z0-9]{2,62}", query in any::<Option<u64>>(), ticks in proptest::option::of(0..DateTime::MAX.ticks())
        ) {
            let position = ChangePosition::new(&table, query, ticks.and_then(DateTime::from_ticks));
            let text = position.to_string();
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(text.parse::<ChangePosition>().unwrap(), position);
        }

        #[test]
        fn other_text_is_no_position(text in "[A-Za-z0-9_-]{0,20}|\\PC{0,20}|e30|eyJhIjoxfQ") {
            let error = text.parse::<ChangePosition>().unwrap_err();
            prop_assert_eq!(error.kind(), crate::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn position_of_another_version_table_or_query_is_rejected() {
        let position = ChangePosition::new("Blogs", Some(7), None);
        assert!(position.check("blogs", 7).is_ok());
        assert!(ChangePosition::new("Blogs", None, None).check("Blogs", 7).is_ok());
        let newer = ChangePosition {
            version: 2,
            ..position.clone()
        };
        for (position, table, query, expected) in [
            (
                &newer,
                "Blogs",
                7,
                "the position has version 2, this client reads version 1",
            ),
            (
                &position,
                "Posts",
                7,
                "the position belongs to the table Blogs, not to Posts",
            ),
            (&position, "Blogs", 8, "the position belongs to another query"),
        ] {
            let message = position.check(table, query).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
