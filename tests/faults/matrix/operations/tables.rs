//! Operations on tables, and the first write to a missing table.

use std::time::Duration;

use azure_table::ErrorKind;
use azure_table::service::Creation;

use super::super::model::{Cell, ROWS, State, Subject};
use super::super::operation::{Chosen, Entry, Given, Origin, Parts, Promise, Reported, View};
use super::bulk;

/// The tables that are written; each state has some of them.
const TABLES: [&str; 4] = super::super::TABLES;
/// The time in which a table is removed and created again.
const DEADLINE: Duration = Duration::from_secs(60);
/// The waits after transient failures: every 5 s until the deadline; the last ones are shorter.
const REPEATS: u32 = 60 / 5 + 4;

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new("create table", &["TableClient::create_table"], |given| {
        let (name, created) = created(given);
        let after = if given.state.tables.contains_key(&name) {
            Err(ErrorKind::AlreadyExists)
        } else {
            Ok(created)
        };
        Chosen::change(after, false, false, |on| async move {
            Reported::done(on.named(&name).create_table().with(&on.call).await)
        })
    })
    .on(Subject::Tables)
    .inserts(),
    Entry::new(
        "create table if not exists",
        &["TableClient::create_table_if_not_exists"],
        |given| {
            let (name, created) = created(given);
            let existed = given.state.tables.contains_key(&name);
            Chosen::change(Ok(created), existed, false, |on| async move {
                let create = on.named(&name).create_table_if_not_exists();
                Reported::of(create.with(&on.call).await, Reported::Created)
            })
        },
    )
    .on(Subject::Tables)
    .inserts(),
    Entry::new("delete table", &["TableClient::delete_table"], |given| {
        let (name, deleted) = deleted(given);
        let after = if given.state.tables.contains_key(&name) {
            Ok(deleted)
        } else {
            Err(ErrorKind::TableNotFound)
        };
        Chosen::change(after, false, false, |on| async move {
            Reported::done(on.named(&name).delete_table().with(&on.call).await)
        })
    })
    .on(Subject::Tables),
    Entry::new(
        "delete table if exists",
        &["TableClient::delete_table_if_exists"],
        |given| {
            let (name, deleted) = deleted(given);
            let existed = given.state.tables.contains_key(&name);
            Chosen::change(Ok(deleted), existed, false, |on| async move {
                let delete = on.named(&name).delete_table_if_exists();
                Reported::of(delete.with(&on.call).await, Reported::Deleted)
            })
        },
    )
    .on(Subject::Tables),
    Entry::new("table exists", &["TableClient::table_exists"], |given| {
        let name = table(given);
        let of = name.clone();
        let view = move |state: &State| vec![state.tables.contains_key(&of).to_string()];
        Chosen::read(Origin::Any, Parts::One, view, |on| async move {
            let exists = on.named(&name).table_exists().with(&on.call).await?;
            Ok(vec![exists.to_string()])
        })
    })
    .on(Subject::Tables),
    Entry::new(
        "list tables",
        &["TableServiceClient::list_tables", "ListTables::all"],
        |_| {
            Chosen::read(Origin::Any, Parts::One, names, |on| async move {
                on.service.list_tables().with(&on.call).all().await
            })
        },
    )
    .on(Subject::Tables)
    .of_service()
    .pages(4),
    Entry::new("list tables one by one", &["ListTables::stream"], |_| {
        Chosen::read(Origin::Any, Parts::One, names, |on| async move {
            let (mut stream, mut view) = (on.service.list_tables().with(&on.call).stream(), View::new());
            while let Some(name) = stream.try_next().await? {
                view.push(name);
            }
            Ok(view)
        })
    })
    .on(Subject::Tables)
    .of_service()
    .pages(4),
    Entry::new("list tables page by page", &["ListTables::pages"], |_| {
        Chosen::read(Origin::Any, Parts::One, names, |on| async move {
            let (mut pages, mut view) = (on.service.list_tables().with(&on.call).pages(), View::new());
            while let Some(page) = pages.try_next().await? {
                view.extend(page.into_items());
            }
            Ok(view)
        })
    })
    .on(Subject::Tables)
    .of_service()
    .pages(4),
    Entry::new("ensure tables", &["TableServiceClient::ensure_tables"], |given| {
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
    })
    .on(Subject::Tables)
    .of_service()
    .inserts()
    .calls(4 + 3),
    Entry::new("recreate table", &["TableClient::recreate_table"], |given| {
        let name = table(given);
        let (mut deleted, mut created) = (given.state.clone(), given.state.clone());
        deleted.tables.remove(&name);
        created.tables.insert(name.clone(), Vec::new());
        let states = vec![given.state.clone(), deleted, created];
        Chosen::new(Promise::Steps(states), |on| async move {
            Reported::done(on.named(&name).recreate_table(DEADLINE).with(&on.call).await)
        })
    })
    .on(Subject::Contents)
    .within(DEADLINE)
    .calls(2 + REPEATS),
    Entry::new(
        "insert that creates its table",
        &["TableClient::create_missing_table"],
        |given| {
            let (name, states, cell) = first_write(given);
            Chosen::new(Promise::Steps(states), |on| async move {
                let table = on.named(&name).create_missing_table();
                Reported::done(table.insert(&cell).with(&on.call).await)
            })
        },
    )
    .on(Subject::Contents)
    .inserts()
    .calls(3),
    Entry::new(
        "batch that creates its table",
        &["TableClient::create_missing_table"],
        |given| {
            let (name, states, cell) = first_write(given);
            Chosen::new(Promise::Steps(states), |on| async move {
                let mut batch = on.named(&name).create_missing_table().batch();
                batch.insert(&cell).unwrap();
                Reported::done(batch.submit().with(&on.call).await)
            })
        },
    )
    .on(Subject::Contents)
    .inserts()
    .batches()
    .calls(3),
    Entry::new(
        "bulk that creates its table",
        &["TableClient::create_missing_table"],
        |given| {
            let (name, states, cell) = first_write(given);
            Chosen::new(Promise::Steps(states), |on| async move {
                let bulk = on.named(&name).create_missing_table().bulk().with(&on.call);
                bulk::reported_of_one(bulk.insert([cell]).await)
            })
        },
    )
    .on(Subject::Contents)
    .inserts()
    .batches()
    .calls(3)
    .paced(),
];

fn table(given: &Given<'_>) -> String {
    given.pick(&TABLES, |name| given.state.tables.contains_key(name))
}

fn created(given: &Given<'_>) -> (String, State) {
    let (name, mut after) = (table(given), given.state.clone());
    after.tables.entry(name.clone()).or_default();
    (name, after)
}

fn deleted(given: &Given<'_>) -> (String, State) {
    let (name, mut after) = (table(given), given.state.clone());
    after.tables.remove(&name);
    (name, after)
}

fn names(state: &State) -> View {
    state.tables.keys().cloned().collect()
}

/// Inserts a row into a table that may be missing.
fn first_write(given: &Given<'_>) -> (String, Vec<State>, Cell) {
    let (name, created) = created(given);
    let present = &created.tables[&name];
    let row = ROWS.iter().find(|row| !present.iter().any(|there| there == *row));
    let row = row.copied().unwrap_or("8");
    let mut written = created.clone();
    let keys = written.tables.entry(name.clone()).or_default();
    keys.push(row.to_owned());
    keys.sort();
    (
        name,
        vec![given.state.clone(), created, written],
        Cell::new(row, given.value, None),
    )
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
