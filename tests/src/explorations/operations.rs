//! Concurrent operations of the client, in every order and with every fault.

use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::operation::Resolution;
use azure_table::service::StoredAccessPolicy;
use azure_table::{CallOptions, ETag, Error, ErrorKind, Guid, NoRetry, TableClient, TableEntity, TableOperation};
use azure_table_patterns::{Grouped, GroupedError};
use futures::future::{join, join_all};

use super::{Case, Tally, promises_of};
use crate::promises::{self, Place, Promise};

/// A number that identifies its last writer, and was called `stars` before.
#[derive(TableEntity, Clone, Debug)]
pub(super) struct Counter {
    #[table(partition_key)]
    pub(super) group: String,
    #[table(row_key)]
    pub(super) name: String,
    #[table(alias = "stars")]
    pub(super) count: i64,
    pub(super) note: i64,
    #[table(write_id)]
    pub(super) write: Option<Guid>,
}

impl Counter {
    pub(super) fn new(name: &str) -> Self {
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
pub const ALL: [Case; 13] = [
    case!("`modify` by two tasks", |place| modify(place, 2)),
    case!("`modify` by three tasks", |place| modify(place, 3)).slow_with(1),
    case!("`resolve` of writes in doubt, beside another writer", resolve),
    case!("`modify(..).or_insert(..)` by two tasks", modify_or_insert),
    case!(
        "`modify`, then `save`, beside a patch of another column",
        save_after_modify
    ),
    case!("`insert_if_not_exists` by three tasks", insert_if_not_exists).slow_with(1),
    case!("`add_access_policy`, and a read of the policies", access_policies),
    case!("`update_where` over two rows, against `modify` of one", update_where),
    case!(
        "`update_where` over pages of one row without retries, beside a patch",
        interrupted_update_where
    ),
    case!(
        "`insert`, then `get` by the same task, beside a delete",
        get_after_insert
    ),
    case!("a transfer by batch, and a reader of both rows", transfer),
    // Callers of a group share memory, so every order is run.
    case!(
        "two callers of a group, and an insert of one of their rows",
        grouped_inserts
    )
    .in_all_orders(),
    // Without faults: a write without an ETag that arrives late replaces the next one.
    case!("two writes of a group to one row, and a reader", grouped_order)
        .in_all_orders()
        .without_faults(),
];

/// The promises of these operations, for services with other faults.
pub const PROMISES: [Promise; 13] = promises_of(&ALL);

/// Seeds counters, and returns a client of the table for each task.
fn start(place: &Place, counters: &[&str], tasks: &[&str]) -> (TableClient<Counter>, Vec<TableClient<Counter>>) {
    let table = place.service().table(TABLE).unwrap();
    let seeds = counters.iter().map(|name| Counter::new(name));
    place.emulator().seed(TABLE, seeds).unwrap();
    let clients = tasks.iter().map(|name| place.client(name).table(TABLE).unwrap());
    (table, clients.collect())
}

/// Returns the stored rows, read without the gate.
async fn stored(place: &Place, name: &str) -> Option<Counter> {
    let table = place.behind().table::<Counter>(TABLE).unwrap();
    table.get(("g", name)).await.unwrap()
}

async fn count(place: &Place, name: &str) -> i64 {
    stored(place, name).await.map_or(0, |counter| counter.count)
}

async fn modify(place: Place, tasks: usize) {
    let (_, clients) = start(&place, &["n"], &["a", "b", "c"][..tasks]);
    let done = clients
        .iter()
        .map(|table| async { table.modify(("g", "n"), |counter| counter.count += 1).await });
    Tally::of(join_all(done).await).check(count(&place, "n").await);
}

/// Two tasks increment both counters in one batch. A doubt is resolved before the other task's next request or after.
async fn resolve(place: Place) {
    let (_, clients) = start(&place, &["m", "n"], &["a", "b"]);
    let increment = async |name: &str, table: &TableClient<Counter>| -> Option<Resolution> {
        let rows = table.query().partition("g").versioned().all().await.ok()?;
        let mut batch = table.batch();
        for mut row in rows {
            row.count += 1;
            batch.replace(&row).ok()?;
        }
        match batch.submit().with(&CallOptions::new().retry(NoRetry)).await {
            Ok(_) => Some(Resolution::Applied),
            Err(e) => {
                let doubt = e.in_doubt_write()?;
                // No request is in flight any more.
                tokio::time::sleep(Duration::from_secs(181)).await;
                // The other half is resolved by another process.
                let doubt = if name == "a" {
                    doubt
                } else {
                    doubt.to_string().parse().ok()?
                };
                let resolved = place.client(name).resolve(&doubt).await;
                assert!(resolved.is_ok() || !place.recovers, "the only fault was before");
                Some(resolved.unwrap_or_else(|e| Resolution::Unknown(e.to_string())))
            }
        }
    };
    let resolved = join(increment("a", &clients[0]), increment("b", &clients[1])).await;
    let mut tally = Tally::default();
    for resolution in [resolved.0, resolved.1] {
        match resolution {
            Some(Resolution::Applied) => {
                promises::count([&Ok::<_, Error>(())]);
                tally.certain += 1;
            }
            Some(Resolution::NotApplied) | None => {}
            Some(_) => tally.perhaps += 1,
        }
    }
    let (m, n) = (count(&place, "m").await, count(&place, "n").await);
    assert_eq!(m, n);
    tally.check(n);
}

async fn modify_or_insert(place: Place) {
    let (_, clients) = start(&place, &[], &["a", "b"]);
    let done = clients.iter().map(|table| async {
        let change = |counter: &mut Counter| counter.count += 1;
        let mut first = Counter::new("n");
        first.count = 1;
        table.modify(("g", "n"), change).or_insert(|| first.clone()).await
    });
    Tally::of(join_all(done).await).check(count(&place, "n").await);
}

/// The patch keeps the id of the modified row. It may come between that write and its read-back.
async fn save_after_modify(place: Place) {
    let (_, clients) = start(&place, &["n"], &["a", "b"]);
    let change = async {
        let mut counter = clients[0].modify(("g", "n"), |counter| counter.count += 1).await?;
        counter.count += 1;
        clients[0].save(&mut counter).await
    };
    let (changed, patched) = join(change, clients[1].patch(("g", "n"), [Counter::NOTE.set(1)])).await;
    promises::count([&changed]);
    if patched.is_ok() {
        let stored = stored(&place, "n").await.unwrap();
        assert_eq!(stored.note, 1, "the patch succeeded, and the save undid it");
    }
}

async fn insert_if_not_exists(place: Place) {
    let (_, clients) = start(&place, &[], &["a", "b", "c"]);
    let tasks = clients.iter().zip(1..).map(|(table, number)| async move {
        let mut counter = Counter::new("n");
        counter.count = number;
        (number, table.insert_if_not_exists(&counter).await)
    });
    let done = join_all(tasks).await;
    promises::count(done.iter().map(|(_, result)| result));
    let inserted: Vec<i64> = done
        .iter()
        .filter(|(_, r)| matches!(r, Ok(Some(_))))
        .map(|(n, _)| *n)
        .collect();
    let stored = count(&place, "n").await;
    assert!(inserted.len() <= 1, "{inserted:?} were all first");
    assert!(
        inserted.iter().all(|number| *number == stored),
        "{inserted:?} was first, {stored} is stored"
    );
    let is_sure = done.iter().all(|(_, result)| result.is_ok());
    assert!(!is_sure || inserted.len() == 1, "nobody was first, {stored} is stored");
}

async fn access_policies(place: Place) {
    let (table, clients) = start(&place, &[], &["a", "b"]);
    let (added, read) = join(
        async { clients[0].add_access_policy(StoredAccessPolicy::new("one")).await },
        async { clients[1].access_policies().await },
    )
    .await;
    // Cosmos DB has no access policies.
    promises::count([&match &added {
        Err(e) if e.kind() != ErrorKind::Unsupported => Err(()),
        _ => Ok(()),
    }]);
    assert!(read.is_err() || read.is_ok_and(|policies| policies.len() <= 1));
    let now = table.access_policies().await;
    if let (Ok(_), Ok(now)) = (&added, &now) {
        assert_eq!(now.len(), 1);
    }
    if let (Err(e), Ok(now)) = (&added, &now) {
        assert!(e.may_have_applied() || now.is_empty(), "{e}");
    }
}

async fn update_where(place: Place) {
    let (_, clients) = start(&place, &["m", "n"], &["a", "b"]);
    let all = clients[0].query().partition("g");
    let (updated, modified) = join(
        async { clients[0].update_where(all, |counter| counter.count += 1).await },
        async { clients[1].modify(("g", "n"), |counter| counter.count += 10).await },
    )
    .await;
    promises::count([&updated]);
    let (m, n) = (count(&place, "m").await, count(&place, "n").await);
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
async fn interrupted_update_where(place: Place) {
    let (_, clients) = start(&place, &["m", "n"], &["a", "b"]);
    let once = clients[0].with(&CallOptions::new().retry(NoRetry));
    let pages = once.query().partition("g").page_size(1);
    let (updated, _) = join(
        async { once.update_where(pages, |counter| counter.count += 1).await },
        clients[1].patch(("g", "n"), [Counter::NOTE.set(1)]),
    )
    .await;
    promises::count([&updated]);
    let changed = count(&place, "m").await + count(&place, "n").await;
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

async fn get_after_insert(place: Place) {
    let (_, clients) = start(&place, &[], &["a", "b"]);
    let (seen, _) = join(
        async {
            let inserted = clients[0].insert(&Counter::new("n")).await;
            (inserted, clients[0].get(("g", "n")).await)
        },
        async { clients[1].get(("g", "n")).await },
    )
    .await;
    promises::count([&seen.1]);
    match seen {
        (Ok(_), Ok(row)) => assert!(row.is_some(), "an insert succeeded, and its row is not there"),
        (Err(e), Ok(Some(_))) => assert!(e.may_have_applied(), "{e}, and its row is there"),
        _ => {}
    }
}

async fn transfer(place: Place) {
    let (_, clients) = start(&place, &["m", "n"], &["a", "b", "reader"]);
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
        // Two pages may be from two moments.
        assert!(sums(&rows) == 0 || place.is_adverse, "half of a batch was read");
    }
    Tally::of(done).check(count(&place, "n").await);
    assert_eq!(count(&place, "m").await, -count(&place, "n").await);
}

/// Returns the outcomes of writes by the callers of a group. A failed one may have been applied, if the flag says so.
async fn within_group(
    table: &TableClient<Counter>,
    writes: [TableOperation; 2],
) -> Vec<Result<Option<ETag>, (bool, String)>> {
    let (group, driver) = Grouped::new(table);
    let writes = async move { join_all(writes.map(|write| group.write(write))).await };
    let ((), outcomes) = join(driver, writes).await;
    promises::count(&outcomes);
    let failed = |e: GroupedError| (e.may_have_applied(), e.to_string());
    outcomes.into_iter().map(|outcome| outcome.map_err(failed)).collect()
}

/// The callers share a batch, in which one of them may conflict with the other task.
async fn grouped_inserts(place: Place) {
    let (_, clients) = start(&place, &[], &["a", "b"]);
    let row = |name, count| Counter {
        count,
        ..Counter::new(name)
    };
    let (m, n, theirs) = (row("m", 1), row("n", 2), row("n", 3));
    let own = within_group(&clients[0], [TableOperation::insert(&m), TableOperation::insert(&n)]);
    let (own, other) = join(own, clients[1].insert(&theirs)).await;
    let other = other.map(Some).map_err(|e| (e.may_have_applied(), e.to_string()));
    for (result, written) in own.into_iter().chain([other]).zip([&m, &n, &theirs]) {
        let now = stored(&place, &written.name).await.map(|row| row.count);
        let is_stored = now == Some(written.count);
        match result {
            Ok(_) => assert!(is_stored, "{} succeeded, and {now:?} is stored", written.count),
            Err((true, _)) => {}
            Err((false, e)) => assert!(!is_stored, "{} is stored: {e}", written.count),
        }
        assert!(now.is_none_or(|now| now == 1 || written.name == "n"), "{now:?}");
    }
}

/// The later write wins, and the reader never observes the two in another order.
async fn grouped_order(place: Place) {
    let (_, clients) = start(&place, &[], &["a", "reader"]);
    let version = |count| Counter {
        count,
        ..Counter::new("n")
    };
    let (first, second) = (version(1), version(2));
    let writes = [&first, &second].map(TableOperation::insert_or_replace);
    let reads = async {
        let before = clients[1].get(("g", "n")).await;
        (before, clients[1].get(("g", "n")).await)
    };
    let (written, (before, after)) = join(within_group(&clients[0], writes), reads).await;
    let count = |row: &Option<Counter>| row.as_ref().map_or(0, |row| row.count);
    if let (Ok(before), Ok(after)) = (&before, &after) {
        assert!(count(before) <= count(after), "{before:?}, then {after:?}");
    }
    let now = stored(&place, "n").await.map_or(0, |row| row.count);
    match &written[..] {
        [_, Ok(_)] => assert_eq!(now, 2, "the later write succeeded"),
        [Ok(_), Err((false, e))] => assert_eq!(now, 1, "{e}"),
        _ => {}
    }
}
