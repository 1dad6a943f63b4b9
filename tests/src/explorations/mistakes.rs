//! Incorrect programs, each with its correction.
//!
//! They are the classic mistakes of code that coordinates through rows. Each works if its tasks run one after the
//! other.

use std::time::Duration;

use azure_table::emulator::SeedEntities as _;
use azure_table::testing::{Exploration, Simulation, explore};
use azure_table::{ErrorKind, Result, TableClient, TableEntity};
use futures::future::{LocalBoxFuture, join};

/// Defines a [`Mistake`] by a function that runs the program, whose parameter says if it is the right one.
macro_rules! mistake {
    ($name:literal, $program:ident) => {
        mistake!($name, |simulation, is_right| if is_right {
            Box::pin($program::<true>(simulation))
        } else {
            Box::pin($program::<false>(simulation))
        })
    };
    ($name:literal, $run:expr) => {
        crate::explorations::mistakes::Mistake {
            name: $name,
            run: $run,
            advance: None,
            faults: 0,
            crashes: 0,
        }
    };
}

mod crashes;
mod indexes;
mod outbox;

/// A mistake, and its correction.
#[derive(Debug)]
pub struct Mistake {
    /// The mistake.
    pub name: &'static str,
    run: fn(Simulation, is_right: bool) -> LocalBoxFuture<'static, Result<()>>,
    advance: Option<Duration>,
    faults: usize,
    crashes: usize,
}

impl Mistake {
    const fn advance(mut self, time: Duration) -> Self {
        self.advance = Some(time);
        self
    }

    const fn with_fault(mut self) -> Self {
        self.faults = 1;
        self
    }

    const fn with_crash(mut self) -> Self {
        self.crashes = 1;
        self
    }

    /// Explores the incorrect program, or the correct one.
    pub fn explore(&self, is_right: bool) -> Exploration {
        let body = async |simulation: Simulation| (self.run)(simulation, is_right).await;
        let exploration = explore(body).isolated().faults(self.faults).crashes(self.crashes);
        match self.advance {
            Some(time) => exploration.advance(time).run(),
            None => exploration.run(),
        }
    }
}

/// Returns the classic mistakes, those that only a crash shows, those with index rows in another partition, and those
/// of an outbox.
pub fn all() -> impl Iterator<Item = &'static Mistake> {
    let first = ALL.iter().chain(&crashes::ALL);
    first.chain(&indexes::ALL).chain(&outbox::ALL)
}

const ALL: [Mistake; 4] = [
    mistake!("a counter by read and unconditional replace", counter),
    mistake!("a lease whose holder writes without a fencing token", lease).advance(Duration::from_secs(LEASE as u64)),
    mistake!("a unique value by check, then insert", unique),
    mistake!("a transaction over two rows without a batch", transaction),
];

#[derive(TableEntity, Clone, Debug)]
struct Row {
    #[table(partition_key)]
    group: String,
    #[table(row_key)]
    name: String,
    number: i32,
    text: Option<String>,
    /// In seconds of the run.
    until: Option<i32>,
}

impl Row {
    fn new(name: &str) -> Self {
        Self {
            group: "g".into(),
            name: name.into(),
            number: 0,
            text: None,
            until: None,
        }
    }

    fn text(name: &str, text: &str) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::new(name)
        }
    }
}

const TABLE: &str = "Rows";
/// The time of a lease, in seconds.
const LEASE: i32 = 30;

fn start(simulation: &Simulation, rows: &[&str]) -> (TableClient<Row>, TableClient<Row>, TableClient<Row>) {
    let table = simulation.table(TABLE);
    simulation
        .emulator()
        .seed(TABLE, rows.iter().map(|name| Row::new(name)))
        .unwrap();
    let client = |name| simulation.client(name).table(TABLE).unwrap();
    (table, client("a"), client("b"))
}

/// Both increment once. Wrong: the second write overwrites the first.
async fn counter<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    async fn count<const RIGHT: bool>(table: TableClient<Row>) -> Result<()> {
        if RIGHT {
            table.modify(("g", "n"), |row| row.number += 1).await?;
            return Ok(());
        }
        if let Some(mut row) = table.get(("g", "n")).await? {
            row.number += 1;
            table.replace(&row).unconditionally().await?;
        }
        Ok(())
    }
    let (table, a, b) = start(&simulation, &["n"]);
    let (first, second) = join(count::<RIGHT>(a), count::<RIGHT>(b)).await;
    first.and(second)?;
    assert_eq!(table.get(("g", "n")).await?.map(|row| row.number), Some(2));
    Ok(())
}

/// The holder of a lease writes a report. Wrong: the lease may have passed to the other in between.
async fn lease<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    async fn work<const RIGHT: bool>(now: impl Fn() -> i32, table: TableClient<Row>, who: &str) -> Result<()> {
        let Some(mut lease) = table.get(("g", "lease")).versioned().await? else {
            return Ok(());
        };
        if lease.until > Some(now()) {
            return Ok(());
        }
        lease.until = Some(now() + LEASE);
        lease.number += 1;
        let token = lease.number;
        if let Err(e) = table.replace(&lease).await {
            return if e.kind() == ErrorKind::ConditionNotMet {
                Ok(())
            } else {
                Err(e)
            };
        }
        // The work takes time, and the lease may have expired when its result is written.
        let write = |report: &mut Row| {
            let is_ours = token >= report.number;
            if is_ours || !RIGHT {
                (report.number, report.text) = (token, Some(who.into()));
            }
        };
        table.modify(("g", "report"), write).await?;
        Ok(())
    }
    let (table, a, b) = start(&simulation, &["lease", "report"]);
    let clock = simulation.emulator().clock();
    let started = clock.now().unix_seconds();
    let now = || (clock.now().unix_seconds() - started) as i32;
    let (first, second) = join(work::<RIGHT>(now, a, "a"), work::<RIGHT>(now, b, "b")).await;
    first.and(second)?;
    let lease = table.get(("g", "lease")).await?.map(|row| row.number);
    let report = table.get(("g", "report")).await?.map(|row| row.number);
    assert_eq!(report, lease, "the report is not by the last who held the lease");
    Ok(())
}

/// Each takes the name if it is free. Wrong: both find it free.
async fn unique<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    async fn take<const RIGHT: bool>(table: TableClient<Row>, who: &str) -> Result<bool> {
        let row = Row::text("nick", who);
        if RIGHT {
            return Ok(table.insert_if_not_exists(&row).await?.is_some());
        }
        if table.exists(("g", "nick")).await? {
            return Ok(false);
        }
        table.insert_or_replace(&row).await?;
        Ok(true)
    }
    let (_, a, b) = start(&simulation, &[]);
    let (first, second) = join(take::<RIGHT>(a, "a"), take::<RIGHT>(b, "b")).await;
    assert!(first? != second?, "both took the name");
    Ok(())
}

/// One moves a number from one row to the other, one reads both. Wrong: the reader finds it in neither.
async fn transaction<const RIGHT: bool>(simulation: Simulation) -> Result<()> {
    let (_, a, b) = start(&simulation, &["from", "to"]);
    let (mut from, mut to) = (Row::new("from"), Row::new("to"));
    (from.number, to.number) = (-1, 1);
    let moved = async {
        if RIGHT {
            let mut batch = a.batch();
            batch.insert_or_replace(&from)?.insert_or_replace(&to)?;
            return batch.submit().await.map(|_| ());
        }
        a.insert_or_replace(&from).await?;
        a.insert_or_replace(&to).await.map(|_| ())
    };
    let (moved, read) = join(moved, async { b.query().partition("g").all().await }).await;
    moved?;
    let sum: i32 = read?.iter().map(|row| row.number).sum();
    assert_eq!(sum, 0, "the reader saw half of it");
    Ok(())
}
