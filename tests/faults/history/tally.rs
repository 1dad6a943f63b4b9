//! Counts of many clients without ids: acknowledged ones are stored, rejected ones are not, and those in doubt may be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use azure_table::bulk::{Interrupted, LeftoverReason, WriteReport};
use azure_table::{BulkOutcome, TableClient};

use super::client::Notes;
use crate::matrix::model::Cell;

const VISITS: &str = "visits";
const UPDATED: &str = "updated";
const BULK: &str = "bulk";
/// The rows that `update_where` increments.
const UPDATED_ROWS: [&str; 3] = ["0", "1", "2"];

#[derive(Default)]
pub(super) struct Tally {
    /// For each round: the counts that visitors received, and visits in doubt.
    visits: BTreeMap<usize, (Vec<i64>, i64)>,
    /// Incremented rows, and those in doubt.
    updated: (i64, i64),
    /// For each row of a bulk: applied or not, unless in doubt.
    bulk: BTreeMap<String, Option<bool>>,
    /// Values that were patched into rows, or are in doubt.
    patched: BTreeSet<i64>,
}

fn row(partition: &str, row: &str) -> Cell {
    Cell {
        partition: partition.to_owned(),
        row: row.to_owned(),
        a: 0,
        b: None,
    }
}

/// The rows that exist from the beginning.
pub(super) async fn begin(table: &TableClient<Cell>) {
    for name in UPDATED_ROWS {
        table.insert(&row(UPDATED, name)).await.unwrap();
    }
}

/// Counts a visit. The first one inserts the row, with the same content for every client.
pub(super) async fn visit(table: &TableClient<Cell>, notes: &Mutex<Notes>, round: usize) {
    let name = round.to_string();
    let visit = table.modify((VISITS, &name), |cell: &mut Cell| cell.a += 1);
    let first = || Cell {
        a: 1,
        ..row(VISITS, &name)
    };
    let visited = visit.or_insert(first).await;
    let mut notes = notes.lock().unwrap();
    let (reported, in_doubt) = notes.tally.visits.entry(round).or_default();
    match visited {
        Ok(stored) => reported.push(stored.a),
        Err(e) => *in_doubt += i64::from(e.may_have_applied()),
    }
}

/// Increments all rows of a partition.
pub(super) async fn update(table: &TableClient<Cell>, notes: &Mutex<Notes>) {
    let rows = table.query().partition(UPDATED);
    let report = report(table.update_where(rows, |cell| cell.a += 1).await);
    let mut notes = notes.lock().unwrap();
    notes.tally.updated.0 += i64::try_from(report.applied()).unwrap();
    notes.tally.updated.1 += i64::try_from(report.in_doubt()).unwrap();
}

/// Keeps the counts of the rows.
pub(super) async fn patch(table: &TableClient<Cell>, notes: &Mutex<Notes>) {
    let value = fastrand::i64(1..1_000);
    let rows = table.query().partition(UPDATED);
    let report = report(table.patch_where(rows, [Cell::B.set(value)]).await);
    if report.applied() > 0 || report.in_doubt() > 0 {
        notes.lock().unwrap().tally.patched.insert(value);
    }
}

fn report(ended: Result<WriteReport<Cell>, Interrupted<WriteReport<Cell>>>) -> WriteReport<Cell> {
    ended.unwrap_or_else(|interrupted| interrupted.into_parts().1)
}

/// Inserts its own rows.
pub(super) async fn bulk(table: &TableClient<Cell>, notes: &Mutex<Notes>, id: u32) {
    let names: Vec<String> = (0..5).map(|n| format!("{id}-{n}")).collect();
    let rows: Vec<Cell> = names.iter().map(|name| row(BULK, name)).collect();
    let mut outcomes = table.bulk().batch_size(2).insert(rows).outcomes();
    let mut applied: BTreeMap<String, Option<bool>> = names.iter().map(|name| (name.clone(), Some(false))).collect();
    while let Some(outcome) = outcomes.next().await {
        let (index, outcome) = match outcome {
            BulkOutcome::Applied(applied) => (applied.index(), Some(true)),
            BulkOutcome::Leftover(left) => {
                let is_in_doubt = matches!(left.reason(), LeftoverReason::InDoubt(_));
                (left.index(), (!is_in_doubt).then_some(false))
            }
            _ => unreachable!(),
        };
        applied.insert(names[index as usize].clone(), outcome);
    }
    notes.lock().unwrap().tally.bulk.extend(applied);
}

impl Tally {
    /// Returns the contradictions to the rows at the end.
    pub(super) async fn check(&self, table: &TableClient<Cell>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (round, (reported, in_doubt)) in &self.visits {
            let stored = table.get((VISITS, round.to_string())).await.unwrap();
            let stored = stored.map_or(0, |row| row.a);
            let acknowledged = i64::try_from(reported.len()).unwrap();
            if BTreeSet::from_iter(reported).len() != reported.len() {
                wrong.push(format!("two visitors were told the same count: {reported:?}"));
            }
            if !(acknowledged..=acknowledged + in_doubt).contains(&stored) {
                wrong.push(format!("{stored} visits, of {acknowledged} and {in_doubt} in doubt"));
            }
        }
        let updated = table.query().partition(UPDATED).all().await.unwrap();
        let (applied, in_doubt) = self.updated;
        let sum: i64 = updated.iter().map(|row| row.a).sum();
        if !(applied..=applied + in_doubt).contains(&sum) {
            wrong.push(format!("{sum} updates, of {applied} and {in_doubt} in doubt"));
        }
        let mut patched = updated.iter().filter_map(|row| row.b);
        if patched.any(|value| !self.patched.contains(&value)) {
            wrong.push("a value was patched that was denied".to_owned());
        }
        let stored = table.query().partition(BULK).all().await.unwrap();
        let stored: BTreeSet<_> = stored.into_iter().map(|row| row.row).collect();
        let is_false =
            |(name, applied): &(&String, &Option<bool>)| applied.is_some_and(|it| it != stored.contains(*name));
        let bulk = self.bulk.iter().filter(is_false);
        wrong.extend(bulk.map(|row| format!("bulk: {row:?} is not so")));
        wrong
    }
}
