//! The rows of channels and blogs, and the worker that deletes a channel.

use std::error::Error;
use std::time::Duration;

use azure_table::{DateTime, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_patterns::Queue;
use serde::{Deserialize, Serialize};

/// PartitionKey: the name. RowKey: the empty string.
#[derive(TableEntity)]
#[table(row_key = "", rename_all = "PascalCase")]
pub(super) struct Channel {
    #[table(partition_key)]
    name: String,
    owner: String,
    /// A channel that is created again under the same name has another time.
    pub(super) created_on: DateTime,
    /// The mark. From then on, programs neither read its blogs nor write new ones.
    pub(super) is_invalid: bool,
}

/// PartitionKey: the name of the channel. RowKey: the time.
#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
pub(super) struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    pub(super) created_on: DateTime,
    title: String,
    blog: String,
    user_id: String,
}

/// The work of an item. The time protects a newer channel of the same name from a later delivery.
#[derive(Serialize, Deserialize)]
pub(super) struct Deletion {
    channel: String,
    pub(super) created_on: DateTime,
}

/// Both tables, and the queue of the channels that are to be deleted.
pub(super) struct Store {
    pub(super) channels: TableClient<Channel>,
    pub(super) blogs: TableClient<Blog>,
    pub(super) deletions: Queue<Deletion>,
    /// The time after which an item of a crashed worker is free.
    pub(super) visibility: Duration,
}

impl Store {
    /// Opens the tables.
    pub(super) fn open(service: &TableServiceClient, visibility: Duration) -> Result<Self> {
        Ok(Self {
            channels: service.table("Channels")?,
            blogs: service.table("Blogs")?,
            deletions: Queue::new(&service.dynamic_table("Work")?, "DeleteChannelAndBlogs", "~"),
            visibility,
        })
    }

    /// Creates a channel with its blogs. Returns the work of deleting it.
    pub(super) async fn create(&self, name: &str, created_on: DateTime, blogs: u32) -> Result<Deletion> {
        let channel = Channel {
            name: name.into(),
            owner: "Jean".into(),
            created_on,
            is_invalid: false,
        };
        self.channels.insert(&channel).await?;
        let blogs = (0..blogs).map(|number| Blog {
            channel: name.into(),
            created_on: created_on + Duration::from_secs(60) * number,
            title: format!("Week {number}"),
            blog: "Hello".into(),
            user_id: "Joe".into(),
        });
        self.blogs.bulk().insert(blogs).await?.ensure_no_leftovers()?;
        let channel = name.into();
        Ok(Deletion { channel, created_on })
    }

    /// Does the work of the next item. Returns the number of its deliveries, or `None` if none is free.
    pub(super) async fn next_deletion(&self) -> Result<Option<i32>, Box<dyn Error>> {
        let Some(item) = self.deletions.take(self.visibility).await? else {
            return Ok(None);
        };
        // `run` ends the work before another worker can take the item.
        item.run(self.delete(item.payload()))
            .await
            .ok_or("it takes too long")??;
        let deliveries = item.deliveries();
        item.complete().await?;
        Ok(Some(deliveries))
    }

    /// Marks the channel, deletes its blogs, then the channel itself.
    async fn delete(&self, deletion: &Deletion) -> Result<(), Box<dyn Error>> {
        let name = deletion.channel.as_str();
        let channel = self.channels.get((name,)).versioned().await?;
        let Some(channel) = channel.filter(|channel| channel.created_on == deletion.created_on) else {
            // An earlier delivery has deleted the channel, and before it the blogs.
            return Ok(());
        };
        // The ETags keep both writes off a channel that is created in between.
        let mark = self.channels.patch((name,), [Channel::IS_INVALID.set(true)]);
        let marked = mark.if_match(channel.etag).await?;
        let report = self.blogs.delete_where(self.blogs.query().partition(name)).await?;
        report.ensure_no_leftovers()?;
        if report.position().is_some() {
            return Err(report.to_string().into());
        }
        self.channels.delete_if_exists((name,)).if_match(marked).await?;
        Ok(())
    }
}
