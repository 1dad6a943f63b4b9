//! Logs of many instances in buckets, a heartbeat for each instance, and days that are dropped as a whole.
//!
//! Source: "How to get the most out of Windows Azure Tables" (2010), the logging system of components and instances,
//! and the "append only" pattern.
//!
//! `cargo run --example heartbeat_and_logs` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` the logs are on that account; the servers under load are always the emulator's.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

mod flushes;
mod rows;
mod servers;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::key::Bucket;
use azure_table::telemetry::CostMeter;
use azure_table::{Key, TableServiceClient};
use azure_table_examples::{connect, finish, on_own_tables};
use azure_table_patterns::TablePerPeriod;

use crate::flushes::{flushes, november};
use crate::rows::{Heartbeat, Line, write};

const SECOND: Duration = Duration::from_secs(1);

// The clock of a runtime with one thread can be paused.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let cost = CostMeter::new();
    let service = connect()?.observer(cost.clone());
    tokio::time::pause();
    servers::compare().await?;
    tokio::time::resume();
    on_own_tables(&service, async |service| logs(service, &cost).await).await
}

/// Three days of logs, a silent instance, its last lines, and retention.
async fn logs(service: &TableServiceClient, cost: &CostMeter) -> Result<(), Box<dyn Error>> {
    let logs = TablePerPeriod::<Line>::daily(service, "Logs");
    let heartbeats = service.table::<Heartbeat>("Heartbeats")?.create_missing_table();
    for flush in flushes()? {
        write(&logs, flush.lines).await?;
        heartbeats.insert_or_replace(&flush.heartbeat).await?;
    }
    println!(
        "\nlogged     50 lines and a heartbeat, 23 times: {} requests",
        cost.total().requests
    );

    let now = november("22T15:01:20")?;
    println!("\nheartbeats of web at {now}:");
    for beat in heartbeats.query().partition("web").all().await? {
        let silence = now.duration_since(beat.at)?;
        let state = if silence > 300 * SECOND { "silent" } else { "alive" };
        println!("  web {}  {state:<6}  seen {} s ago", beat.instance, silence.as_secs());
    }

    let today = logs.at(now)?;
    let buckets = Bucket::<4>::all().map(|bucket| ("web", 2, bucket));
    let query = today
        .query()
        .filter(Line::AT.ge(november("22T09:00:47")?))
        .fan_out()
        .partitions(buckets);
    println!(
        "\nthe last lines of web 2, {:?} in each of 4 buckets:",
        query.plan()?.path()
    );
    print(query.all().await?);

    let of_web = today.query().key_prefix(Key::<Line>::prefix(("web",))?);
    let errors = of_web.filter(Line::IS_ERROR.eq(true));
    println!("\nerrors of web, {:?}:", errors.plan()?.path());
    print(errors.all().await?);

    let before = cost.total().requests;
    let dropped = logs.drop_before(november("21T00:00:00")?).await?;
    let requests = cost.total().requests - before;
    println!(
        "\ndropped    {} with its 400 lines: {requests} requests",
        dropped.join(", ")
    );
    Ok(())
}

/// Prints lines in the order of their times: a query returns them bucket by bucket.
fn print(mut lines: Vec<Line>) {
    lines.sort_by_key(|line| line.at);
    for line in lines {
        let level = if line.is_error { "error" } else { "info" };
        println!("  {}  web {}  {level:<5}  {}", line.at, line.instance, line.text);
    }
}
