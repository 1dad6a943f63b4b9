//! The promises of queues.

use std::cell::Cell;
use std::time::Duration;

use azure_table::testing::explore;
use azure_table::{DynamicEntity, Result, TableClient, TableOperation};
use azure_table_patterns::Queue;
use futures::future::{join, join_all};

use super::{Case, MAX_TIME, Place, Promise, TABLE, TIME, Working, at, clients, count};

pub(super) const ALL: [Case; 6] = [
    Case {
        name: "`Queue`: two workers and two items",
        slow_with: None,
        explore: |faults| explore(at(take)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Queue`: a worker ends without completing",
        slow_with: None,
        explore: |faults| explore(at(crash)).isolated().faults(faults).run(),
    },
    Case {
        name: "`Queue`: the clock jumps over the visibility time",
        slow_with: Some(1),
        explore: |faults| {
            let past = TIME + TIME / 2;
            explore(at(work)).advance(past).faults(faults).max_time(MAX_TIME).run()
        },
    },
    Case {
        name: "`Queue`: the clock jumps within the visibility time",
        slow_with: Some(1),
        explore: |faults| {
            explore(at(work))
                .advance(TIME / 3)
                .faults(faults)
                .max_time(MAX_TIME)
                .run()
        },
    },
    Case {
        name: "`Queue`: an item is completed with what it causes",
        slow_with: Some(1),
        explore: |faults| {
            let past = TIME + TIME / 2;
            let jumping = explore(at(complete_in_batch)).isolated().advance(past);
            jumping.faults(faults).max_time(MAX_TIME).run()
        },
    },
    Case {
        name: "`Queue`: an outbox, pushed to twice",
        slow_with: None,
        explore: |faults| explore(at(outbox)).isolated().faults(faults).run(),
    },
];

pub(super) const PROMISES: [Promise; 5] = [
    Promise {
        name: "`Queue`: two workers and two items",
        hold: |place| Box::pin(take(place)),
    },
    Promise {
        name: "`Queue`: a worker ends without completing",
        hold: |place| Box::pin(crash(place)),
    },
    Promise {
        name: "`Queue`: two workers at one item",
        hold: |place| Box::pin(work(place)),
    },
    Promise {
        name: "`Queue`: an item is completed with what it causes",
        hold: |place| Box::pin(complete_in_batch(place)),
    },
    Promise {
        name: "`Queue`: an outbox, pushed to twice",
        hold: |place| Box::pin(outbox(place)),
    },
];

fn queue(table: &TableClient<DynamicEntity>) -> Queue<String> {
    Queue::new(table, "p", "~")
}

fn table_behind(place: &Place) -> TableClient<DynamicEntity> {
    place.behind().dynamic_table(TABLE).unwrap()
}

async fn push(place: &Place, ids: &[&str]) {
    let queue = queue(&table_behind(place));
    for id in ids {
        assert!(queue.push_with_id(id, &format!("of {id}")).await.unwrap());
    }
}

/// Takes and completes all remaining items, after the time of every worker has ended. Returns their IDs.
async fn drain(place: &Place) -> Vec<String> {
    // A take may arrive late.
    let _ = table_behind(place).exists(("p", "~")).await;
    tokio::time::sleep(TIME * 3).await;
    let queue = queue(&place.service().dynamic_table(TABLE).unwrap());
    let mut left = Vec::new();
    // A lost request is sent again. If its response is lost, another item may be the first.
    for _ in 0..4 {
        match queue.take(TIME).await {
            Ok(Some(item)) => {
                left.push(item.id().to_owned());
                let _ = item.complete().await;
            }
            Ok(None) => break,
            Err(_) => tokio::time::sleep(TIME * 3).await,
        }
    }
    left
}

/// No item is taken by two workers, and none is lost.
async fn take(place: Place) {
    let [a, b] = clients(&place);
    push(&place, &["1", "2"]).await;
    let work = async |table| {
        let item = queue(&table).take(TIME).await.ok()??;
        assert_eq!((item.payload(), item.is_valid()), (&format!("of {}", item.id()), true));
        let id = item.id().to_owned();
        count([&item.complete().await]);
        Some(id)
    };
    let (a, b) = join(work(a), work(b)).await;
    assert!(a.is_none() || a != b, "both had the item {a:?}");
    let done = [a.into_iter().collect(), b.into_iter().collect(), drain(&place).await].concat();
    assert!(
        ["1", "2"].iter().all(|id| done.iter().any(|of| of == id)),
        "an item is lost: {done:?}"
    );
}

async fn crash(place: Place) {
    let [a, b] = clients(&place);
    push(&place, &["1"]).await;
    let take = async |table| {
        let taken = queue(&table).take(TIME).await;
        count([&taken]);
        taken.ok().flatten()
    };
    let (a, b) = join(take(a), take(b)).await;
    assert!(a.is_none() || b.is_none(), "both have the item");
    let deliveries = a.or(b).map(|item| item.deliveries());
    assert!(deliveries.is_none_or(|deliveries| deliveries == 1));
    assert!(drain(&place).await.contains(&"1".to_owned()), "the item is lost");
}

/// Workers that share memory to notice each other, with an item that takes a while.
async fn work(place: Place) {
    let [a, b] = clients(&place);
    push(&place, &["1"]).await;
    let (working, most) = (Cell::new(0), Cell::new(0));
    let (done, last) = (Cell::new(0), Cell::new(0));
    let work = async |table: TableClient<DynamicEntity>| {
        let item = queue(&table).take(TIME).await.ok()??;
        last.set(last.get().max(item.deliveries()));
        let delivery = item.deliveries();
        let work = async {
            let _working = Working::begin(&working);
            most.set(most.get().max(working.get()));
            let _ = table.exists(("p", "work")).await;
        };
        if item.run(work).await.is_some() && item.complete().await.is_ok_and(|is_mine| is_mine) {
            count([&Ok::<_, azure_table::Error>(())]);
            assert_eq!(delivery, last.get(), "completed by a worker that had lost it");
            done.set(done.get() + 1);
        }
        Some(())
    };
    join(work(a), work(b)).await;
    assert!(most.get() <= 1, "{} work at once", most.get());
    assert!(done.get() <= 1, "completed {} times", done.get());
}

/// The rows of a completion are written once.
async fn complete_in_batch(place: Place) {
    let [a, b] = clients(&place);
    push(&place, &["1"]).await;
    let work = async |(table, name): (TableClient<DynamicEntity>, &str)| -> Result<()> {
        let mut batch = table.batch();
        if let Some(item) = queue(&table).take(TIME).await? {
            batch.push(item.completion())?;
            batch.insert(&DynamicEntity::new("p", name))?;
        }
        // Without an item the batch is empty, which is an error.
        batch.submit().await.map(drop)
    };
    let (a, b) = join(work((a, "a")), work((b, "b"))).await;
    count([&a, &b]);
    let rows: Vec<DynamicEntity> = table_behind(&place).query().partition("p").all().await.unwrap();
    assert_eq!(rows.len(), 1, "the item and what it causes: {rows:?}");
}

/// The row and its item are written together and once, even if the push is repeated.
async fn outbox(place: Place) {
    let [a, b] = clients(&place);
    let write = [a, b].map(|table| async move {
        let queue = queue(&table);
        for _ in 0..2 {
            let mut batch = table.batch();
            batch.push(TableOperation::insert(&DynamicEntity::new("p", "order")))?;
            batch.push(queue.operation("order", &"mail".to_owned())?)?;
            count([&batch.submit().await]);
        }
        Ok::<_, azure_table::Error>(())
    });
    for written in join_all(write).await {
        written.unwrap();
    }
    let table = table_behind(&place);
    let is_written = table.exists(("p", "order")).await.unwrap();
    assert!(is_written || !place.recovers, "every batch failed");
    let item = queue(&table).take(Duration::from_secs(1)).await.unwrap();
    assert_eq!(item.is_some(), is_written, "the row and its item are not together");
    let Some(item) = item else {
        return;
    };
    assert_eq!((item.id(), item.payload().as_str()), ("order", "mail"));
    assert!(queue(&table).take(Duration::from_secs(1)).await.unwrap().is_none());
    assert!(item.complete().await.unwrap());
}
