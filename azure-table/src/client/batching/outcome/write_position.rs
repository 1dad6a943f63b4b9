//! The position from which writes over a query resume.

use std::collections::{BTreeMap, HashSet};

use azure_table_wire::error::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::key::entity_key::Key;
use crate::request::continuation::Continuation;
use crate::request::position::position_text;
use crate::request::position::{PositionKind, WRITES};

/// A position in writes over a query: a page, and the keys of its rows that already have an outcome.
///
/// It is opaque. Store it with serde, or as text ([`Display`](std::fmt::Display) and [`FromStr`](std::str::FromStr));
/// both contain the keys. Another process can pass it to `resume_from` of the same method over the same query. The
/// resumed run writes rows again that were in doubt or in flight, and rows that were inserted into the page in the
/// meantime. Only `update_where` writes no row twice, and may miss rows that were in doubt or in flight, unless it is
/// [`repeatable`](crate::bulk::UpdateWhere::repeatable).
///
/// It has at most 1,000 keys, for deletes only those that failed. If rows were inserted into the page before a run
/// resumed, it also has the earlier run's keys that the new run has not passed yet. Cosmos DB promises no order, so
/// there the keys of rows that disappeared stay in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritePosition {
    #[serde(default)]
    kind: PositionKind<WRITES>,
    /// The method; `None` if it did not begin.
    pub(crate) operation: Option<String>,
    /// The identity of the query.
    pub(crate) query: Option<u64>,
    /// The page; `None` is the first.
    pub(crate) from: Option<Continuation>,
    /// The rows with an outcome: RowKeys by PartitionKey.
    done: BTreeMap<String, Vec<String>>,
}

position_text!(WritePosition, WRITES);

impl WritePosition {
    /// Creates the position of a method and a query, at a page.
    pub(crate) fn new<'a, E: 'a>(
        subject: Option<(String, u64)>,
        from: Option<Continuation>,
        keys: impl Iterator<Item = &'a Key<E>>,
    ) -> Self {
        let (operation, query) = subject.unzip();
        let mut done = BTreeMap::<String, Vec<String>>::new();
        for key in keys {
            let rows = done.entry(key.partition_key().to_owned()).or_default();
            rows.push(key.row_key().to_owned());
        }
        // Equal positions have equal representations.
        done.values_mut().for_each(|rows| rows.sort_unstable());
        Self {
            kind: PositionKind,
            operation,
            query,
            from,
            done,
        }
    }

    /// Checks that the position belongs to this method and query.
    ///
    /// # Errors
    /// `InvalidInput`: the position is of another method or query.
    pub(crate) fn check(&self, operation: &str, query: u64) -> Result<()> {
        if let Some(other) = self.operation.as_deref().filter(|other| *other != operation) {
            return Err(Error::invalid_input(format!(
                "this is a position of `{other}`, not of `{operation}`"
            )));
        }
        if self.query.is_some_and(|other| other != query) {
            let why = "the position belongs to another query: its account, table or conditions differ";
            return Err(Error::invalid_input(why));
        }
        Ok(())
    }

    pub(crate) fn keys<E>(&self) -> Result<HashSet<Key<E>>> {
        let of_partition = |(partition_key, rows): (&String, &Vec<String>)| {
            let partition_key = partition_key.clone();
            let key = move |row_key: &String| Key::from_text(partition_key.clone(), row_key.clone());
            rows.iter().map(key).collect::<Vec<_>>()
        };
        self.done.iter().flat_map(of_partition).collect()
    }
}
