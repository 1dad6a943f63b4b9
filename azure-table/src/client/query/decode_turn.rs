//! The part of its pages that a stream decodes before other tasks have their turn.
//!
//! A page has up to 4 MiB, and pages of the emulator or of tasks may be there already. A stream would otherwise decode
//! all of them in one poll. The cost is counted in bytes; rows and properties cost some in addition
//! ([`PageRows::read`](crate::protocol::query::PageRows::read)). `bulk/turn.rs` is the same for writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

/// The bytes of a turn. Decoding as many takes one to two milliseconds; a page of 1,000 rows of ten properties is less.
const BYTES: usize = 1_280 << 10;

/// The rest of a turn, in bytes. Clones share it: the parts of a query are polled by one task.
#[derive(Clone, Debug)]
pub(crate) struct DecodeTurn(Arc<AtomicUsize>);

impl DecodeTurn {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(BYTES)))
    }

    /// Returns the bytes that are left. `Pending`, and wakes the task for its next turn, if there are none.
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
