//! A channel deleted with all of its blogs, by workers that crash: a queue keeps the work until it is complete.
//!
//! Source: "Windows Azure Table" (2009), consistency across tables: the tables `Channels` and `Blogs`, and the queue
//! `DeleteChannelAndBlogs`.
//!
//! `cargo run --example delete_channel` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account. There, each crash costs the visibility time of 10 s. The
//! clock of the emulator is moved forward instead.
//!
//! Not covered: a writer that reads the flag just before the mark may insert a blog after the deletion, and it stays.
//! To catch these blogs, sweep the partition again later than a writer takes, before the name is free again.
//!
//! `store.rs` has the rows and the worker; `crashes.rs` starts workers, and lets them crash.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod crashes;
mod store;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::emulator::EmulatorClock;
use azure_table::testing::Faults;
use azure_table::{NoRetry, TableServiceClient};
use azure_table_examples::{connect_with_clock, finish, on_own_tables};

use self::store::Store;

const BLOGS: u32 = 250;

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let (service, faults, clock) = connect_with_clock()?;
    // Without retries each fault ends the worker, as a crash of the process would.
    let service = service.retry(NoRetry);
    on_own_tables(&service, async |service| work(service, &faults, clock).await).await
}

async fn work(
    service: &TableServiceClient,
    faults: &Faults,
    clock: Option<EmulatorClock>,
) -> Result<(), Box<dyn Error>> {
    service.ensure_tables(["Channels", "Blogs", "Work"]).await?;
    // A worker must be done by then. On the emulator nobody waits for it, so even a busy machine has enough time.
    let visibility = Duration::from_secs(if clock.is_some() { 600 } else { 10 });
    let store = Store::open(service, visibility)?;
    crashes::show(&store, faults, clock.as_ref()).await
}
