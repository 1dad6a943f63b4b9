//! The journal: changes of the store in their order, until they are on the disk.
//!
//! Owns the number of each change, how far they are stored, and how a response or a thread waits for that. What writes
//! them stands above (`durable`); here is no I/O. A number is given under the lock of the store, so whoever looks the
//! newest number up after reading waits for all that was read.
//!
//! After a failed write nothing more is stored: all who wait get the failure, and so does everyone after them.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::emulator::store::account::{Accounts, Effect};
use crate::model::datetime::DateTime;

/// Changes that wait for the disk, in bytes: beyond it, responses wait whatever the policy says.
const MAX_BACKLOG: usize = 64 << 20;

/// One change of the store. All of it is stored, or nothing.
#[derive(Debug)]
pub(crate) enum Entry {
    /// One write to an account.
    Write(String, Vec<Effect>),
    /// Everything is another state from here on, with the time of its last version of a row.
    Restore(Accounts, DateTime),
}

/// The entries to store together.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) entries: Vec<Entry>,
    /// The number of the last of them.
    pub(crate) newest: u64,
}

/// The journal of a store; clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Journal(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// Something changed that a thread waits for: the writer or one that waits for it.
    changed: Condvar,
    progress: watch::Sender<Progress>,
    /// The time for which changes gather; responses do not wait for them then.
    interval: Option<Duration>,
}

#[derive(Debug, Default)]
struct Queue {
    entries: Vec<Entry>,
    bytes: usize,
    newest: u64,
    /// Somebody waits for the entries up to this number.
    awaited: u64,
    is_closed: bool,
}

#[derive(Clone, Debug, Default)]
struct Progress {
    stored: u64,
    failure: Option<Arc<str>>,
}

impl Progress {
    /// The outcome for whoever waits for `number`; `None` while it is open.
    fn of(&self, number: u64) -> Option<Result<(), Arc<str>>> {
        match &self.failure {
            Some(failure) => Some(Err(Arc::clone(failure))),
            None => (self.stored >= number).then_some(Ok(())),
        }
    }
}

impl Journal {
    /// Creates an empty journal. With an `interval`, responses do not wait.
    pub(crate) fn new(interval: Option<Duration>) -> Self {
        Self(Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            progress: watch::Sender::new(Progress::default()),
            interval,
        }))
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry. Called under the lock of the store, which gives the order.
    pub(crate) fn record(&self, entry: Entry) {
        let mut queue = self.queue();
        queue.newest += 1;
        queue.bytes += entry.bytes();
        queue.entries.push(entry);
        self.0.changed.notify_all();
    }

    /// Returns the number of the newest entry. All that was read of the store before is among them.
    pub(crate) fn newest(&self) -> u64 {
        self.queue().newest
    }

    /// Returns why nothing more is stored.
    pub(crate) fn failure(&self) -> Option<Arc<str>> {
        self.0.progress.borrow().failure.clone()
    }

    /// Waits until a response may leave that shows the state of `number`.
    ///
    /// With an interval that is at once, unless too much waits for the disk.
    pub(crate) async fn settled(&self, number: u64) -> Result<(), Arc<str>> {
        if self.0.interval.is_some() && self.queue().bytes <= MAX_BACKLOG {
            return self.failure().map_or(Ok(()), Err);
        }
        self.stored(number).await
    }

    /// Waits until the entries up to `number` are stored.
    pub(crate) async fn stored(&self, number: u64) -> Result<(), Arc<str>> {
        let mut progress = self.0.progress.subscribe();
        let now = progress.borrow_and_update().of(number);
        if let Some(outcome) = now {
            return outcome;
        }
        self.await_from_now(number);
        let closed = || Err(Arc::from("its writer has ended"));
        let seen = progress.wait_for(|progress| progress.of(number).is_some()).await;
        seen.map_or_else(|_| closed(), |progress| progress.of(number).unwrap_or_else(closed))
    }

    /// Blocks this thread until the entries up to `number` are stored.
    pub(crate) fn block_until_stored(&self, number: u64) -> Result<(), Arc<str>> {
        self.await_from_now(number);
        let mut queue = self.queue();
        loop {
            if let Some(outcome) = self.0.progress.borrow().of(number) {
                return outcome;
            }
            queue = self.0.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Marks the entries up to `number` as due, where they could wait.
    fn await_from_now(&self, number: u64) {
        if self.0.interval.is_none() {
            return;
        }
        let mut queue = self.queue();
        queue.awaited = queue.awaited.max(number);
        self.0.changed.notify_all();
    }

    /// Blocks this thread until there are entries to store, and takes all of them.
    ///
    /// `None` when the journal is closed and empty. `last` is when entries were stored before: with an interval the
    /// next are due one interval later, or as soon as somebody waits for them.
    pub(crate) fn take(&self, last: Instant) -> Option<Group> {
        let mut queue = self.queue();
        loop {
            let stored = queue.newest - queue.entries.len() as u64;
            let is_due = queue.is_closed || queue.awaited > stored || queue.bytes > MAX_BACKLOG;
            let due = self.0.interval.map(|interval| interval.saturating_sub(last.elapsed()));
            match due {
                _ if queue.entries.is_empty() && queue.is_closed => return None,
                _ if queue.entries.is_empty() => {
                    queue = self.0.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                Some(due) if !due.is_zero() && !is_due => {
                    let waited = self.0.changed.wait_timeout(queue, due);
                    queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) | None => {
                    queue.bytes = 0;
                    return Some(Group {
                        entries: std::mem::take(&mut queue.entries),
                        newest: queue.newest,
                    });
                }
            }
        }
    }

    /// Says how storing the entries up to `number` ended.
    pub(crate) fn publish(&self, number: u64, outcome: Result<(), Arc<str>>) {
        // Under the lock, so that no thread begins to wait between its look and this.
        let _queue = self.queue();
        self.0.progress.send_modify(|progress| match outcome {
            Ok(()) => progress.stored = number,
            Err(failure) => progress.failure = Some(failure),
        });
        self.0.changed.notify_all();
    }

    /// Lets the writer store what is left, and end.
    pub(crate) fn close(&self) {
        self.queue().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl Entry {
    /// About how much memory the entry takes: its rows, since the rest is small and rare.
    fn bytes(&self) -> usize {
        match self {
            Self::Write(_, effects) => effects.iter().map(Effect::bytes).sum(),
            Self::Restore(..) => 0,
        }
    }
}
