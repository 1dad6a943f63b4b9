//! Workers and writers of a queue that crash.

use std::cell::Cell;

use azure_table::testing::{Simulation, explore};
use azure_table::{DynamicEntity, Result, TableOperation, TableServiceClient};
use azure_table_patterns::{Item, Queue};
use futures::future::try_join;
use tokio::time::sleep;

use super::{ATTEMPTS, CrashCase, PAST, RowId, TABLE, TIME, behind, settle, stored, table, unless_changed};

pub(super) const ALL: [CrashCase; 5] = [
    CrashCase {
        name: "`Queue`: two workers and two items",
        processes: 2,
        explore: |bounds| bounds.of(explore(worked)).isolated().run(),
    },
    CrashCase {
        name: "`Queue`: an item is completed with what it causes",
        processes: 2,
        explore: |bounds| bounds.of(explore(worked_once)).isolated().run(),
    },
    CrashCase {
        name: "`Queue`: two workers at one item, the clock jumps over the visibility time",
        processes: 2,
        explore: |bounds| bounds.of(explore(one_works)).advance(PAST).run(),
    },
    CrashCase {
        name: "`Queue`: an outbox, and the worker of its items",
        processes: 2,
        explore: |bounds| bounds.of(explore(outbox)).isolated().run(),
    },
    CrashCase {
        name: "`Queue`: items are pushed under their IDs, and worked on",
        processes: 2,
        explore: |bounds| bounds.of(explore(pushed)).isolated().run(),
    },
];

fn queue(service: &TableServiceClient) -> Queue<String> {
    Queue::new(&table::<DynamicEntity>(service), "p", "~")
}

async fn push(behind: &TableServiceClient, ids: &[&str]) -> Result<()> {
    for id in ids {
        queue(behind).push_with_id(id, &format!("of {id}")).await?;
    }
    Ok(())
}

/// Works until the queue is empty, also of items that other workers have.
async fn until_empty(service: &TableServiceClient, work: impl AsyncFn(Item<String>) -> Result<()>) -> Result<()> {
    for _ in 0..ATTEMPTS {
        match queue(service).take(TIME).await? {
            Some(item) => work(item).await?,
            None if is_empty(service).await? => return Ok(()),
            None => sleep(TIME).await,
        }
    }
    panic!("the queue is never empty");
}

async fn is_empty(service: &TableServiceClient) -> Result<bool> {
    let rows = table::<RowId>(service).query().partition("p").all().await?;
    Ok(!rows.iter().any(|row| row.row.starts_with('~')))
}

/// Every item is worked on, and none is left.
async fn worked(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    push(&behind, &["1", "2"]).await?;
    let live = async |service: TableServiceClient| {
        until_empty(&service, async |item| {
            let done = DynamicEntity::new("p", format!("done {}", item.id()));
            table(&service).insert_or_replace(&done).await?;
            item.complete().await.map(drop)
        })
        .await
    };
    try_join(simulation.process("a", live), simulation.process("b", live)).await?;
    settle(&simulation, &[TABLE]).await?;
    assert_eq!(names(&behind).await, ["done 1", "done 2"]);
    Ok(())
}

/// Returns the RowKeys of all rows.
async fn names(behind: &TableServiceClient) -> Vec<String> {
    let rows: Vec<RowId> = stored(behind, TABLE, "").await;
    rows.into_iter().map(|row| row.row).collect()
}

/// The row that an item causes is written once.
async fn worked_once(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    push(&behind, &["1"]).await?;
    let live = |name: &'static str| {
        async move |service: TableServiceClient| {
            until_empty(&service, async |item| {
                let rows = table::<DynamicEntity>(&service);
                let mut batch = rows.batch();
                batch.push(item.completion())?;
                batch.insert(&DynamicEntity::new("p", format!("{name} {}", item.deliveries())))?;
                unless_changed(batch.submit().await).map(drop)
            })
            .await
        }
    };
    try_join(simulation.process("a", live("a")), simulation.process("b", live("b"))).await?;
    settle(&simulation, &[TABLE]).await?;
    let names = names(&behind).await;
    assert_eq!(names.len(), 1, "an item caused {names:?}");
    Ok(())
}

/// Another worker, until it is dropped: also by a crash.
struct Working<'a>(&'a Cell<u32>);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// Workers that share memory to notice each other. One that completes the item has the last delivery.
async fn one_works(simulation: Simulation) -> Result<()> {
    push(&behind(&simulation, &[TABLE]), &["1"]).await?;
    let (working, last, done) = (&Cell::new(0), &Cell::new(0), &Cell::new(0));
    let live = async |service: TableServiceClient| -> Result<()> {
        for _ in 0..2 {
            let Some(item) = queue(&service).take(TIME).await? else {
                sleep(PAST).await;
                continue;
            };
            let delivery = item.deliveries();
            last.set(last.get().max(delivery));
            let work = async {
                assert_eq!(working.replace(1), 0, "two work at the same time");
                let _working = Working(working);
                table::<DynamicEntity>(&service).exists(("p", "work")).await
            };
            if let Some(worked) = item.run(work).await
                && !worked?
                && item.complete().await?
            {
                assert_eq!(delivery, last.get(), "completed by a worker that had lost it");
                done.set(done.get() + 1);
            }
            return Ok(());
        }
        Ok(())
    };
    try_join(simulation.process("a", live), simulation.process("b", live)).await?;
    settle(&simulation, &[TABLE]).await?;
    assert!(done.get() <= 1, "completed {} times", done.get());
    Ok(())
}

/// An order and its item are written together and once, however often the writer begins again.
async fn outbox(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let write = async |service: TableServiceClient| -> Result<()> {
        let rows = table::<DynamicEntity>(&service);
        let mut batch = rows.batch();
        batch.push(TableOperation::insert(&DynamicEntity::new("p", "order")))?;
        batch.push(queue(&service).operation("order", &"mail".to_owned())?)?;
        unless_changed(batch.submit().await).map(drop)
    };
    let mail = async |service: TableServiceClient| {
        until_ordered(&service).await?;
        until_empty(&service, async |item| {
            let rows = table::<DynamicEntity>(&service);
            let mut batch = rows.batch();
            batch.push(item.completion())?;
            batch.insert(&DynamicEntity::new("p", format!("mail {}", item.deliveries())))?;
            unless_changed(batch.submit().await).map(drop)
        })
        .await
    };
    try_join(simulation.process("writer", write), simulation.process("worker", mail)).await?;
    settle(&simulation, &[TABLE]).await?;
    let names = names(&behind).await;
    let mails = names.iter().filter(|name| name.starts_with("mail"));
    assert_eq!((mails.count(), names.len()), (1, 2), "{names:?}");
    Ok(())
}

async fn until_ordered(service: &TableServiceClient) -> Result<()> {
    for _ in 0..ATTEMPTS {
        if table::<DynamicEntity>(service).exists(("p", "order")).await? {
            return Ok(());
        }
        sleep(TIME).await;
    }
    panic!("no order is written");
}

/// An item that was pushed under its ID is worked on, and may be pushed again by a late write once it is complete.
async fn pushed(simulation: Simulation) -> Result<()> {
    let behind = behind(&simulation, &[TABLE]);
    let push = async |service: TableServiceClient| queue(&service).push_with_id("1", &"work".to_owned()).await;
    let work = async |service: TableServiceClient| {
        until_empty(&service, async |item| {
            assert_eq!((item.id(), item.payload().as_str()), ("1", "work"));
            table(&service)
                .insert_or_replace(&DynamicEntity::new("p", "done"))
                .await?;
            item.complete().await.map(drop)
        })
        .await
    };
    let _ = try_join(simulation.process("writer", push), simulation.process("worker", work)).await?;
    settle(&simulation, &[TABLE]).await?;
    // What was pushed after the worker ended.
    work(behind.clone()).await?;
    assert_eq!(names(&behind).await, ["done"]);
    Ok(())
}
