//! The order in which the rows of a table were inserted, which is that of pages on Cosmos DB.
//!
//! Owns the places of rows: numbers from 1 on, also per partition. An updated row keeps its place, a new one is last.
//! The rows themselves are in `store/rows.rs`.
//!
//! Source: recordings of azure-data-tables, `batch_inserts`, `batch_all_operations_together` and
//! `decode_entity_atypical_values` (2024 and 2026).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::emulator::store::row::RowId;

/// The place of a row without one.
pub(super) const NONE: u64 = 0;

/// The places of a table's rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    last: u64,
    rows: BTreeMap<u64, RowId>,
    partitions: HashMap<Box<str>, BTreeSet<u64>>,
}

impl Places {
    /// Puts a row at its place, or after all others if it has [`NONE`]. Returns the place.
    pub(super) fn put(&mut self, id: &RowId, place: u64) -> u64 {
        let place = if place == NONE { self.last + 1 } else { place };
        self.last = self.last.max(place);
        if self.rows.insert(place, id.clone()).is_none() {
            let partition = self.partitions.entry(id.partition_key.clone());
            partition.or_default().insert(place);
        }
        place
    }

    pub(super) fn remove(&mut self, id: &RowId, place: u64) {
        self.rows.remove(&place);
        if let Some(partition) = self.partitions.get_mut(&id.partition_key) {
            partition.remove(&place);
            if partition.is_empty() {
                self.partitions.remove(&id.partition_key);
            }
        }
    }

    /// Returns the rows from a place on, of one partition or of all.
    pub(super) fn from<'a>(
        &'a self,
        partition: Option<&str>,
        place: u64,
    ) -> Box<dyn Iterator<Item = (u64, &'a RowId)> + 'a> {
        let Some(partition) = partition else {
            return Box::new(self.rows.range(place..).map(|(place, id)| (*place, id)));
        };
        let places = self.partitions.get(partition).into_iter();
        let places = places.flat_map(move |places| places.range(place..));
        Box::new(places.filter_map(|place| Some((*place, self.rows.get(place)?))))
    }
}
