//! Queues, their workers and writers.

use azure_table::TableOperation;
use azure_table_patterns::{Item, Queue};
use futures::future::join_all;
use tokio::time::sleep;

use super::*;

pub(super) const ALL: [Case; 8] = [
    case!("`Queue`: two workers and two items", take).and_crashes(),
    case!("`Queue`: a worker ends without completing", end_early),
    case!(
        "`Queue`: two workers at one item, the clock jumps over the visibility time",
        one_works
    )
    .advance(&[PAST])
    .in_all_orders()
    .slow_with(1)
    .and_crashes(),
    case!("`Queue`: the clock jumps within the visibility time", one_works)
        .advance(&[Duration::from_secs(10)])
        .in_all_orders()
        .slow_with(1)
        .only_orders(),
    case!(
        "`Queue`: an item is completed with what it causes, the clock jumps",
        complete_in_batch
    )
    .advance(&[PAST])
    .slow_with(1),
    case!("`Queue`: an item is completed with what it causes", complete_in_batch).only_crashes(2),
    case!("`Queue`: an outbox, pushed to twice", outbox).and_crashes(),
    case!("`Queue`: items are pushed under their IDs, and worked on", pushed).only_crashes(2),
];

fn queue(service: &TableServiceClient) -> Queue<String> {
    Queue::new(&table::<DynamicEntity>(service), "p", "~")
}

async fn push(place: &Place, ids: &[&str]) {
    for id in ids {
        let (queue, payload) = (queue(&place.behind()), format!("of {id}"));
        assert!(queue.push_with_id(id, &payload).await.unwrap());
    }
}

/// Takes an item and works on it. A process works until the queue is empty, also of items that other workers have.
async fn work(
    place: &Place,
    service: &TableServiceClient,
    work: impl AsyncFn(Item<String>) -> Result<()>,
) -> Result<()> {
    for _ in 0..ATTEMPTS {
        match queue(service).take(TIME).await? {
            Some(item) => work(item).await?,
            None if !place.has_crashes() || is_empty(service).await? => return Ok(()),
            None => sleep(TIME).await,
        }
        if !place.has_crashes() {
            return Ok(());
        }
    }
    panic!("the queue is never empty");
}

async fn is_empty(service: &TableServiceClient) -> Result<bool> {
    let rows = table::<RowId>(service).query().partition("p").all().await?;
    Ok(!rows.iter().any(|row| row.row.starts_with('~')))
}

/// Takes and completes all remaining items, after the time of every worker has ended. Returns their IDs.
async fn drain(place: &Place) -> Vec<String> {
    // A take may arrive late.
    let _ = table::<DynamicEntity>(&place.behind()).exists(("p", "~")).await;
    sleep(TIME * 3).await;
    let queue = queue(&place.service());
    let mut left = Vec::new();
    // A lost request is sent again. If its response is lost, another item may be the first.
    for _ in 0..4 {
        match queue.take(TIME).await {
            Ok(Some(item)) => {
                left.push(item.id().to_owned());
                let _ = item.complete().await;
            }
            Ok(None) => break,
            Err(_) => sleep(TIME * 3).await,
        }
    }
    left
}

/// Returns the RowKeys of all rows.
async fn names(place: &Place) -> Vec<String> {
    let rows: Vec<RowId> = stored(place, "").await;
    rows.into_iter().map(|row| row.row).collect()
}

/// No item is taken by two tasks, and none is lost. Processes work on every item, and leave none.
async fn take(place: Place) {
    push(&place, &["1", "2"]).await;
    let live = async |service: TableServiceClient| {
        let taken = Cell::new(None);
        let worked = work(&place, &service, async |item| {
            assert_eq!((item.payload(), item.is_valid()), (&format!("of {}", item.id()), true));
            taken.set(Some(item.id().to_owned()));
            if place.has_crashes() {
                let done = DynamicEntity::new("p", format!("done {}", item.id()));
                table(&service).insert_or_replace(&done).await?;
            }
            let completed = item.complete().await;
            count([&completed]);
            completed.map(drop)
        });
        assert!(worked.await.is_ok() || !place.has_crashes(), "a call fails");
        taken.into_inner()
    };
    let (a, b) = both(&place, &live, &live).await;
    if place.has_crashes() {
        assert_eq!(names(&place).await, ["done 1", "done 2"]);
        return;
    }
    assert!(a.is_none() || a != b, "both had the item {a:?}");
    let done = [a.into_iter().collect(), b.into_iter().collect(), drain(&place).await].concat();
    assert!(
        ["1", "2"].iter().all(|id| done.iter().any(|of| of == id)),
        "an item is lost: {done:?}"
    );
}

async fn end_early(place: Place) {
    push(&place, &["1"]).await;
    let take = async |service: TableServiceClient| {
        let taken = queue(&service).take(TIME).await;
        count([&taken]);
        taken.ok().flatten()
    };
    let (a, b) = both(&place, take, take).await;
    assert!(a.is_none() || b.is_none(), "both have the item");
    let deliveries = a.or(b).map(|item| item.deliveries());
    assert!(deliveries.is_none_or(|deliveries| deliveries == 1));
    assert!(drain(&place).await.contains(&"1".to_owned()), "the item is lost");
}

/// Workers that share memory to notice each other, with an item that takes a while. One that completes the item has
/// the last delivery.
async fn one_works(place: Place) {
    push(&place, &["1"]).await;
    let (working, last, completed) = (&Cell::new(0), &Cell::new(0), &Cell::new(0));
    let live = async |service: TableServiceClient| -> Result<()> {
        let mut taken = queue(&service).take(TIME).await?;
        if taken.is_none() && place.has_crashes() {
            sleep(PAST).await;
            taken = queue(&service).take(TIME).await?;
        }
        let Some(item) = taken else { return Ok(()) };
        let delivery = item.deliveries();
        last.set(last.get().max(delivery));
        let work = async {
            let _working = Working::begin(working);
            table::<DynamicEntity>(&service).exists(("p", "work")).await
        };
        if let Some(worked) = item.run(work).await {
            assert!(matches!(worked, Ok(false)) || !place.has_crashes(), "{worked:?}");
            if item.complete().await? {
                count([&Ok::<_, azure_table::Error>(())]);
                assert_eq!(delivery, last.get(), "completed by a worker that had lost it");
                completed.set(completed.get() + 1);
            }
        }
        Ok(())
    };
    let (a, b) = both(&place, live, live).await;
    assert!(!place.has_crashes() || a.is_ok() && b.is_ok(), "{a:?}, {b:?}");
    assert!(completed.get() <= 1, "completed {} times", completed.get());
}

/// Completes an item, and inserts a row in the same batch.
async fn complete_with(service: &TableServiceClient, item: Item<String>, row: String) -> Result<()> {
    let rows = table::<DynamicEntity>(service);
    let mut batch = rows.batch();
    batch.push(item.completion())?;
    batch.insert(&DynamicEntity::new("p", row))?;
    let submitted = batch.submit().await;
    count([&submitted]);
    unless_changed(submitted).map(drop)
}

/// The row that an item causes is written once.
async fn complete_in_batch(place: Place) {
    push(&place, &["1"]).await;
    let live = |name: &'static str| {
        let place = &place;
        async move |service: TableServiceClient| {
            work(place, &service, async |item| {
                let row = format!("{name} {}", item.deliveries());
                complete_with(&service, item, row).await
            })
            .await
        }
    };
    let (a, b) = both(&place, live("a"), live("b")).await;
    let names = names(&place).await;
    assert_eq!(names.len(), 1, "the item and what it causes: {names:?}");
    if place.has_crashes() {
        assert!(a.is_ok() && b.is_ok(), "{a:?}, {b:?}");
        assert!(!names[0].starts_with('~'), "the item is left");
    }
}

/// The row and its item are written together and once, even if the push is repeated.
async fn outbox(place: Place) {
    let submit = async |service: &TableServiceClient| {
        let table = table::<DynamicEntity>(service);
        let mut batch = table.batch();
        batch.push(TableOperation::insert(&DynamicEntity::new("p", "order")))?;
        batch.push(queue(service).operation("order", &"mail".to_owned())?)?;
        batch.submit().await
    };
    if place.has_crashes() {
        return mailed(&place, async |service| unless_changed(submit(&service).await).map(drop)).await;
    }
    let write = async |service: TableServiceClient| {
        for _ in 0..2 {
            count([&submit(&service).await]);
        }
    };
    join_all([place.task("a", write), place.task("b", write)]).await;
    let service = place.behind();
    let is_written = table::<DynamicEntity>(&service).exists(("p", "order")).await.unwrap();
    assert!(is_written || !place.recovers, "every batch failed");
    let item = queue(&service).take(Duration::from_secs(1)).await.unwrap();
    assert_eq!(item.is_some(), is_written, "the row and its item are not together");
    let Some(item) = item else {
        return;
    };
    assert_eq!((item.id(), item.payload().as_str()), ("order", "mail"));
    assert!(queue(&service).take(Duration::from_secs(1)).await.unwrap().is_none());
    assert!(item.complete().await.unwrap());
}

/// A worker that waits for the order sends its mail once, however often the writer begins again.
async fn mailed(place: &Place, write: impl AsyncFn(TableServiceClient) -> Result<()>) {
    let mail = async |service: TableServiceClient| -> Result<()> {
        let mut attempts = 0..ATTEMPTS;
        while !table::<DynamicEntity>(&service).exists(("p", "order")).await? {
            assert!(attempts.next().is_some(), "no order is written");
            sleep(TIME).await;
        }
        work(place, &service, async |item| {
            let row = format!("mail {}", item.deliveries());
            complete_with(&service, item, row).await
        })
        .await
    };
    try_both(place, write, mail).await.unwrap();
    let names = names(place).await;
    let mails = names.iter().filter(|name| name.starts_with("mail"));
    assert_eq!((mails.count(), names.len()), (1, 2), "{names:?}");
}

/// An item that was pushed under its ID is worked on, and may be pushed again by a late write once it is complete.
async fn pushed(place: Place) -> Result<()> {
    let push = async |service: TableServiceClient| queue(&service).push_with_id("1", &"work".to_owned()).await;
    let live = async |service: TableServiceClient| {
        work(&place, &service, async |item| {
            assert_eq!((item.id(), item.payload().as_str()), ("1", "work"));
            table(&service)
                .insert_or_replace(&DynamicEntity::new("p", "done"))
                .await?;
            item.complete().await.map(drop)
        })
        .await
    };
    try_both(&place, push, &live).await?;
    // What was pushed after the worker ended.
    live(place.behind()).await?;
    assert_eq!(names(&place).await, ["done"]);
    Ok(())
}
