//! Small programs that fail in one order only: each is found with `isolated` and without.

use std::pin::pin;
use std::time::Duration;

use azure_table::testing::{Explore, Simulation, explore};
use azure_table::{DynamicEntity, Filter, TableClient};
use futures::future::{Either, join, select};

/// Checks that the body fails in some order. Returns the schedules that it reports, without and with `isolated`.
fn fails<B: AsyncFn(Simulation) + Clone>(exploration: Explore<B>) -> [String; 2] {
    [exploration.clone(), exploration.isolated()].map(|exploration| {
        let found = exploration.run();
        let Some(failure) = found.failure() else {
            unreachable!("{found}")
        };
        assert!(failure.message().starts_with("found: "), "{failure}");
        failure.schedule().to_owned()
    })
}

/// Returns clients of the table `Rows` for two tasks.
fn clients(simulation: &Simulation) -> [TableClient<DynamicEntity>; 2] {
    let _ = simulation.table::<DynamicEntity>("Rows");
    ["a", "b"].map(|name| simulation.client(name).table("Rows").unwrap())
}

async fn write(rows: &TableClient<DynamicEntity>, row: &str) {
    rows.insert_or_replace(&DynamicEntity::new("p", row)).await.unwrap();
}

async fn has(rows: &TableClient<DynamicEntity>, row: &str) -> bool {
    rows.exists(("p", row)).await.unwrap()
}

/// Panics unless both rows are stored, or none.
async fn check_both(rows: &TableClient<DynamicEntity>) {
    let (x, y) = (has(rows, "x").await, has(rows, "y").await);
    assert!(x == y, "found: one of both rows");
}

async fn write_both(rows: TableClient<DynamicEntity>) {
    write(&rows, "x").await;
    write(&rows, "y").await;
}

#[test]
fn worker_is_cancelled_between_its_writes() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let (worker, watcher) = (pin!(write_both(a)), pin!(has(&b, "z")));
        let _ = select(worker, watcher).await;
        check_both(&simulation.service().table("Rows").unwrap()).await;
    };
    fails(explore(body));
}

#[test]
fn either_request_of_a_select_can_be_the_first() {
    let reads = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let is_first = matches!(select(pin!(has(&a, "x")), pin!(has(&b, "y"))).await, Either::Left(_));
        assert!(is_first, "found: the second was first");
    };
    fails(explore(reads));
    let writes = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let is_first = matches!(
            select(pin!(write(&a, "x")), pin!(write(&b, "y"))).await,
            Either::Left(_)
        );
        assert!(is_first, "found: the second was first");
    };
    fails(explore(writes));
}

#[test]
fn task_is_aborted_between_its_writes() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let task = tokio::spawn(write_both(a));
        tokio::task::yield_now().await;
        has(&b, "z").await;
        task.abort();
        drop(task.await);
        check_both(&b).await;
    };
    fails(explore(body));
}

#[test]
fn timeout_expires_between_two_writes() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let late = tokio::time::timeout(Duration::from_secs(5), write_both(a)).await;
        check_both(&b).await;
        drop(late);
    };
    fails(explore(body).advance(Duration::from_secs(10)));
}

/// The request of a task that sleeps meets the row in between only if the clock jumps before the insert.
#[test]
fn clock_jumps_while_all_waiting_requests_were_tried() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        simulation
            .emulator()
            .seed("Rows", [DynamicEntity::new("p", "x")])
            .unwrap();
        let renew = async {
            a.delete(("p", "x")).await.unwrap();
            a.insert(&DynamicEntity::new("p", "x")).await.unwrap();
        };
        let look = async {
            has(&b, "y").await;
            tokio::time::sleep(Duration::from_secs(20)).await;
            assert!(has(&b, "x").await, "found: the row is deleted");
        };
        join(renew, look).await;
    };
    fails(explore(body).advance(Duration::from_secs(30)));
}

/// U+E000 comes after the surrogates of U+1F600, though before it in UTF-8.
#[test]
fn range_is_compared_in_utf16_units() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let filter = Filter::raw("PartitionKey eq 'p' and RowKey ge '\u{1F600}'");
        let look = async { b.query().filter(filter).all().await.unwrap() };
        let (rows, ()) = join(look, write(&a, "\u{E000}")).await;
        assert!(rows.is_empty(), "found: the row is in the range");
    };
    fails(explore(body));
}

#[tokio::test]
#[should_panic = "an exploration cannot run inside a tokio runtime"]
async fn exploration_inside_a_runtime_panics() {
    drop(explore(async |_: Simulation| ()).run());
}
