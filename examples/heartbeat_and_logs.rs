//! Logs of many instances in buckets, a heartbeat for each instance, and days that are dropped as a whole.
//!
//! Source: "How to get the most out of Windows Azure Tables" (2010), the logging system of components and instances,
//! and the "append only" pattern.
//!
//! `cargo run --example heartbeat_and_logs` runs on an emulator inside of this process. With
//! `AZURE_STORAGE_CONNECTION_STRING` the logs are on that account; the servers under load are always the emulator's.

#![expect(clippy::print_stdout, reason = "an example talks to a person")]

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use azure_table::emulator::{RangeSplits, ServiceModel};
use azure_table::key::{Bucket, Day};
use azure_table::patterns::TablePerPeriod;
use azure_table::telemetry::CostMeter;
use azure_table::{DateTime, DynamicEntity, Emulator, Key, TableEntity, TableServiceClient};
use azure_table_examples::{connect, finish, on_own_tables};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
const INSTANCES: [(&str, u16); 4] = [("billing", 1), ("web", 1), ("web", 2), ("web", 3)];

/// A line of a log. The component comes first, since the reads that happen most name it.
#[derive(TableEntity)]
#[table(partition_key = "{component};{instance};{bucket}")]
struct Line {
    component: String,
    instance: u16,
    bucket: Bucket<4>,
    /// An instance gives no two lines the same time.
    #[table(row_key)]
    at: DateTime,
    is_error: bool,
    text: String,
}

/// The last sign of life of an instance: one row, overwritten again and again.
#[derive(TableEntity)]
struct Heartbeat {
    #[table(partition_key)]
    component: String,
    #[table(row_key)]
    instance: u16,
    at: DateTime,
}

/// The rule for the PartitionKey of a line: the time, the number of its instance, the bucket.
type Rule = fn(Duration, u16, Bucket<4>) -> String;

// The clock of a runtime with one thread can be paused.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    finish(run().await)
}

async fn run() -> Result<(), Box<dyn Error>> {
    let cost = CostMeter::new();
    let service = connect()?.observer(cost.clone());
    tokio::time::pause();
    servers().await?;
    tokio::time::resume();
    on_own_tables(&service, async |service| logs(service, &cost).await).await
}

/// Four keys for the same lines, on a service that splits the range of a busy server.
async fn servers() -> Result<(), Box<dyn Error>> {
    println!("\nIn this model a server takes 10 lines a second, and the range of a busy one is split after 15 s.");
    println!("A partition is never split. 4 instances have 4 threads each that append lines:\n");
    println!("PartitionKey                     servers  lines/s at first  after 2 minutes");
    let rules: [(&str, Rule); 4] = [
        ("{time}", |time, _, _| format!("{:06}", time.as_millis())),
        ("{component}", |_, _, _| "web".to_owned()),
        ("{component};{instance}", |_, instance, _| format!("web;{instance}")),
        ("{component};{instance};{bucket}", |_, instance, bucket| {
            format!("web;{instance};{bucket}")
        }),
    ];
    for (name, rule) in rules {
        let splits = RangeSplits::new().decision(15 * SECOND..=15 * SECOND);
        let model = ServiceModel::new()
            .write_latency(SECOND / 200)
            .time_per_request(SECOND / 10)
            .splits(splits.unavailable(SECOND..=SECOND));
        let emulator = Emulator::new().service_model(model);
        let lines = TableServiceClient::from_transport(emulator.clone()).dynamic_table("Lines")?;
        lines.create_table().await?;
        let start = Instant::now();
        let mut threads = JoinSet::new();
        for (instance, bucket) in (0..4).flat_map(|instance| Bucket::all().map(move |bucket| (instance, bucket))) {
            let lines = lines.clone();
            threads.spawn(async move {
                loop {
                    let time = start.elapsed();
                    let row_key = format!("{instance};{bucket};{:06}", time.as_millis());
                    let line = DynamicEntity::new(rule(time, instance, bucket), row_key);
                    // A line that is still rejected after its retries is lost in this model.
                    let _ = lines.insert(&line).await;
                }
            });
        }
        let rate = async |time: Duration| {
            sleep(time).await;
            let before = emulator.load();
            sleep(10 * SECOND).await;
            emulator.load().since(&before).accepted_entities as f64 / 10.0
        };
        let (first, later) = (rate(4 * SECOND).await, rate(110 * SECOND).await);
        let servers = emulator.range_splits() + 1;
        println!("{name:<31}  {servers:>7}  {first:>16.0}  {later:>15.0}");
    }
    println!("\nThe next time is always the greatest key, so one server has all of it, however many there are.");
    Ok(())
}

/// Three days of logs, a silent instance, its last lines, and retention.
async fn logs(service: &TableServiceClient, cost: &CostMeter) -> Result<(), Box<dyn Error>> {
    let logs = TablePerPeriod::<Line>::daily(service, "Logs");
    let heartbeats = service.table::<Heartbeat>("Heartbeats")?.create_on_not_found();
    let time = |text: &str| format!("2026-11-{text}Z").parse::<DateTime>();
    for (component, instance) in INSTANCES {
        // The lines of the fourth flush are of two days.
        for start in [
            "20T09:00:00",
            "20T15:00:00",
            "21T09:00:00",
            "21T23:59:40",
            "22T09:00:00",
            "22T15:00:00",
        ] {
            let dies = (component, instance, start) == ("web", 2, "22T09:00:00");
            let start = time(start)?;
            flush(&logs, component, instance, start, dies).await?;
            let beat = Heartbeat {
                component: component.into(),
                instance,
                at: start + if dies { 49 } else { 60 } * SECOND,
            };
            heartbeats.insert_or_replace(&beat).await?;
            if dies {
                break;
            }
        }
    }
    println!(
        "\nlogged     50 lines and a heartbeat, 23 times: {} requests",
        cost.total().requests
    );

    let now = time("22T15:01:20")?;
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
        .filter(Line::AT.ge(time("22T09:00:47")?))
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
    let dropped = logs.drop_before(time("21T00:00:00")?).await?;
    let requests = cost.total().requests - before;
    println!(
        "\ndropped    {} with its 400 lines: {requests} requests",
        dropped.join(", ")
    );
    Ok(())
}

/// Writes what an instance has logged since its last flush: one batch for each day, in one bucket.
async fn flush(
    logs: &TablePerPeriod<Line>,
    component: &str,
    instance: u16,
    start: DateTime,
    dies: bool,
) -> Result<(), Box<dyn Error>> {
    let bucket = Bucket::random();
    let lines = (0..50).map(|second| {
        let (is_error, text) = match second {
            48 if dies => (true, "out of memory".into()),
            49 if dies => (true, "the process ends".into()),
            20 if instance == 3 => (true, "no answer from billing 1".into()),
            _ => (false, format!("request {second}")),
        };
        let (component, at) = (component.into(), start + second * SECOND);
        Line {
            component,
            instance,
            bucket,
            at,
            is_error,
            text,
        }
    });
    // A line belongs to the table of its own time: those after midnight to the next one.
    let mut days: BTreeMap<Day, Vec<Line>> = BTreeMap::new();
    for line in lines {
        days.entry(line.at.into()).or_default().push(line);
    }
    for (day, lines) in days {
        let report = logs.at(day.start())?.bulk().insert_or_replace(lines).await?;
        report.ensure_no_leftovers()?;
    }
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
