//! Queues: their owners, at every moment and after workers come, stop and crash.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::catch_unwind;
use std::time::Duration;

use azure_table::testing::Spy;
use azure_table::{DynamicEntity, Emulator, TableServiceClient};
use azure_table_tests::promises::Place;
use futures::future::{join, join_all};

use crate::kit::{Claim, check, claim};
use crate::systems::durable_execution::Worker;

pub(crate) const CLAIMS: [Claim; 11] = [
    claim!("workers own equal shares; idle ones change nothing", shares)
        .callers(1)
        .explored(122, "1 / 500+")
        .bound(500),
    claim!("workers that balance at the same time own equal shares", shares_at_once)
        .callers(4)
        .explored(127, "200+")
        .bound(200),
    claim!("two workers never own one queue", exclusive)
        .explored(9, "360 / 2,000+")
        .bound(2_000)
        .advance(Duration::from_secs(50))
        .shares_memory(),
    claim!("two workers that take a queue from a third never share it", stolen)
        .callers(3)
        .explored(30, "36 / 477+")
        .bound(500),
    claim!("if three of four workers die, the last takes all queues", killed)
        .callers(1)
        .explored(81, "1 / 2,118"),
    claim!("also if the four balanced at the same time", killed_at_once)
        .callers(4)
        .explored(90, "200+")
        .bound(200),
    claim!("a queue is handed over once drained, not before", drained).explored(27, "7 / 2,231"),
    claim!("a worker that stops leaves its queues immediately", stopped)
        .explored(54, "56 / 488+")
        .bound(500),
    claim!("a worker that returns later does not take its queue back", suspended).explored(9, "2 / 82"),
    claim!(
        "a worker that restarts before its lease ends regains its queue",
        restarted
    )
    .explored(11, "4 / 218"),
    claim!(
        "a queue that a dead worker requested is free after its lease",
        dead_request
    )
    .callers(1)
    .explored(17, "1 / 132"),
];
check!(CLAIMS);

/// The duration of a lease. A service has no clock to advance, so the test waits. Two margins of a lease on an adverse
/// service are longer than its clocks differ.
fn time(place: &Place) -> Duration {
    Duration::from_secs(match (place.is_in_real_time(), place.is_adverse) {
        (true, _) => 3,
        (_, true) => 300,
        _ => 30,
    })
}

/// Waits until all leases are over, also by a service's clock of whole seconds.
async fn pass_leases(place: &Place) {
    let time = time(place);
    // The margin is a quarter of a short lease. `Date` has whole seconds.
    let margin = if place.is_in_real_time() { time / 4 } else { time / 10 };
    tokio::time::sleep(time + margin + Duration::from_secs(1)).await;
}

fn worker(place: &Place, name: &str) -> Worker {
    Worker::new(&place.table::<DynamicEntity>(name), name, time(place))
}

/// Creates queues without the gate.
async fn create_queues(place: &Place, number: usize) {
    let worker = Worker::new(&place.table_behind::<DynamicEntity>(), "main", time(place));
    worker.create_queues(number).await.unwrap();
}

fn owns(worker: &Worker) -> bool {
    worker.owned().next().is_some()
}

/// Drains the queues that are to be handed over.
fn drain(worker: &mut Worker) {
    let open: BTreeSet<String> = worker.open().map(str::to_owned).collect();
    let owned: Vec<String> = worker.owned().map(str::to_owned).collect();
    for queue in owned.iter().filter(|queue| !open.contains(*queue)) {
        worker.drained(queue);
    }
}

/// Runs rounds of these workers, one after the other, and checks that no two own a queue.
async fn rounds(workers: &mut [Worker], number: usize) {
    for _ in 0..number {
        for index in 0..workers.len() {
            let _ = workers[index].balance().await;
            drain(&mut workers[index]);
            check_exclusive(workers);
        }
    }
}

/// Runs a round in which these workers balance at the same time, and checks that no two own a queue.
async fn round_at_once(workers: &mut [Worker]) {
    let balanced = workers.iter_mut().map(async |worker| {
        let _ = worker.balance().await;
        drain(worker);
    });
    join_all(balanced).await;
    check_exclusive(workers);
}

fn check_exclusive(workers: &[Worker]) {
    let mut owned = BTreeSet::new();
    for queue in workers.iter().flat_map(Worker::owned) {
        assert!(owned.insert(queue), "two workers own {queue}");
    }
}

fn numbers(workers: &[Worker]) -> Vec<usize> {
    let mut numbers: Vec<usize> = workers.iter().map(|worker| worker.owned().count()).collect();
    numbers.sort_unstable();
    numbers
}

fn check_numbers(place: &Place, workers: &[Worker], expected: &[usize]) {
    assert!(
        !place.recovers || numbers(workers) == expected,
        "{:?}, not {expected:?}",
        numbers(workers)
    );
}

async fn shares(place: Place) {
    share(place, async |workers| rounds(workers, 1).await).await;
}

async fn shares_at_once(place: Place) {
    share(place, round_at_once).await;
}

/// Adds workers, whose first round is `begin`.
async fn share(place: Place, begin: impl AsyncFn(&mut [Worker])) {
    create_queues(&place, 4).await;
    let mut workers = Vec::new();
    let add = |number: usize, workers: &mut Vec<Worker>| {
        for _ in 0..number {
            workers.push(worker(&place, &format!("w{}", workers.len())));
        }
    };
    add(1, &mut workers);
    rounds(&mut workers, 2).await;
    check_numbers(&place, &workers, &[4]);
    add(1, &mut workers);
    begin(&mut workers).await;
    rounds(&mut workers, 3).await;
    check_numbers(&place, &workers, &[2, 2]);
    add(2, &mut workers);
    begin(&mut workers).await;
    rounds(&mut workers, 6).await;
    check_numbers(&place, &workers, &[1, 1, 1, 1]);

    let owners = |workers: &[Worker]| -> BTreeMap<String, Option<i64>> {
        let owned = workers
            .iter()
            .flat_map(|worker| worker.owned().map(|queue| (queue.to_owned(), worker.token(queue))));
        owned.collect()
    };
    let before = owners(&workers);
    add(4, &mut workers);
    rounds(&mut workers, 2).await;
    check_numbers(&place, &workers, &[0, 0, 0, 0, 1, 1, 1, 1]);
    assert!(
        !place.recovers || owners(&workers) == before,
        "an idle worker changed something"
    );
}

/// A worker that owns the queue, and its token.
type Owner = (i64, &'static str);

/// Runs a worker on the only queue for some rounds. `owners` has an entry for each moment at which a worker owned it.
async fn observed(place: &Place, name: &'static str, owners: &RefCell<Vec<Owner>>) {
    let mut worker = worker(place, name);
    for _ in 0..2 {
        let _ = worker.balance().await;
        drain(&mut worker);
        if owns(&worker) {
            let token = worker.token("queue-00").unwrap();
            // Tasks share this list only to report what they see.
            owners.borrow_mut().push((token, name));
        }
    }
}

/// Checks that each owner has a token of its own, higher than the earlier ones: a worker that still owns the queue
/// after another took it would appear again.
fn check_owners(owners: &[Owner]) {
    let is_later = |pair: &[Owner]| pair[0].0 < pair[1].0 || pair[0] == pair[1];
    assert!(owners.windows(2).all(is_later), "two workers own the queue: {owners:?}");
}

async fn exclusive(place: Place) {
    create_queues(&place, 1).await;
    let owners = RefCell::default();
    join(observed(&place, "a", &owners), observed(&place, "b", &owners)).await;
    check_owners(&owners.borrow());
}

/// A worker with two queues, and two without.
async fn stolen(place: Place) {
    create_queues(&place, 2).await;
    let mut first = worker(&place, "a");
    if first.balance().await.is_err() || first.owned().count() < 2 {
        assert!(!place.retries_succeed, "no fault explains it");
        return;
    }
    let (mut b, mut c) = (worker(&place, "b"), worker(&place, "c"));
    let _ = join(b.balance(), c.balance()).await;
    let mut workers = [first, b, c];
    check_exclusive(&workers);
    round_at_once(&mut workers).await;
    rounds(&mut workers, 3).await;
    check_numbers(&place, &workers, &[0, 1, 1]);
}

async fn killed(place: Place) {
    kill(place, async |workers| rounds(workers, 1).await).await;
}

async fn killed_at_once(place: Place) {
    kill(place, round_at_once).await;
}

/// Kills three of four workers, whose first round is `begin`.
async fn kill(place: Place, begin: impl AsyncFn(&mut [Worker])) {
    create_queues(&place, 4).await;
    let mut workers: Vec<Worker> = ["a", "b", "c", "d"].map(|name| worker(&place, name)).into();
    begin(&mut workers).await;
    rounds(&mut workers, 6).await;
    check_numbers(&place, &workers, &[1, 1, 1, 1]);
    let mut last = vec![workers.remove(0)];
    drop(workers);
    // It may first request a queue of a dead worker, whose lease then ends a duration later.
    for _ in 0..2 {
        rounds(&mut last, 1).await;
        pass_leases(&place).await;
    }
    rounds(&mut last, 2).await;
    check_numbers(&place, &last, &[4]);
}

async fn drained(place: Place) {
    create_queues(&place, 2).await;
    let mut workers = ["a", "b"].map(|name| worker(&place, name));
    let _ = workers[0].balance().await;
    join_all(workers.iter_mut().map(Worker::balance)).await;
    // A renewal may come before the request, and reject it.
    for _ in 0..2 {
        for worker in &mut workers {
            let _ = worker.balance().await;
        }
        check_exclusive(&workers);
    }
    // The first owns both queues. It takes no more messages from the one that the other requested.
    check_numbers(&place, &workers, &[0, 2]);
    let open: usize = workers.iter().map(|worker| worker.open().count()).sum();
    assert!(!place.recovers || open == 1, "{open} queues are open");
    workers.iter_mut().for_each(drain);
    rounds(&mut workers, 2).await;
    check_numbers(&place, &workers, &[1, 1]);
}

async fn stopped(place: Place) {
    create_queues(&place, 3).await;
    let mut workers = [worker(&place, "a"), worker(&place, "b")];
    rounds(&mut workers, 5).await;
    check_numbers(&place, &workers, &[1, 2]);
    workers[0].stop();
    for _ in 0..2 {
        round_at_once(&mut workers).await;
    }
    rounds(&mut workers, 3).await;
    check_numbers(&place, &workers, &[0, 3]);
    assert!(!place.recovers || workers[0].owned().count() == 0);
}

async fn suspended(place: Place) {
    create_queues(&place, 1).await;
    let (mut a, mut b) = (worker(&place, "a"), worker(&place, "b"));
    let _ = a.balance().await;
    let is_owner = owns(&a);
    pass_leases(&place).await;
    assert!(!owns(&a), "its lease never ends");
    for _ in 0..2 {
        let _ = b.balance().await;
    }
    if is_owner && owns(&b) {
        let (_, _) = join(a.balance(), b.balance()).await;
        assert!(!owns(&a), "it took the queue back");
    }
    assert!(!place.recovers || owns(&b));
}

async fn restarted(place: Place) {
    create_queues(&place, 1).await;
    let mut before = worker(&place, "a");
    let mut after = worker(&place, "a");
    let mut other = worker(&place, "b");
    for _ in 0..2 {
        let _ = before.balance().await;
    }
    let token = before.token("queue-00");
    for _ in 0..2 {
        let _ = join(after.balance(), other.balance()).await;
    }
    assert!(
        !place.recovers || (owns(&after) && !owns(&other)),
        "it waits for the end of its own lease"
    );
    assert!(token.is_none() || after.token("queue-00").is_none() || token < after.token("queue-00"));
    if owns(&after) && before.balance().await.is_ok() {
        // The earlier process was not dead after all.
        assert!(!owns(&before) || !owns(&after) || before.token("queue-00") > after.token("queue-00"));
    }
}

async fn dead_request(place: Place) {
    create_queues(&place, 2).await;
    let mut workers = vec![worker(&place, "a"), worker(&place, "b")];
    let _ = workers[0].balance().await;
    let _ = workers[1].balance().await;
    workers.truncate(1);
    rounds(&mut workers, 2).await;
    pass_leases(&place).await;
    rounds(&mut workers, 2).await;
    check_numbers(&place, &workers, &[2]);
}

#[tokio::test]
async fn rounds_have_the_documented_cost() {
    let spy = Spy::new(Emulator::new());
    let queues = TableServiceClient::from_transport(spy.clone())
        .dynamic_table("Queues")
        .unwrap();
    queues.create_table().await.unwrap();
    let mut workers = ["a", "b"].map(|name| Worker::new(&queues, name, Duration::from_secs(30)));
    workers[0].create_queues(4).await.unwrap();
    // Four are acquired; four renewed; two requested; two released and two renewed; two acquired.
    for (worker, changed) in [(0, 4), (0, 4), (1, 2), (0, 4), (0, 4), (1, 2)] {
        spy.clear();
        workers[worker].balance().await.unwrap();
        drain(&mut workers[worker]);
        assert_eq!(spy.exchanges().len(), 1 + changed);
    }
    assert_eq!(numbers(&workers), [2, 2]);
}

#[test]
fn two_owners_at_a_time_are_rejected() {
    check_owners(&[(1, "a"), (1, "a"), (2, "b"), (3, "a")]);
    for owners in [[(1, "a"), (1, "b")], [(2, "b"), (1, "a")]] {
        assert!(catch_unwind(|| check_owners(&owners)).is_err(), "{owners:?}");
    }
}
