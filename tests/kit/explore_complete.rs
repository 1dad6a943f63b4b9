//! Small programs that fail in one order only: each is found with `isolated` and without.

use std::pin::pin;
use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::{Explore, Simulation, StopReason, explore};
use azure_table::{DynamicEntity, Filter, TableClient, TableServiceClient};
use futures::future::{Either, join, select};
use futures::poll;

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

/// Nothing waits when the task is dropped, unless the other one ends before its write.
#[test]
fn task_that_sleeps_is_dropped_before_its_write() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let sleeper = async {
            write(&a, "x").await;
            tokio::time::sleep(Duration::from_secs(20)).await;
        };
        drop(select(Box::pin(sleeper), Box::pin(write(&b, "y"))).await);
        let rows = TableServiceClient::from_transport(simulation.emulator().clone());
        assert!(has(&rows.table("Rows").unwrap(), "x").await, "found: x was not written");
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

/// Queries of Cosmos DB return rows in the order of their inserts.
#[test]
fn order_of_two_inserts_is_seen_on_cosmos_db() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        join(write(&a, "y"), write(&b, "x")).await;
        let rows = simulation.service().table::<DynamicEntity>("Rows").unwrap();
        let keys = rows
            .query()
            .resolve(|row| Ok(row.row_key()?.to_owned()))
            .all()
            .await
            .unwrap();
        assert!(keys == ["y", "x"], "found: {keys:?}");
    };
    fails(explore(body).cosmos());
}

/// Equal requests to an adverse service do not commute, so every order is run, also of these.
#[test]
fn requests_to_an_adverse_service_do_not_commute() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        join(has(&a, "x"), has(&b, "x")).await;
    };
    let exploration = explore(body).adverse(1);
    let all = exploration.clone().run().schedules();
    assert!(all > 1, "{all}");
    assert_eq!(exploration.isolated().run().schedules(), all);
}

#[test]
fn replay_has_the_options_that_it_needs() {
    let body = async |simulation: Simulation| assert!(has(&clients(&simulation)[0], "x").await, "missing");
    let found = explore(body).adverse(7).advance(Duration::from_secs(20)).run();
    let line = found.failure().unwrap().to_string();
    assert!(
        line.ends_with(r#"replay: explore(adverse = 7, advance = Duration::from_secs(20), replay = "a")"#),
        "{line}"
    );
}

#[tokio::test]
#[should_panic = "an exploration cannot run inside a tokio runtime"]
async fn exploration_inside_a_runtime_panics() {
    drop(explore(async |_: Simulation| ()).run());
}

/// The exploration executes a request when it chooses it, even if its future is not polled meanwhile.
#[test]
fn request_is_executed_before_its_future_is_polled_again() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let mut writing = pin!(write(&a, "x"));
        assert!(poll!(&mut writing).is_pending());
        let was_there = has(&b, "x").await;
        writing.await;
        assert!(!was_there, "found: the row was written before the read");
    };
    assert_eq!(fails(explore(body)), ["a b", "a b"]);
}

#[test]
fn write_arrives_after_its_timeout() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let given_up = tokio::time::timeout(Duration::from_secs(5), write(&a, "x")).await;
        let before = has(&b, "x").await;
        assert!(
            given_up.is_ok() || before == has(&b, "x").await,
            "found: the row was written in between"
        );
    };
    let exploration = explore(body).advance(Duration::from_secs(10));
    assert_eq!(fails(exploration.clone()), ["clock b a:late b"; 2]);
    let story = exploration.isolated().run().failure().unwrap().story().to_owned();
    let line = "   3  a      PUT Rows('p','x')                       204, arrived late\n";
    assert!(story.contains(line), "{story}");
}

#[test]
fn write_of_a_dropped_future_arrives_late() {
    let aborted = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let task = tokio::spawn(async move { write(&a, "x").await });
        tokio::task::yield_now().await;
        task.abort();
        drop(task.await);
        let before = has(&b, "x").await;
        assert!(before == has(&b, "x").await, "found: the row was written in between");
    };
    assert_eq!(fails(explore(aborted)), ["b a:late b"; 2]);
    let loser = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        select(Box::pin(write(&a, "x")), Box::pin(has(&b, "z"))).await;
        write(&b, "x").await;
        b.delete(("p", "x")).await.unwrap();
        assert!(!has(&b, "x").await, "found: the row is written after its deletion");
    };
    assert_eq!(fails(explore(loser)), ["b*3 a:late b"; 2]);
}

/// The client drops the future of the first attempt, reads the row back, and sends the write again.
#[test]
fn attempt_arrives_after_its_timeout() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        let write_name = async |rows: &TableClient<DynamicEntity>, name: &str| {
            let mut row = DynamicEntity::new("p", "x");
            row.insert("Name", name);
            rows.insert_or_replace(&row).await.unwrap();
        };
        write_name(&a, "a").await;
        write_name(&b, "b").await;
        let name = b.get(("p", "x")).await.unwrap().unwrap().get("Name").cloned();
        assert!(name == Some("b".into()), "found: {name:?}");
    };
    let schedule = "clock a*2 b a:late b";
    assert_eq!(fails(explore(body).advance(Duration::from_secs(90))), [schedule; 2]);
}

#[test]
fn exploration_without_late_writes_is_no_proof_if_one_was_dropped() {
    let body = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        select(Box::pin(write(&a, "x")), Box::pin(has(&b, "z"))).await;
        has(&b, "x").await;
    };
    for exploration in [explore(body), explore(body).isolated()] {
        let found = exploration.clone().late(0).run();
        assert!(!found.is_proof() && found.failure().is_none(), "{found}");
        assert_eq!(found.stop_reason(), Some(StopReason::NoLateWrites));
        let why = "a dropped write never arrived late: not all orders were seen";
        assert!(found.to_string().ends_with(why), "{found}");
        assert!(exploration.run().is_proof());
    }
    let reads = async |simulation: Simulation| {
        let [a, b] = clients(&simulation);
        select(Box::pin(has(&a, "x")), Box::pin(has(&b, "z"))).await;
        has(&b, "x").await;
    };
    assert!(explore(reads).late(0).run().is_proof());
}
