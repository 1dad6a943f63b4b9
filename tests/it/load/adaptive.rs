//! A bulk finds out how fast it may send: near the limit, and hardly ever over it.

use azure_table::testing::{Fault, FaultRule, Faults, ResponseTemplate};
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

/// Returns the time of a bulk of 10,000 requests to a service without a limit, with these faults.
async fn bulk_with(partitions: u32, inject: impl AsyncFnOnce(Faults)) -> Duration {
    let at_once = Emulator::new();
    at_once.seed("Things", [] as [DynamicEntity; 0]).unwrap();
    let model = ServiceModel::new().write_latency(Duration::from_millis(70));
    let faults = Faults::new(at_once.service_model(model));
    let table = TableServiceClient::from_transport(faults.clone())
        .dynamic_table("Things")
        .unwrap();
    let row = |n| DynamicEntity::new(format!("p{}", n % partitions), format!("{n:04}"));
    let started = Instant::now();
    let bulk = async {
        let report = table.bulk().batch_size(1).insert((0..10_000).map(row));
        assert_eq!(report.await.unwrap().applied(), 10_000);
        started.elapsed()
    };
    tokio::join!(bulk, inject(faults)).0
}

fn busy() -> FaultRule {
    FaultRule::new(Fault::Respond(ResponseTemplate::server_busy(Duration::ZERO)))
}

/// `batches` says what it costs.
#[tokio::test(start_paused = true)]
async fn outage_of_a_second_costs_a_bulk_15() {
    let without = bulk_with(1, async |_| {}).await;
    let with = bulk_with(1, async |faults| {
        sleep(Duration::from_secs(5)).await;
        let rule = faults.add(busy());
        sleep(Duration::from_secs(1)).await;
        faults.remove(&rule);
    });
    let cost = with.await - without;
    assert!((10..=15).contains(&cost.as_secs()), "{cost:?}");
}

/// `batches` advises against testing a bulk like this.
#[tokio::test(start_paused = true)]
async fn random_rejections_slow_a_bulk_down() {
    let without = bulk_with(50, async |_| {}).await;
    let with = bulk_with(50, async |faults| drop(faults.add(busy().probability(0.02))));
    let kept = without.as_secs_f64() / with.await.as_secs_f64();
    assert!((0.05..0.1).contains(&kept), "{kept}");
}
