//! Range servers that are split under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use azure_table::emulator::RangeSplits;

use super::*;

const WORKERS: usize = 16;

/// Requests per second in the first minutes, and in the last ones of 35; and how often a range was cut.
async fn before_and_after(partition: impl Fn() -> String + Clone + Send + 'static) -> (f64, f64, u64) {
    // Two requests a second for each server.
    let model = ServiceModel::new()
        .write_latency(Duration::from_millis(10))
        .read_latency(Duration::from_millis(10))
        .time_per_request(Duration::from_millis(500))
        .splits(RangeSplits::new());
    let (emulator, table) = table(model).await;
    let counted = emulator.clone();
    let early = tokio::spawn(async move {
        sleep(Duration::from_secs(240)).await;
        counted.load().accepted_requests
    });
    let load = ClosedLoop {
        workers: WORKERS,
        pause: Duration::from_secs(3),
        warm_up: Duration::from_secs(1_800),
        time: Duration::from_secs(300),
    }
    .run(&emulator, move |worker, n| {
        let insert = table.insert(&DynamicEntity::new(partition(), format!("{worker}_{n}")));
        async move { insert.await.map(drop) }
    })
    .await;
    let before = early.await.unwrap() as f64 / 240.0;
    let (after, splits) = (load.accepted_requests as f64 / 300.0, emulator.range_splits());
    eprintln!("{before:.2}/s, half an hour later {after:.2}/s, {splits} splits");
    (before, after, splits)
}

#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn load_over_many_partitions_gets_faster_as_ranges_are_split() {
    let next = Arc::new(AtomicU64::new(0));
    // Each of 64 partitions in turn, in no order.
    let partition = move || format!("{:02}", next.fetch_add(1, Ordering::SeqCst) * 29 % 64);
    let (before, after, splits) = before_and_after(partition).await;
    assert!(
        (1.9..=2.1).contains(&before),
        "one server does two requests/s: {before}"
    );
    assert!(after > 2.5 * before, "{before} -> {after} with {splits} splits");
    assert!(splits >= 3);
}

#[tokio::test(start_paused = true)]
#[ignore = "takes long: see tests/README.md"]
async fn load_that_only_appends_stays_on_one_server() {
    let next = Arc::new(AtomicU64::new(0));
    let partition = move || format!("{:09}", next.fetch_add(1, Ordering::SeqCst));
    let (before, after, splits) = before_and_after(partition).await;
    assert!((1.9..=2.1).contains(&before), "{before}");
    assert!(after <= 1.05 * before, "{before} -> {after} with {splits} splits");
    assert!(splits >= 3, "what is cut off is never the end: {splits}");
}

#[tokio::test(start_paused = true)]
async fn a_partition_is_never_cut() {
    let (before, after, splits) = before_and_after(|| "p".to_owned()).await;
    assert_eq!(splits, 0);
    assert!((after - before).abs() < 0.1);
}

#[tokio::test(start_paused = true)]
async fn a_range_on_its_way_is_rejected_for_ten_to_twenty_seconds() {
    let second = Duration::from_secs(1);
    let model = ServiceModel::new()
        .time_per_request(second)
        .splits(RangeSplits::new().decision(10 * second..=10 * second));
    let (emulator, table) = table(model).await;
    let partitions = ["a", "b", "c", "d"];
    let mut n = 0;
    while emulator.range_splits() == 0 {
        n += 1;
        let partition = partitions[n % 4];
        let _ = table.insert(&DynamicEntity::new(partition, n.to_string())).await;
    }
    let cut = Instant::now();
    // The middle of the load: of four partitions the third.
    let missing = |partition: &'static str| {
        let get = table.get((partition, "missing"));
        async move { get.await.map(drop) }
    };
    missing("b").await.unwrap();
    let rejected = missing("d").await.unwrap_err();
    assert_eq!((rejected.status(), rejected.code()), (Some(503), Some("ServerBusy")));
    while missing("d").await.is_err() {
        sleep(second / 10).await;
    }
    let away = cut.elapsed();
    assert!((9.0..=22.0).contains(&away.as_secs_f64()), "{away:?}");
}
