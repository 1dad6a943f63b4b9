//! The work that a bulk does in one poll, before other tasks have their turn.
//!
//! Owns the costs, in units of the budget that tokio gives a task for each poll: 128. They add up to less than a
//! millisecond. A source that is an iterator and a transport in the same process are always ready, so a bulk would
//! otherwise not return before its end, and no timeout around it could fire.

use std::task::{Context, Poll};

use tokio::task::coop;

use crate::protocol::operation::TableOperation;

/// The encoded bytes that cost a unit: a whole turn is 512 KiB.
const BYTES: usize = 4 << 10;
/// The cost of a response, with the outcomes of its operations.
const RESPONSE: usize = 16;

/// Spends a unit. Returns `false`, and wakes the task for its next turn, if none is left.
pub(crate) fn spend(cx: &mut Context<'_>) -> bool {
    let unit = coop::poll_proceed(cx);
    match unit {
        Poll::Ready(unit) => {
            unit.made_progress();
            true
        }
        Poll::Pending => false,
    }
}

/// Spends the cost of an operation beyond its first unit.
pub(crate) fn spend_bytes(operation: &TableOperation, cx: &mut Context<'_>) {
    spend_all(operation.bytes() / BYTES, cx);
}

/// Polls for a response if the turn is not over, and spends its cost if there is one.
pub(crate) fn poll_response<T>(cx: &mut Context<'_>, poll: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    let unit = std::task::ready!(coop::poll_proceed(cx));
    let response = std::task::ready!(poll(cx));
    unit.made_progress();
    spend_all(RESPONSE - 1, cx);
    Poll::Ready(response)
}

/// Spends `units`, or what is left.
fn spend_all(units: usize, cx: &mut Context<'_>) {
    for _ in 0..units {
        if !coop::has_budget_remaining() || !spend(cx) {
            return;
        }
    }
}
