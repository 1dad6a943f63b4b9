//! The worker of the example `delete_channel`, in processes that crash.

// The rows and the worker themselves, not a copy.
#[path = "../../../../examples/delete_channel/store.rs"]
mod store;

use azure_table::{DateTime, DynamicEntity, Result, TableServiceClient};
use tokio::time::sleep;

use self::store::Store;
use super::{Case, unless_changed};
use crate::explorations::patterns::{ATTEMPTS, RowId, TIME, create_tables, stored_in, try_both};
use crate::promises::Place;

pub(super) const ALL: [Case; 2] = [
    case!("example `delete_channel`: two workers", delete).only_crashes(2),
    case!("example `delete_channel`: the channel is created again", create_again).only_crashes(2),
];

const CREATED: DateTime = DateTime::from_unix_seconds(1_800_000_000);
/// The second channel of the same name, a day later.
const AGAIN: DateTime = DateTime::from_unix_seconds(1_800_086_400);

/// Leaves a channel with two blogs, and the item of its deletion.
async fn seed(place: &Place) -> Result<()> {
    create_tables(place, &["Channels", "Blogs", "Work"]);
    let store = Store::open(&place.behind(), TIME)?;
    store
        .deletions
        .push_with_id("1", &store.create("Football", CREATED, 2).await?)
        .await?;
    Ok(())
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
async fn left(place: &Place) -> (usize, usize) {
    let count = async |table| stored_in::<RowId>(place, table, "").await.len();
    (count("Channels").await, count("Blogs").await)
}

/// The channel and its blogs are deleted, and no item is left.
async fn delete(place: Place) -> Result<()> {
    seed(&place).await?;
    try_both(&place, work, work).await?;
    assert_eq!(left(&place).await, (0, 0));
    Ok(())
}

/// A delivery of the first deletion leaves the channel that was created again after it, with its blogs.
async fn create_again(place: Place) -> Result<()> {
    seed(&place).await?;
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
    try_both(&place, work, create).await?;
    assert_eq!(left(&place).await, (1, 1));
    Ok(())
}
