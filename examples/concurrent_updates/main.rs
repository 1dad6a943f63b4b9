//! Several writers of one row: a conflict seen and resolved, and sales that are lost without ETags.
//!
//! Source: "Windows Azure Table" (2009), concurrent updates: the `If-Match` header, 412, and the unconditional update.
//!
//! `cargo run --example concurrent_updates` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` it runs on that account.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod tills;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::testing::{Fault, FaultRule};
use azure_table::{ErrorKind, Guid, Result, TableClient, TableEntity, TableServiceClient};
use azure_table_examples::{connect_with_faults, finish, on_own_tables};

use crate::tills::{ROUNDS, SALES, TILLS, Way, sell};

#[derive(TableEntity, Debug)]
struct Stock {
    #[table(partition_key)]
    shop: String,
    #[table(row_key)]
    article: String,
    left: i64,
    /// Identifies the stored write after a lost response. Two increments look alike without it.
    #[table(write_id)]
    last_write: Option<Guid>,
}

#[tokio::main]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let (service, faults) = connect_with_faults()?;
    // The emulator answers so fast that the tills would hardly meet.
    faults.add(FaultRule::new(Fault::DelayResponse(Duration::from_millis(2))).on_reads());
    on_own_tables(&service, work).await
}

async fn work(service: &TableServiceClient) -> Result<(), Box<dyn Error>> {
    let stock = service.table::<Stock>("Stock")?;
    stock.create_table().await?;
    two_clerks(&stock).await?;

    println!("\n{TILLS} tills sell {ROUNDS} times each, in each round all at the same moment, of 100 articles:\n");
    println!("way            sold   left  expected    lost  conflicts");
    for way in [Way::Unconditional, Way::UnderEtag, Way::Modify] {
        let conflicts = sell(&stock, way).await?;
        let left = stock.get(("Oslo", "mug")).await?.ok_or("no such article")?.left;
        let sold = match way {
            Way::UnderEtag => SALES - conflicts,
            Way::Unconditional | Way::Modify => SALES,
        };
        let expected = 100 - sold as i64;
        let way = format!("{way:?}");
        println!(
            "{way:<13}  {sold:>4}  {left:>5}  {expected:>8}  {:>6}  {conflicts:>9}",
            left - expected
        );
    }
    Ok(())
}

/// Two clerks read the same version. The second write is rejected, and made again on the new version.
async fn two_clerks(stock: &TableClient<Stock>) -> Result<(), Box<dyn Error>> {
    restock(stock).await?;
    let mut ada = stock.get(("Oslo", "mug")).versioned().await?.ok_or("no such article")?;
    let mut ben = stock.get(("Oslo", "mug")).versioned().await?.ok_or("no such article")?;
    println!("Ada reads  {} left, version {}", ada.left, ada.etag);
    println!("Ben reads  {} left, version {}", ben.left, ben.etag);

    ada.left -= 1;
    stock.save(&mut ada).await?;
    println!("Ada saves  {} left, version {}", ada.left, ada.etag);

    ben.left -= 10;
    match stock.save(&mut ben).await {
        Err(error) if is_conflict(&error) => println!("Ben fails  {error}"),
        Err(error) => return Err(error.into()),
        Ok(()) => return Err("the write of an old version was applied".into()),
    }
    stock.refresh(&mut ben).await?;
    ben.left -= 10;
    stock.save(&mut ben).await?;
    println!("Ben saves  {} left, on the version that Ada wrote", ben.left);
    Ok(())
}

/// Another writer was faster. A write in doubt has another kind: it may be stored.
fn is_conflict(error: &azure_table::Error) -> bool {
    error.kind() == ErrorKind::ConditionNotMet
}

async fn restock(stock: &TableClient<Stock>) -> Result<()> {
    let full = Stock {
        shop: "Oslo".into(),
        article: "mug".into(),
        left: 100,
        last_write: None,
    };
    stock.insert_or_replace(&full).await?;
    Ok(())
}
