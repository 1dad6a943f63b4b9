//! Concurrent operations of the client, in every order and with every fault.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use azure_table::operation::Resolution;
use azure_table::service::StoredAccessPolicy;
use azure_table::testing::{Simulation, explore};
use azure_table::{CallOptions, Error, Guid, NoRetry, TableClient, TableEntity};
use futures::future::{join, join_all};

use super::{Case, Tally};

/// A number that identifies its last writer.
#[derive(TableEntity, Clone, Debug)]
struct Counter {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    name: String,
    count: i64,
    note: i64,
    #[table(write_id)]
    write: Option<Guid>,
}

impl Counter {
    fn new(name: &str) -> Self {
        Self {
            group: "g".into(),
            name: name.into(),
            count: 0,
            note: 0,
            write: None,
        }
    }
}

const TABLE: &str = "Counters";

/// Returns every operation that coordinates with others.
pub const ALL: [Case; 14] = [
    Case {
        name: "`modify` by two tasks",
        explore: |faults| {
            explore(async |simulation| modify(simulation, 2).await)
                .isolated()
                .faults(faults)
                .run()
        },
    },
    Case {
        name: "`modify` by three tasks",
        explore: |faults| {
            explore(async |simulation| modify(simulation, 3).await)
                .isolated()
                .faults(faults)
                .run()
        },
    },
    Case {
        name: "`resolve_doubt` of writes in doubt, beside another writer",
        explore: |faults| explore(resolve).isolated().faults(faults).run(),
    },
    Case {
        name: "`modify(..).or_insert(..)` by two tasks",
        explore: |faults| explore(modify_or_insert).isolated().faults(faults).run(),
    },
    Case {
        name: "`modify`, then `save`, beside a patch of another column",
        explore: |faults| explore(save_after_modify).isolated().faults(faults).run(),
    },
    Case {
        name: "`insert_if_not_exists` by three tasks",
        explore: |faults| explore(insert_if_not_exists).isolated().faults(faults).run(),
    },
    Case {
        name: "`add_access_policy`, and a read of the policies",
        explore: |faults| explore(access_policies).isolated().faults(faults).run(),
    },
    Case {
        name: "`update_where` over two rows, against `modify` of one",
        explore: |faults| explore(update_where).isolated().faults(faults).run(),
    },
    Case {
        name: "`update_where` over pages of one row without retries, beside a patch",
        explore: |faults| explore(interrupted_update_where).isolated().faults(faults).run(),
    },
    Case {
        name: "`insert`, then `get` by the same task, beside a delete",
        explore: |faults| explore(get_after_insert).isolated().faults(faults).run(),
    },
    Case {
        name: "a transfer by batch, and a reader of both rows",
        explore: |faults| explore(transfer).isolated().faults(faults).run(),
    },
    Case {
        name: "a poll of `changes` in pages, beside writes of its rows and a clock that jumps",
        explore: |faults| {
            let jump = Duration::from_secs(2);
            explore(changes).advance(jump).faults(faults).run()
        },
    },
    // Callers of a group share memory, so every order is run.
    Case {
        name: "two callers of a group, and an insert of one of their rows",
        explore: |faults| explore(grouped_inserts).faults(faults).run(),
    },
    Case {
        name: "two writes of a group to one row, and a reader",
        explore: |faults| explore(grouped_order).faults(faults).run(),
    },
];

/// Seeds counters, and returns a client of the table for each task.
fn start(
    simulation: &Simulation,
    counters: &[&str],
    tasks: &[&str],
) -> (TableClient<Counter>, Vec<TableClient<Counter>>) {
    let table = simulation.table(TABLE);
    let seeds = counters.iter().map(|name| Counter::new(name));
    simulation.emulator().seed(TABLE, seeds).unwrap();
    let clients = tasks.iter().map(|name| simulation.client(name).table(TABLE).unwrap());
    (table, clients.collect())
}

/// Returns the stored rows, read without the gate.
async fn stored(simulation: &Simulation, name: &str) -> Option<Counter> {
    let behind = azure_table::TableServiceClient::from_transport(simulation.emulator().clone());
    let table = behind.table::<Counter>(TABLE).unwrap();
    table.get(("g", name)).await.unwrap()
}

async fn count(simulation: &Simulation, name: &str) -> i64 {
    stored(simulation, name).await.map_or(0, |counter| counter.count)
}

async fn modify(simulation: Simulation, tasks: usize) {
    let (_, clients) = start(&simulation, &["n"], &["a", "b", "c"][..tasks]);
    let done = clients
        .iter()
        .map(|table| async { table.modify(("g", "n"), |counter| counter.count += 1).await });
    Tally::of(join_all(done).await).check(count(&simulation, "n").await);
}

/// Two tasks increment both counters in one batch. A doubt is resolved before the other task's next request or after.
async fn resolve(simulation: Simulation) {
    let (_, clients) = start(&simulation, &["m", "n"], &["a", "b"]);
    let increment = async |name: &str, table: &TableClient<Counter>| -> Option<Resolution> {
        let rows = table.query().partition("g").versioned().all().await.ok()?;
        let mut batch = table.batch();
        for mut row in rows {
            row.count += 1;
            batch.replace(&row).ok()?;
        }
        match batch.submit().retry(NoRetry).await {
            Ok(_) => Some(Resolution::Applied),
            Err(e) => {
                let doubt = e.doubt()?;
                // No request is in flight any more.
                tokio::time::sleep(Duration::from_secs(181)).await;
                // The other half is resolved by another process.
                let doubt = if name == "a" {
                    doubt
                } else {
                    doubt.to_string().parse().ok()?
                };
                // The only fault was before.
                Some(simulation.client(name).resolve_doubt(&doubt).await.unwrap())
            }
        }
    };
    let resolved = join(increment("a", &clients[0]), increment("b", &clients[1])).await;
    let mut tally = Tally::default();
    for resolution in [resolved.0, resolved.1] {
        match resolution {
            Some(Resolution::Applied) => tally.certain += 1,
            Some(Resolution::NotApplied) | None => {}
            Some(_) => tally.perhaps += 1,
        }
    }
    let (m, n) = (count(&simulation, "m").await, count(&simulation, "n").await);
    assert_eq!(m, n);
    tally.check(n);
}

async fn modify_or_insert(simulation: Simulation) {
    let (_, clients) = start(&simulation, &[], &["a", "b"]);
    let done = clients.iter().map(|table| async {
        let change = |counter: &mut Counter| counter.count += 1;
        table.modify(("g", "n"), change).or_insert(|| Counter::new("n")).await
    });
    Tally::of(join_all(done).await).check(count(&simulation, "n").await);
}

/// The patch keeps the id of the modified row. It may come between that write and its read-back.
async fn save_after_modify(simulation: Simulation) {
    let (_, clients) = start(&simulation, &["n"], &["a", "b"]);
    let change = async {
        let mut counter = clients[0].modify(("g", "n"), |counter| counter.count += 1).await?;
        counter.count += 1;
        clients[0].save(&mut counter).await
    };
    let (_, patched) = join(change, clients[1].patch(("g", "n"), [Counter::NOTE.set(1)])).await;
    if patched.is_ok() {
        let stored = stored(&simulation, "n").await.unwrap();
        assert_eq!(stored.note, 1, "the patch succeeded, and the save undid it");
    }
}

async fn insert_if_not_exists(simulation: Simulation) {
    let (_, clients) = start(&simulation, &[], &["a", "b", "c"]);
    let tasks = clients.iter().zip(1..).map(|(table, number)| async move {
        let mut counter = Counter::new("n");
        counter.count = number;
        (number, table.insert_if_not_exists(&counter).await)
    });
    let done = join_all(tasks).await;
    let inserted: Vec<i64> = done
        .iter()
        .filter(|(_, r)| matches!(r, Ok(Some(_))))
        .map(|(n, _)| *n)
        .collect();
    let stored = count(&simulation, "n").await;
    assert!(inserted.len() <= 1, "{inserted:?} were all first");
    assert!(
        inserted.iter().all(|number| *number == stored),
        "{inserted:?} was first, {stored} is stored"
    );
    let is_sure = done.iter().all(|(_, result)| result.is_ok());
    assert!(!is_sure || inserted.len() == 1, "nobody was first, {stored} is stored");
}

async fn access_policies(simulation: Simulation) {
    let (table, clients) = start(&simulation, &[], &["a", "b"]);
    let (added, read) = join(
        async { clients[0].add_access_policy(StoredAccessPolicy::new("one")).await },
        async { clients[1].access_policies().await },
    )
    .await;
    assert!(read.is_err() || read.is_ok_and(|policies| policies.len() <= 1));
    let now = table.access_policies().await;
    if let (Ok(_), Ok(now)) = (&added, &now) {
        assert_eq!(now.len(), 1);
    }
    if let (Err(e), Ok(now)) = (&added, &now) {
        assert!(e.may_have_applied() || now.is_empty(), "{e}");
    }
}

async fn update_where(simulation: Simulation) {
    let (_, clients) = start(&simulation, &["m", "n"], &["a", "b"]);
    let all = clients[0].query().partition("g");
    let (updated, modified) = join(
        async { clients[0].update_where(all, |counter| counter.count += 1).await },
        async { clients[1].modify(("g", "n"), |counter| counter.count += 10).await },
    )
    .await;
    let (m, n) = (count(&simulation, "m").await, count(&simulation, "n").await);
    assert!([0, 1].contains(&m) && [0, 1, 10, 11].contains(&n), "{m} and {n}");
    if let Ok(report) = &updated {
        // A row that the other task wrote in between is reported, not overwritten.
        assert!(m + n % 10 >= report.applied() as i64, "{m} and {n} after {report:?}");
    }
    if modified.is_ok() {
        assert!(n >= 10, "the change of the other task is gone: {n}");
    }
}

/// The error stands for all rows: a caller that does not see it in doubt begins again.
async fn interrupted_update_where(simulation: Simulation) {
    let (_, clients) = start(&simulation, &["m", "n"], &["a", "b"]);
    let once = clients[0].with(&CallOptions::new().retry(NoRetry));
    let pages = once.query().partition("g").page_size(1);
    let (updated, _) = join(
        async { once.update_where(pages, |counter| counter.count += 1).await },
        clients[1].patch(("g", "n"), [Counter::NOTE.set(1)]),
    )
    .await;
    let changed = count(&simulation, "m").await + count(&simulation, "n").await;
    match updated {
        Ok(report) => assert!(changed >= report.applied() as i64, "{changed} after {report:?}"),
        Err(interrupted) => {
            let error = Error::from(interrupted);
            assert!(
                changed == 0 || error.may_have_applied(),
                "{changed} rows changed: {error}"
            );
        }
    }
}

async fn get_after_insert(simulation: Simulation) {
    let (_, clients) = start(&simulation, &[], &["a", "b"]);
    let (seen, _) = join(
        async {
            let inserted = clients[0].insert(&Counter::new("n")).await;
            (inserted, clients[0].get(("g", "n")).await)
        },
        async { clients[1].get(("g", "n")).await },
    )
    .await;
    match seen {
        (Ok(_), Ok(row)) => assert!(row.is_some(), "an insert succeeded, and its row is not there"),
        (Err(e), Ok(Some(_))) => assert!(e.may_have_applied(), "{e}, and its row is there"),
        _ => {}
    }
}

/// Each poll is a separate process, which resumes from the text that the previous one stored.
async fn changes(simulation: Simulation) {
    let (_, clients) = start(&simulation, &["m", "n"], &["writer", "tail"]);
    let (position, seen) = (RefCell::new(None), RefCell::new(BTreeMap::new()));
    let poll = async || {
        let changes = clients[1]
            .query()
            .page_size(1)
            .changes()
            .overlap(Duration::ZERO)
            .max_polls(1);
        let from: Option<String> = position.borrow().clone();
        let mut changes = match from {
            Some(text) => changes.resume_from(text.parse().unwrap()).stream(),
            None => changes.stream(),
        };
        while let Some(row) = changes.try_next().await.unwrap() {
            seen.borrow_mut().insert(row.name.clone(), row.etag.clone());
        }
        position.replace(Some(changes.position().to_string()));
    };
    poll().await;
    let write = async {
        for name in ["m", "n"] {
            let _ = clients[0].insert_or_replace(&Counter::new(name)).await;
        }
    };
    join(write, poll()).await;
    poll().await;
    let behind = azure_table::TableServiceClient::from_transport(simulation.emulator().clone());
    let stored = behind.table::<Counter>(TABLE).unwrap().query().versioned().all();
    for row in stored.await.unwrap() {
        assert_eq!(seen.borrow().get(&row.name), Some(&row.etag), "{} was missed", row.name);
    }
}

async fn transfer(simulation: Simulation) {
    let (_, clients) = start(&simulation, &["m", "n"], &["a", "b", "reader"]);
    let sums = |rows: &[Counter]| rows.iter().map(|row| row.count).sum::<i64>();
    let transfer = |table: TableClient<Counter>| async move {
        let rows = table.query().partition("g").versioned().all().await?;
        let mut batch = table.batch();
        for mut row in rows {
            row.count += if row.name == "m" { -1 } else { 1 };
            batch.replace(&row)?;
        }
        batch.submit().await
    };
    let (done, read) = join(join_all(clients[..2].iter().cloned().map(transfer)), async {
        clients[2].query().partition("g").all().await
    })
    .await;
    if let Ok(rows) = read {
        assert_eq!(sums(&rows), 0, "half of a batch was read");
    }
    Tally::of(done).check(count(&simulation, "n").await);
    assert_eq!(count(&simulation, "m").await, -count(&simulation, "n").await);
}

/// The callers share a batch, in which one of them may conflict with the other task.
async fn grouped_inserts(simulation: Simulation) {
    let (_, clients) = start(&simulation, &[], &["a", "b"]);
    let row = |name, count| Counter {
        count,
        ..Counter::new(name)
    };
    let (m, n, theirs) = (row("m", 1), row("n", 2), row("n", 3));
    let group = clients[0].grouped();
    let (own, other) = join(join(group.insert(&m), group.insert(&n)), clients[1].insert(&theirs)).await;
    for (result, written) in [(own.0, &m), (own.1, &n), (other, &theirs)] {
        let now = stored(&simulation, &written.name).await.map(|row| row.count);
        let is_stored = now == Some(written.count);
        match result {
            Ok(_) => assert!(is_stored, "{} succeeded, and {now:?} is stored", written.count),
            Err(e) if e.may_have_applied() => {}
            Err(e) => assert!(!is_stored, "{} is stored: {e}", written.count),
        }
        assert!(now.is_none_or(|now| now == 1 || written.name == "n"), "{now:?}");
    }
}

/// The later write wins, and the reader never observes the two in another order.
async fn grouped_order(simulation: Simulation) {
    let (_, clients) = start(&simulation, &[], &["a", "reader"]);
    let version = |count| Counter {
        count,
        ..Counter::new("n")
    };
    let (first, second) = (version(1), version(2));
    let group = clients[0].grouped();
    let reads = async {
        let before = clients[1].get(("g", "n")).await;
        (before, clients[1].get(("g", "n")).await)
    };
    let ((first, second), (before, after)) = join(
        join(group.insert_or_replace(&first), group.insert_or_replace(&second)),
        reads,
    )
    .await;
    let count = |row: &Option<Counter>| row.as_ref().map_or(0, |row| row.count);
    if let (Ok(before), Ok(after)) = (&before, &after) {
        assert!(count(before) <= count(after), "{before:?}, then {after:?}");
    }
    let now = stored(&simulation, "n").await.map_or(0, |row| row.count);
    match (first, second) {
        (_, Ok(_)) => assert_eq!(now, 2, "the later write succeeded"),
        (Ok(_), Err(e)) if !e.may_have_applied() => assert_eq!(now, 1, "{e}"),
        _ => {}
    }
}
