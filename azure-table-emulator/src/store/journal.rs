//! The journal: changes of the store in their order, until they are on the disk.
//!
//! Numbers the changes, tracks how many are stored, and lets responses and threads wait for that. The writer is in
//! `durable`; this file has no I/O. A change gets its number under the lock of the store. So a caller who reads, then
//! looks up the newest number, waits for everything that was read.
//!
//! After a failed write nothing more is stored: all waiting callers get the failure, and so do all later ones.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use azure_table_wire::value::datetime::DateTime;
use tokio::sync::watch;

use crate::rules::service_error::{Result, ServiceError};
use crate::store::account::{Accounts, Effect};

/// The maximum size of changes that wait for the disk, in bytes. Beyond it, responses wait whatever the policy is.
const MAX_BACKLOG: usize = 64 << 20;

/// One change of the store, stored completely or not at all.
#[derive(Debug)]
pub(crate) enum Entry {
    /// One write to an account.
    Write(String, Vec<Effect>),
    /// A replacement of the whole state, with the Timestamp of its latest write.
    Restore(Accounts, DateTime),
}

/// The journal of a store, shared by its clones.
#[derive(Clone, Debug)]
pub(crate) struct Journal(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    /// Notifies the waiting threads: the writer, and the threads that wait for it.
    changed: Condvar,
    progress: watch::Sender<Progress>,
    /// The interval at which changes are stored. If set, responses do not wait for them.
    interval: Option<Duration>,
}

#[derive(Debug, Default)]
struct Queue {
    entries: Vec<Entry>,
    bytes: usize,
    newest: u64,
    /// A caller waits for the entries up to this number.
    awaited: u64,
    is_closed: bool,
}

#[derive(Clone, Debug, Default)]
struct Progress {
    stored: u64,
    failure: Option<Arc<str>>,
}

impl Progress {
    /// Returns the outcome for a caller who waits for `number`, or `None` while it is pending.
    fn of(&self, number: u64) -> Option<Result<()>> {
        match &self.failure {
            Some(failure) => Some(Err(ServiceError::not_stored(failure))),
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

    /// Adds an entry. Called under the lock of the store, which determines the order.
    pub(crate) fn record(&self, entry: Entry) {
        let mut queue = self.queue();
        queue.newest += 1;
        queue.bytes += entry.bytes();
        queue.entries.push(entry);
        self.0.changed.notify_all();
    }

    /// Returns the number of the newest entry, which covers everything that was read from the store before.
    pub(crate) fn newest(&self) -> u64 {
        self.queue().newest
    }

    /// Fails if an entry could not be stored: nothing more is stored from then on.
    pub(crate) fn check(&self) -> Result<()> {
        self.0.progress.borrow().of(0).unwrap_or(Ok(()))
    }

    /// Waits until a response that shows the current state may be sent.
    ///
    /// With an interval it returns immediately, unless too many changes wait for the disk.
    pub(crate) async fn settled(&self) -> Result<()> {
        if self.0.interval.is_some() && self.queue().bytes <= MAX_BACKLOG {
            return self.check();
        }
        self.stored().await
    }

    /// Waits until all entries so far are stored.
    pub(crate) async fn stored(&self) -> Result<()> {
        let number = self.newest();
        let mut progress = self.0.progress.subscribe();
        let now = progress.borrow_and_update().of(number);
        if let Some(outcome) = now {
            return outcome;
        }
        self.await_from_now(number);
        let closed = || Err(ServiceError::not_stored("its writer has ended"));
        let seen = progress.wait_for(|progress| progress.of(number).is_some()).await;
        seen.map_or_else(|_| closed(), |progress| progress.of(number).unwrap_or_else(closed))
    }

    /// Blocks this thread until all entries so far are stored.
    pub(crate) fn block_until_stored(&self) -> Result<()> {
        let number = self.newest();
        self.await_from_now(number);
        let mut queue = self.queue();
        loop {
            if let Some(outcome) = self.0.progress.borrow().of(number) {
                return outcome;
            }
            queue = self.0.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Marks the entries up to `number` as due, even if their interval has not passed.
    fn await_from_now(&self, number: u64) {
        if self.0.interval.is_none() {
            return;
        }
        let mut queue = self.queue();
        queue.awaited = queue.awaited.max(number);
        self.0.changed.notify_all();
    }

    /// Blocks this thread until entries are due, and takes all of them, with the number of the newest one.
    ///
    /// `None` when the journal is closed and empty. `last` is the time at which entries were stored before. With an
    /// interval, the next are due one interval later, or as soon as a caller waits for them.
    pub(crate) fn take(&self, last: Instant) -> Option<(Vec<Entry>, u64)> {
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
                    return Some((std::mem::take(&mut queue.entries), queue.newest));
                }
            }
        }
    }

    /// Publishes the outcome of storing the entries up to `number`.
    pub(crate) fn publish(&self, number: u64, outcome: std::result::Result<(), Arc<str>>) {
        // Locks the queue, so that no thread starts to wait between its check and this change.
        let _queue = self.queue();
        self.0.progress.send_modify(|progress| match outcome {
            Ok(()) => progress.stored = number,
            Err(failure) => progress.failure = Some(failure),
        });
        self.0.changed.notify_all();
    }

    /// Lets the writer store the remaining entries and end.
    pub(crate) fn close(&self) {
        self.queue().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl Entry {
    /// Returns the approximate memory of the entry: its rows, because the rest is small and rare.
    fn bytes(&self) -> usize {
        match self {
            Self::Write(_, effects) => effects.iter().map(Effect::bytes).sum(),
            Self::Restore(..) => 0,
        }
    }
}
