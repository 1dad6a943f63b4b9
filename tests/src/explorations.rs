//! The explorations of this crate's own operations and patterns, and of incorrect programs.
//!
//! A [`Case`] has one body, for tasks and for processes that crash. Tests (`tests/kit/explorations.rs`) and
//! `cargo program explorations` explore the lists of them.

use std::time::Duration;

use azure_table::Result;
use azure_table::testing::{Exploration, Explore, Simulation, explore};

use self::crashes::CrashBounds;
use crate::promises::{Hold, Place, Promise, count};

/// Defines a [`Case`]: its name, and the function that runs its tasks at a [`Place`].
macro_rules! case {
    ($name:expr, $body:expr) => {
        crate::explorations::Case::new($name, |place| {
            Box::pin(async move { crate::explorations::Held::held($body(place).await) })
        })
    };
}

pub mod adverse;
pub mod crashes;
pub mod index_histories;
mod index_rows;
mod index_writes;
pub mod mistakes;
pub mod operations;
pub mod patterns;

/// The output of a body.
trait Held {
    fn held(self);
}

impl Held for () {
    fn held(self) {}
}

impl Held for Result<()> {
    fn held(self) {
        self.unwrap();
    }
}

/// The runs of each number of faults. A case that needs more is stopped.
const MAX_SCHEDULES: u64 = 200_000;

/// What several tasks do, and where it is explored: by default in every order of their requests, and as a
/// [promise](Self::promise).
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The operations and their tasks.
    pub name: &'static str,
    /// The promise of this name, for services with other faults.
    pub promise: Promise,
    slow_with: Option<usize>,
    is_isolated: bool,
    advances: &'static [Duration],
    max_faults: usize,
    crashes: usize,
    processes: usize,
    has_tasks: bool,
    is_promise: bool,
}

impl Case {
    const fn new(name: &'static str, hold: Hold) -> Self {
        Self {
            name,
            promise: Promise { name, hold },
            slow_with: None,
            is_isolated: true,
            advances: &[],
            max_faults: usize::MAX,
            crashes: 0,
            processes: 0,
            has_tasks: true,
            is_promise: true,
        }
    }

    /// Takes long with this number of faults, so that only `cargo xtask long` explores it.
    const fn slow_with(mut self, faults: usize) -> Self {
        self.slow_with = Some(faults);
        self
    }

    /// The tasks share memory, so every order is run.
    const fn in_all_orders(mut self) -> Self {
        self.is_isolated = false;
        self
    }

    /// The clock jumps.
    const fn advance(mut self, times: &'static [Duration]) -> Self {
        self.advances = times;
        self
    }

    const fn without_faults(mut self) -> Self {
        self.max_faults = 0;
        self
    }

    /// Each run has a crash of a process as well.
    const fn with_crash(mut self, name: &'static str) -> Self {
        self.name = name;
        self.promise.name = name;
        self.crashes = 1;
        self.only_orders()
    }

    /// It is not a promise on other services: another case has it, or it needs a simulation.
    const fn only_orders(mut self) -> Self {
        self.is_promise = false;
        self
    }

    /// It is a promise alone.
    const fn only_promise(mut self) -> Self {
        self.has_tasks = false;
        self
    }

    /// It has a second exploration, of two processes that crash: see [`crashes::all`].
    const fn and_crashes(mut self) -> Self {
        self.processes = 2;
        self
    }

    /// It is explored with this number of processes alone.
    const fn only_crashes(mut self, processes: usize) -> Self {
        self.processes = processes;
        self.has_tasks = false;
        self.only_orders()
    }

    /// Returns `true` if it takes long with up to this many faults per run.
    pub fn is_slow(&self, faults: usize) -> bool {
        self.slow_with.is_some_and(|slow| faults >= slow)
    }

    /// Explores the tasks with up to this many faults per run. Without faults, all orders are explored, however long that
    /// takes on a busy machine.
    pub fn explore(&self, faults: usize) -> Exploration {
        let faults = faults.min(self.max_faults);
        let mut exploration = self.exploration(self.crashes > 0, faults).crashes(self.crashes);
        if faults == 0 {
            exploration = exploration.max_time(Duration::MAX);
        }
        exploration.faults(faults).max_schedules(MAX_SCHEDULES).run()
    }

    /// Explores the processes.
    pub fn explore_crashes(&self, bounds: CrashBounds) -> Exploration {
        bounds.of(self.exploration(true, 0)).run()
    }

    fn exploration(&self, has_crashes: bool, faults: usize) -> Explore<impl AsyncFn(Simulation)> {
        let hold = self.promise.hold;
        let mut exploration = explore(async move |simulation: Simulation| {
            let mut place = if has_crashes {
                Place::explored_with_crashes(simulation)
            } else {
                Place::explored(simulation)
            };
            place.is_faultless = faults == 0 && !has_crashes;
            hold(place).await;
        });
        if self.is_isolated {
            exploration = exploration.isolated();
        }
        let advances = self.advances.iter();
        advances.fold(exploration, |exploration, time| exploration.advance(*time))
    }
}

/// Returns the promises of cases.
const fn promises_of<const N: usize>(cases: &[Case; N]) -> [Promise; N] {
    let mut promises = [cases[0].promise; N];
    let mut at = 1;
    while at < N {
        promises[at] = cases[at].promise;
        at += 1;
    }
    promises
}

/// The calls of several tasks that change one number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// The calls that succeeded.
    pub certain: i64,
    /// The calls that failed and may have been applied.
    pub perhaps: i64,
}

impl Tally {
    /// Counts the results of calls. A failed call may have been applied only if its error says so.
    pub fn of<T>(results: impl IntoIterator<Item = azure_table::Result<T>>) -> Self {
        let mut tally = Self::default();
        for result in results {
            count([&result]);
            match result {
                Ok(_) => tally.certain += 1,
                Err(e) if e.may_have_applied() => tally.perhaps += 1,
                // A read that was lost too often, or a conflict: nothing was written.
                Err(_) => {}
            }
        }
        tally
    }

    /// Checks the stored number.
    ///
    /// # Panics
    /// The results do not allow it.
    pub fn check(self, stored: i64) {
        let most = self.certain + self.perhaps;
        assert!(
            (self.certain..=most).contains(&stored),
            "{stored} is stored, {} calls succeeded and {} may have",
            self.certain,
            self.perhaps
        );
    }
}
