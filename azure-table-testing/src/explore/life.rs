//! The processes of a run, and their lives.
//!
//! Defines [`Life`], from a start to a crash or an end, and `Processes`, the list of those that may crash. A process
//! whose request is in flight crashes with this request (`gate.rs`). One that waits for a timer alone may crash once a
//! timer has fired since its last request. Before that, a crash leaves the same rows as one at that request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::explore::event::{Cause, Event};

/// One life of a process: from a start to its crash or its end.
#[derive(Debug, Default)]
pub struct Life(Mutex<LifeState>);

#[derive(Debug, Default)]
struct LifeState {
    is_over: bool,
    /// Its process has returned: tasks that it left behind run on, and no crash ends them.
    has_returned: bool,
    process: Option<Waker>,
}

impl Life {
    /// Waits until the process crashes.
    pub fn poll_over(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        state.process = Some(cx.waker().clone());
        if state.is_over { Poll::Ready(()) } else { Poll::Pending }
    }

    pub(crate) fn can_crash(&self) -> bool {
        !self.state().has_returned
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Ends the life. Returns the waker of the process.
    pub(crate) fn end(&self) -> Option<Waker> {
        let mut state = self.state();
        state.is_over = true;
        state.process.take()
    }

    pub(crate) fn retire(&self) {
        self.state().has_returned = true;
    }

    fn state(&self) -> MutexGuard<'_, LifeState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The processes that may crash, in the order of their starts.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    running: Vec<Process>,
    /// The number of events before the last timer that fired, if one has.
    timer: Option<usize>,
}

#[derive(Debug)]
struct Process {
    name: Arc<str>,
    life: Arc<Life>,
    /// The value of `timer` when it began.
    since: Option<usize>,
}

impl Processes {
    pub(crate) fn begin(&mut self, name: Arc<str>, life: Arc<Life>) {
        assert!(
            self.life(&name).is_none(),
            "two processes of an exploration are called {name:?}: give each a name of its own"
        );
        let since = self.timer;
        self.running.push(Process { name, life, since });
    }

    pub(crate) fn end(&mut self, life: &Arc<Life>) {
        self.running.retain(|process| !Arc::ptr_eq(&process.life, life));
    }

    /// Notes that a timer fires after this number of events.
    pub(crate) fn timer_fires(&mut self, events: usize) {
        self.timer = Some(events);
    }

    pub(crate) fn life(&self, name: &str) -> Option<&Arc<Life>> {
        let process = self.running.iter().find(|process| *process.name == *name)?;
        Some(&process.life)
    }

    /// Returns the events before the last timer: all of them come before what follows.
    pub(crate) fn last_timer(&self) -> Cause {
        self.timer.map_or(Cause::Start, Cause::AllOf)
    }

    /// Returns the processes for which a timer has fired since they began and since their last request.
    pub(crate) fn idle<'a>(&'a self, events: &'a [Event]) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Life>)> {
        self.running.iter().filter_map(|process| {
            let timer = self.timer.filter(|_| self.timer != process.since)?;
            let is_own = |event: &Event| event.client() == Some(&process.name);
            let is_idle = !events[timer..].iter().any(is_own);
            is_idle.then_some((&process.name, &process.life))
        })
    }
}
