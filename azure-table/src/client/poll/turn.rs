//! The work that a stream or a bulk does before it yields to other tasks.
//!
//! Some sources are always ready: an iterator, a transport in the same process, pages that other tasks have fetched.
//! Without turns, a bulk or a stream would not return before its end, and no timeout around it could fire. Each owner
//! has its own units, so that a turn takes at most one or two milliseconds.
//!
//! A turn does not use the budget that tokio grants a task, because other parts of the task spend that budget too. The
//! budget would decide which operations share a batch, so a replay of a recorded bulk could send different batches.

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
