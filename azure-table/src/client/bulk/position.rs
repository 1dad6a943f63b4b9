//! Where writes over a query go on.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::model::entity_key::Key;
use crate::model::error::Result;
use crate::protocol::continuation::Continuation;

/// Where writes over a query go on after an interruption: the page at which they were, and the keys of it that have their
/// outcome already, at most 1,000. So no row is passed over, and none is written twice.
///
/// Opaque and serializable: keep it, and go on later, in another process even, with `resume_from` on the same method over the
/// same query. Rows that came into that page since are written too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritePosition {
    /// The page; `None` is the first.
    pub(crate) from: Option<Continuation>,
    /// The rows with an outcome: RowKeys by PartitionKey.
    done: BTreeMap<String, Vec<String>>,
}

impl WritePosition {
    pub(crate) fn new<'a, E: 'a>(from: Option<Continuation>, keys: impl Iterator<Item = &'a Key<E>>) -> Self {
        let mut done = BTreeMap::<String, Vec<String>>::new();
        for key in keys {
            let rows = done.entry(key.partition_key().to_owned()).or_default();
            rows.push(key.row_key().to_owned());
        }
        // Two positions are equal where they say the same.
        done.values_mut().for_each(|rows| rows.sort_unstable());
        Self { from, done }
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
