//! The worker of the example `delete_channel`, in processes that crash.

// The rows and the worker themselves, not a copy.
#[path = "../../../../examples/delete_channel/store.rs"]
mod store;

use azure_table::testing::{Simulation, explore};
use azure_table::{DateTime, DynamicEntity, Result, TableServiceClient};
use futures::future::try_join;
use tokio::time::sleep;

use self::store::Store;
use super::{ATTEMPTS, CrashCase, RowId, TIME, behind, settle, stored, unless_changed};

pub(super) const ALL: [CrashCase; 2] = [
    CrashCase {
        name: "example `delete_channel`: two workers",
        processes: 2,
        explore: |bounds| bounds.of(explore(delete)).isolated().run(),
    },
    CrashCase {
        name: "example `delete_channel`: the channel is created again",
        processes: 2,
        explore: |bounds| bounds.of(explore(create_again)).isolated().run(),
    },
];

const CREATED: DateTime = DateTime::from_unix_seconds(1_800_000_000);
/// The second channel of the same name, a day later.
const AGAIN: DateTime = DateTime::from_unix_seconds(1_800_086_400);

/// Leaves a channel with two blogs, and the item of its deletion.
async fn seeded(simulation: &Simulation) -> Result<TableServiceClient> {
    let behind = behind(simulation, &["Channels", "Blogs", "Work"]);
    let store = Store::open(&behind, TIME)?;
    store
        .deletions
        .push_with_id("1", &store.create("Football", CREATED, 2).await?)
        .await?;
    Ok(behind)
}

/// Works until the queue is empty. A delivery fails if a late write of an earlier life comes between its requests.
async fn work(service: TableServiceClient) -> Result<()> {
    let store = Store::open(&service, TIME)?;
    for _ in 0..ATTEMPTS {
        if !matches!(store.next_deletion().await, Ok(Some(_))) {
            if stored_items(&service).await? == 0 {
                return Ok(());
            }
            sleep(TIME).await;
        }
    }
    panic!("the deletion never ends");
}

async fn stored_items(service: &TableServiceClient) -> Result<usize> {
    service.table::<RowId>("Work")?.query().allow_table_scan().count().await
}

/// Returns the number of channels and of blogs.
async fn left(behind: &TableServiceClient) -> (usize, usize) {
    let (channels, blogs): (Vec<RowId>, Vec<RowId>) =
        (stored(behind, "Channels", "").await, stored(behind, "Blogs", "").await);
    (channels.len(), blogs.len())
}

/// The channel and its blogs are deleted, and no item is left.
async fn delete(simulation: Simulation) -> Result<()> {
    let behind = seeded(&simulation).await?;
    try_join(simulation.process("a", work), simulation.process("b", work)).await?;
    settle(&simulation, &["Channels", "Blogs", "Work"]).await?;
    assert_eq!(left(&behind).await, (0, 0));
    Ok(())
}

/// A delivery of the first deletion leaves the channel that was created again after it, with its blogs.
async fn create_again(simulation: Simulation) -> Result<()> {
    let behind = seeded(&simulation).await?;
    let create = async |service: TableServiceClient| -> Result<()> {
        let store = Store::open(&service, TIME)?;
        for _ in 0..ATTEMPTS {
            match store.channels.get(("Football",)).await? {
                Some(channel) if channel.created_on == AGAIN => {
                    let blogs = store.blogs.typed::<DynamicEntity>();
                    let blog = DynamicEntity::new("Football", "new");
                    return blogs.insert_or_replace(&blog).await.map(drop);
                }
                Some(_) => sleep(TIME).await,
                None => drop(unless_changed(store.create("Football", AGAIN, 0).await)?),
            }
        }
        panic!("the channel is never deleted");
    };
    try_join(simulation.process("worker", work), simulation.process("web", create)).await?;
    settle(&simulation, &["Channels", "Blogs", "Work"]).await?;
    assert_eq!(left(&behind).await, (1, 1));
    Ok(())
}
