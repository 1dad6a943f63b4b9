//! The load of four instances on a model of the service, by the PartitionKey of their lines.

use std::error::Error;
use std::time::Duration;

use azure_table::emulator::{RangeSplits, ServiceModel};
use azure_table::key::Bucket;
use azure_table::{DynamicEntity, Emulator, TableServiceClient};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::SECOND;

/// The rule for the PartitionKey of a line: the time, the number of its instance, the bucket.
type Rule = fn(Duration, u16, Bucket<4>) -> String;

/// Compares four keys for the same lines, on a service that splits the range of a busy server.
pub(crate) async fn compare() -> Result<(), Box<dyn Error>> {
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
