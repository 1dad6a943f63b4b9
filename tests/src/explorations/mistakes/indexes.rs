//! Programs that are wrong if their index rows are in another partition than the entity, each with its correction.
//!
//! `DESIGN.md` derives a protocol for such index rows from them.

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::Simulation;
use azure_table::{ErrorKind, Result, TableClient};
use futures::future::try_join;

use super::{Mistake, Row, TABLE, start};

/// The mistakes with index rows in another partition.
pub(super) const ALL: [Mistake; 3] = [
    mistake!(
        "an index row deleted under an ETag that was read after the write",
        by_hand
    ),
    mistake!(
        "an index row that two writers share, taken back by the one that lost",
        take_back
    ),
    mistake!(
        "an index row that looks abandoned, deleted beside its writer",
        abandoned
    ),
];

/// Returns an index row of a value, in a partition of its own.
fn index_row(value: &str, name: &str) -> Row {
    Row {
        group: format!("mail {value}"),
        ..Row::new(name)
    }
}

fn is_conflict<T>(result: &Result<T>) -> bool {
    let conflicts = [ErrorKind::ConditionNotMet, ErrorKind::NotFound];
    matches!(result, Err(e) if conflicts.contains(&e.kind()))
}

/// Stores the person. Its number is the id of the write that gave it its value.
fn seed(simulation: &Simulation) -> (TableClient<Row>, TableClient<Row>, TableClient<Row>) {
    let clients = start(simulation, &[]);
    simulation.emulator().seed(TABLE, [Row::text("person", "y")]).unwrap();
    clients
}

/// Sets the value `x`: the index row first, then the person under its ETag. Takes the index row back after a conflict.
/// Returns `true` if the person was written.
async fn set(rows: &TableClient<Row>, id: i32, index: &str) -> Result<bool> {
    let Some(mut person) = rows.get(("g", "person")).versioned().await? else {
        return Ok(false);
    };
    let written = rows.insert_or_replace(&index_row("x", index)).await?;
    (person.text, person.number) = (Some("x".into()), id);
    let changed = rows.replace(&person).await;
    if is_conflict(&changed) {
        let deleted = rows.delete(("mail x", index)).if_match(written).await;
        return if is_conflict(&deleted) {
            Ok(false)
        } else {
            deleted.map(|()| false)
        };
    }
    changed.map(|_| true)
}

/// One writer sets a value, another sets the first value again: by the four steps of the guide `batches`. Wrong: the
/// index row that the first writer deletes at the end is already the second one's.
async fn by_hand<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    async fn set<const RIGHT: bool>(rows: &TableClient<Row>, value: &str) -> Result<()> {
        let Some(mut person) = rows.get(("g", "person")).versioned().await? else {
            return Ok(());
        };
        let old = format!("mail {}", person.text.clone().unwrap_or_default());
        let before = rows.get((old.as_str(), "person")).versioned().await?;
        rows.insert_or_replace(&index_row(value, "person")).await?;
        person.text = Some(value.into());
        let changed = rows.replace(&person).await;
        if is_conflict(&changed) || old == format!("mail {value}") {
            return Ok(());
        }
        changed?;
        let row = if RIGHT {
            before
        } else {
            rows.get((old.as_str(), "person")).versioned().await?
        };
        let Some(row) = row else { return Ok(()) };
        let deleted = rows.delete(&row).await;
        if is_conflict(&deleted) { Ok(()) } else { deleted }
    }
    let (rows, a, b) = seed(&simulation);
    simulation.emulator().seed(TABLE, [index_row("y", "person")]).unwrap();
    try_join(set::<RIGHT>(&a, "x"), set::<RIGHT>(&b, "y")).await?;
    let value = rows
        .get(("g", "person"))
        .await?
        .and_then(|person| person.text)
        .unwrap_or_default();
    let is_found = rows.exists((format!("mail {value}").as_str(), "person")).await?;
    assert!(is_found, "the person is not found by its value");
    Ok(())
}

/// Two writers set one value, and the one that lost takes its index row back. Wrong: it is the other one's too.
async fn take_back<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    let (rows, a, b) = seed(&simulation);
    let name = |id: i32| {
        if RIGHT {
            format!("person {id}")
        } else {
            "person".to_owned()
        }
    };
    let (first, second) = (name(1), name(2));
    try_join(set(&a, 1, &first), set(&b, 2, &second)).await?;
    let id = rows.get(("g", "person")).await?.map_or(0, |person| person.number);
    let is_found = rows.exists(("mail x", name(id).as_str())).await?;
    assert!(is_found, "the person is not found by its value");
    Ok(())
}

/// A repair deletes an index row whose id the person does not have. Wrong: its writer may only be slow. Right: it first
/// writes the person unchanged, so that the slow writer's ETag is no longer current.
async fn abandoned<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    async fn repair<const RIGHT: bool>(rows: &TableClient<Row>) -> Result<bool> {
        let Some(index) = rows.get(("mail x", "person 1")).versioned().await? else {
            return Ok(false);
        };
        while let Some(person) = rows.get(("g", "person")).versioned().await? {
            if person.number == 1 {
                return Ok(false);
            }
            if RIGHT {
                let fenced = rows.replace(&person).await;
                if is_conflict(&fenced) {
                    continue;
                }
                fenced?;
            }
            break;
        }
        let deleted = rows.delete(&index).await;
        if is_conflict(&deleted) {
            Ok(false)
        } else {
            deleted.map(|()| true)
        }
    }
    let (rows, writer, repairer) = seed(&simulation);
    try_join(set(&writer, 1, "person 1"), repair::<RIGHT>(&repairer)).await?;
    let person = rows.get(("g", "person")).await?.map_or(0, |person| person.number);
    let is_found = rows.exists(("mail x", "person 1")).await?;
    assert!(person == 0 || is_found, "the person is not found by its value");
    Ok(())
}
