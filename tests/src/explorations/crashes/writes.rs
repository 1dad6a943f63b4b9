//! Operations that write many rows, by processes that crash.

use std::sync::Mutex;

use azure_table::bulk::{LeftoverReason, WriteReport};
use azure_table::emulator::SeedEntities as _;
use azure_table::{DynamicEntity, Error, ErrorKind, Result, TableClient, TableOperation, TableServiceClient};
use azure_table_patterns::Grouped;
use futures::future::{join, join_all};

use super::Case;
use crate::entities::Valued;
use crate::explorations::operations::Counter;
use crate::explorations::patterns::{TABLE, stored_in, table, try_both};
use crate::promises::Place;

pub(super) const ALL: [Case; 9] = [
    case!("`bulk` of inserts, then a change of one row", bulk).only_crashes(2),
    case!("`writer`, then a change of one row", writer).only_crashes(2),
    // Callers of a group share memory, so every order is run.
    case!("`Grouped`: the callers of a process, then a change of one row", grouped)
        .in_all_orders()
        .only_crashes(1),
    case!("`update_where`, resumed at its position, beside `modify`", update_where).only_crashes(2),
    case!(
        "`update_where`, repeatable, resumed at its position, beside `modify`",
        repeatable
    )
    .only_crashes(2),
    case!(
        "`delete_where`, resumed at its position, beside an insert",
        delete_where
    )
    .only_crashes(2),
    case!("`patch_where`, resumed at its position, beside `modify`", patch_where).only_crashes(2),
    case!(
        "`upgrade_where`, resumed at its position, beside `modify`",
        upgrade_where
    )
    .only_crashes(2),
    case!("`modify` by two processes", modify).only_crashes(2),
];

fn counter(group: &str, name: &str) -> Counter {
    Counter {
        group: group.into(),
        ..Counter::new(name)
    }
}

/// The counters of two partitions: a bulk or a group writes two batches.
fn counters() -> Vec<Counter> {
    [("g", "m"), ("g", "n"), ("h", "m")]
        .map(|(group, name)| counter(group, name))
        .into()
}

/// Stores the counters.
fn seed(place: &Place) {
    place.emulator().seed(TABLE, counters()).unwrap();
}

/// Adds 10 to the note of a row, which a write of an earlier life must not undo.
async fn note(service: TableServiceClient) -> Result<()> {
    let change = |counter: &mut Counter| counter.note = 10;
    table::<Counter>(&service).modify(("g", "n"), change).await.map(drop)
}

/// Checks the counters, each with its count, and the note of one of them.
async fn check(place: &Place, counts: impl Fn(i64) -> bool) {
    let all: Vec<Counter> = stored_in(place, TABLE, "").await;
    assert_eq!(all.len(), 3, "a row is lost: {all:?}");
    for row in &all {
        let note = if (row.group.as_str(), row.name.as_str()) == ("g", "n") {
            10
        } else {
            0
        };
        assert!(row.note == note && counts(row.count), "{all:?}");
    }
}

/// Inserts keep their promise where `insert_or_replace` would not: one in flight at the crash would undo the change.
async fn bulk(place: Place) -> Result<()> {
    let load = async |service: TableServiceClient| -> Result<()> {
        let report = table::<Counter>(&service).bulk().insert(counters()).await?;
        let is_stored = |reason: &LeftoverReason| match reason {
            LeftoverReason::Rejected(e) => e.kind() == ErrorKind::AlreadyExists,
            _ => false,
        };
        assert!(
            report.leftovers().iter().all(|left| is_stored(left.reason())),
            "{report:?}"
        );
        note(service).await
    };
    load_beside_another(place, load).await
}

async fn writer(place: Place) -> Result<()> {
    let load = async |service: TableServiceClient| -> Result<()> {
        let mut writer = table::<Counter>(&service).writer();
        for counter in counters() {
            writer.send(TableOperation::insert(&counter)).await?;
        }
        let report = writer.close().await?;
        assert!(report.in_doubt() + report.not_attempted() == 0, "{report:?}");
        note(service).await
    };
    load_beside_another(place, load).await
}

/// Another process inserts one of the rows that `load` inserts.
async fn load_beside_another(place: Place, load: impl AsyncFn(TableServiceClient) -> Result<()>) -> Result<()> {
    let other = async |service: TableServiceClient| -> Result<()> {
        let inserted = table::<Counter>(&service)
            .insert_if_not_exists(&counter("h", "m"))
            .await;
        inserted.map(drop)
    };
    try_both(&place, load, other).await?;
    check(&place, |count| count == 0).await;
    Ok(())
}

async fn grouped(place: Place) -> Result<()> {
    let live = async |service: TableServiceClient| -> Result<()> {
        let (group, driver) = Grouped::new(&table::<Counter>(&service));
        let writes =
            async move { join_all(counters().iter().map(|row| group.write(TableOperation::insert(row)))).await };
        let ((), outcomes) = join(driver, writes).await;
        for outcome in outcomes {
            // It was inserted before the crash.
            if let Err(error) = outcome
                && error.error().map(Error::kind) != Some(ErrorKind::AlreadyExists)
            {
                return Err(Error::other(error));
            }
        }
        note(service).await
    };
    place.task("a", live).await?;
    place.settle().await;
    check(&place, |count| count == 0).await;
    Ok(())
}

/// The position of a process in a file on its disk, which survives its crash.
#[derive(Default)]
struct File(Mutex<Option<String>>);

impl File {
    fn save<E>(&self, report: &WriteReport<E>) {
        let position = report
            .position()
            .map_or("end".to_owned(), |position| position.to_string());
        *self.0.lock().unwrap() = Some(position);
    }

    /// Returns the text of the position.
    fn text(&self) -> Option<String> {
        self.0.lock().unwrap().clone()
    }

    /// Starts again.
    fn delete(&self) {
        *self.0.lock().unwrap() = None;
    }
}

/// Resumes a write at the position in a file. Returns the number of leftovers, or `None` after the end.
macro_rules! resume {
    ($write:expr, $file:expr) => {{
        let write = $write.on_progress(|report| $file.save(report));
        match $file.text().as_deref() {
            Some("end") => None,
            Some(text) => Some(write.resume_from(text.parse().unwrap()).await?.leftovers().len()),
            None => Some(write.await?.leftovers().len()),
        }
    }};
}

/// Resumes a write, then runs it again until a run from start to end has no leftovers. A row that the other process
/// changed meanwhile is one. The report of a resumed write does not have the leftovers of an earlier life.
macro_rules! repeat {
    ($write:expr, $file:expr) => {
        loop {
            let is_resumed = $file.text().is_some();
            if resume!($write, $file) == Some(0) && !is_resumed {
                return Ok(());
            }
            $file.delete();
        }
    };
}

/// Each row is counted at most once: a row that was in flight at the crash is not counted again.
async fn update_where(place: Place) -> Result<()> {
    seed(&place);
    let file = File::default();
    let update = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<Counter>(&service);
        let pages = rows.query().allow_table_scan().page_size(2);
        let _ = resume!(rows.update_where(pages, |counter| counter.count += 1), file);
        Ok(())
    };
    try_both(&place, update, note).await?;
    check(&place, |count| [0, 1].contains(&count)).await;
    Ok(())
}

/// Each row is changed at least once.
async fn repeatable(place: Place) -> Result<()> {
    seed(&place);
    let file = File::default();
    let update = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<Counter>(&service);
        let pages = || rows.query().allow_table_scan().page_size(2);
        repeat!(
            rows.update_where(pages(), |counter| counter.count = 1).repeatable(),
            file
        )
    };
    try_both(&place, update, note).await?;
    check(&place, |count| count == 1).await;
    Ok(())
}

/// Deletes the rows that exist, and not the one that the other process inserts under a key that was deleted.
async fn delete_where(place: Place) -> Result<()> {
    seed(&place);
    let file = File::default();
    let delete = async |service: TableServiceClient| -> Result<()> {
        let rows: TableClient<Counter> = table(&service);
        let old = rows.query().filter(Counter::NOTE.eq(0)).allow_table_scan().page_size(2);
        let _ = resume!(rows.delete_where(old), file);
        Ok(())
    };
    let replace = async |service: TableServiceClient| -> Result<()> {
        let mut new = counter("g", "n");
        new.note = 10;
        table::<Counter>(&service).insert_or_replace(&new).await.map(drop)
    };
    try_both(&place, delete, replace).await?;
    let left: Vec<Counter> = stored_in(&place, TABLE, "").await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!((left[0].name.as_str(), left[0].note), ("n", 10));
    Ok(())
}

async fn patch_where(place: Place) -> Result<()> {
    seed(&place);
    let file = File::default();
    let patch = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<Counter>(&service);
        let pages = || rows.query().allow_table_scan().page_size(2);
        repeat!(rows.patch_where(pages(), [Counter::COUNT.set(1)]), file)
    };
    try_both(&place, patch, note).await?;
    check(&place, |count| count == 1).await;
    Ok(())
}

/// Every row has the new property only.
async fn upgrade_where(place: Place) -> Result<()> {
    for counter in counters() {
        let mut old = DynamicEntity::from_entity(&counter)?;
        old.remove("count");
        old.insert("stars", 3_i64);
        place.emulator().seed(TABLE, [old]).unwrap();
    }
    let file = File::default();
    let upgrade = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<Counter>(&service);
        let pages = || rows.query().allow_table_scan().page_size(2);
        repeat!(rows.upgrade_where(pages()), file)
    };
    try_both(&place, upgrade, note).await?;
    check(&place, |count| count == 3).await;
    let rows: Vec<DynamicEntity> = stored_in(&place, TABLE, "").await;
    let is_new = |row: &DynamicEntity| row.get("stars").is_none() && row.get("count").is_some();
    assert!(rows.iter().all(is_new), "{rows:?}");
    Ok(())
}

/// A process that notes its own change in the row counts once.
async fn modify(place: Place) -> Result<()> {
    place.emulator().seed(TABLE, [Valued::new("g", "n", 0_i64)]).unwrap();
    let live = |bit: i64| {
        async move |service: TableServiceClient| -> Result<()> {
            let add = |row: &mut Valued<i64>| row.value |= bit;
            table::<Valued<i64>>(&service).modify(("g", "n"), add).await.map(drop)
        }
    };
    try_both(&place, live(1), live(2)).await?;
    let rows: Vec<Valued<i64>> = stored_in(&place, TABLE, "").await;
    assert_eq!(rows[0].value, 3);
    Ok(())
}
