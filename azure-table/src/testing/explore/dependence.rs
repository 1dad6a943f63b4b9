//! The rule which two steps commute.
//!
//! Owns [`Dependence`]. Two steps that commute lead to the same state in either order, so one order stands for both.
//! That holds only if their tasks share nothing but the service. The test declares that with `isolated`, and each task
//! has its own client. Otherwise no two steps commute, and every order is run. Writes to two rows do not commute either
//! if a run reads the Timestamps of both.

use std::sync::Arc;

use azure_table_core::model::timestamp_watch::DatedRows;

use crate::testing::explore::event::{MAIN, Step};
use crate::testing::explore::footprint::Footprint;

/// The rule of one exploration.
#[derive(Clone, Debug)]
pub(crate) struct Dependence {
    pub(crate) is_isolated: bool,
    /// The rows whose Timestamps show the order of their writes to the program.
    pub(crate) dated: Arc<DatedRows>,
}

impl Dependence {
    /// Returns `true` if the order of the two steps matters.
    pub(crate) fn holds(&self, a: (&Step, &Footprint), b: (&Step, &Footprint)) -> bool {
        let (Some(first), Some(second)) = (a.0.client(), b.0.client()) else {
            // The clock advances for all tasks.
            return true;
        };
        // The body starts the tasks and waits for them: its own requests are ordered with all others.
        let is_ordered = !self.is_isolated || first == second || &**first == MAIN || &**second == MAIN;
        let is_dated = |footprint: &Footprint| footprint.writes_one_of(&self.dated);
        is_ordered || a.1.conflicts(b.1) || is_dated(a.1) && is_dated(b.1)
    }
}
