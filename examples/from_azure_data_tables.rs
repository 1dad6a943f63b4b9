//! A program that used the crate `azure_data_tables`: first its serde struct, unchanged, then a derived one.
//!
//! It rehearses the move on a table of its own. The old struct writes no EDM types, so its numbers are Edm.Int32. A filter
//! of the new struct compares with Edm.Int64 and finds nothing, until `update_where` has written each row again.
//!
//! It runs on an emulator inside of this process, or on the account of `AZURE_STORAGE_CONNECTION_STRING`.
//!
//! Source: the guide "Migrate from azure_data_tables".

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::process::ExitCode;
use std::time::Duration;

use azure_table::entity::SerdeEntity;
use azure_table::{Change, TableEntity, TableServiceClient};
use azure_table_examples::{Done, connect, finish, on_own_tables};
use serde::{Deserialize, Serialize};

/// The struct of the old program.
#[derive(Serialize, Deserialize)]
struct OldBlog {
    #[serde(rename = "PartitionKey")]
    channel: String,
    #[serde(rename = "RowKey")]
    id: String,
    views: i64,
}

#[derive(TableEntity)]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    views: i64,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Done<()> {
    on_own_tables(&connect()?, work).await
}

async fn work(service: &TableServiceClient) -> Done<()> {
    let old = service.table::<SerdeEntity<OldBlog>>("Rehearsal")?;
    // Empty, also after an earlier rehearsal: Azure Storage then takes about a minute.
    old.recreate_table(Duration::from_secs(120)).await?;
    let blogs = (1..=3).map(|n: i64| {
        SerdeEntity(OldBlog {
            channel: "Channel9".into(),
            id: n.to_string(),
            views: 2 * n,
        })
    });
    old.bulk().insert(blogs).await?.ensure_no_leftovers()?;
    let read = old.modify(("Channel9", "1"), |blog| blog.views += 5).await?;
    println!("old struct   blog {} has {} views", read.id, read.views);

    let new = old.typed::<Blog>();
    let popular = new.query().partition("Channel9").filter(Blog::VIEWS.ge(5));
    println!("new struct   {} popular", popular.clone().count().await?);
    let exact = old.annotated();
    let written = exact.update_where(exact.query(), |_| Change::Save).await?;
    written.ensure_no_leftovers()?;
    println!("written      {} rows with their types", written.applied());
    for Blog { channel, id, views } in popular.all().await? {
        println!("new struct   blog {id} of {channel} has {views} views");
    }
    Ok(())
}
