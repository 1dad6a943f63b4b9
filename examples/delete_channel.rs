//! A channel deleted with all of its blogs, by workers that crash: a queue keeps the work until it is complete.
//!
//! Source: "Windows Azure Table" (2009), consistency across tables: the tables `Channels` and `Blogs`, and the queue
//! `DeleteChannelAndBlogs`.
//!
//! `cargo run --example delete_channel` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account, where each crash costs the visibility time of 10 s.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::patterns::Queue;
use azure_table::testing::{Fault, FaultRule, Faults};
use azure_table::{ErrorKind, NoRetry, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::{connect_with_faults, finish, is_emulated, on_own_tables};

const BLOGS: u32 = 250;

#[derive(TableEntity)]
#[table(row_key = "channel")]
struct Channel {
    #[table(partition_key)]
    name: String,
    /// From then on nobody reads or writes its blogs.
    is_deleted: bool,
}

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
}

/// Both tables, and the queue of the channels that are to be deleted.
struct Store {
    channels: TableClient<Channel>,
    blogs: TableClient<Blog>,
    deletions: Queue<String>,
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
        visibility: Duration::from_millis(if is_emulated() { 400 } else { 10_000 }),
    };
    println!("\na crash before each request of a worker that deletes a channel of {BLOGS} blogs:\n");
    println!("  before            channel   blogs    after the next worker  channel  blogs  deliveries");
    for request in 1.. {
        let name = format!("Football{request}");
        store.create(&name).await?;
        // The web front end does no more than this.
        store.deletions.push(&name).await?;

        let crash = faults.add(FaultRule::new(Fault::NoConnection).nth(request));
        let crashed = store.next_deletion().await.is_err();
        faults.remove(&crash);
        let hit = faults.log().into_iter().rev().find(|record| record.fault().is_some());
        let request = match hit.filter(|_| crashed).and_then(|record| record.kind()) {
            Some(kind) => format!("{request} {kind:?}"),
            None => "no crash".to_owned(),
        };
        let (channel, blogs) = store.state(&name).await?;

        let mut deliveries = None;
        while crashed && deliveries.is_none() {
            deliveries = store.next_deletion().await?;
            tokio::time::sleep(store.visibility / 4).await;
        }
        let (channel_after, blogs_after) = store.state(&name).await?;
        let deliveries = deliveries.map_or("-".to_owned(), |deliveries| deliveries.to_string());
        println!(
            "  {request:<18}{channel:<8}  {blogs:>5}    {:<21}  {channel_after:<7}  {blogs_after:>5}  {deliveries:>10}",
            ""
        );
        if !crashed {
            break;
        }
    }
    println!("\nEach step can be repeated, so the next worker needs to know nothing of the one that crashed.");
    Ok(())
}

impl Store {
    async fn create(&self, name: &str) -> Result<(), Box<dyn Error>> {
        let channel = Channel {
            name: name.into(),
            is_deleted: false,
        };
        self.channels.insert(&channel).await?;
        let blogs = (0..BLOGS).map(|number| Blog {
            channel: name.into(),
            number,
        });
        match self.blogs.bulk().insert(blogs).await?.leftovers().first() {
            Some(left) => Err(left.to_string().into()),
            None => Ok(()),
        }
    }

    /// Does the work of the next item. Returns the number of its deliveries, or `None` if none is free.
    async fn next_deletion(&self) -> Result<Option<i32>, Box<dyn Error>> {
        let Some(item) = self.deletions.take(self.visibility).await? else {
            return Ok(None);
        };
        // No longer than no other worker has the item.
        item.run(self.delete(item.payload()))
            .await
            .ok_or("it takes too long")??;
        let deliveries = item.deliveries();
        item.complete().await?;
        Ok(Some(deliveries))
    }

    async fn delete(&self, name: &str) -> Result<(), Box<dyn Error>> {
        match self.channels.patch((name,), [Channel::IS_DELETED.set(true)]).await {
            // An earlier delivery has deleted the channel, and before it the blogs.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            marked => marked?,
        };
        let report = self.blogs.delete_where(self.blogs.query().partition(name)).await?;
        if report.position().is_some() || !report.leftovers().is_empty() {
            return Err(report.to_string().into());
        }
        self.channels.delete_if_exists((name,)).await?;
        Ok(())
    }

    /// Returns the state of a channel, and the number of its blogs.
    async fn state(&self, name: &str) -> Result<(&'static str, usize)> {
        let channel = match self.channels.get((name,)).await? {
            None => "deleted",
            Some(channel) if channel.is_deleted => "marked",
            Some(_) => "visible",
        };
        Ok((channel, self.blogs.query().partition(name).count().await?))
    }
}
