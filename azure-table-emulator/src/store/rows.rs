//! The rows of a table in order, and the queries that read them in several turns.
//!
//! Keeps both orders: the order of keys, which point reads and ranges of keys always use, and the order of insertion,
//! if the service has it ([`Places`]).
//!
//! A query that takes several turns sees one state of the table: it is registered, and every write preserves the
//! previous row for each registered query. A query that ends in its first turn is not registered, and adds no cost to
//! writes.
//!
//! A query reads rows until it has made some 2,000 comparisons, then releases the store and yields, so that other tasks
//! wait for a turn and not for a page. A page shows all of a batch or nothing, as in the live service. Turns end by a
//! count, not by a clock, so that tests on a paused clock are deterministic.

use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use azure_table_wire::filter::key_range::KeyRange;

use crate::rules::{Continuation, ServiceRules};
use crate::store::row::{Row, RowId};

/// The maximum number of rows in a range of keys that are sorted by insertion within a turn.
const FEW: usize = 1_024;

/// Rows by their keys; `None` if the row did not exist.
pub(crate) type Changed = BTreeMap<RowId, Option<Row>>;

/// The rows of a table. Dereferences to their map, for reading.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    stored: BTreeMap<RowId, Row>,
    /// The order of insertion, if the service keeps it.
    places: Option<Places>,
    readers: Mutex<Vec<Weak<Reader>>>,
}

/// A query that has read some of the rows, and sees all of them as they were at its beginning.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The rows that have changed since, in their previous state.
    changed: Mutex<Changed>,
}

impl Reader {
    pub(crate) fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A row with its place in the order of insertion.
pub(crate) type Placed<'a> = (u64, &'a RowId, &'a Row);

impl Rows {
    /// Creates the rows of a new table.
    pub(crate) fn new(rules: &ServiceRules) -> Self {
        Self {
            places: (rules.continuation == Continuation::Places).then(Places::default),
            ..Self::default()
        }
    }

    /// Returns `true` if the order of insertion is kept.
    pub(crate) fn have_places(&self) -> bool {
        self.places.is_some()
    }

    /// Returns an empty table that keeps the same order.
    #[cfg(feature = "durable")]
    pub(crate) fn emptied(&self) -> Self {
        Self {
            places: self.places.as_ref().map(|_| Places::default()),
            ..Self::default()
        }
    }

    /// Sets all rows as they were stored, each at its place.
    #[cfg(feature = "durable")]
    pub(crate) fn fill(&mut self, rows: Vec<(RowId, Row)>) {
        if let Some(places) = &mut self.places {
            for (id, row) in &rows {
                places.put(id, row.place);
            }
        }
        self.stored = rows.into_iter().collect();
    }

    /// Inserts or removes a row. Returns the row that was there.
    pub(crate) fn set(&mut self, id: RowId, row: Option<Row>) -> Option<Row> {
        let Ok(before) = self.change(id, |_| Ok::<_, Infallible>(row));
        before
    }

    /// Replaces a row by what `after` returns for it. Returns the row that was there.
    pub(crate) fn change<E>(
        &mut self,
        id: RowId,
        after: impl FnOnce(Option<&Row>) -> Result<Option<Row>, E>,
    ) -> Result<Option<Row>, E> {
        let entry = self.stored.entry(id);
        let before = match &entry {
            Entry::Occupied(stored) => Some(stored.get()),
            Entry::Vacant(_) => None,
        };
        let mut row = after(before)?;
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        readers.retain(|reader| {
            let reader = reader.upgrade();
            if let Some(reader) = &reader {
                // A second change does not matter to a reader: it did not see the first one either.
                let mut changed = reader.changed();
                changed.entry(entry.key().clone()).or_insert_with(|| before.cloned());
            }
            reader.is_some()
        });
        if let Some(places) = &mut self.places {
            let known = before.map(|row| row.place);
            match (&mut row, known) {
                (Some(row), known) => row.place = places.put(entry.key(), known.unwrap_or(row.place)),
                (None, Some(place)) => places.remove(entry.key(), place),
                (None, None) => {}
            }
        }
        Ok(match (entry, row) {
            (Entry::Occupied(mut stored), Some(row)) => Some(stored.insert(row)),
            (Entry::Occupied(stored), None) => Some(stored.remove()),
            (Entry::Vacant(stored), Some(row)) => {
                stored.insert(row);
                None
            }
            (Entry::Vacant(_), None) => None,
        })
    }

    /// Registers a query that has more to read.
    pub(crate) fn register(&self) -> Arc<Reader> {
        let reader = Arc::default();
        let mut readers = self.readers();
        // Finished queries: a table that is only read forgets them here.
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(&reader));
        reader
    }

    /// Returns `true` if the query is registered for these rows. After its table was deleted it is not, even if a new
    /// table has the same name.
    pub(crate) fn knows(&self, reader: &Arc<Reader>) -> bool {
        self.readers().iter().any(|known| known.as_ptr() == Arc::as_ptr(reader))
    }

    /// Returns the rows from `start` on, each in its state in `changed` if it has one there.
    pub(crate) fn before<'a>(
        &'a self,
        changed: &'a Changed,
        start: &RowId,
    ) -> impl Iterator<Item = (&'a RowId, &'a Row)> {
        let mut stored = self.stored.range(start..).peekable();
        let mut changed = changed.range(start..).peekable();
        std::iter::from_fn(move || {
            loop {
                let Some((next_changed, _)) = changed.peek() else {
                    return stored.next();
                };
                match stored.peek().map(|(id, _)| id.cmp(next_changed)) {
                    Some(Ordering::Less) => return stored.next(),
                    Some(Ordering::Equal) => drop(stored.next()),
                    Some(Ordering::Greater) | None => {}
                }
                if let Some((id, Some(row))) = changed.next() {
                    return Some((id, row));
                }
            }
        })
    }

    /// Returns the rows of a range of keys, and perhaps others of its partition or table, from a place on. They are in
    /// the order of insertion, each in its state in `changed` if it has one there.
    ///
    /// A range of few rows is read by its keys. A table that never kept the order of insertion has the order of keys.
    pub(crate) fn by_place<'a>(
        &'a self,
        changed: &'a Changed,
        keys: KeyRange<'_>,
        from: u64,
    ) -> Box<dyn Iterator<Item = Placed<'a>> + 'a> {
        let Some(places) = &self.places else {
            let numbered = (1..).zip(&self.stored);
            return Box::new(numbered.filter_map(move |(n, (id, row))| (n >= from).then_some((n, id, row))));
        };
        let (partition, row_key) = keys.start();
        if keys.is_narrow() {
            let start = RowId::new(partition, row_key);
            let within = |(id, _): &(&RowId, &Row)| !keys.is_past(&id.partition_key, &id.row_key);
            let found = self.before(changed, &start).take_while(within).take(FEW + 1);
            let mut few: Vec<Placed<'a>> = found.map(|(id, row)| (row.place, id, row)).collect();
            if few.len() <= FEW {
                few.retain(|(place, ..)| *place >= from);
                few.sort_unstable_by_key(|(place, ..)| *place);
                return Box::new(few.into_iter());
            }
        }
        let partition = keys.is_one_partition().then_some(partition);
        let is_requested = |id: &RowId| partition.is_none_or(|partition| *id.partition_key == *partition);
        // A changed row is returned at its earlier place, and skipped at its current one.
        let mut earlier: Vec<Placed<'a>> = changed
            .iter()
            .filter_map(|(id, row)| row.as_ref().map(|row| (row.place, id, row)))
            .filter(|(place, id, _)| *place >= from && is_requested(id))
            .collect();
        earlier.sort_unstable_by_key(|(place, ..)| *place);
        let mut earlier = earlier.into_iter().peekable();
        let unchanged = places
            .from(partition, from)
            .filter(|(_, id)| !changed.contains_key(*id));
        let mut unchanged = unchanged
            .filter_map(|(place, id)| Some((place, id, self.stored.get(id)?)))
            .peekable();
        Box::new(std::iter::from_fn(move || {
            let is_earlier = match (earlier.peek(), unchanged.peek()) {
                (Some((earlier, ..)), Some((place, ..))) => earlier < place,
                (earlier, _) => earlier.is_some(),
            };
            if is_earlier { earlier.next() } else { unchanged.next() }
        }))
    }

    /// Returns the rows in the order of pages.
    pub(crate) fn in_order(&self) -> Box<dyn Iterator<Item = (&RowId, &Row)> + '_> {
        match &self.places {
            None => Box::new(self.stored.iter()),
            Some(places) => {
                let ids = places.from(None, 0);
                Box::new(ids.filter_map(|(_, id)| Some((id, self.stored.get(id)?))))
            }
        }
    }

    fn readers(&self) -> MutexGuard<'_, Vec<Weak<Reader>>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for Rows {
    type Target = BTreeMap<RowId, Row>;

    fn deref(&self) -> &Self::Target {
        &self.stored
    }
}

/// Clones the rows without their readers: none reads the copy yet.
impl Clone for Rows {
    fn clone(&self) -> Self {
        Self {
            stored: self.stored.clone(),
            places: self.places.clone(),
            readers: Mutex::default(),
        }
    }
}

/// The place of a row without one.
const NONE: u64 = 0;

/// The order in which the rows of a table were inserted, which pages on Cosmos DB have.
///
/// Places are numbers from 1 on, also per partition. An updated row keeps its place, a new one is last.
///
/// Source: recordings of azure-data-tables, `batch_inserts`, `batch_all_operations_together` and
/// `decode_entity_atypical_values` (2024 and 2026).
#[derive(Clone, Debug, Default)]
struct Places {
    last: u64,
    rows: BTreeMap<u64, RowId>,
    partitions: HashMap<Box<str>, BTreeSet<u64>>,
}

impl Places {
    /// Puts a row at its place, or after all others if it has [`NONE`]. Returns the place.
    fn put(&mut self, id: &RowId, place: u64) -> u64 {
        let place = if place == NONE { self.last + 1 } else { place };
        self.last = self.last.max(place);
        if self.rows.insert(place, id.clone()).is_none() {
            let partition = self.partitions.entry(id.partition_key.clone());
            partition.or_default().insert(place);
        }
        place
    }

    fn remove(&mut self, id: &RowId, place: u64) {
        self.rows.remove(&place);
        if let Some(partition) = self.partitions.get_mut(&id.partition_key) {
            partition.remove(&place);
            if partition.is_empty() {
                self.partitions.remove(&id.partition_key);
            }
        }
    }

    /// Returns the rows from a place on, of one partition or of all.
    fn from<'a>(&'a self, partition: Option<&str>, place: u64) -> Box<dyn Iterator<Item = (u64, &'a RowId)> + 'a> {
        let Some(partition) = partition else {
            return Box::new(self.rows.range(place..).map(|(place, id)| (*place, id)));
        };
        let places = self.partitions.get(partition).into_iter();
        let places = places.flat_map(move |places| places.range(place..));
        Box::new(places.filter_map(|place| Some((*place, self.rows.get(place)?))))
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::filter::parse::parse_to;
    use azure_table_wire::value::datetime::DateTime;
    use proptest::prelude::*;

    use super::*;
    use crate::rules::COSMOS;

    fn id(row_key: u8) -> RowId {
        RowId::new("p", format!("{row_key:02}"))
    }

    /// Rows that differ by their time.
    fn row(version: usize) -> Row {
        Row::new(&Vec::new(), DateTime::from_ticks(version as i64).unwrap())
    }

    #[test]
    fn finished_queries_of_a_table_that_is_only_read_are_forgotten() {
        let rows = Rows::default();
        let unfinished = rows.register();
        for _ in 0..100 {
            drop(rows.register());
        }
        assert!(rows.readers().len() <= 2, "{}", rows.readers().len());
        assert!(rows.knows(&unfinished));
    }

    proptest! {
        #[test]
        fn reader_sees_the_state_in_which_it_registered(
            stored in proptest::collection::btree_set(0..20_u8, 0..20),
            changes in proptest::collection::vec((0..20_u8, any::<bool>()), 0..40),
            second in 0..40_usize,
            start in 0..20_u8,
        ) {
            let mut rows = Rows::default();
            for key in stored {
                rows.set(id(key), Some(row(0)));
            }
            let mut readers = vec![(rows.register(), BTreeMap::clone(&rows))];
            for (n, (key, is_delete)) in changes.into_iter().enumerate() {
                if n == second {
                    readers.push((rows.register(), BTreeMap::clone(&rows)));
                }
                rows.set(id(key), (!is_delete).then(|| row(n + 1)));
            }
            for (reader, before) in &readers {
                let changed = reader.changed();
                let seen: Vec<_> = rows.before(&changed, &id(start)).collect();
                prop_assert_eq!(seen, before.range(id(start)..).collect::<Vec<_>>());
            }
        }
    }

    proptest! {
        #[test]
        fn reader_sees_the_registered_state_in_insertion_order(
            stored in proptest::collection::vec(0..20_u8, 0..20),
            changes in proptest::collection::vec((0..20_u8, any::<bool>()), 0..40),
            from in 0..20_u64,
            bound in 0..20_u8,
        ) {
            let mut rows = Rows::new(&COSMOS);
            for key in stored {
                rows.set(id(key), Some(row(0)));
            }
            let reader = rows.register();
            let before: Vec<(RowId, Row)> = rows.in_order().map(|(id, row)| (id.clone(), row.clone())).collect();
            for (n, (key, is_delete)) in changes.into_iter().enumerate() {
                rows.set(id(key), (!is_delete).then(|| row(n + 1)));
            }
            let narrow = parse_to(&format!("PartitionKey eq 'p' and RowKey ge '{bound:02}'")).unwrap();
            let partition = parse_to("PartitionKey eq 'p'").unwrap();
            for (keys, bound) in [
                (KeyRange::default(), String::new()),
                (KeyRange::of([&partition]), String::new()),
                (KeyRange::of([&narrow]), format!("{bound:02}")),
            ] {
                let changed = reader.changed();
                let seen: Vec<_> = rows.by_place(&changed, keys, from).map(|(_, id, row)| (id, row)).collect();
                let expected = before.iter().filter(|(id, row)| row.place >= from && *id.row_key >= *bound);
                prop_assert_eq!(seen, expected.map(|(id, row)| (id, row)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn dropped_reader_is_removed() {
        let mut rows = Rows::default();
        let reader = rows.register();
        assert!(rows.knows(&reader) && !rows.clone().knows(&reader));
        drop(reader);
        rows.set(id(0), Some(row(0)));
        assert_eq!(rows.readers().len(), 0);
    }
}
