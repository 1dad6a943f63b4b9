//! Explorations: the number of orders, the report of a failure, and early ends.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use azure_table::testing::{Exploration, Simulation, StopReason, explore};
use azure_table::{DynamicEntity, Emulator, TableClient, TableServiceClient};
use futures::future::join_all;

use super::panic_of;

/// Returns a client of the table `Rows` for each task.
fn clients(simulation: &Simulation, tasks: usize) -> Vec<TableClient<DynamicEntity>> {
    let _ = simulation.table::<DynamicEntity>("Rows");
    let client = |task| simulation.client(&format!("t{task}")).table("Rows").unwrap();
    (0..tasks).map(client).collect()
}

/// Reads a row, and writes it with any result.
async fn read_and_write(rows: TableClient<DynamicEntity>, row: &str) {
    let _ = rows.get(("p", row)).await.unwrap();
    rows.insert_or_replace(&DynamicEntity::new("p", row)).await.unwrap();
}

fn on_one_row(tasks: usize) -> impl AsyncFn(Simulation) {
    async move |simulation: Simulation| {
        let tasks = clients(&simulation, tasks)
            .into_iter()
            .map(|rows| read_and_write(rows, "r"));
        join_all(tasks).await;
    }
}

fn counts(found: &Exploration) -> (u64, u64) {
    assert!(found.is_proof(), "{found}");
    (found.schedules(), found.pruned())
}

/// The orders of a read and a write by each of several tasks, and the number that differ in more than the order of
/// reads.
fn known_orders(tasks: usize) -> (u64, u64) {
    let mut orders = vec![Vec::new()];
    for _ in 0..2 * tasks {
        let longer = |order: Vec<usize>| {
            let may_go_on = |task: &usize| order.iter().filter(|other| *other == task).count() < 2;
            let next: Vec<usize> = (0..tasks).filter(may_go_on).collect();
            next.into_iter().map(move |task| [&order[..], &[task]].concat())
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    let all = orders.len() as u64;
    // A read depends on the writes before it, in their order.
    let of_reads = |order: Vec<usize>| {
        let is_write = |at: usize| order[..at].contains(&order[at]);
        let writes: Vec<usize> = (0..order.len())
            .filter(|&at| is_write(at))
            .map(|at| order[at])
            .collect();
        let before = |task: usize| {
            let read = order.iter().position(|other| *other == task).unwrap();
            (0..read).filter(|&at| is_write(at)).count()
        };
        (writes, (0..tasks).map(before).collect::<Vec<_>>())
    };
    let distinct: BTreeSet<_> = orders.into_iter().map(of_reads).collect();
    (all, distinct.len() as u64)
}

#[test]
fn reads_and_writes_of_one_row_have_the_known_number_of_orders() {
    assert_eq!(known_orders(2), (6, 4));
    for tasks in 2..=3 {
        let (all, distinct) = known_orders(tasks);
        assert_eq!(counts(&explore(on_one_row(tasks)).run()), (all, 0), "{tasks} tasks");
        let isolated = explore(on_one_row(tasks)).isolated().run();
        assert_eq!(counts(&isolated).0, distinct, "{tasks} tasks");
    }
}

#[test]
fn tasks_on_rows_of_their_own_have_one_order() {
    for tasks in 1..=6 {
        let body = async move |simulation: Simulation| {
            let names: Vec<String> = (0..tasks).map(|task| format!("r{task}")).collect();
            let clients = clients(&simulation, tasks).into_iter().zip(&names);
            join_all(clients.map(|(rows, name)| read_and_write(rows, name))).await;
        };
        // Each other task is tried as the first that ends, in case that it cancels others: these runs are pruned.
        let others = tasks as u64 - 1;
        assert_eq!(counts(&explore(body).isolated().run()), (1, others), "{tasks} tasks");
    }
}

/// Each of the two requests of each order may be lost, and so may each response to a write.
#[test]
fn each_request_of_each_order_has_its_faults() {
    let one = async |simulation: Simulation| {
        let rows = clients(&simulation, 1).remove(0);
        let _ = rows.get(("p", "r")).await;
    };
    // Delivered, or lost and then delivered.
    assert_eq!(counts(&explore(one).faults(1).run()), (2, 0));
    // Lost twice.
    assert_eq!(counts(&explore(one).faults(2).run()), (3, 0));
}

#[test]
fn query_meets_the_writes_in_its_range_alone() {
    let body = async |simulation: Simulation| {
        let clients = clients(&simulation, 2);
        let read = async {
            clients[0]
                .query()
                .filter(azure_table::Filter::raw("PartitionKey eq 'p' and RowKey lt 'm'"))
                .all()
                .await
        };
        let write = async {
            for row in ["a", "z"] {
                clients[1]
                    .insert_or_replace(&DynamicEntity::new("p", row))
                    .await
                    .unwrap();
            }
        };
        let (read, ()) = futures::future::join(read, write).await;
        assert!(read.unwrap().len() <= 1);
    };
    assert_eq!(counts(&explore(body).isolated().run()).0, 2);
    assert_eq!(counts(&explore(body).run()), (3, 0));
}

#[test]
fn failure_prints_its_order_and_replays() {
    let body = async |simulation: Simulation| {
        let rows = clients(&simulation, 2);
        let insert = |task: usize| rows[task].insert(&DynamicEntity::new("p", "r"));
        let (first, second) = futures::future::join(async { insert(0).await }, async { insert(1).await }).await;
        assert!(first.is_ok() || second.is_err(), "the second came first");
    };
    let found = explore(body).isolated().run();
    let failure = found.failure().unwrap();
    assert!(failure.message().contains("the second came first"), "{failure}");
    assert_eq!(failure.schedule(), "t1 t0");
    assert_eq!(failure.faults(), 0);
    assert_eq!(
        failure.story(),
        "   1  t1  POST Rows('p','r')  204\n   2  t0  POST Rows('p','r')  409 EntityAlreadyExists\n"
    );
    assert!(
        failure
            .to_string()
            .ends_with("replay: explore(isolated, replay = \"t1 t0\")"),
        "{failure}"
    );

    let replayed = explore(body).isolated().replay(failure.schedule()).run();
    assert_eq!(replayed.failure().unwrap().story(), failure.story());
    assert_eq!(
        explore(body).isolated().replay("t0 t1").run().stop_reason(),
        Some(StopReason::Replay)
    );
    let misfit = explore(body).isolated().replay("t7").run();
    let why = "the replay does not fit the body: step 1 is `t7`, and these wait: `t0: POST /Rows`, `t1: POST /Rows`";
    assert_eq!(misfit.failure().unwrap().message(), why);
    let unread = panic_of(|| drop(explore(body).replay("t1:gone").run()));
    assert!(
        unread.contains("`t1:gone`: a request is one of `lost`, `unanswered`, `crash`"),
        "{unread}"
    );
}

#[test]
fn error_of_the_body_is_a_failure() {
    let body = async |simulation: Simulation| -> azure_table::Result<()> {
        clients(&simulation, 1)[0].delete(("p", "none")).await
    };
    let found = explore(body).run();
    let message = found.failure().unwrap().message().to_owned();
    assert!(
        message.starts_with("the body returned the error delete in table "),
        "{message}"
    );
}

#[test]
fn body_that_differs_between_runs_is_named() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let body = async |simulation: Simulation| {
        let row = RUNS.fetch_add(1, Ordering::Relaxed).to_string();
        let tasks = clients(&simulation, 2).into_iter().map(|rows| {
            let row = row.clone();
            async move { rows.insert_or_replace(&DynamicEntity::new("p", &*row)).await.unwrap() }
        });
        join_all(tasks).await;
    };
    let found = explore(body).run();
    let message = found.failure().unwrap().message().to_owned();
    assert!(
        message.starts_with("the body is not deterministic: after the same choices, `t0: PUT "),
        "{message}"
    );
}

#[test]
fn tasks_that_wait_for_each_other_are_named() {
    let found = explore(async |_: Simulation| std::future::pending::<()>().await).run();
    let message = found.failure().unwrap().message();
    assert_eq!(
        message,
        "no task can continue: no request is waiting, and no timer is left"
    );
}

#[test]
fn bound_ends_an_exploration_and_is_reported() {
    let found = explore(on_one_row(3)).max_schedules(7).run();
    assert_eq!(
        (found.schedules(), found.stop_reason()),
        (7, Some(StopReason::Schedules(7)))
    );
    assert!(!found.is_proof());
    assert!(
        found
            .to_string()
            .contains("stopped after 7 runs: not all orders were seen"),
        "{found}"
    );
    let found = explore(on_one_row(3)).max_time(Duration::ZERO).run();
    assert_eq!(found.stop_reason(), Some(StopReason::Time(Duration::ZERO)));
}

/// A timer fires when nothing else can run, or at any point if the clock may jump.
#[test]
fn clock_jumps_where_it_is_allowed_to() {
    // Shorter than the timeout of an attempt.
    const LONG: Duration = Duration::from_secs(50);
    let body = async |simulation: Simulation| {
        let rows = clients(&simulation, 1).remove(0);
        let started = simulation.emulator().clock().now();
        rows.insert_or_replace(&DynamicEntity::new("p", "r")).await.unwrap();
        let row = rows.get(("p", "r")).await.unwrap().unwrap();
        row.timestamp.unwrap().duration_since(started).unwrap() >= LONG
    };
    let jumped = AtomicUsize::new(0);
    let counted = async |simulation: Simulation| {
        jumped.fetch_add(usize::from(body(simulation).await), Ordering::Relaxed);
    };
    // Never, before the write, before the read.
    assert_eq!(counts(&explore(&counted).advance(LONG).run()), (3, 0));
    assert_eq!(jumped.load(Ordering::Relaxed), 1);
    let sleeps = async |simulation: Simulation| {
        let started = simulation.emulator().clock().now();
        let rows = clients(&simulation, 1).remove(0);
        tokio::time::sleep(LONG).await;
        rows.insert(&DynamicEntity::new("p", "r")).await.unwrap();
        assert!(simulation.emulator().clock().now().duration_since(started).unwrap() >= LONG);
    };
    assert_eq!(counts(&explore(sleeps).run()), (1, 0));
}

#[test]
fn name_of_a_client_is_a_word() {
    for name in ["", "main", "clock", "a b", "a.2"] {
        let found = explore(async |simulation: Simulation| drop(simulation.client(name))).run();
        let message = found.failure().unwrap().message().to_owned();
        assert!(message.contains("has a name of ASCII letters"), "{name}: {message}");
    }
}

#[azure_table::test(explore(isolated, faults = 1, max_time = Duration::from_secs(30)))]
async fn attribute_explores(
    simulation: Simulation,
    rows: TableClient<DynamicEntity>,
    behind: Emulator,
) -> azure_table::Result<()> {
    let task = simulation.client("task").table::<DynamicEntity>("Rows")?;
    task.insert_or_replace(&DynamicEntity::new("p", "r")).await?;
    assert!(rows.get(("p", "r")).await?.is_some());
    let behind = TableServiceClient::from_transport(behind).dynamic_table("Rows")?;
    assert_eq!(behind.query().all().await?.len(), 1);
    Ok(())
}

#[azure_table::test(explore, cosmos)]
async fn attribute_explores_cosmos(service: TableServiceClient) {
    assert!(!service.dynamic_table("Rows").unwrap().table_exists().await.unwrap());
}
