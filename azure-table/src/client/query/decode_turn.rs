//! The part of its pages that a stream decodes before other tasks have their turn.
//!
//! A page has up to 4 MiB, and pages of the emulator or of tasks may already be available. A stream would otherwise
//! decode all of them in one poll. The cost is counted in bytes, plus a part for each row and property
//! ([`PageRows::read`](crate::protocol::query::PageRows::read)). `client/turn.rs` is the same for writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// The bytes of a turn, which take one to two milliseconds to decode. 1,000 rows of ten properties are fewer.
const BYTES: usize = 1_280 << 10;

/// The bytes left in a turn. Clones share them: the parts of a query are polled by one task.
#[derive(Clone, Debug)]
pub(crate) struct DecodeTurn(Arc<AtomicUsize>);

impl DecodeTurn {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(BYTES)))
    }

    /// Returns the bytes left in this turn. If none are left, wakes the task for its next turn and returns `Pending`.
    pub(crate) fn poll_left(&self, cx: &Context<'_>) -> Poll<usize> {
        match self.0.load(Ordering::Relaxed) {
            0 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            left => Poll::Ready(left),
        }
    }

    /// Sets the bytes that are left.
    pub(crate) fn set(&self, left: usize) {
        self.0.store(left, Ordering::Relaxed);
    }

    /// Begins the next turn if `polled` returns to the task.
    pub(crate) fn end_if_pending<T>(&self, polled: Poll<T>) -> Poll<T> {
        if polled.is_pending() {
            self.set(BYTES);
        }
        polled
    }
}
