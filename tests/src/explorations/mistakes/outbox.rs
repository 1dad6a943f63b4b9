//! Programs that place orders with an outbox, beside the relay that deletes its rows, each with its correction.
//!
//! The guide `patterns` has the function [`place`]. If the response to its batch is lost, the relay may delete the item
//! before the client reads the batch's rows back. Then only the order can show that the batch was applied.

use std::time::Duration;

use azure_table::testing::Simulation;
use azure_table::{CallOptions, ErrorKind, NoRetry, Result, TableClient, TableEntity, TableOperation};
use azure_table_patterns::{Item, Queue};
use futures::future::join;

use super::{LEASE, Mistake, Row, start};
use crate::entities::Marked;

/// The mistakes of placers.
pub(super) const ALL: [Mistake; 4] = [
    mistake!("an outbox whose order has no write id", |simulation, is_right| {
        Box::pin(async move {
            if is_right {
                unchanged(simulation, order("order 1")).await
            } else {
                unchanged(simulation, Row::new("order 1")).await
            }
        })
    })
    .with_fault(),
    mistake!(
        "an outbox whose relay replaces the order, and the write id with it",
        replaced
    )
    .with_fault(),
    mistake!("an order in doubt that is placed again under a new id", placed_again).with_fault(),
    mistake!("an order that is deleted while its batch may arrive late", canceled).with_fault(),
];

/// Returns an order of the guide. It counts what was sent.
fn order(name: &str) -> Marked {
    Marked::new("g", name, 0)
}

fn queue(table: &TableClient<Row>) -> Queue<String> {
    Queue::new(table, "g", "~")
}

/// Stores an order and the item about it.
async fn submit<E: TableEntity>(table: &TableClient<Row>, order: &E, name: &str) -> Result<()> {
    let mut batch = table.batch();
    batch
        .push(TableOperation::insert(order))?
        .push(queue(table).operation(name, &"mail".to_owned())?)?;
    batch.submit().await.map(drop)
}

/// Stores an order and the item about it, as in the guide.
async fn place(table: &TableClient<Row>, order: &Marked) -> Result<()> {
    let Err(error) = submit(table, order, &order.name).await else {
        return Ok(());
    };
    let is_stored = match error.kind() {
        ErrorKind::AlreadyExists => true,
        ErrorKind::InDoubt => table.exists(("g", &order.name)).await.unwrap_or(false),
        _ => false,
    };
    if is_stored { Ok(()) } else { Err(error) }
}

/// Takes an item, and does its work. Its failures leave the item for a later relay.
async fn relay(table: &TableClient<Row>, work: impl AsyncFn(Item<String>) -> Result<()>) {
    let time = Duration::from_secs(LEASE as u64);
    if let Ok(Some(item)) = queue(table).take(time).await {
        let _ = work(item).await;
    }
}

/// The relay deletes the item and leaves the order. Wrong: the order alone does not show who wrote it.
async fn unchanged<E: TableEntity>(simulation: Simulation, order: E) -> Result<()> {
    let (_, a, b) = start(&simulation, &[]);
    let complete = relay(&b, async |item| item.complete().await.map(drop));
    let (placed, ()) = join(submit(&a, &order, "order 1"), complete).await;
    placed
}

/// The relay marks the order in the batch that deletes the item. Wrong: the write id in the order is now the relay's.
async fn replaced<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    let (_, a, b) = start(&simulation, &[]);
    let order = order("order 1");
    let mark = relay(&b, async |item| {
        let Some(mut order) = b.typed::<Marked>().get(("g", item.id())).versioned().await? else {
            return Ok(());
        };
        order.count = 1;
        let mut batch = b.batch();
        batch.push(item.completion())?.push(TableOperation::replace(&order))?;
        batch.submit().await.map(drop)
    });
    let place = async {
        if RIGHT {
            return place(&a, &order).await;
        }
        submit(&a, &order, &order.name).await
    };
    join(place, mark).await.0
}

/// The placer repeats the call after `InDoubt`, if it does not find its order. Wrong: the lost batch arrives late.
async fn placed_again<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    let (table, a, b) = start(&simulation, &[]);
    let a = a.with(&CallOptions::new().retry(NoRetry));
    let mail = relay(&b, async |item| {
        let mut batch = b.batch();
        batch
            .push(item.completion())?
            .push(TableOperation::insert(&Row::new("mail")))?;
        batch.submit().await.map(drop)
    });
    let twice = async {
        for name in ["order 1", if RIGHT { "order 1" } else { "order 2" }] {
            match place(&a, &order(name)).await {
                Err(e) if e.kind() == ErrorKind::InDoubt => {}
                placed => return placed,
            }
        }
        Ok(())
    };
    join(twice, mail).await.0?;
    let rows = table.query().partition("g").keys().all().await?;
    let orders = rows.iter().filter(|key| key.row_key().starts_with("order"));
    assert_eq!((orders.count(), rows.len()), (1, 2), "one order and its mail: {rows:?}");
    Ok(())
}

/// The customer cancels the order. Wrong: a lost batch of the placer arrives after that, and restores the order.
async fn canceled<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    let (table, a, _) = start(&simulation, &[]);
    place(&a, &order("order 1")).await?;
    let mut cancel = a.batch();
    cancel.delete(("g", "~order 1"))?;
    if RIGHT {
        cancel.merge(&Row::text("order 1", "canceled"))?;
    } else {
        cancel.delete(("g", "order 1"))?;
    }
    match cancel.submit().await {
        Err(e) if e.kind() != ErrorKind::InDoubt => return Err(e),
        _ => {}
    }
    let rows = table.query().partition("g").keys().all().await?;
    assert!(
        rows.iter().all(|key| key.row_key() != "~order 1"),
        "the customer gets the mail"
    );
    Ok(())
}
