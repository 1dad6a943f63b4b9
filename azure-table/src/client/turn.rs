//! The work that a bulk does before other tasks have their turn.
//!
//! A source that is an iterator and a transport in the same process are always ready. A bulk would therefore not return
//! before its end, and no timeout around it could fire. The units of a turn add up to less than a millisecond.
//!
//! A turn does not use the budget that tokio grants a task. Other parts of the task spend that budget too. It would
//! decide which operations share a batch, and a replay of a recorded bulk would differ from it.

use std::task::Context;

use crate::protocol::operation::TableOperation;

/// The operations that are read in a turn.
const UNITS: usize = 128;
/// The encoded bytes that cost a unit: a whole turn is 512 KiB.
const BYTES: usize = 4 << 10;
/// The cost of a response, with the outcomes of its operations.
const RESPONSE: usize = 16;

/// The rest of a turn, in units.
#[derive(Debug)]
pub(crate) struct Turn(usize);

impl Turn {
    pub(crate) fn new() -> Self {
        Self(UNITS)
    }

    /// Begins the next turn. Whoever returns `Pending` to the task calls it.
    pub(crate) fn end(&mut self) {
        self.0 = UNITS;
    }

    /// Returns `false`, and wakes the task for its next turn, if this one is over.
    pub(crate) fn is_left(&self, cx: &Context<'_>) -> bool {
        if self.0 == 0 {
            cx.waker().wake_by_ref();
        }
        self.0 > 0
    }

    /// Spends the cost of reading an operation. Returns `false`, and wakes the task, if the turn is over.
    pub(crate) fn spend(&mut self, cx: &Context<'_>) -> bool {
        let is_left = self.is_left(cx);
        self.0 = self.0.saturating_sub(1);
        is_left
    }

    /// Spends the cost of an operation beyond its first unit.
    pub(crate) fn spend_bytes(&mut self, operation: &TableOperation) {
        self.0 = self.0.saturating_sub(operation.bytes() / BYTES);
    }

    pub(crate) fn spend_response(&mut self) {
        self.0 = self.0.saturating_sub(RESPONSE);
    }
}
