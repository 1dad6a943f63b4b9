//! A channel deleted with all of its blogs, by workers that crash: a queue keeps the work until it is complete.
//!
//! Source: "Windows Azure Table" (2009), consistency across tables: the tables `Channels` and `Blogs`, and the queue
//! `DeleteChannelAndBlogs`.
//!
//! `cargo run --example delete_channel` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account. Each crash costs the visibility time: 1 s, there 10 s.
//!
//! Not covered: a writer that reads the flag just before the mark may insert a blog after the deletion, and it stays.
//! To catch these blogs, sweep the partition again later than a writer takes, before the name is free again.
//!
//! `crashes.rs` starts the workers, and lets them crash.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod crashes;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::testing::Faults;
use azure_table::{DateTime, NoRetry, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::{connect_with_faults, finish, is_emulated, on_own_tables};
use azure_table_patterns::Queue;
use serde::{Deserialize, Serialize};

const BLOGS: u32 = 250;

/// PartitionKey: the name. RowKey: the empty string.
#[derive(TableEntity)]
#[table(row_key = "", rename_all = "PascalCase")]
struct Channel {
    #[table(partition_key)]
    name: String,
    owner: String,
    /// A channel that is created again under the same name has another time.
    created_on: DateTime,
    /// The mark. From then on, programs neither read its blogs nor write new ones.
    is_invalid: bool,
}

/// PartitionKey: the name of the channel. RowKey: the time.
#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    created_on: DateTime,
    title: String,
    blog: String,
    user_id: String,
}

/// The work of an item. The time protects a newer channel of the same name from a later delivery.
#[derive(Serialize, Deserialize)]
struct Deletion {
    channel: String,
    created_on: DateTime,
}

/// Both tables, and the queue of the channels that are to be deleted.
struct Store {
    channels: TableClient<Channel>,
    blogs: TableClient<Blog>,
    deletions: Queue<Deletion>,
    /// The time after which an item of a crashed worker is free.
    visibility: Duration,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let (service, faults) = connect_with_faults()?;
    // Without retries each fault ends the worker, as a crash of the process would.
    on_own_tables(&service.retry(NoRetry), async |service| work(service, &faults).await).await
}

async fn work(service: &TableServiceClient, faults: &Faults) -> Result<(), Box<dyn Error>> {
    service.ensure_tables(["Channels", "Blogs", "Work"]).await?;
    let store = Store {
        channels: service.table("Channels")?,
        blogs: service.table("Blogs")?,
        deletions: Queue::new(&service.dynamic_table("Work")?, "DeleteChannelAndBlogs", "~"),
        visibility: Duration::from_millis(if is_emulated() { 500 } else { 10_000 }),
    };
    crashes::show(&store, faults).await
}

impl Store {
    /// Creates a channel with its blogs. Returns the work of deleting it.
    async fn create(&self, name: &str) -> Result<Deletion> {
        let created_on = DateTime::now();
        let channel = Channel {
            name: name.into(),
            owner: "Jean".into(),
            created_on,
            is_invalid: false,
        };
        self.channels.insert(&channel).await?;
        let blogs = (0..BLOGS).map(|number| Blog {
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
    async fn next_deletion(&self) -> Result<Option<i32>, Box<dyn Error>> {
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
