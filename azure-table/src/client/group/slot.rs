//! One write between its caller and its batch.
//!
//! A write waits, is in a request, and then has its result, unless its caller withdraws it. The caller and the
//! partition's task take each step under one lock, so a withdrawn write is never sent.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use azure_table_wire::error::Result;
use azure_table_wire::value::clock::Instant;

use crate::write::table_result::TableResult;

/// A write that its caller awaits.
#[derive(Debug, Default)]
pub(super) struct Slot(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    stage: Stage,
    /// Wakes the caller.
    waker: Option<Waker>,
    /// The service throttled the last request of the write.
    was_throttled: bool,
    /// The caller no longer waits for the result.
    is_abandoned: bool,
}

#[derive(Debug, Default)]
enum Stage {
    /// In no request.
    #[default]
    Waiting,
    /// In a request with the deadline `ends`.
    Left {
        ends: Option<Instant>,
        /// Its caller can no longer withdraw it, since it is in doubt.
        is_final: bool,
    },
    Withdrawn,
    Completed(Result<TableResult>),
    /// The caller has the result.
    Done,
}

/// The stage in which a caller stops waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// The write is withdrawn, and was not applied.
    Withdrawn {
        /// An earlier request with it was throttled.
        was_throttled: bool,
    },
    /// The write is in a request with this deadline.
    Sent(Option<Instant>),
    /// The write has its result.
    Completed,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims the write for a request. Returns `false` if its caller has withdrawn it or has left.
    pub(super) fn claim(&self, ends: Option<Instant>) -> bool {
        let mut inner = self.lock();
        match inner.stage {
            // Sent again later, it could overwrite a newer version.
            Stage::Waiting | Stage::Left { .. } if inner.is_abandoned => {
                inner.stage = Stage::Withdrawn;
            }
            Stage::Waiting => inner.stage = Stage::Left { ends, is_final: false },
            _ => {}
        }
        matches!(inner.stage, Stage::Left { .. })
    }

    /// Records that the caller no longer waits.
    pub(super) fn abandon(&self) {
        self.lock().is_abandoned = true;
    }

    /// Returns a claimed write, which was throttled and not applied, to the waiting ones.
    pub(super) fn release(&self) {
        let mut inner = self.lock();
        if matches!(inner.stage, Stage::Left { is_final: false, .. }) {
            inner.stage = Stage::Waiting;
            inner.was_throttled = true;
        }
    }

    /// Keeps a write that may have been applied: while its caller waits, it is sent until its outcome is known.
    pub(super) fn set_in_doubt(&self) {
        if let Stage::Left { is_final, .. } = &mut self.lock().stage {
            *is_final = true;
        }
    }

    /// Reports the result to the caller, unless one was reported already.
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

    /// Returns `true` if an error would now say that the write may have been applied.
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

    /// Ends the caller's wait, after its deadline or when it is dropped. Withdraws the write if it is in no request.
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
