//! One of many clients: its calls, and the record of all clients.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table::bulk::LeftoverReason;
use azure_table::{CallOptions, ETag, Error, ErrorKind, LocationMode, TableClient, TableOperation};
use azure_table_patterns::Grouped;

use super::check::{Call, Outcome, ROWS, Version};
use super::tally::{self, Tally};
use crate::matrix::model::{Cell, PARTITION};

const CALLS: usize = 6;
/// The rows before this one are counters; the others are inserted and deleted.
pub(super) const FIRST_SLOT: usize = 3;

/// The record of all clients.
#[derive(Default)]
pub(super) struct Notes {
    clock: u64,
    ids: u32,
    pub(super) calls: Vec<Call>,
    /// The acknowledged versions of the slots that nothing has deleted yet.
    pub(super) inserted: Vec<(usize, u32, ETag)>,
    /// For each `modify`: the write that inserted the row which it changes, itself if it inserts; as of its last
    /// attempt.
    inserts: BTreeMap<u32, u32>,
    /// The ETag of each row and id: a write that is applied twice has two.
    pub(super) etags: BTreeMap<(usize, u32), ETag>,
    pub(super) twice: Vec<u32>,
    /// For each counter: acknowledged increments, and those in doubt.
    pub(super) counted: [(i64, i64); FIRST_SLOT],
    /// Counts without ids.
    pub(super) tally: Tally,
}

impl Notes {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn saw(&mut self, row: usize, id: u32, etag: &ETag) {
        let before = self.etags.insert((row, id), etag.clone());
        self.twice
            .extend(before.is_some_and(|before| before != *etag).then_some(id));
    }

    /// A version of a row, which may be deleted if it is a slot.
    fn wrote(&mut self, row: usize, id: u32, etag: ETag) {
        self.saw(row, id, &etag);
        self.inserted.push((row, id, etag));
    }

    /// Takes a version that may be deleted: one of a row whose insert has ended.
    ///
    /// While the insert is in flight, its response may be lost, and a `modify` may have overwritten its row. If that
    /// row is deleted, the client reads nothing back and inserts it again: it is applied twice, which no client can
    /// prevent.
    fn take_settled(&mut self) -> Option<(usize, u32, ETag)> {
        let place = self.inserted.iter().rposition(|(row, id, _)| {
            let insert = self.insert_of(*id);
            self.calls.iter().any(|call| call.sets.contains(&(*row, Some(insert))))
        })?;
        Some(self.inserted.remove(place))
    }

    /// Returns the write that inserted the row of a version.
    fn insert_of(&self, id: u32) -> u32 {
        self.inserts.get(&id).copied().unwrap_or(id)
    }

    /// `modify` changes this version of a row, or inserts one.
    fn modifies(&mut self, id: u32, seen: Option<u32>) {
        let insert = seen.map_or(id, |seen| self.insert_of(seen));
        self.inserts.insert(id, insert);
    }
}

pub(super) struct Client {
    pub(super) table: TableClient<Cell>,
    /// Sends the updates of one counter, if it is there.
    pub(super) group: Option<Grouped>,
    pub(super) notes: Arc<Mutex<Notes>>,
}

/// Rows with the versions that a call relies on or sets.
type Rows = Vec<(usize, Version)>;

/// A row as it was read.
struct Seen {
    row: usize,
    count: i64,
    id: u32,
    etag: ETag,
}

pub(super) fn outcome_of<T>(result: &Result<T, Error>) -> Option<Outcome> {
    match result {
        Ok(_) => Some(Outcome::Done),
        Err(e) => outcome_of_error(e),
    }
}

fn outcome_of_error(error: &Error) -> Option<Outcome> {
    match error.kind() {
        _ if error.may_have_applied() => Some(Outcome::Unknown),
        ErrorKind::AlreadyExists | ErrorKind::NotFound | ErrorKind::ConditionNotMet => Some(Outcome::Rejected),
        // It was not applied, and shows nothing about the rows.
        _ => None,
    }
}

/// Writes a version after the one that was read, with the writes of other clients.
async fn write(group: &Grouped, seen: &Seen, next: &Cell) -> (Option<ETag>, Option<Outcome>) {
    let write = match fastrand::bool() {
        true => TableOperation::merge(next),
        false => TableOperation::replace(next),
    };
    match group.write(write.if_match(seen.etag.clone())).await {
        Ok(etag) => (etag, Some(Outcome::Done)),
        Err(e) => match e.reason() {
            LeftoverReason::Rejected(error) | LeftoverReason::InDoubt(error) => (None, outcome_of_error(error)),
            // It was not applied, and shows nothing about the row.
            _ => (None, None),
        },
    }
}

fn cell(row: usize, count: i64, id: u32) -> Cell {
    Cell::new(&row.to_string(), count, Some(i64::from(id)))
}

impl Client {
    fn begin(&self) -> (u64, u32) {
        let mut notes = self.notes.lock().unwrap();
        notes.ids += 1;
        (notes.tick(), notes.ids)
    }

    fn note<T>(&self, started: u64, result: &Result<T, Error>, guards: Rows, sets: Rows) -> Option<Outcome> {
        let outcome = outcome_of(result)?;
        self.keep(started, outcome, guards, sets);
        Some(outcome)
    }

    fn keep(&self, started: u64, outcome: Outcome, guards: Rows, sets: Rows) {
        let mut notes = self.notes.lock().unwrap();
        let ended = notes.tick();
        notes.calls.push(Call {
            started,
            ended,
            guards,
            sets,
            outcome,
        });
    }

    async fn read(&self, row: usize) -> Option<Seen> {
        let (started, _) = self.begin();
        let primary = CallOptions::new().location_mode(LocationMode::PrimaryOnly);
        let get = self.table.get((PARTITION, row.to_string())).versioned();
        let result = get.with(&primary).await;
        let seen = result.as_ref().ok()?.as_ref().map(|read| Seen {
            row,
            count: read.entity.a,
            id: u32::try_from(read.entity.b.unwrap()).unwrap(),
            etag: read.etag.clone(),
        });
        let version = seen.as_ref().map(|seen| seen.id);
        self.note(started, &result, vec![(row, version)], Vec::new());
        if let Some(seen) = &seen {
            self.notes.lock().unwrap().saw(seen.row, seen.id, &seen.etag);
        }
        seen
    }

    /// Increments a counter under the version that was read.
    async fn increment(&self, seen: &[Seen]) {
        let (started, id) = self.begin();
        let guards = seen.iter().map(|seen| (seen.row, Some(seen.id))).collect();
        let sets = seen.iter().map(|seen| (seen.row, Some(id))).collect();
        let next = |seen: &Seen| cell(seen.row, seen.count + 1, id);
        let outcome = if let [seen] = seen {
            let (etag, outcome) = match &self.group {
                Some(group) => write(group, seen, &next(seen)).await,
                None => {
                    let result = self.update(seen, &next(seen)).await;
                    let outcome = outcome_of(&result);
                    (result.ok(), outcome)
                }
            };
            if let Some(etag) = &etag {
                self.notes.lock().unwrap().saw(seen.row, id, etag);
            }
            if let Some(outcome) = outcome {
                self.keep(started, outcome, guards, sets);
            }
            outcome
        } else {
            let mut batch = self.table.batch();
            for seen in seen {
                let replace = TableOperation::replace(&next(seen)).if_match(seen.etag.clone());
                batch.push(replace).unwrap();
            }
            self.note(started, &batch.submit().await, guards, sets)
        };
        for seen in seen {
            self.count(seen.row, outcome);
        }
    }

    /// Writes a version after the one that was read, by any method.
    async fn update(&self, seen: &Seen, next: &Cell) -> Result<ETag, Error> {
        let etag = seen.etag.clone();
        match fastrand::u8(..4) {
            0 => self.table.merge(next).if_match(etag).await,
            1 => {
                let columns = [Cell::A.set(next.a), Cell::B.set(next.b.unwrap())];
                self.table.patch((PARTITION, &next.row), columns).if_match(etag).await
            }
            2 => {
                let via_batch = CallOptions::new().via_batch();
                self.table.replace(next).if_match(etag).with(&via_batch).await
            }
            _ => self.table.replace(next).if_match(etag).await,
        }
    }

    fn count(&self, row: usize, outcome: Option<Outcome>) {
        let (acknowledged, unknown) = &mut self.notes.lock().unwrap().counted[row];
        *acknowledged += i64::from(outcome == Some(Outcome::Done));
        *unknown += i64::from(outcome == Some(Outcome::Unknown));
    }

    /// Increments a counter by `modify`, or inserts its row if it may be missing.
    async fn modify(&self, row: usize) {
        let (started, id) = self.begin();
        // The id that the closure saw last; no id is 0.
        let (seen, has_seen) = (AtomicU32::new(0), AtomicU32::new(0));
        let note = |before: Option<u32>| {
            has_seen.store(1, Ordering::Relaxed);
            seen.store(before.unwrap_or(0), Ordering::Relaxed);
            self.notes.lock().unwrap().modifies(id, before);
        };
        let modify = self.table.modify((PARTITION, row.to_string()), |cell: &mut Cell| {
            note(cell.b.map(|id| u32::try_from(id).unwrap()));
            (cell.a, cell.b) = (cell.a + 1, Some(i64::from(id)));
        });
        let first = || {
            note(None);
            Cell::new(&row.to_string(), 1, Some(i64::from(id)))
        };
        let result = modify.or_insert(first).await;
        if has_seen.into_inner() == 0 {
            return;
        }
        let guard = Some(seen.into_inner()).filter(|id| *id > 0);
        let outcome = match &result {
            Ok(stored) => {
                let mut notes = self.notes.lock().unwrap();
                match row >= FIRST_SLOT {
                    true => notes.wrote(row, id, stored.etag.clone()),
                    false => notes.saw(row, id, &stored.etag),
                }
                Outcome::Done
            }
            Err(e) if e.may_have_applied() => Outcome::Unknown,
            // It ended because other writers were faster.
            Err(_) => return,
        };
        self.keep(started, outcome, vec![(row, guard)], vec![(row, Some(id))]);
        if row < FIRST_SLOT {
            self.count(row, Some(outcome));
        }
    }

    async fn insert_if_not_exists(&self, row: usize) {
        let (started, id) = self.begin();
        let result = self.table.insert_if_not_exists(&cell(row, 0, id)).await;
        let outcome = match &result {
            Ok(None) => Some(Outcome::Rejected),
            result => outcome_of(result),
        };
        if let Some(outcome) = outcome {
            self.keep(started, outcome, vec![(row, None)], vec![(row, Some(id))]);
        }
        if let Ok(Some(etag)) = result {
            self.notes.lock().unwrap().wrote(row, id, etag);
        }
    }

    pub(super) async fn insert(&self, row: usize) {
        let (started, id) = self.begin();
        let result = self.table.insert(&cell(row, 0, id)).await;
        self.note(started, &result, vec![(row, None)], vec![(row, Some(id))]);
        if let Ok(etag) = result {
            self.notes.lock().unwrap().wrote(row, id, etag);
        }
    }

    async fn delete(&self) {
        let settled = self.notes.lock().unwrap().take_settled();
        let Some((row, id, etag)) = settled else {
            return;
        };
        let (started, _) = self.begin();
        let result = self.table.delete((PARTITION, row.to_string())).if_match(etag).await;
        self.note(started, &result, vec![(row, Some(id))], vec![(row, None)]);
    }

    pub(super) async fn work(self, round: usize) {
        for _ in 0..CALLS {
            tokio::time::sleep(Duration::from_millis(fastrand::u64(..400))).await;
            let (counter, slot) = (fastrand::usize(..FIRST_SLOT), fastrand::usize(FIRST_SLOT..ROWS));
            match fastrand::u8(..16) {
                0..4 => {
                    if let Some(seen) = self.read(counter).await {
                        self.increment(&[seen]).await;
                    }
                }
                4 => {
                    let other = (counter + 1) % FIRST_SLOT;
                    if let (Some(one), Some(other)) = (self.read(counter).await, self.read(other).await) {
                        self.increment(&[one, other]).await;
                    }
                }
                5..7 => self.insert(slot).await,
                7 => self.insert_if_not_exists(slot).await,
                8 => self.delete().await,
                9 => drop(self.read(slot).await),
                10 => self.modify(counter).await,
                11 => self.modify(slot).await,
                12 => tally::visit(&self.table, &self.notes, round).await,
                13 => tally::update(&self.table, &self.notes).await,
                14 => tally::patch(&self.table, &self.notes).await,
                _ => tally::bulk(&self.table, &self.notes, self.begin().1).await,
            }
        }
    }
}
