//! Writes of rows, single or in a transaction, with an outcome for the whole.

use azure_table::operation::{Call, Conditional};
use azure_table::{Change, DateTime, ETag, ErrorKind, Versioned};

use super::super::check::MAX_ATTEMPTS;
use super::super::model::{Cell, Demand, ROWS_OF_BATCH, State, Write, key};
use super::super::operation::{Chosen, Entry, Given, On, Reported, shown, stored};
use super::{KINDS, Kind, any_write, operation, pick, write};

pub(super) const ENTRIES: &[Entry] = entries! {
    "insert" ["TableClient::insert"] .inserts() => |given| single(given, Kind::Insert);
    "replace" ["TableClient::replace"] => |given| single(given, Kind::Replace);
    "merge" ["TableClient::merge"] => |given| single(given, Kind::Merge);
    "insert or replace" ["TableClient::insert_or_replace"] => |given| single(given, Kind::InsertOrReplace);
    "insert or merge" ["TableClient::insert_or_merge"] => |given| single(given, Kind::InsertOrMerge);
    "save" ["TableClient::save"] .without_options() => |given| {
        let row = given.row();
        let stored = given.state.rows.get(&row).and_then(|stored| stored.etag.clone());
        let etag = stored.unwrap_or_else(|| ETag::new("W/\"held\""));
        let entity = Cell::new(&row, given.value, None);
        let write = Write::Replace(entity.clone(), Demand::Version(etag.clone()));
        let mut held = Versioned { entity, etag, timestamp: DateTime::now() };
        Chosen::write(given, write, |on| async move {
            let saved = on.table.save(&mut held).await;
            Reported::of(saved, |()| Reported::Written(vec![Some(held.etag)]))
        })
    };
    "delete" ["TableClient::delete"] => |given| single(given, Kind::Delete);
    "patch" ["TableClient::patch"] => |given| single(given, Kind::Patch);
    "write via batch" [] .calls(1 + MAX_ATTEMPTS).batches() => |given| {
        let write = any_write(given, given.value);
        Chosen::write(given, write.clone(), |mut on| {
            on.call = on.call.via_batch();
            send(on, write)
        })
    };
    "execute" ["TableClient::execute"] => |given| {
        let write = given.write(*fastrand::choice(&KINDS).unwrap());
        let operation = operation(&write);
        Chosen::write(given, write, |on| async move {
            let result = on.table.execute(operation).with(&on.call).await;
            Reported::of(result, |result| Reported::Written(vec![result.etag().cloned()]))
        })
    };
    "insert returning" ["TableClient::insert_returning"] .inserts() => |given| {
        let cell = Cell::new(&given.row(), given.value, fastrand::bool().then_some(given.value));
        Chosen::write(given, Write::Insert(cell.clone()), |on| async move {
            Reported::of(on.table.insert_returning(&cell).with(&on.call).await, |stored| {
                assert_eq!(stored.entity, cell);
                Reported::Written(vec![Some(stored.etag)])
            })
        })
    };
    "insert if absent" ["TableClient::insert_if_not_exists"] .inserts() => |given| {
        let cell = Cell::new(&given.row(), given.value, None);
        let write = Write::Insert(cell.clone());
        let existed = given.state.rows.contains_key(&cell.row);
        let call = |on: On| async move {
            let inserted = on.table.insert_if_not_exists(&cell).with(&on.call).await;
            Reported::of(inserted, |etag| match etag {
                Some(etag) => Reported::Written(vec![Some(etag)]),
                None => Reported::Created(azure_table::service::Creation::Existed),
            })
        };
        match existed {
            true => Chosen::change(Ok(given.state.clone()), true, false, call),
            false => Chosen::write(given, write, call),
        }
    };
    "delete if exists" ["TableClient::delete_if_exists"] => |given| {
        let row = given.row();
        let mut after = given.state.clone();
        let existed = after.rows.remove(&row).is_some();
        Chosen::change(Ok(after), existed, false, move |on| async move {
            let delete = on.table.delete_if_exists(key(&row)).with(&on.call);
            Reported::of(delete.await, Reported::Deleted)
        })
    };
    "modify" ["TableClient::modify"] .calls(4) => |given| {
        let (row, a) = (given.row(), given.value);
        Chosen::write(given, Write::Patch(row.clone(), a, Demand::Exists), move |on| async move {
            let modify = on.table.modify(key(&row), |cell: &mut Cell| cell.a = a).with(&on.call);
            Reported::of(modify.await, |stored| Reported::Written(vec![Some(stored.etag)]))
        })
    };
    "modify or insert" ["TableClient::modify"] .calls(4) => |given| {
        let (row, a) = (pick(&ROWS_OF_BATCH, |_| true, true), given.value);
        let made = Write::InsertOrMerge(Cell::new(&row, a, None));
        Chosen::write(given, made, move |on| async move {
            let modify = on.table.modify(key(&row), |cell| cell.a = a);
            let modify = modify.or_insert(|| Cell::new(&row, a, None)).with(&on.call);
            Reported::of(modify.await, |stored| Reported::Written(vec![Some(stored.etag)]))
        })
    };
    "modify that keeps" ["TableClient::modify"] => |given| {
        let row = given.row();
        let before = stored(given.state, &row);
        let after = before.as_ref().map(|_| given.state.clone()).ok_or(ErrorKind::NotFound);
        Chosen::change(after, false, true, move |on| async move {
            let modify = on.table.modify(key(&row), |_| Change::Keep).with(&on.call);
            Reported::of(modify.await, |read| match before {
                Some(stored) if stored == shown(&read) => Reported::Done,
                _ => Reported::Seen(vec!["a stale row".to_owned()]),
            })
        })
    };
    "batch" ["TableBatch::submit"] .batches() => |given| {
        let writes = batch(given.state, given.value);
        Chosen::writes(given, writes.clone(), |on| commit(on, writes))
    };
};

fn single(given: &Given<'_>, kind: Kind) -> Chosen {
    let write = given.write(kind);
    Chosen::write(given, write.clone(), |on| send(on, write))
}

/// Sends a write by the method of its kind.
async fn send(on: On, write: Write) -> Reported {
    let On { table, call, .. } = on;
    let unconditional = |demand: &Demand| match demand {
        Demand::Exists => None,
        Demand::Version(etag) => Some(etag.clone()),
    };
    let update = |update: Call<ETag, Conditional>, demand| match unconditional(demand) {
        Some(etag) => update.if_match(etag).with(&call),
        None => update.with(&call),
    };
    let written = match &write {
        Write::Insert(cell) => table.insert(cell).with(&call).await,
        Write::InsertOrReplace(cell) => table.insert_or_replace(cell).with(&call).await,
        Write::InsertOrMerge(cell) => table.insert_or_merge(cell).with(&call).await,
        Write::Replace(cell, demand) => update(table.replace(cell), demand).await,
        Write::Merge(cell, demand) => update(table.merge(cell), demand).await,
        Write::Patch(row, a, demand) => update(table.patch(key(row), [Cell::A.set(*a)]), demand).await,
        Write::Delete(row, demand) => {
            let delete = table.delete(key(row)).with(&call);
            let delete = match unconditional(demand) {
                Some(etag) => delete.if_match(etag),
                None => delete,
            };
            return Reported::of(delete.await, |()| Reported::Written(vec![None]));
        }
    };
    Reported::of(written, |etag| Reported::Written(vec![Some(etag)]))
}

/// Two to four writes of different rows of one partition, at least one of them not idempotent.
fn batch(state: &State, value: i64) -> Vec<Write> {
    let mut rows = ROWS_OF_BATCH.map(str::to_owned);
    fastrand::shuffle(&mut rows);
    let writes = rows.into_iter().take(fastrand::usize(2..=4)).enumerate();
    let writes = writes.map(|(index, row)| {
        let kind = match state.rows.contains_key(&row) {
            false if index > 0 && fastrand::bool() => Kind::InsertOrMerge,
            false => Kind::Insert,
            true if index == 0 => Kind::Delete,
            true => *fastrand::choice(&[Kind::Replace, Kind::Merge, Kind::Patch, Kind::InsertOrReplace]).unwrap(),
        };
        write(kind, state, row, value)
    });
    writes.collect()
}

async fn commit(on: On, writes: Vec<Write>) -> Reported {
    let mut batch = on.table.batch();
    for write in &writes {
        batch.push(operation(write)).unwrap();
    }
    Reported::of(batch.submit().with(&on.call).await, |results| {
        Reported::Written(results.iter().map(|result| result.etag().cloned()).collect())
    })
}
