//! Programs that are wrong if their process dies between two requests, each with its correction.

use std::sync::Mutex;
use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::Simulation;
use azure_table::{Result, TableClient, TableServiceClient};
use futures::future::try_join;

use super::{Mistake, Row, TABLE, start};

/// The mistakes that only a crash shows.
pub(super) const ALL: [Mistake; 7] = [
    mistake!("an instance and its history in two tables (durabletask#1252)", history).with_crash(),
    mistake!("a work queue without a row of its progress", queue).with_crash(),
    mistake!("an index row written after its entity", index).with_crash(),
    mistake!("a number taken before the row that uses it", number).with_crash(),
    mistake!("a lease deleted by a process that lost it", release).with_crash(),
    mistake!("a table that is recreated by a process that crashes", refill).with_crash(),
    mistake!("a stored position without the leftovers before it", resume).with_crash(),
];

/// Accepts that the rows have changed: the write of an earlier life has arrived, or the other process was first.
fn unless_changed<T>(result: Result<T>) -> Result<()> {
    crate::explorations::crashes::unless_changed(result).map(drop)
}

/// A worker ends an orchestration: it appends the last event to the history, then sets the status of the instance.
/// Wrong: a worker that finds the last event has nothing to do, although the status may say `Running` for ever.
///
/// Source: the report Azure/durabletask#1252.
async fn history<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    async fn complete<const RIGHT: bool>(service: TableServiceClient) -> Result<()> {
        let (history, instances) = (service.table::<Row>("History")?, service.table::<Row>("Instances")?);
        let ended = history.insert_if_not_exists(&Row::text("ended", "Completed")).await?;
        if ended.is_none() && !RIGHT {
            return Ok(());
        }
        instances
            .merge(&Row::text("order 7", "Completed"))
            .unconditionally()
            .await?;
        Ok(())
    }
    let instances = simulation.table::<Row>("Instances");
    let _ = simulation.table::<Row>("History");
    let running = [Row::text("order 7", "Running")];
    simulation.emulator().seed("Instances", running)?;
    simulation.process("worker", complete::<RIGHT>).await?;
    let status = instances.get(("g", "order 7")).await?.and_then(|row| row.text);
    assert_eq!(status.as_deref(), Some("Completed"), "the instance never ends");
    Ok(())
}

/// A worker adds each item of a queue to a sum, and deletes it. Wrong: the next worker finds an item that was added.
async fn queue<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    async fn work<const RIGHT: bool>(service: TableServiceClient) -> Result<()> {
        let rows = service.table::<Row>(TABLE)?;
        let rows_of_g = rows.query().partition("g").all().await?;
        for item in rows_of_g.iter().filter(|row| row.name == "item") {
            let Some(mut sum) = rows.get(("g", "sum")).versioned().await? else {
                continue;
            };
            sum.number += item.number;
            if RIGHT {
                let mut batch = rows.batch();
                batch.replace(&sum)?.delete(("g", &item.name))?;
                unless_changed(batch.submit().await)?;
            } else {
                unless_changed(rows.replace(&sum).await)?;
                unless_changed(rows.delete(("g", &item.name)).await)?;
            }
        }
        Ok(())
    }
    let (rows, ..) = start(&simulation, &["sum"]);
    let mut item = Row::new("item");
    item.number = 5;
    simulation.emulator().seed(TABLE, [item])?;
    simulation.process("worker", work::<RIGHT>).await?;
    let sum = rows.get(("g", "sum")).await?.map(|row| row.number);
    assert_eq!(sum, Some(5), "an item was added twice");
    Ok(())
}

/// A row is stored, and found by its mail address. Wrong: a process that finds the row does not write its index row.
async fn index<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    async fn store<const RIGHT: bool>(service: TableServiceClient) -> Result<()> {
        let rows = service.table::<Row>(TABLE)?;
        let (person, mail) = (Row::text("person 7", "ada@x"), Row::text("mail ada@x", "person 7"));
        if RIGHT {
            let mut batch = rows.batch();
            batch.insert(&person)?.insert(&mail)?;
            return unless_changed(batch.submit().await);
        }
        if rows.insert_if_not_exists(&person).await?.is_some() {
            rows.insert(&mail).await?;
        }
        Ok(())
    }
    let (rows, ..) = start(&simulation, &[]);
    simulation.process("writer", store::<RIGHT>).await?;
    let found = rows.get(("g", "mail ada@x")).await?.and_then(|row| row.text);
    assert_eq!(
        found.as_deref(),
        Some("person 7"),
        "the row is not found by its mail address"
    );
    Ok(())
}

/// An invoice has the next number, and no number may be missing. Wrong: a number was taken, and no invoice has it.
async fn number<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    async fn write<const RIGHT: bool>(service: TableServiceClient) -> Result<()> {
        let rows = service.table::<Row>(TABLE)?;
        let Some(mut last) = rows.get(("g", "last")).versioned().await? else {
            return Ok(());
        };
        let order = "of order 7";
        if rows
            .query()
            .partition("g")
            .all()
            .await?
            .iter()
            .any(|row| row.text.as_deref() == Some(order))
        {
            return Ok(());
        }
        last.number += 1;
        let invoice = Row::text(&format!("invoice {}", last.number), order);
        if RIGHT {
            let mut batch = rows.batch();
            batch.replace(&last)?.insert(&invoice)?;
            return unless_changed(batch.submit().await);
        }
        unless_changed(rows.replace(&last).await)?;
        unless_changed(rows.insert(&invoice).await)
    }
    let (rows, ..) = start(&simulation, &["last"]);
    simulation.process("writer", write::<RIGHT>).await?;
    let all = rows.query().partition("g").all().await?;
    let invoices = all.iter().filter(|row| row.name.starts_with("invoice")).count();
    let last = rows.get(("g", "last")).await?.map(|row| row.number as usize);
    assert_eq!(last, Some(invoices), "a number is missing");
    Ok(())
}

/// Two processes hold a lease in turn. Wrong: a deletion that was in flight at a crash deletes a later lease.
async fn release<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    async fn hold<const RIGHT: bool>(rows: &TableClient<Row>, holder: &str) -> Result<()> {
        let held = match rows.get(("g", "lease")).versioned().await? {
            None => rows.insert_if_not_exists(&Row::text("lease", holder)).await?,
            // The lease of an earlier life.
            Some(mut own) if own.text.as_deref() == Some(holder) => {
                own.number += 1;
                match rows.replace(&own).await {
                    Ok(etag) => Some(etag),
                    changed => return unless_changed(changed),
                }
            }
            Some(_) => None,
        };
        let Some(etag) = held else { return Ok(()) };
        let stored = rows.get(("g", "lease")).await?.and_then(|row| row.text);
        assert_eq!(
            stored.as_deref(),
            Some(holder),
            "the lease of {holder} is gone while it works"
        );
        unless_changed(if RIGHT {
            rows.delete(("g", "lease")).if_match(etag).await
        } else {
            rows.delete(("g", "lease")).await
        })
    }
    let _ = start(&simulation, &[]);
    let live = |holder: &'static str| {
        async move |service: TableServiceClient| hold::<RIGHT>(&service.table(TABLE)?, holder).await
    };
    try_join(simulation.process("a", live("a")), simulation.process("b", live("b"))).await?;
    Ok(())
}

/// A table is filled anew. Wrong: a delete that was in flight at a crash deletes the new table with its rows.
async fn refill<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    const NEXT: &str = "Rows2";
    async fn fill<const RIGHT: bool>(service: TableServiceClient) -> Result<()> {
        let rows = service.table::<Row>(if RIGHT { NEXT } else { TABLE })?;
        if RIGHT {
            rows.create_table_if_not_exists().await?;
        } else {
            rows.recreate_table(Duration::from_secs(120)).await?;
        }
        rows.insert_or_replace(&Row::new("new")).await?;
        if RIGHT {
            service.table::<Row>(TABLE)?.delete_table_if_exists().await?;
        }
        Ok(())
    }
    let _ = start(&simulation, &["old"]);
    simulation.process("loader", fill::<RIGHT>).await?;
    let rows = simulation.service().table::<Row>(if RIGHT { NEXT } else { TABLE })?;
    assert!(
        rows.exists(("g", "new")).await.is_ok_and(|exists| exists),
        "the new row is gone"
    );
    Ok(())
}

/// A process sets a column of all rows, page by page, beside another that changes a row. Wrong: it resumes at its
/// stored position, and the row that it could not write before the crash stays as it is.
async fn resume<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    let file: Mutex<Option<String>> = Mutex::default();
    let patch = async |service: TableServiceClient| -> Result<()> {
        let rows = service.table::<Row>(TABLE)?;
        loop {
            let write = rows.patch_where(rows.query().partition("g").page_size(1), [Row::NUMBER.set(1)]);
            let write = write.on_progress(|report| {
                *file.lock().unwrap() = report.position().map(|position| position.to_string());
            });
            let position = file.lock().unwrap().clone();
            let is_whole = position.is_none();
            let report = match position {
                Some(position) => write.resume_from(position.parse().unwrap()).await?,
                None => write.await?,
            };
            if report.leftovers().is_empty() && (is_whole || !RIGHT) {
                return Ok(());
            }
            *file.lock().unwrap() = None;
        }
    };
    let change = async |service: TableServiceClient| -> Result<()> {
        let rows = service.table::<Row>(TABLE)?;
        let mut row = rows.get(("g", "m")).versioned().await?.unwrap();
        row.text = Some("changed".to_owned());
        unless_changed(rows.replace(&row).await)
    };
    let (rows, ..) = start(&simulation, &["m", "n"]);
    try_join(simulation.process("a", patch), simulation.process("b", change)).await?;
    let all = rows.query().partition("g").all().await?;
    assert!(all.iter().all(|row| row.number == 1), "a row was left out: {all:?}");
    Ok(())
}
