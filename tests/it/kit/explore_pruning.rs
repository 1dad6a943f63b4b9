//! Pruning loses nothing: tasks and table have the same results with `isolated` and without.

use std::cell::RefCell;
use std::collections::BTreeSet;

use azure_table::entity::SerdeEntity;
use azure_table::testing::{Exploration, Simulation, explore};
use azure_table::{DateTime, Error, Filter, Result, TableClient, TableEntity, TableServiceClient};
use futures::future::{join, join_all};
use serde::{Deserialize, Serialize};

/// The programs of one test.
const PROGRAMS: u64 = match cfg!(feature = "full") {
    true => 24,
    false => 8,
};
const ROWS: [&str; 2] = ["x", "y"];

/// A row with the number of its writer, which is read without its Timestamp.
#[derive(TableEntity, Clone)]
struct Mark {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    name: String,
    by: i32,
}

impl Mark {
    fn new(name: &str, by: i32) -> Self {
        let (group, name) = ("p".to_owned(), name.to_owned());
        Self { group, name, by }
    }
}

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
async fn take(step: Step, task: usize, rows: &TableClient<Mark>) -> String {
    let entity = |row: usize| Mark::new(ROWS[row], task as i32);
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
fn written(rows: &[Mark]) -> String {
    let shown = rows.iter().map(|row| format!("{} by {}", row.name, row.by));
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns a result without the parts that differ between runs.
fn shown(result: Result<String>) -> String {
    let outcome = |e: Error| format!("{:?}, in doubt: {}", e.kind(), e.may_have_applied());
    result.unwrap_or_else(outcome)
}

/// Returns all results of the program in any order. They include the order of the rows by Timestamp if `is_dated`.
fn outcomes(program: &[Vec<Step>], is_dated: bool, is_isolated: bool, faults: usize) -> (BTreeSet<String>, u64) {
    let seen = RefCell::new(BTreeSet::new());
    let body = async |simulation: Simulation| {
        let _ = simulation.table::<Mark>("Rows");
        let tasks = program.iter().enumerate().map(|(task, steps)| {
            let rows = simulation.client(&format!("t{task}")).table("Rows").unwrap();
            async move {
                let mut saw = Vec::new();
                for step in steps {
                    saw.push(take(*step, task, &rows).await);
                }
                saw
            }
        });
        let saw = join_all(tasks).await;
        let behind = TableServiceClient::from_transport(simulation.emulator().clone())
            .table::<Mark>("Rows")
            .unwrap();
        let left = match is_dated {
            false => behind.query().partition("p").all().await.unwrap(),
            true => {
                let mut dated = behind.query().partition("p").versioned().all().await.unwrap();
                dated.sort_by_key(|row| row.timestamp);
                dated.into_iter().map(|row| row.entity).collect()
            }
        };
        seen.borrow_mut().insert(format!("{saw:?}, left: {}", written(&left)));
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
        for is_dated in [false, true] {
            let (by_isolated, few) = outcomes(&program, is_dated, true, faults);
            let (by_all, many) = outcomes(&program, is_dated, false, faults);
            assert_eq!(by_isolated, by_all, "{program:?} with {faults} faults");
            (pruned, all) = (pruned + few, all + many);
        }
    }
    assert!(pruned < all, "nothing was pruned of {all} orders");
}

/// The rows `x` and `y`, as programs read them that want to know their Timestamps.
#[derive(TableEntity)]
struct Dated {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    name: String,
    #[table(timestamp)]
    at: Option<DateTime>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    partition_key: String,
    row_key: String,
    #[serde(skip_serializing)]
    timestamp: DateTime,
}

/// Explores two tasks that insert a row each. `is_x_first` then decides which row was first.
fn race<F: AsyncFn(&Simulation, &TableClient<Mark>) -> Result<bool>>(is_x_first: F) -> Exploration {
    let body = async |simulation: Simulation| -> Result<()> {
        let marks = simulation.table::<Mark>("Rows");
        let insert = async |task: usize| {
            let own = simulation.client(&format!("t{task}")).table::<Mark>("Rows")?;
            own.insert(&Mark::new(ROWS[task], 0)).await
        };
        let (x, y) = join(insert(0), insert(1)).await;
        x.and(y)?;
        assert!(is_x_first(&simulation, &marks).await?, "y was first");
        Ok(())
    };
    explore(body).isolated().run()
}

#[test]
fn order_of_two_writes_is_found_by_each_way_to_read_timestamps() {
    type Way = (&'static str, fn() -> Exploration);
    let ways: [Way; 7] = [
        ("a dynamic entity", || {
            race(async |simulation, _| {
                let rows = simulation.service().dynamic_table("Rows")?.query().all().await?;
                Ok(rows[0].timestamp < rows[1].timestamp)
            })
        }),
        ("versioned reads of each row", || {
            race(async |_, marks| {
                let x = marks.get(("p", "x")).versioned().await?.unwrap();
                let y = marks.get(("p", "y")).versioned().await?.unwrap();
                Ok(x.timestamp < y.timestamp)
            })
        }),
        ("a field", || {
            race(async |simulation, _| {
                let rows = simulation.service().table::<Dated>("Rows")?.query().all().await?;
                Ok(rows[0].at < rows[1].at)
            })
        }),
        ("a selected column", || {
            race(async |simulation, _| {
                let rows = simulation.service().table::<Dated>("Rows")?;
                let times = rows.query().select((Dated::AT,)).all().await?;
                Ok(times[0] < times[1])
            })
        }),
        ("a serde struct", || {
            race(async |simulation, _| {
                let rows = simulation
                    .service()
                    .table::<SerdeEntity<Record>>("Rows")?
                    .query()
                    .all()
                    .await?;
                Ok(rows[0].timestamp < rows[1].timestamp)
            })
        }),
        ("a filter", || {
            race(async |simulation, marks| {
                let y = marks.get(("p", "y")).versioned().await?.unwrap();
                let rows = simulation.service().table::<Dated>("Rows")?;
                Ok(rows.query().filter(Dated::AT.lt(y.timestamp)).count().await? == 1)
            })
        }),
        ("a task's own reading", || {
            let body = async |simulation: Simulation| -> Result<()> {
                let _ = simulation.table::<Mark>("Rows");
                let write = async |task: usize| {
                    let own = simulation.client(&format!("t{task}")).table::<Mark>("Rows")?;
                    own.insert(&Mark::new(ROWS[task], 0)).await?;
                    own.get(("p", ROWS[task])).versioned().await
                };
                let (x, y) = join(write(0), write(1)).await;
                assert!(x?.unwrap().timestamp < y?.unwrap().timestamp, "y was first");
                Ok(())
            };
            explore(body).isolated().run()
        }),
    ];
    for (way, explore) in ways {
        let found = explore();
        let failure = found.failure().unwrap_or_else(|| panic!("{way}: {found}"));
        assert!(failure.message().contains("y was first"), "{way}: {failure}");
        assert!(failure.schedule().starts_with("t1"), "{way}: {failure}");
    }
}

#[test]
fn writes_are_ordered_only_if_timestamps_of_two_are_read() {
    let orders = |found: Exploration| {
        assert!(found.is_proof(), "{found}");
        found.schedules()
    };
    assert_eq!(orders(race(async |_, _| Ok(true))), 1);
    let one = race(async |_, marks| Ok(marks.get(("p", "x")).versioned().await?.is_some()));
    assert_eq!(orders(one), 1);
    let both = race(async |_, marks| Ok(marks.query().versioned().all().await?.len() == 2));
    assert_eq!(orders(both), 2);
}
