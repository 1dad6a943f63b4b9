//! Pruning loses nothing: tasks and table have the same results with `isolated` and without.

use std::cell::RefCell;
use std::collections::BTreeSet;

use azure_table::testing::{World, explore};
use azure_table::{DynamicEntity, Error, Filter, Result, TableClient, TableServiceClient};
use futures::future::join_all;

/// The programs of one test.
const PROGRAMS: u64 = 24;
const ROWS: [&str; 2] = ["x", "y"];

/// An operation of a task.
#[derive(Clone, Copy, Debug)]
enum Step {
    Get(usize),
    Insert(usize),
    Upsert(usize),
    Delete(usize),
    /// The rows from this one on.
    Query(usize),
    /// Both rows in one transaction.
    Batch,
}

impl Step {
    fn drawn(random: &mut fastrand::Rng) -> Self {
        let row = random.usize(..ROWS.len());
        match random.u32(..6) {
            0 => Self::Get(row),
            1 => Self::Insert(row),
            2 => Self::Upsert(row),
            3 => Self::Delete(row),
            4 => Self::Query(row),
            _ => Self::Batch,
        }
    }
}

/// Returns the result of one operation for the task.
async fn take(step: Step, task: usize, rows: &TableClient<DynamicEntity>) -> String {
    let entity = |row: usize| {
        let mut entity = DynamicEntity::new("p", ROWS[row]);
        entity.insert("By", task as i32);
        entity
    };
    match step {
        Step::Get(row) => shown(
            rows.get(("p", ROWS[row]))
                .await
                .map(|row| written(&row.into_iter().collect::<Vec<_>>())),
        ),
        Step::Insert(row) => shown(rows.insert(&entity(row)).await.map(|_| String::new())),
        Step::Upsert(row) => shown(rows.insert_or_replace(&entity(row)).await.map(|_| String::new())),
        Step::Delete(row) => shown(rows.delete(("p", ROWS[row])).await.map(|()| String::new())),
        Step::Query(from) => {
            let filter = Filter::raw(format!("PartitionKey eq 'p' and RowKey ge '{}'", ROWS[from]));
            shown(rows.query().filter(filter).all().await.map(|rows| written(&rows)))
        }
        Step::Batch => {
            let mut batch = rows.batch();
            for row in 0..ROWS.len() {
                batch.insert_or_replace(&entity(row)).unwrap();
            }
            shown(batch.submit().await.map(|_| String::new()))
        }
    }
}

/// Returns the rows with their writers.
fn written(rows: &[DynamicEntity]) -> String {
    let shown = rows.iter().map(|row| format!("{} by {:?}", row.row_key, row.get("By")));
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns a result without the parts that differ between runs.
fn shown(result: Result<String>) -> String {
    let outcome = |e: Error| format!("{:?}, in doubt: {}", e.kind(), e.may_have_applied());
    result.unwrap_or_else(outcome)
}

/// Returns all results of the program in any order.
fn outcomes(program: &[Vec<Step>], is_isolated: bool, faults: usize) -> (BTreeSet<String>, u64) {
    let seen = RefCell::new(BTreeSet::new());
    let body = async |world: World| {
        let _ = world.table::<DynamicEntity>("Rows");
        let tasks = program.iter().enumerate().map(|(task, steps)| {
            let rows = world.client(&format!("t{task}")).table("Rows").unwrap();
            async move {
                let mut saw = Vec::new();
                for step in steps {
                    saw.push(take(*step, task, &rows).await);
                }
                saw
            }
        });
        let saw = join_all(tasks).await;
        let behind = TableServiceClient::on(world.emulator().clone())
            .dynamic_table("Rows")
            .unwrap();
        let left = written(&behind.query().partition("p").all().await.unwrap());
        seen.borrow_mut().insert(format!("{saw:?}, left: {left}"));
    };
    let exploration = explore(body).faults(faults).max_schedules(100_000);
    let found = match is_isolated {
        true => exploration.isolated().run(),
        false => exploration.run(),
    };
    assert!(found.is_proof(), "{program:?}: {found}");
    (seen.into_inner(), found.schedules())
}

#[test]
fn pruned_orders_show_what_all_orders_show() {
    let (mut pruned, mut all) = (0, 0);
    for seed in 0..PROGRAMS {
        let mut random = fastrand::Rng::with_seed(seed);
        // The operations of each task, and the faults.
        let (lengths, faults): (&[usize], usize) = match seed % 4 {
            0 => (&[2, 2], 0),
            1 => (&[1, 1, 1], 0),
            2 => (&[2, 1], 1),
            _ => (&[1, 1], 1),
        };
        let tasks = lengths
            .iter()
            .map(|steps| (0..*steps).map(|_| Step::drawn(&mut random)).collect());
        let program: Vec<Vec<Step>> = tasks.collect();
        let (by_isolated, few) = outcomes(&program, true, faults);
        let (by_all, many) = outcomes(&program, false, faults);
        assert_eq!(by_isolated, by_all, "{program:?} with {faults} faults");
        (pruned, all) = (pruned + few, all + many);
    }
    assert!(pruned < all, "nothing was pruned of {all} orders");
}
