//! The explorations of this crate's own operations and patterns, and of incorrect programs.
//!
//! Contains the list of all, for the tests (`tests/it/kit/explorations.rs`) and for `cargo program explorations`.

use azure_table::testing::Exploration;

use crate::promises::count;

pub mod adverse;
pub mod crashes;
pub mod index_histories;
mod index_writes;
pub mod mistakes;
pub mod operations;
pub mod patterns;

/// One body, explored with up to this many faults per run.
#[derive(Debug)]
pub struct Case {
    /// The operations and their tasks.
    pub name: &'static str,
    /// The number of faults from which it takes long, so that only `cargo xtask long` explores it.
    pub slow_with: Option<usize>,
    /// Runs the exploration.
    pub explore: fn(faults: usize) -> Exploration,
}

impl Case {
    /// Returns `true` if it takes long with up to this many faults per run.
    pub fn is_slow(&self, faults: usize) -> bool {
        self.slow_with.is_some_and(|slow| faults >= slow)
    }
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
