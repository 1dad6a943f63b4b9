//! Query Entities: one page of a table.
//!
//! A page ends at `$top`, at 1000 rows, at the emulator's page size or where [`PageEnds`](crate::PageEnds) says. If a row is left in the range of keys that the
//! filter allows, a token says where to go on: the next page may well be empty, as it may be live.
//! Not imitated: pages that end after five seconds or at a partition of the service, unless it is said.
//!
//! Source: REST "Query Entities", "Query timeout and pagination".

use crate::emulator::answer::Answer;
use crate::emulator::call::Call;
use crate::emulator::entities::shape;
use crate::emulator::options::Options;
use crate::emulator::refusal::{Refusal, Result};
use crate::emulator::row::{Row, RowId};
use crate::emulator::store::Store;
use crate::emulator::token;
use crate::filter::evaluate::matches;
use crate::filter::key_range::KeyRange;
use crate::model::ordinal;
use crate::protocol::profile::Profile;

/// `GET /table()`.
pub(crate) fn page(store: &Store, call: &Call<'_>, table: &str) -> Result<Answer> {
    let level = call.level()?;
    let filter = call.filter()?;
    let range = KeyRange::of(&filter);
    // What a shared access signature does not open is left out in silence (seen live).
    let granted = &call.caller.grant.rows;
    let (partition_key, row_key) = range.start();
    let first = RowId::new(partition_key, row_key).max(granted.start());
    let profile = call.site().profile;
    let start = position(&call.options, profile)?.map_or(first.clone(), |from| from.max(first));
    let limit = call.caller.page_size(call.options.top);
    let stored = store.table(call.site(), table).ok_or(Refusal::TABLE_NOT_FOUND)?;

    let shape = shape(call, table, level);
    let ends = call.caller.settings.page_ends;
    let mut rows: Vec<(&RowId, &Row)> = Vec::new();
    let mut looked_at: usize = 0;
    let mut last: Option<&RowId> = None;
    // A comma stands before every row but the first.
    let mut is_long = false;
    let mut bytes = shape.page(&[]).len() - 1;
    let mut next = Vec::new();
    let reachable = |id: &RowId| !range.is_past(&id.partition_key, &id.row_key) && !granted.is_past(id);
    for (id, row) in stored.rows.range(start..).take_while(|(id, _)| reachable(id)) {
        if ends.at_partitions && last.is_some_and(|last| last.partition_key != id.partition_key) {
            next = token::of_row(&id.partition_key, None, profile);
            break;
        }
        let is_taken = filter
            .as_ref()
            .is_none_or(|filter| matches(filter, &|name: &str| row.value(id, name)));
        if let (Some(most), true) = (ends.bytes, is_taken) {
            bytes += shape.length(id, row) + 1;
            is_long = bytes > most && !rows.is_empty();
        }
        if is_long || rows.len() == limit || ends.examined.is_some_and(|most| looked_at == most) {
            next = token::of_row(&id.partition_key, Some(&id.row_key), profile);
            break;
        }
        looked_at += 1;
        last = Some(id);
        if is_taken {
            rows.push((id, row));
        }
    }
    Ok(Answer {
        more: next,
        rows: looked_at as u64,
        ..Answer::json(200, shape.page(&rows), level)
    })
}

/// The partition in which a page begins, at the earliest.
pub(crate) fn first_partition(call: &Call<'_>) -> Result<Box<str>> {
    let filter = call.filter()?;
    let (first, _) = KeyRange::of(&filter).start();
    match position(&call.options, call.site().profile)? {
        Some(from) if ordinal::compare(&from.partition_key, first).is_gt() => Ok(from.partition_key),
        _ => Ok(first.into()),
    }
}

/// The first row of the page, where one is said.
fn position(options: &Options, profile: Profile) -> Result<Option<RowId>> {
    let (partition, row) = (&options.next_partition_key, &options.next_row_key);
    token::row(partition.as_deref(), row.as_deref(), profile)
}
