//! Pruning loses nothing: random programs have the same results with `isolated` and in every order.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use azure_table::testing::{Simulation, explore};
use azure_table::{Error, Filter, Result, TableClient, TableServiceClient};
use azure_table_tests::entities::Marked;
use fastrand::Rng;
use futures::future::{Either, join_all, select, select_all};
use futures::poll;
use tokio::time::{sleep, timeout};

/// The programs of one run. `AZURE_TABLE_EXPLORED_PROGRAMS` sets another number.
const PROGRAMS: u64 = 4;
/// A program with more orders is left out.
const MAX_ORDERS: u64 = 60;
const ROWS: [&str; 2] = ["x", "y"];

/// An operation with its row.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Get(usize),
    Insert(usize),
    Upsert(usize),
    Delete(usize),
    /// Reads the row, and writes it under its ETag.
    Modify(usize),
    /// The rows from this one on.
    Query(usize),
    /// Both rows in one transaction.
    Batch,
}

impl Operation {
    fn drawn(random: &mut Rng) -> Self {
        let row = random.usize(..ROWS.len());
        match random.u32(..8) {
            0 => Self::Get(row),
            1 => Self::Insert(row),
            2 | 3 => Self::Upsert(row),
            4 => Self::Delete(row),
            5 => Self::Modify(row),
            6 => Self::Query(row),
            _ => Self::Batch,
        }
    }

    /// Returns the result for the task.
    async fn run(self, by: i64, rows: &TableClient<Marked>) -> String {
        // The count is the number of the operation that wrote the row.
        let mark = |row: usize| Marked::new("p", ROWS[row], by);
        let done = |_| String::new();
        match self {
            Self::Get(row) => {
                let row = rows.get(("p", ROWS[row])).await;
                shown(row.map(|row| written(row.as_slice())))
            }
            Self::Insert(row) => shown(rows.insert(&mark(row)).await.map(done)),
            Self::Upsert(row) => shown(rows.insert_or_replace(&mark(row)).await.map(done)),
            Self::Delete(row) => shown(rows.delete(("p", ROWS[row])).await.map(|()| String::new())),
            Self::Modify(row) => {
                let modified = rows.modify(("p", ROWS[row]), |mark| mark.count = by).await;
                shown(modified.map(|_| String::new()))
            }
            Self::Query(from) => {
                let filter = Filter::raw(format!("PartitionKey eq 'p' and RowKey ge '{}'", ROWS[from]));
                shown(rows.query().filter(filter).all().await.map(|rows| written(&rows)))
            }
            Self::Batch => {
                let mut batch = rows.batch();
                for row in 0..ROWS.len() {
                    batch.insert_or_replace(&mark(row)).unwrap();
                }
                shown(batch.submit().await.map(|_| String::new()))
            }
        }
    }
}

/// Returns the rows with their writers.
fn written(rows: &[Marked]) -> String {
    let shown = rows.iter().map(|row| format!("{} by {}", row.name, row.count));
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns a result without the parts that differ between runs.
fn shown(result: Result<String>) -> String {
    let outcome = |e: Error| format!("{:?}, in doubt: {}", e.kind(), e.may_have_applied());
    result.unwrap_or_else(outcome)
}

/// A step of a task.
#[derive(Clone, Copy, Debug)]
enum Step {
    Await(Operation),
    /// Drops the slower one.
    Select(Operation, Operation),
    Timeout(Operation),
    /// Polls the first once before the second.
    Poll(Operation, Operation),
    /// Spawns the first, and aborts it after the second.
    Abort(Operation, Operation),
    Sleep,
}

impl Step {
    fn drawn(random: &mut Rng) -> Self {
        let (first, second) = (Operation::drawn(random), Operation::drawn(random));
        match random.u32(..10) {
            0..4 => Self::Await(first),
            4 => Self::Select(first, second),
            5 | 6 => Self::Timeout(first),
            7 => Self::Poll(first, second),
            8 => Self::Abort(first, second),
            _ => Self::Sleep,
        }
    }

    async fn run(self, by: i64, rows: &TableClient<Marked>, spawned: &TableClient<Marked>) -> String {
        match self {
            Self::Await(operation) => operation.run(by, rows).await,
            Self::Select(first, second) => {
                let (first, second) = (first.run(by, rows), second.run(by + 1, rows));
                match select(Box::pin(first), Box::pin(second)).await {
                    Either::Left((first, _)) => format!("first: {first}"),
                    Either::Right((second, _)) => format!("second: {second}"),
                }
            }
            Self::Timeout(operation) => {
                let ended = timeout(Duration::from_secs(5), operation.run(by, rows)).await;
                ended.unwrap_or_else(|_| "timeout".to_owned())
            }
            Self::Poll(first, second) => {
                let mut first = pin!(first.run(by, rows));
                assert!(poll!(&mut first).is_pending());
                let second = second.run(by + 1, rows).await;
                format!("{}, then {second}", first.await)
            }
            Self::Abort(first, second) => {
                let own = spawned.clone();
                let task = tokio::spawn(async move { first.run(by, &own).await });
                let second = second.run(by + 1, rows).await;
                task.abort();
                format!("{:?}, {second}", task.await.ok())
            }
            Self::Sleep => {
                sleep(Duration::from_secs(20)).await;
                String::new()
            }
        }
    }
}

#[derive(Debug)]
struct Program {
    tasks: Vec<Vec<Step>>,
    /// The first task that ends cancels the others.
    is_raced: bool,
    /// The order of the rows by Timestamp is a result.
    is_dated: bool,
    /// The body reads the rows at the end, in a request that late writes may precede.
    is_read: bool,
    faults: usize,
    jump: Option<Duration>,
    /// The first task is a process, which may crash this often.
    crashes: usize,
    /// Each task waits before its first step, the first one for the longest time: it may crash in between.
    waits: bool,
}

impl Program {
    fn drawn(random: &mut Rng) -> Self {
        let lengths: &[usize] = match random.u32(..5) {
            0 | 1 => &[1, 1],
            2 | 3 => &[2, 1],
            _ => &[1, 1, 1],
        };
        let tasks = lengths
            .iter()
            .map(|steps| (0..*steps).map(|_| Step::drawn(random)).collect());
        Self {
            tasks: tasks.collect(),
            is_raced: random.u32(..4) == 0,
            is_dated: random.u32(..4) == 0,
            is_read: random.bool(),
            faults: usize::from(random.u32(..5) == 0),
            jump: [None, Some(Duration::from_secs(10)), Some(Duration::from_secs(90))][random.usize(..3)],
            crashes: [0, 0, 1, 1, 2][random.usize(..5)],
            waits: random.bool(),
        }
    }

    /// Returns the results of one run.
    async fn run(&self, simulation: Simulation) -> String {
        let main = simulation.table::<Marked>("Rows");
        let results = RefCell::new(vec![Vec::new(); self.tasks.len()]);
        let (results, simulation) = (&results, &simulation);
        let steps = async |task: usize, [rows, spawned]: [TableClient<Marked>; 2]| {
            if self.waits {
                sleep(Duration::from_secs(40 - 10 * task as u64)).await;
            }
            for (number, step) in self.tasks[task].iter().enumerate() {
                let by = (100 * task + 10 * number) as i64;
                let result = step.run(by, &rows, &spawned).await;
                results.borrow_mut()[task].push(result);
            }
        };
        let steps = &steps;
        let tasks = (0..self.tasks.len()).map(|task| async move {
            let names = [format!("t{task}"), format!("t{task}s")];
            if task == 0 && self.crashes > 0 {
                let life = async |service: TableServiceClient| {
                    results.borrow_mut()[task].push("begins".to_owned());
                    let rows = service.table::<Marked>("Rows").unwrap();
                    steps(task, [rows.clone(), rows]).await;
                };
                simulation.process(&names[0], life).await;
            } else {
                let client = |name: String| simulation.client(&name).table::<Marked>("Rows").unwrap();
                steps(task, names.map(client)).await;
            }
        });
        if self.is_raced {
            drop(select_all(tasks.map(Box::pin)).await)
        } else {
            drop(join_all(tasks).await)
        }
        let read = if self.is_read {
            shown(main.query().partition("p").all().await.map(|rows| written(&rows)))
        } else {
            String::new()
        };
        let behind = TableServiceClient::from_transport(simulation.emulator().clone())
            .table::<Marked>("Rows")
            .unwrap();
        let left = if self.is_dated {
            let mut dated = behind.query().partition("p").versioned().all().await.unwrap();
            dated.sort_by_key(|row| row.timestamp);
            dated.into_iter().map(|row| row.entity).collect()
        } else {
            behind.query().partition("p").all().await.unwrap()
        };
        format!("{:?}, read: {read}, left: {}", results.borrow(), written(&left))
    }

    /// Returns the results in all orders, with the number of orders, or `None` if there are too many.
    fn results(&self, is_isolated: bool) -> Option<(BTreeSet<String>, u64)> {
        let results = RefCell::new(BTreeSet::new());
        let body = async |simulation: Simulation| {
            let result = self.run(simulation).await;
            results.borrow_mut().insert(result);
        };
        let most = MAX_ORDERS * if self.crashes > 0 { 10 } else { 1 };
        let exploration = explore(body).faults(self.faults).crashes(self.crashes);
        // Only the number of orders decides, not the speed of the machine.
        let mut exploration = exploration.max_schedules(most).max_time(Duration::MAX);
        if let Some(time) = self.jump {
            exploration = exploration.advance(time);
        }
        let found = if is_isolated {
            exploration.isolated().run()
        } else {
            exploration.run()
        };
        assert!(found.failure().is_none(), "{self:?}: {found}");
        found.is_proof().then(|| (results.into_inner(), found.schedules()))
    }
}

/// Seeds of programs in which a task is cancelled while it sleeps, or after its last request.
const CANCELLED: [u64; 3] = [1_115, 1_363, 1_913];

#[test]
fn pruned_orders_show_what_all_orders_show() {
    let programs = std::env::var("AZURE_TABLE_EXPLORED_PROGRAMS").map_or(PROGRAMS, |number| number.parse().unwrap());
    let (mut compared, mut pruned, mut all, mut differing) = (0, 0, 0, Vec::new());
    for seed in (0..programs).chain(CANCELLED.into_iter().filter(|seed| *seed >= programs)) {
        let program = Program::drawn(&mut Rng::with_seed(seed));
        let Some((by_all, many)) = program.results(false) else {
            continue;
        };
        let (by_isolated, few) = program.results(true).unwrap();
        if by_isolated != by_all {
            println!("seed {seed}: {program:?}\n{by_isolated:#?}\nof\n{by_all:#?}");
            differing.push(seed);
        }
        (compared, pruned, all) = (compared + 1, pruned + few, all + many);
    }
    println!("{compared} of {programs} programs, {pruned} of {all} orders");
    assert!(differing.is_empty(), "seeds {differing:?}");
    assert!(
        compared > programs / 2 && pruned < all,
        "{compared} programs, {pruned} of {all} orders"
    );
}
