//! One write between its caller and its batch.
//!
//! Contains the stages of a write: it waits, it is in a request, it has its result; or its caller has withdrawn it. The
//! caller and the task of the partition take each step under one lock, so a write that was withdrawn is never sent.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use azure_table_core::model::clock::Instant;
use azure_table_core::model::error::Result;
use azure_table_core::protocol::table_result::TableResult;

/// A write that its caller awaits.
#[derive(Debug, Default)]
pub(super) struct Slot(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    stage: Stage,
    /// Wakes the caller.
    waker: Option<Waker>,
    /// The service rejected the last request of the write by its throttling.
    was_throttled: bool,
}

#[derive(Debug, Default)]
enum Stage {
    /// In no request.
    #[default]
    Waiting,
    /// In a request whose time ends at `ends`.
    Left {
        ends: Option<Instant>,
        /// It cannot be withdrawn any more: it is in doubt, or its caller is gone.
        is_final: bool,
    },
    Withdrawn,
    Completed(Result<TableResult>),
    /// The caller has the result.
    Done,
}

/// The stage in which a caller leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// The write is withdrawn. Nothing of it was applied.
    Withdrawn {
        /// It was sent before, and throttled.
        was_throttled: bool,
    },
    /// The write is in a request whose time ends at this time.
    Sent(Option<Instant>),
    /// The write has its result.
    Completed,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The write is about to be sent. Returns `false` if its caller has withdrawn it.
    pub(super) fn claim(&self, ends: Option<Instant>) -> bool {
        let mut inner = self.lock();
        if matches!(inner.stage, Stage::Waiting) {
            inner.stage = Stage::Left { ends, is_final: false };
        }
        matches!(inner.stage, Stage::Left { .. })
    }

    /// The write was claimed and throttled, and nothing of it was applied: it waits again.
    pub(super) fn release(&self) {
        let mut inner = self.lock();
        if matches!(inner.stage, Stage::Left { is_final: false, .. }) {
            inner.stage = Stage::Waiting;
            inner.was_throttled = true;
        }
    }

    /// The write may have been applied, so it is sent until that is known.
    pub(super) fn set_in_doubt(&self) {
        if let Stage::Left { is_final, .. } = &mut self.lock().stage {
            *is_final = true;
        }
    }

    /// Gives the result to the caller, unless there is one already.
    pub(super) fn complete(&self, result: Result<TableResult>) {
        let mut inner = self.lock();
        if !matches!(inner.stage, Stage::Waiting | Stage::Left { .. }) {
            return;
        }
        inner.stage = Stage::Completed(result);
        let waker = inner.waker.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns `true` if an answer would now say that the write may have been applied.
    pub(super) fn has_left(&self) -> bool {
        matches!(self.lock().stage, Stage::Left { .. })
    }

    /// Returns the result for the caller.
    pub(super) fn poll(&self, cx: &Context<'_>) -> Poll<Result<TableResult>> {
        let mut inner = self.lock();
        if !matches!(inner.stage, Stage::Completed(_)) {
            match &mut inner.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                waker => *waker = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        match mem::replace(&mut inner.stage, Stage::Done) {
            Stage::Completed(result) => Poll::Ready(result),
            _ => Poll::Pending,
        }
    }

    /// The caller's time is over, or it is dropped. Withdraws the write if it is in no request.
    pub(super) fn leave(&self) -> Leaving {
        let mut inner = self.lock();
        match inner.stage {
            Stage::Waiting | Stage::Withdrawn => {
                inner.stage = Stage::Withdrawn;
                Leaving::Withdrawn {
                    was_throttled: inner.was_throttled,
                }
            }
            Stage::Left { ends, .. } => Leaving::Sent(ends),
            Stage::Completed(_) | Stage::Done => Leaving::Completed,
        }
    }
}
