//! Operations that write many rows, by processes that crash.

use std::sync::Mutex;

use azure_table::bulk::{LeftoverReason, WriteReport};
use azure_table::emulator::SeedEntities as _;
use azure_table::testing::{Simulation, explore};
use azure_table::{
    DynamicEntity, Error, ErrorKind, Guid, Result, TableClient, TableEntity, TableOperation, TableServiceClient,
};
use azure_table_patterns::Grouped;
use futures::future::{join, join_all, try_join};

use super::{CrashCase, Number, TABLE, behind, settle, stored, table};

pub(super) const ALL: [CrashCase; 9] = [
    CrashCase {
        name: "`bulk` of inserts, then a change of one row",
        processes: 2,
        explore: |bounds| bounds.of(explore(bulk)).isolated().run(),
    },
    CrashCase {
        name: "`writer`, then a change of one row",
        processes: 2,
        explore: |bounds| bounds.of(explore(writer)).isolated().run(),
    },
    // Callers of a group share memory, so every order is run.
    CrashCase {
        name: "`Grouped`: the callers of a process, then a change of one row",
        processes: 1,
        explore: |bounds| bounds.of(explore(grouped)).run(),
    },
    CrashCase {
        name: "`update_where`, resumed at its position, beside `modify`",
        processes: 2,
        explore: |bounds| bounds.of(explore(update_where)).isolated().run(),
    },
    CrashCase {
        name: "`update_where`, repeatable, resumed at its position, beside `modify`",
        processes: 2,
        explore: |bounds| bounds.of(explore(repeatable)).isolated().run(),
    },
    CrashCase {
        name: "`delete_where`, resumed at its position, beside an insert",
        processes: 2,
        explore: |bounds| bounds.of(explore(delete_where)).isolated().run(),
    },
    CrashCase {
        name: "`patch_where`, resumed at its position, beside `modify`",
        processes: 2,
        explore: |bounds| bounds.of(explore(patch_where)).isolated().run(),
    },
    CrashCase {
        name: "`upgrade_where`, resumed at its position, beside `modify`",
        processes: 2,
        explore: |bounds| bounds.of(explore(upgrade_where)).isolated().run(),
    },
    CrashCase {
        name: "`modify` by two processes",
        processes: 2,
        explore: |bounds| bounds.of(explore(modify)).isolated().run(),
    },
];

/// A number that identifies its last writer, and was called `Stars` before.
#[derive(TableEntity, Clone, Debug)]
struct Counter {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    name: String,
    #[table(alias = "stars")]
    count: i64,
    note: i64,
    #[table(write_id)]
    write: Option<Guid>,
}

fn counter(group: &str, name: &str) -> Counter {
    Counter {
        group: group.into(),
        name: name.into(),
        count: 0,
        note: 0,
        write: None,
    }
}

/// The counters of two partitions: a bulk or a group writes two batches.
fn counters() -> Vec<Counter> {
    [("g", "m"), ("g", "n"), ("h", "m")]
        .map(|(group, name)| counter(group, name))
        .into()
}

/// Creates the table with the counters.
fn seeded(simulation: &Simulation) -> TableServiceClient {
    let behind = behind(simulation, &[TABLE]);
    simulation.emulator().seed(TABLE, counters()).unwrap();
    behind
}

/// Adds 10 to the note of a row, which a write of an earlier life must not undo.
async fn note(service: TableServiceClient) -> Result<()> {
    let change = |counter: &mut Counter| counter.note = 10;
    table::<Counter>(&service).modify(("g", "n"), change).await.map(drop)
}

/// Checks the counters, each with its count, and the note of one of them.
async fn check(behind: &TableServiceClient, counts: impl Fn(i64) -> bool) {
    let all: Vec<Counter> = stored(behind, TABLE, "").await;
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
async fn bulk(simulation: Simulation) -> Result<()> {
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
    load_beside_another(simulation, load).await
}

async fn writer(simulation: Simulation) -> Result<()> {
    let load = async |service: TableServiceClient| -> Result<()> {
        let mut writer = table::<Counter>(&service).writer();
        for counter in counters() {
            writer.send(TableOperation::insert(&counter)).await?;
        }
        let report = writer.close().await?;
        assert!(report.in_doubt() + report.not_attempted() == 0, "{report:?}");
        note(service).await
    };
    load_beside_another(simulation, load).await
}

/// Another process inserts one of the rows that `load` inserts.
async fn load_beside_another(
    simulation: Simulation,
    load: impl AsyncFn(TableServiceClient) -> Result<()>,
) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let other = async |service: TableServiceClient| -> Result<()> {
        let inserted = table::<Counter>(&service)
            .insert_if_not_exists(&counter("h", "m"))
            .await;
        inserted.map(drop)
    };
    try_join(simulation.process("loader", load), simulation.process("other", other)).await?;
    settle(&simulation, &[TABLE]).await?;
    check(&behind, |count| count == 0).await;
    Ok(())
}

async fn grouped(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
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
    simulation.process("a", live).await?;
    settle(&simulation, &[TABLE]).await?;
    check(&behind, |count| count == 0).await;
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
async fn update_where(simulation: Simulation) -> Result<()> {
    let behind = seeded(&simulation);
    let file = File::default();
    let update = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<Counter>(&service);
        let pages = rows.query().allow_table_scan().page_size(2);
        let _ = resume!(rows.update_where(pages, |counter| counter.count += 1), file);
        Ok(())
    };
    try_join(simulation.process("a", update), simulation.process("b", note)).await?;
    settle(&simulation, &[TABLE]).await?;
    check(&behind, |count| [0, 1].contains(&count)).await;
    Ok(())
}

/// Each row is changed at least once.
async fn repeatable(simulation: Simulation) -> Result<()> {
    let behind = seeded(&simulation);
    let file = File::default();
    let update = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<Counter>(&service);
        let pages = || rows.query().allow_table_scan().page_size(2);
        repeat!(
            rows.update_where(pages(), |counter| counter.count = 1).repeatable(),
            file
        )
    };
    try_join(simulation.process("a", update), simulation.process("b", note)).await?;
    settle(&simulation, &[TABLE]).await?;
    check(&behind, |count| count == 1).await;
    Ok(())
}

/// Deletes the rows that exist, and not the one that the other process inserts under a key that was deleted.
async fn delete_where(simulation: Simulation) -> Result<()> {
    let behind = seeded(&simulation);
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
    try_join(simulation.process("a", delete), simulation.process("b", replace)).await?;
    settle(&simulation, &[TABLE]).await?;
    let left: Vec<Counter> = stored(&behind, TABLE, "").await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!((left[0].name.as_str(), left[0].note), ("n", 10));
    Ok(())
}

async fn patch_where(simulation: Simulation) -> Result<()> {
    let behind = seeded(&simulation);
    let file = File::default();
    let patch = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<Counter>(&service);
        let pages = || rows.query().allow_table_scan().page_size(2);
        repeat!(rows.patch_where(pages(), [Counter::COUNT.set(1)]), file)
    };
    try_join(simulation.process("a", patch), simulation.process("b", note)).await?;
    settle(&simulation, &[TABLE]).await?;
    check(&behind, |count| count == 1).await;
    Ok(())
}

/// Every row has the new property only.
async fn upgrade_where(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    for counter in counters() {
        let mut old = DynamicEntity::from_entity(&counter)?;
        old.remove("count");
        old.insert("stars", 3_i64);
        simulation.emulator().seed(TABLE, [old]).unwrap();
    }
    let file = File::default();
    let upgrade = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<Counter>(&service);
        let pages = || rows.query().allow_table_scan().page_size(2);
        repeat!(rows.upgrade_where(pages()), file)
    };
    try_join(simulation.process("a", upgrade), simulation.process("b", note)).await?;
    settle(&simulation, &[TABLE]).await?;
    check(&behind, |count| count == 3).await;
    let rows: Vec<DynamicEntity> = stored(&behind, TABLE, "").await;
    let is_new = |row: &DynamicEntity| row.get("stars").is_none() && row.get("count").is_some();
    assert!(rows.iter().all(is_new), "{rows:?}");
    Ok(())
}

/// A process that notes its own change in the row counts once.
async fn modify(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    simulation.emulator().seed(TABLE, [Number::new("n", 0)]).unwrap();
    let live = |bit: i64| {
        async move |service: TableServiceClient| -> Result<()> {
            let add = |row: &mut Number| row.number |= bit;
            table::<Number>(&service).modify(("g", "n"), add).await.map(drop)
        }
    };
    try_join(simulation.process("a", live(1)), simulation.process("b", live(2))).await?;
    settle(&simulation, &[TABLE]).await?;
    let rows: Vec<Number> = stored(&behind, TABLE, "").await;
    assert_eq!(rows[0].number, 3);
    Ok(())
}
