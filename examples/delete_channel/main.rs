//! A channel deleted with all of its blogs, by workers that crash: a queue keeps the work until it is complete.
//!
//! Source: "Windows Azure Table" (2009), consistency across tables: the tables `Channels` and `Blogs`, and the queue
//! `DeleteChannelAndBlogs`.
//!
//! `cargo run --example delete_channel` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account. Each crash costs the visibility time, here 0.5 s and there
//! 10 s.
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

use azure_table::testing::Faults;
use azure_table::{NoRetry, TableServiceClient};
use azure_table_examples::{connect_with_faults, finish, is_emulated, on_own_tables};

use self::store::Store;

const BLOGS: u32 = 250;

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
    let visibility = Duration::from_millis(if is_emulated() { 500 } else { 10_000 });
    let store = Store::open(service, visibility)?;
    crashes::show(&store, faults).await
}
