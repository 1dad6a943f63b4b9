//! The rows of a table in their order, and the queries that read them in several turns.
//!
//! Owns that such a query sees one state of the table: every write leaves the row as it was before for each of them. A
//! query that ends in its first turn registers nowhere, and costs writes nothing.
//!
//! A query reads rows until it has made some 2,000 comparisons, then releases the store and yields, so that others wait
//! for a turn and not for a page. A page shows all of a batch or nothing, as live. Turns end by a count, not by a
//! clock: tests on a paused clock run the same way each time.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::emulator::store::row::{Row, RowId};

/// Rows by their keys; `None` where there was no row.
pub(crate) type Changed = BTreeMap<RowId, Option<Row>>;

/// The rows of a table. Dereferences to the map of them, to be read.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    stored: BTreeMap<RowId, Row>,
    readers: Mutex<Vec<Weak<Reader>>>,
}

/// A query that has read some of the rows, and sees all of them as they were when it began.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// The rows that have changed since, as they were before.
    changed: Mutex<Changed>,
}

impl Reader {
    pub(crate) fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    /// Inserts or removes a row. Returns the row that was there.
    pub(crate) fn set(&mut self, id: RowId, row: Option<Row>) -> Option<Row> {
        let readers = self.readers.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !readers.is_empty() {
            let before = self.stored.get(&id);
            readers.retain(|reader| {
                let reader = reader.upgrade();
                if let Some(reader) = &reader {
                    // A later change is none to a reader: it has not seen the earlier one either.
                    let mut changed = reader.changed();
                    changed.entry(id.clone()).or_insert_with(|| before.cloned());
                }
                reader.is_some()
            });
        }
        match row {
            Some(row) => self.stored.insert(id, row),
            None => self.stored.remove(&id),
        }
    }

    /// Registers a query that has more to read, from now on.
    pub(crate) fn register(&self) -> Arc<Reader> {
        let reader = Arc::default();
        self.readers().push(Arc::downgrade(&reader));
        reader
    }

    /// Whether a query is registered here: not where its table was deleted, even if there is another of its name.
    pub(crate) fn knows(&self, reader: &Arc<Reader>) -> bool {
        self.readers().iter().any(|known| known.as_ptr() == Arc::as_ptr(reader))
    }

    /// The rows from `start` on, with those in `changed` as they are there.
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

/// The rows alone: nobody reads the copy yet.
impl Clone for Rows {
    fn clone(&self) -> Self {
        Self {
            stored: self.stored.clone(),
            readers: Mutex::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::datetime::DateTime;

    fn id(row_key: u8) -> RowId {
        RowId::new("p", format!("{row_key:02}"))
    }

    /// Rows that differ by their time.
    fn row(version: usize) -> Row {
        Row::new(&Vec::new(), DateTime::from_ticks(version as i64).unwrap())
    }

    proptest! {
        #[test]
        fn reader_sees_the_rows_of_when_it_registered(
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

    #[test]
    fn reader_that_is_gone_is_forgotten() {
        let mut rows = Rows::default();
        let reader = rows.register();
        assert!(rows.knows(&reader) && !rows.clone().knows(&reader));
        drop(reader);
        rows.set(id(0), Some(row(0)));
        assert_eq!(rows.readers().len(), 0);
    }
}
