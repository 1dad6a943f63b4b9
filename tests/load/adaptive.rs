//! A bulk finds out how fast it may send: near the limit, and hardly ever over it.

use azure_table::{DynamicEntity, Emulator, ServiceLoad, ServiceModel, TableServiceClient};
use tokio::time::Instant;

/// What a bulk did.
struct Ran {
    entities_per_second: f64,
    load: ServiceLoad,
}

/// Writes so many entities over so many partitions.
async fn run(model: ServiceModel, entities: usize, partitions: usize) -> Ran {
    let at_once = Emulator::new();
    let truth = TableServiceClient::on(at_once.clone()).dynamic_table("Things").unwrap();
    truth.create_table().await.unwrap();
    let emulator = at_once.with_service_model(model);
    let table = TableServiceClient::on(emulator.clone())
        .dynamic_table("Things")
        .unwrap();
    let keys = (0..entities).map(move |n| DynamicEntity::new(format!("p{:04}", n % partitions), format!("{n:07}")));
    let begun = Instant::now();
    let report = table
        .bulk()
        .pending(entities.min(100 * partitions))
        .insert(keys)
        .await
        .unwrap();
    let elapsed = begun.elapsed();
    assert_eq!(report.applied() as usize, entities);
    let load = emulator.load();
    assert_eq!(report.throttled(), load.refused_requests);
    Ran {
        entities_per_second: entities as f64 / elapsed.as_secs_f64(),
        load,
    }
}

/// The limit of one partition: documented for today, of a server that is always busy for 2010 (100 entities in 41.1 ms).
#[tokio::test(start_paused = true)]
async fn one_partition_is_held_at_its_limit() {
    println!("preset  entities/s  of the limit  refused");
    for (preset, model, limit, entities) in [
        ("today", ServiceModel::today(), 2_000.0, 120_000),
        ("2010", ServiceModel::in_2010(), 100.0 / 0.0411, 60_000),
    ] {
        let ran = run(model, entities, 1).await;
        let (share, refused) = (ran.entities_per_second / limit, ran.load.refused_share());
        println!(
            "{preset:6}  {:10.0}  {share:12.3}  {refused:7.4}",
            ran.entities_per_second
        );
        assert!(share >= 0.95, "{preset}: {share:.3} of the limit");
        assert!(refused < 0.01, "{preset}: {refused:.4} refused");
    }
}

/// The limit of an account: many partitions, none of which is near its own.
#[tokio::test(start_paused = true)]
async fn many_partitions_are_held_at_the_accounts_limit() {
    let (entities, partitions) = (300_000, 1_000);
    let ran = run(ServiceModel::today(), entities, partitions).await;
    let (share, refused) = (ran.entities_per_second / 20_000.0, ran.load.refused_share());
    println!(
        "{entities} entities over {partitions} partitions: {:.0}/s, {share:.3} of the account's limit, {refused:.4} refused",
        ran.entities_per_second
    );
    assert!(share >= 0.95, "{share:.3} of the limit");
    assert!(refused < 0.01, "{refused:.4} refused");
}
