//! The work that a stream or a bulk does before other tasks have their turn.
//!
//! A source that is an iterator, a transport in the same process and pages of other tasks are always ready. A bulk or a
//! stream would therefore not return before its end, and no timeout around it could fire. Each owner has units of its
//! own, so that a turn takes one or two milliseconds at most.
//!
//! A turn does not use the budget that tokio grants a task. Other parts of the task spend that budget too. It would
//! decide which operations share a batch, and a replay of a recorded bulk would differ from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// The units left in a turn. Clones share them: the parts of a query are polled by one task.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    units: usize,
    left: Arc<AtomicUsize>,
}

impl Turn {
    pub(crate) fn new(units: usize) -> Self {
        let left = Arc::new(AtomicUsize::new(units));
        Self { units, left }
    }

    /// Returns the units left in this turn. If none are left, wakes the task for its next turn and returns `Pending`.
    pub(crate) fn poll_left(&self, cx: &Context<'_>) -> Poll<usize> {
        match self.left.load(Ordering::Relaxed) {
            0 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            left => Poll::Ready(left),
        }
    }

    pub(crate) fn spend(&self, units: usize) {
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(left.saturating_sub(units), Ordering::Relaxed);
    }

    /// Begins the next turn. The owner that returns `Pending` to the task calls it.
    pub(crate) fn end(&self) {
        self.left.store(self.units, Ordering::Relaxed);
    }

    /// Begins the next turn if `polled` returns to the task.
    pub(crate) fn end_if_pending<T>(&self, polled: Poll<T>) -> Poll<T> {
        if polled.is_pending() {
            self.end();
        }
        polled
    }
}
