//! The servers alone, without client and tables, for simulated times long enough to count rare rejections.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use azure_table_wire::value::clock::Instant;

use crate::load::model::{RangeSplits, ServiceModel};
use crate::load::stamp::Stamp;
use crate::load::{Demand, PartitionKey, Work};

/// The pause after a rejection, as in the study.
const PAUSE: Duration = Duration::from_secs(3);
const WARM_UP: Duration = Duration::from_secs(20);

fn demand(partition: u64, entities: u64) -> Demand {
    Demand {
        account: "a".to_owned(),
        table: "t".to_owned(),
        partition: PartitionKey::new(partition.to_string()),
        work: Work::Write(entities),
    }
}

/// Runs workers in a closed loop on one partition. Returns entities per second, and the percentage of rejected
/// requests.
fn closed_loop(model: ServiceModel, workers: u64, entities: u64, seconds: u64) -> (f64, f64) {
    let stamp = Stamp::new(model);
    let demand = demand(0, entities);
    let start = Instant::now();
    let end = start + WARM_UP + Duration::from_secs(seconds);
    // The next arrival of each worker's request.
    let mut arrivals: BinaryHeap<_> = (0..workers)
        .map(|n| Reverse(start + Duration::from_millis(n)))
        .collect();
    let mut before = None;
    while let Some(Reverse(now)) = arrivals.pop().filter(|Reverse(now)| *now < end) {
        if now >= start + WARM_UP {
            before.get_or_insert_with(|| stamp.load());
        }
        let next = match stamp.admit(&demand, now) {
            Ok(done) => done + stamp.latency(demand.work),
            Err(_) => now + stamp.latency(Work::Read) / 2 + PAUSE + stamp.latency(demand.work) / 2,
        };
        arrivals.push(Reverse(next));
    }
    let load = stamp.load().since(&before.unwrap());
    let per_second = load.accepted_entities as f64 / seconds as f64;
    let rejected = load.throttled_share() * 100.0;
    eprintln!("{workers:>7} {per_second:>10.0} {rejected:>9.4}");
    (per_second, rejected)
}

#[test]
fn rejections_match_figure_8_within_a_factor_of_one_and_a_half() {
    eprintln!("workers accepted/s rejected %");
    for (workers, golden) in [(150, 0.03), (240, 0.2)] {
        let (_, rejected) = closed_loop(ServiceModel::azure_storage_2010(), workers, 1, 300);
        assert!(
            (golden / 1.5..golden * 1.5).contains(&rejected),
            "{workers}: {rejected} %"
        );
    }
    // 0.0004 %: one in this time.
    let (_, rejected) = closed_loop(ServiceModel::azure_storage_2010(), 75, 1, 300);
    assert!(rejected < 0.002, "{rejected} %");
}

/// Sends batches of 100, ten times the capacity, over a number of partitions. Returns the accepted entities per second,
/// after the saved burst is used up.
fn flood(model: ServiceModel, per_second: u64, partitions: u64) -> u64 {
    const SECONDS: u64 = 20;
    let stamp = Stamp::new(model);
    let start = Instant::now();
    let mut before = None;
    for n in 0..per_second / 10 * SECONDS {
        let now = start + Duration::from_secs(10) * n as u32 / per_second as u32;
        if now >= start + Duration::from_secs(SECONDS / 2) {
            before.get_or_insert_with(|| stamp.load());
        }
        let _ = stamp.admit(&demand(n % partitions, 100), now);
    }
    stamp.load().since(&before.unwrap()).accepted_entities / (SECONDS / 2)
}

#[test]
fn targets_of_today_limit_the_rate() {
    assert_eq!(flood(ServiceModel::azure_storage(), 2_000, 1), 2_000);
    assert_eq!(flood(ServiceModel::azure_storage(), 20_000, 1_000), 20_000);
    // Measured in 2010 without a rejection.
    assert_eq!(flood(ServiceModel::azure_storage_2010(), 1_700, 1_000), 17_000);
}

#[test]
fn longest_times_do_not_overflow() {
    let model = ServiceModel::new()
        .write_latency(Duration::MAX)
        .write_latency_per_entity(Duration::MAX)
        .time_per_entity(Duration::MAX)
        .splits(
            RangeSplits::new()
                .decision(Duration::MAX..=Duration::MAX)
                .unavailable(Duration::MAX..=Duration::ZERO),
        );
    let stamp = Stamp::new(model);
    for n in 0..100 {
        let done = stamp.admit(&demand(n, 100), Instant::now()).unwrap();
        assert!(done + stamp.latency(Work::Write(100)) > Instant::now());
    }
}

/// The study measured three points of the curve: rejections begin between 20 and 30 workers and grow with the number of
/// workers.
#[test]
fn more_workers_have_more_batches_rejected() {
    eprintln!("workers accepted/s rejected %");
    let curve: Vec<_> = [10, 20, 25, 30, 35, 40, 45, 50, 100]
        .map(|workers| closed_loop(ServiceModel::azure_storage_2010(), workers, 100, 300))
        .into();
    assert!(
        curve[1..]
            .iter()
            .all(|(accepted, _)| (2_350.0..2_500.0).contains(accepted)),
        "{curve:?}"
    );
    assert!(curve[0].0 < 2_000.0, "the study reaches 2,300 at 20 workers: {curve:?}");
    assert!(curve.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{curve:?}");
    let (at_30, at_50) = (curve[3].1, curve[7].1);
    assert!(
        curve[1].1 < 0.1 && (at_30 - 11.0).abs() < 1.5 && (at_50 - 22.0).abs() < 1.5,
        "{curve:?}"
    );
}
