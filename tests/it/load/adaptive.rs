//! A bulk finds out how fast it may send: near the limit, and hardly ever over it.

use azure_table_tests::load::ManyWrites;
use futures::future::join_all;

use super::*;

#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn a_partition_of_today_is_held_at_its_limit() {
    let writes = ManyWrites::one_partition_of_today(120_000);
    hold(&writes.checks(&writes.run().await));
}

#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn a_partition_of_2010_is_held_at_its_limit() {
    let writes = ManyWrites::one_partition_of_2010(60_000);
    hold(&writes.checks(&writes.run().await));
}

#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn many_partitions_are_held_at_the_accounts_limit() {
    let writes = ManyWrites::account_of_today(300_000);
    hold(&writes.checks(&writes.run().await));
}

/// Writes 20,000 rows of 50 partitions to a Cosmos DB account of 1,000 entities/s, with several bulks at a time.
async fn bulks_on_cosmos(bulks: usize) -> (Duration, ServiceLoad) {
    let at_once = Emulator::cosmos();
    at_once.seed("Things", [] as [DynamicEntity; 0]).unwrap();
    let model = ServiceModel::new()
        .write_latency(Duration::from_millis(10))
        .read_latency(Duration::from_millis(5))
        .account_entities_per_second(1_000);
    let emulator = at_once.service_model(model);
    let table = TableServiceClient::from_transport(emulator.clone())
        .dynamic_table("Things")
        .unwrap();
    let started = Instant::now();
    let rows = 20_000 / bulks;
    let writes = (0..bulks).map(|bulk| {
        let row = |n| DynamicEntity::new(format!("p{:02}", n % 50), format!("{n:05}"));
        table.bulk().insert((bulk * rows..(bulk + 1) * rows).map(row))
    });
    for report in join_all(writes).await {
        assert_eq!(report.unwrap().applied() as usize, rows);
    }
    (started.elapsed(), emulator.load())
}

/// Cosmos DB names no time to wait, so a bulk measures the limit by itself.
#[tokio::test(start_paused = true)]
async fn bulk_finds_the_limit_of_a_cosmos_account() {
    let (time, load) = bulks_on_cosmos(1).await;
    assert!(time.as_secs() < 30, "{time:?}");
    assert!(load.throttled_requests < 120, "{load:?}");
}

/// A bulk that the others left nothing must not keep the tiny rate that it had among them.
#[tokio::test(start_paused = true)]
async fn bulks_that_share_a_cosmos_account_do_not_starve() {
    let (time, load) = bulks_on_cosmos(4).await;
    assert!(time.as_secs() < 55, "{time:?}");
    assert!(load.throttled_requests < 900, "{load:?}");
}
