//! Explorations run a body repeatedly, each time with a different order of its requests.
//!
//! This module has the settings of an exploration. `explore/run.rs` executes one run, and `explore/simulation.rs`
//! provides its service. The search is in `azure-table-testing`, which depends on neither client nor emulator.

mod run;
mod simulation;

use std::sync::Arc;
use std::time::Duration;

use azure_table_testing::explore::dated_rows::DatedRows;
use azure_table_testing::explore::races::Dependence;
use azure_table_testing::explore::search::{self, Bounds};
use azure_table_testing::explore::tree::Allowance;
use azure_table_testing::{Exploration, StopReason};
use azure_table_wire::value::datetime::DateTime;
use tokio::runtime::Handle;

pub use crate::explore::run::RunOutput;
use crate::explore::run::Runs;
pub use crate::explore::simulation::Simulation;

/// The default bounds.
const MAX_SCHEDULES: u64 = 10_000;
const MAX_TIME: Duration = Duration::from_secs(60);

/// Creates an exploration, which runs `body` in every possible order of its concurrent requests.
///
/// For a test that only needs to pass, use `#[azure_table::test(explore)]`. Use this function if you need the counts of
/// the exploration, or the story of a body that is meant to fail.
///
/// The body runs repeatedly, each time in a new [`Simulation`], on one thread and with a paused clock.
///
/// ```
/// use azure_table::testing::{Simulation, explore};
/// use azure_table::{Result, TableClient, TableEntity};
/// use futures::future::try_join;
///
/// #[derive(TableEntity)]
/// struct Counter {
///     #[table(partition_key)]
///     page: String,
///     #[table(row_key)]
///     name: String,
///     visits: i32,
/// }
///
/// /// Wrong: two visitors may read the same number.
/// async fn visit(counters: TableClient<Counter>) -> Result<()> {
///     if let Some(mut counter) = counters.get(("home", "visits")).await? {
///         counter.visits += 1;
///         counters.replace(&counter).unconditionally().await?;
///     }
///     Ok(())
/// }
///
/// let found = explore(async |simulation: Simulation| -> Result<()> {
///     let counters = simulation.table::<Counter>("Counters");
///     counters.insert(&Counter { page: "home".into(), name: "visits".into(), visits: 0 }).await?;
///     let visitor = |name| simulation.client(name).table("Counters");
///     try_join(visit(visitor("a")?), visit(visitor("b")?)).await?;
///     let counter = counters.get(("home", "visits")).await?;
///     assert_eq!(counter.map(|counter| counter.visits), Some(2));
///     Ok(())
/// })
/// .isolated()
/// .run();
///
/// let failure = found.failure().unwrap();
/// assert_eq!(failure.schedule(), "main a b*2 a main");
/// println!("{failure}");
/// ```
///
/// The guide `explorations` shows the story that it prints, and what an exploration proves.
pub fn explore<B>(body: B) -> Explore<B> {
    Explore {
        body,
        settings: Settings::default(),
    }
}

/// An exploration that has not run yet. See [`explore`](crate::testing::explore()).
#[derive(Clone, Debug)]
#[must_use = "nothing is explored before `run` is called"]
pub struct Explore<B> {
    body: B,
    settings: Settings,
}

/// The settings of an exploration.
#[derive(Clone, Debug, Default)]
struct Settings {
    is_isolated: bool,
    is_cosmos: bool,
    adverse: Option<u64>,
    faults: usize,
    crashes: usize,
    late: Option<usize>,
    advances: Vec<Duration>,
    max_schedules: Option<u64>,
    max_time: Option<Duration>,
    replay: Option<String>,
}

impl Settings {
    /// Returns the options of `explore` that a replay needs. `cosmos`, which it needs as well, is one of the test.
    fn of_replay(&self) -> String {
        let isolated = self.is_isolated.then(|| "isolated, ".to_owned());
        let adverse = self.adverse.map(|seed| format!("adverse = {seed}, "));
        let advances = self.advances.iter().map(|time| match time.subsec_nanos() {
            0 => format!("advance = Duration::from_secs({}), ", time.as_secs()),
            _ => format!("advance = Duration::from_nanos({}), ", time.as_nanos()),
        });
        isolated.into_iter().chain(adverse).chain(advances).collect()
    }
}

impl<B> Explore<B> {
    /// Declares that tasks share nothing but the service, and that each has its [own client](Simulation::client).
    ///
    /// The exploration then runs orders once that differ only in requests that commute. Two requests commute if neither
    /// writes a row that the other reads or writes. Writes to different rows do not commute if a run reads the
    /// Timestamps of both. By default every order is run.
    ///
    /// On Cosmos DB no writes commute, because queries return rows in the order of their inserts. With
    /// [`adverse`](Self::adverse) every order is run.
    ///
    /// If a task cancels another one, by an abort or by a `select` that drops it, no requests of the two commute.
    pub fn isolated(mut self) -> Self {
        self.settings.is_isolated = true;
        self
    }

    /// Sets the maximum number of faults per run: 0 by default.
    ///
    /// A fault is a request that never reaches the service, or a response that is lost. With 1, the exploration tries
    /// to lose each request of each order, and the response to each write.
    pub fn faults(mut self, most: usize) -> Self {
        self.settings.faults = most;
        self
    }

    /// Sets the maximum number of crashes per run: 0 by default.
    ///
    /// A [process](Simulation::process) may crash while any of its requests is in flight. That request was executed, or
    /// never arrives, or arrives [late](Self::late), after the process has begun again. A process that waits for a
    /// timer may crash while a request of another task waits.
    pub fn crashes(mut self, most: usize) -> Self {
        self.settings.crashes = most;
        self
    }

    /// Sets the maximum number of late writes per run: 1 by default.
    ///
    /// A write stays in flight if its connection breaks ([`faults`](Self::faults)), or if its future is dropped before
    /// the service executes it, for example by a timeout, a `select`, an aborted task or a crash. It never arrives, or
    /// it arrives later, before any other request. With 0 it never arrives, and an exploration in which one could have
    /// [is no proof](Exploration::is_proof).
    pub fn late(mut self, most: usize) -> Self {
        self.settings.late = Some(most);
        self
    }

    /// Lets the clock jump by `time` once in a run, at any point, while requests wait.
    ///
    /// Repeated calls add further jumps, which happen in this order only. By default, timers fire only when no request
    /// waits.
    pub fn advance(mut self, time: Duration) -> Self {
        self.settings.advances.push(time);
        self
    }

    /// Sets the number of runs after which the exploration stops: 10,000 by default.
    ///
    /// Each pass counts separately: the orders without faults, with up to one fault, and so on, and likewise with late
    /// writes and crashes.
    pub fn max_schedules(mut self, most: u64) -> Self {
        self.settings.max_schedules = Some(most);
        self
    }

    /// Sets the time after which the exploration stops: a minute by default.
    pub fn max_time(mut self, most: Duration) -> Self {
        self.settings.max_time = Some(most);
        self
    }

    /// Runs only this schedule, as printed by a failed exploration.
    pub fn replay(mut self, schedule: &str) -> Self {
        self.settings.replay = Some(schedule.to_owned());
        self
    }

    /// Explores on Cosmos DB for Table.
    pub fn cosmos(mut self) -> Self {
        self.settings.is_cosmos = true;
        self
    }

    /// Explores on a service that does its worst, as a seed chooses: see
    /// [`Emulator::adverse`](crate::Emulator::adverse).
    ///
    /// In every run, the clients see the same choices for the same requests. [`Simulation::emulator`] behaves as usual.
    /// A body that panics prints the choices of its run.
    pub fn adverse(mut self, seed: u64) -> Self {
        self.settings.adverse = Some(seed);
        self
    }

    /// Runs the body in every order, until one fails or a bound is reached.
    ///
    /// # Panics
    /// Panics inside a tokio runtime, or if the text of the [replay](Self::replay) is invalid.
    #[expect(clippy::panic, reason = "a test says what failed by panicking")]
    pub fn run<T: RunOutput>(self) -> Exploration
    where
        B: AsyncFn(Simulation) -> T,
    {
        if Handle::try_current().is_ok() {
            panic!("an exploration cannot run inside a tokio runtime: call `run` from a plain `#[test]` function");
        }
        let settings = &self.settings;
        let bounds = Bounds {
            dependence: Dependence {
                // The same request to an adverse service has another fate after an equal one.
                is_isolated: settings.is_isolated && settings.adverse.is_none(),
                // Queries of Cosmos DB return rows in the order of their inserts.
                dated: Arc::new(if settings.is_cosmos {
                    DatedRows::any()
                } else {
                    DatedRows::default()
                }),
                cancelling: Arc::default(),
            },
            allowance: Allowance {
                faults: settings.faults,
                late: settings.late.unwrap_or(1),
                crashes: settings.crashes,
                clock: settings.advances.len(),
            },
            max_schedules: settings.max_schedules.unwrap_or(MAX_SCHEDULES),
            max_time: settings.max_time.unwrap_or(MAX_TIME),
            options: settings.of_replay(),
        };
        let mut runs = Runs {
            body: &self.body,
            is_cosmos: settings.is_cosmos,
            adverse: settings.adverse,
            advances: &settings.advances,
            started: DateTime::now(),
        };
        match &settings.replay {
            None => search::search(&mut runs, bounds),
            Some(schedule) => match schedule.parse() {
                Ok(schedule) => search::replay(&mut runs, &bounds, schedule),
                Err(why) => panic!("the schedule of the replay cannot be read: {why}"),
            },
        }
    }

    /// Runs the body in every order, and fails the test unless every run succeeds.
    ///
    /// # Panics
    /// The body failed in some order, or a default bound was reached.
    #[doc(hidden)]
    #[expect(clippy::panic, reason = "a test says what failed by panicking")]
    #[expect(clippy::print_stdout, reason = "the harness shows it where output is asked for")]
    pub fn prove<T: RunOutput>(self)
    where
        B: AsyncFn(Simulation) -> T,
    {
        let is_bounded = self.settings.max_schedules.is_some() || self.settings.max_time.is_some();
        let can_be_isolated = !self.settings.is_isolated && self.settings.adverse.is_none();
        let found = self.run();
        if let Some(why) = unproven(&found, is_bounded, can_be_isolated) {
            panic!("{why}");
        }
        println!("{found}");
    }
}

/// Returns the reason to fail a test, if any: a failed run, or a bound that the test did not set.
fn unproven(found: &Exploration, is_bounded: bool, can_be_isolated: bool) -> Option<String> {
    let isolate = if can_be_isolated {
        ", give each task its own client and use `isolated`"
    } else {
        ""
    };
    match found.stop_reason() {
        _ if found.failure().is_some() => Some(found.to_string()),
        None | Some(StopReason::Replay | StopReason::NoLateWrites) => None,
        Some(_) if is_bounded => None,
        Some(_) => Some(format!(
            "{found}. Make the body smaller{isolate}, or set a bound with `max_schedules = N` or `max_time = Duration`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::dynamic::DynamicEntity;

    #[test]
    fn default_bound_fails_a_test() {
        let body = async |simulation: Simulation| {
            let get = || async { drop(simulation.table::<DynamicEntity>("Rows").exists(("p", "r")).await) };
            futures_util::future::join(get(), get()).await;
        };
        let found = explore(body).max_schedules(1).run();
        assert_eq!(unproven(&found, true, true), None);
        let why = unproven(&found, false, true).unwrap();
        assert!(
            why.contains("not all orders were seen. Make the body smaller, give each task its own client"),
            "{why}"
        );
        let why = unproven(&found, false, false).unwrap();
        assert!(why.contains("Make the body smaller, or set a bound"), "{why}");
        assert_eq!(unproven(&explore(body).run(), false, true), None);
    }
}
