//! Reads of single rows, and of rows by their keys.

use azure_table::{CallOptions, Key, LocationMode, TableOperation, Versioned};

use super::super::model::{Cell, ROWS, State, key};
use super::super::operation::{Chosen, Entry, Given, On, Origin, Parts, View, shown, stored};

pub(super) const ENTRIES: &[Entry] = entries! {
    "get" ["TableClient::get"] => |given| {
        one(given, Origin::Any, |on, row| async move {
            let read = on.table.get(key(&row)).versioned().with(&on.call).await?;
            Ok(read.as_ref().map(shown))
        })
    };
    "get via batch" [] .batches() => |given| {
        one(given, Origin::Primary, |on, row| async move {
            let get = on.table.get(key(&row)).versioned().with(&on.call);
            Ok(get.with(&via_batch()).await?.as_ref().map(shown))
        })
    };
    "execute a retrieve" ["TableClient::execute"] => |given| {
        one(given, Origin::Any, |on, row| async move {
            let retrieve = TableOperation::get::<Cell>(key(&row));
            let result = on.table.execute(retrieve).with(&on.call).await?;
            Ok(result.entity::<Versioned<Cell>>()?.as_ref().map(shown))
        })
    };
    "batch with a retrieve" ["TableBatch::submit"] .batches() => |given| {
        one(given, Origin::Primary, |on, row| async move {
            let mut batch = on.table.batch();
            batch.get(key(&row)).unwrap();
            let results = batch.submit().with(&on.call).await?;
            Ok(results[0].entity::<Versioned<Cell>>()?.as_ref().map(shown))
        })
    };
    "exists" ["TableClient::exists"] => |given| {
        let row = given.row();
        let shown = row.clone();
        let view = move |state: &State| vec![state.rows.contains_key(&shown).to_string()];
        Chosen::read(Origin::Any, Parts::One, view, |on| async move {
            let exists = on.table.exists(key(&row)).with(&on.call).await?;
            Ok(vec![exists.to_string()])
        })
    };
    "refresh" ["TableClient::refresh"] .without_options() => |given| {
        one(given, Origin::Primary, |on, row| async move {
            let mut held = held(&row);
            match on.table.refresh(&mut held).await {
                Ok(()) => Ok(Some(shown(&held))),
                // The client reports it.
                Err(e) if e.kind() == azure_table::ErrorKind::NotFound && e.status().is_none() => Ok(None),
                Err(e) => Err(e),
            }
        })
    };
    "get many" ["TableClient::get_many", "GetMany::all"] .pages(8).concurrent() => |given| {
        many(given, |on, rows| async move {
            let many = on.table.get_many(rows.iter().map(|row| key(row))).versioned();
            let read = many.concurrency(2).with(&on.call).all().await?;
            Ok(read.iter().map(|(key, read)| either(key, read.as_ref())).collect())
        })
    };
    "get many as they come" ["GetMany::try_next"] .pages(8).concurrent().batches() => |given| {
        let many = many(given, |on, rows| async move {
            let many = on.table.get_many(rows.iter().map(|row| key(row))).versioned();
            let mut many = many.unordered().with(&on.call).with(&via_batch());
            let mut view = View::new();
            while let Some((key, read)) = many.try_next().await? {
                view.push(either(&key, read.as_ref()));
            }
            view.sort();
            Ok(view)
        });
        many.of(Origin::Primary)
    };
};

/// Reads in a batch go to the primary, and are refused if the options ask for the secondary only.
fn via_batch() -> CallOptions {
    CallOptions::new().via_batch().location_mode(LocationMode::PrimaryOnly)
}

/// An older version of a row that the caller has.
fn held(row: &str) -> Versioned<Cell> {
    Versioned {
        entity: Cell::new(row, -1, None),
        etag: azure_table::ETag::new("W/\"held\""),
        timestamp: azure_table::DateTime::now(),
    }
}

/// A read of one row.
fn one<F>(given: &Given<'_>, origin: Origin, call: impl FnOnce(On, String) -> F + 'static) -> Chosen
where
    F: Future<Output = azure_table::Result<Option<String>>> + 'static,
{
    let row = given.row();
    let of = row.clone();
    let view = move |state: &State| Vec::from_iter(stored(state, &of));
    Chosen::read(origin, Parts::One, view, |on| {
        let read = call(on, row);
        async move { Ok(Vec::from_iter(read.await?)) }
    })
}

/// Reads of several rows, in their order.
fn many<F>(_: &Given<'_>, call: impl FnOnce(On, Vec<String>) -> F + 'static) -> Chosen
where
    F: Future<Output = azure_table::Result<View>> + 'static,
{
    let mut rows = ROWS.map(str::to_owned).to_vec();
    fastrand::shuffle(&mut rows);
    rows.truncate(4);
    rows.sort();
    let of = rows.clone();
    let view = move |state: &State| {
        let one = |row: &String| stored(state, row).unwrap_or_else(|| format!("{row}: missing"));
        of.iter().map(one).collect()
    };
    Chosen::read(Origin::Any, Parts::Elements, view, |on| call(on, rows))
}

fn either(key: &Key<Cell>, read: Option<&Versioned<Cell>>) -> String {
    read.map_or_else(|| format!("{}: missing", key.row_key()), shown)
}
