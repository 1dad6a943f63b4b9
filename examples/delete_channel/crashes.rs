//! Workers that crash before each of their requests, and the state that the next worker leaves.

use std::error::Error;

use azure_table::emulator::EmulatorClock;
use azure_table::testing::Faults;
use azure_table::{DateTime, DynamicEntity, Result};
use azure_table_examples::crash::Crash;

use crate::BLOGS;
use crate::store::{Deletion, Store};

/// Deletes a channel for each request of a worker, and lets the worker crash before that request.
pub(crate) async fn show(store: &Store, faults: &Faults, clock: Option<&EmulatorClock>) -> Result<(), Box<dyn Error>> {
    store.show_rows("Hockey").await?;
    println!("\na crash before each request of a worker that deletes a channel of {BLOGS} blogs:\n");
    println!("  before            channel   blogs    after the next worker  channel  blogs  deliveries");
    for request in 1.. {
        let name = format!("Football{request}");
        // The web front end does no more than push the item.
        store.deletions.push(&store.create_now(&name).await?).await?;

        let crash = Crash::before(request, faults, store.next_deletion()).await?;
        let (channel, blogs) = store.state(&name).await?;
        let deliveries = if crash.has_happened() {
            store.next_worker(clock).await?.to_string()
        } else {
            "-".to_owned()
        };
        let (channel_after, blogs_after) = store.state(&name).await?;
        println!(
            "  {crash:<18}{channel:<8}  {blogs:>5}    {:<21}  {channel_after:<7}  {blogs_after:>5}  {deliveries:>10}",
            ""
        );
        if !crash.has_happened() {
            // The last request of a worker completes the item.
            store.recreate(request - 1, faults, clock).await?;
            break;
        }
    }
    println!("\nEach step can be repeated, so the next worker needs to know nothing of the one that crashed.");
    Ok(())
}

impl Store {
    /// Creates a channel with its blogs. Returns the work of deleting it.
    async fn create_now(&self, name: &str) -> Result<Deletion> {
        self.create(name, DateTime::now(), BLOGS).await
    }

    /// Starts workers until one finds the item free. Returns the number of its deliveries.
    async fn next_worker(&self, clock: Option<&EmulatorClock>) -> Result<i32, Box<dyn Error>> {
        loop {
            if let Some(deliveries) = self.next_deletion().await? {
                return Ok(deliveries);
            }
            let time = self.visibility / 8;
            match clock {
                Some(clock) => clock.advance(time),
                None => tokio::time::sleep(time).await,
            }
        }
    }

    /// Creates a channel again, while the item of its deletion waits for another delivery.
    async fn recreate(
        &self,
        completion: u64,
        faults: &Faults,
        clock: Option<&EmulatorClock>,
    ) -> Result<(), Box<dyn Error>> {
        let name = "Basketball";
        self.deletions.push(&self.create_now(name).await?).await?;
        let crash = Crash::before(completion, faults, self.next_deletion()).await?;
        if !crash.has_happened() {
            return Err("no crash".into());
        }
        self.create_now(name).await?;
        let deliveries = self.next_worker(clock).await?;
        let (channel, blogs) = self.state(name).await?;
        println!("\ncreated again before delivery {deliveries}: {channel}, {blogs} blogs");
        Ok(())
    }

    /// Prints a channel and its first blog as they are stored.
    async fn show_rows(&self, name: &str) -> Result<()> {
        self.create_now(name).await?;
        let channel = self.channels.typed::<DynamicEntity>().query().partition(name).first();
        let blog = self.blogs.typed::<DynamicEntity>().query().partition(name).first();
        for row in [channel.await?, blog.await?].into_iter().flatten() {
            println!("\nPartitionKey {:?}, RowKey {:?}", row.partition_key, row.row_key);
            for (property, value) in &row.properties {
                println!("  {property:<10} {value}");
            }
        }
        Ok(())
    }

    /// Returns the state of a channel, and the number of its blogs.
    async fn state(&self, name: &str) -> Result<(&'static str, usize)> {
        let channel = match self.channels.get((name,)).await? {
            None => "deleted",
            Some(channel) if channel.is_invalid => "invalid",
            Some(_) => "valid",
        };
        Ok((channel, self.blogs.query().partition(name).count().await?))
    }
}
