//! Operations on tables, and the first write to a missing table.

use std::time::Duration;

use azure_table::ErrorKind;
use azure_table::service::Creation;

use super::super::TABLES;
use super::super::model::{Cell, ROWS, State, Subject};
use super::super::operation::{Chosen, Entry, Given, On, Origin, Parts, Promise, Reported, Reports, View};
use super::bulk;

/// The time in which a table is removed and created again.
const DEADLINE: Duration = Duration::from_secs(60);
/// The waits after transient failures: every 5 s until the deadline; the last ones are shorter.
const REPEATS: u32 = 60 / 5 + 4;

pub(super) const ENTRIES: &[Entry] = entries! {
    "create table" ["TableClient::create_table"] .on(Subject::Tables).inserts() => |given| {
        let (name, existed, created) = created(given);
        let after = if existed { Err(ErrorKind::AlreadyExists) } else { Ok(created) };
        Chosen::change(after, false, false, |on| async move {
            Reported::done(on.named(&name).create_table().with(&on.call).await)
        })
    };
    "create table if not exists" ["TableClient::create_table_if_not_exists"] .on(Subject::Tables).inserts() => |given| {
        let (name, existed, created) = created(given);
        Chosen::change(Ok(created), existed, false, |on| async move {
            let create = on.named(&name).create_table_if_not_exists();
            Reported::of(create.with(&on.call).await, Reported::Created)
        })
    };
    "delete table" ["TableClient::delete_table"] .on(Subject::Tables) => |given| {
        let (name, existed, deleted) = deleted(given);
        let after = if existed { Ok(deleted) } else { Err(ErrorKind::TableNotFound) };
        Chosen::change(after, false, false, |on| async move {
            Reported::done(on.named(&name).delete_table().with(&on.call).await)
        })
    };
    "delete table if exists" ["TableClient::delete_table_if_exists"] .on(Subject::Tables) => |given| {
        let (name, existed, deleted) = deleted(given);
        Chosen::change(Ok(deleted), existed, false, |on| async move {
            let delete = on.named(&name).delete_table_if_exists();
            Reported::of(delete.with(&on.call).await, Reported::Deleted)
        })
    };
    "table exists" ["TableClient::table_exists"] .on(Subject::Tables) => |given| {
        let name = table(given);
        let of = name.clone();
        let view = move |state: &State| vec![state.tables.contains_key(&of).to_string()];
        Chosen::read(Origin::Any, Parts::One, view, |on| async move {
            let exists = on.named(&name).table_exists().with(&on.call).await?;
            Ok(vec![exists.to_string()])
        })
    };
    "list tables" ["TableServiceClient::list_tables", "ListTables::all"]
    .on(Subject::Tables).of_service().pages(4) => |_| {
        names(|on| async move { on.service.list_tables().with(&on.call).all().await })
    };
    "list tables one by one" ["ListTables::stream"] .on(Subject::Tables).of_service().pages(4) => |_| {
        names(|on| async move {
            let (mut stream, mut view) = (on.service.list_tables().with(&on.call).stream(), View::new());
            while let Some(name) = stream.try_next().await? {
                view.push(name);
            }
            Ok(view)
        })
    };
    "list tables page by page" ["ListTables::pages"] .on(Subject::Tables).of_service().pages(4) => |_| {
        names(|on| async move {
            let (mut pages, mut view) = (on.service.list_tables().with(&on.call).pages(), View::new());
            while let Some(page) = pages.try_next().await? {
                view.extend(page.into_items());
            }
            Ok(view)
        })
    };
    "ensure tables" ["TableServiceClient::ensure_tables"]
    .on(Subject::Tables).of_service().inserts().calls(4 + 3) => |given| {
        let mut names: Vec<String> = (0..3).map(|_| table(given)).collect();
        names.sort();
        names.dedup();
        let mut states = vec![given.state.clone()];
        for name in &names {
            let mut next = states[states.len() - 1].clone();
            next.tables.entry(name.clone()).or_default();
            states.push(next);
        }
        let before = given.state.clone();
        Chosen::new(Promise::Steps(states), |on| async move {
            let ensured = on.service.ensure_tables(&names).with(&on.call).await;
            Reported::of(ensured, |ensured| reported_of_ensured(&before, &names, &ensured))
        })
    };
    "recreate table" ["TableClient::recreate_table"]
    .on(Subject::Contents).within(DEADLINE).calls(2 + REPEATS) => |given| {
        let (name, _, deleted) = deleted(given);
        let mut created = given.state.clone();
        created.tables.insert(name.clone(), Vec::new());
        let states = vec![given.state.clone(), deleted, created];
        Chosen::new(Promise::Steps(states), |on| async move {
            Reported::done(on.named(&name).recreate_table(DEADLINE).with(&on.call).await)
        })
    };
    "insert that creates its table" ["TableClient::create_missing_table"]
    .on(Subject::Contents).creates_table() => |given| {
        first_write(given, |on, name, cell| async move {
            let table = on.named(&name).create_missing_table();
            Reported::done(table.insert(&cell).with(&on.call).await)
        })
    };
    "batch that creates its table" ["TableClient::create_missing_table"]
    .on(Subject::Contents).creates_table().batches() => |given| {
        first_write(given, |on, name, cell| async move {
            let mut batch = on.named(&name).create_missing_table().batch();
            batch.insert(&cell).unwrap();
            Reported::done(batch.submit().with(&on.call).await)
        })
    };
    "bulk that creates its table" ["TableClient::create_missing_table"]
    .on(Subject::Contents).creates_table().batches().paced() => |given| {
        first_write(given, |on, name, cell| async move {
            let bulk = on.named(&name).create_missing_table().bulk().with(&on.call);
            bulk::reported_of_one(bulk.insert([cell]).await)
        })
    };
};

fn table(given: &Given<'_>) -> String {
    given.pick(&TABLES, |name| given.state.tables.contains_key(name))
}

/// Returns a table, `true` if it exists, and the state with it.
fn created(given: &Given<'_>) -> (String, bool, State) {
    let (name, mut after) = (table(given), given.state.clone());
    after.tables.entry(name.clone()).or_default();
    let existed = given.state.tables.contains_key(&name);
    (name, existed, after)
}

/// Returns a table, `true` if it exists, and the state without it.
fn deleted(given: &Given<'_>) -> (String, bool, State) {
    let (name, mut after) = (table(given), given.state.clone());
    let existed = after.tables.remove(&name).is_some();
    (name, existed, after)
}

/// A read of the names of the tables.
fn names<F>(call: impl FnOnce(On) -> F + 'static) -> Chosen
where
    F: Future<Output = azure_table::Result<View>> + 'static,
{
    let view = |state: &State| state.tables.keys().cloned().collect();
    Chosen::read(Origin::Any, Parts::One, view, call)
}

/// Inserts a row into a table that may be missing.
fn first_write<F: Reports>(given: &Given<'_>, call: impl FnOnce(On, String, Cell) -> F + 'static) -> Chosen {
    let (name, _, created) = created(given);
    let present = &created.tables[&name];
    let row = ROWS.iter().find(|row| !present.iter().any(|there| there == *row));
    let row = row.copied().unwrap_or("8");
    let mut written = created.clone();
    let keys = written.tables.entry(name.clone()).or_default();
    keys.push(row.to_owned());
    keys.sort();
    let states = vec![given.state.clone(), created, written];
    let cell = Cell::new(row, given.value, None);
    Chosen::new(Promise::Steps(states), |on| call(on, name, cell))
}

/// An existing table is reported as existing, a missing one as created or in doubt: no other client creates it.
fn reported_of_ensured(before: &State, names: &[String], ensured: &[(String, Creation)]) -> Reported {
    let mut present = before.tables.clone();
    let is_true = |(name, (reported, creation)): (&String, &(String, Creation))| {
        let existed = present.insert(name.clone(), Vec::new()).is_some();
        name == reported && (*creation == Creation::Existed) == existed
    };
    if names.len() == ensured.len() && names.iter().zip(ensured).all(is_true) {
        Reported::Done
    } else {
        Reported::Seen(vec![format!("{ensured:?}")])
    }
}
