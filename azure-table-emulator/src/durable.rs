//! Durability: keeps the state of an emulator in a folder. Requests are answered from memory.
//!
//! Defines [`SyncPolicy`], the handle that keeps a folder open, and the thread that stores changes. All changes that
//! accumulate while the disk is busy become one transaction. The folder and its lock are in `durable/folder.rs`, its
//! tables in `durable/database.rs`. `store/journal.rs` orders the changes and lets callers wait for them. No thread of
//! an async runtime touches the disk, and the thread that does holds no lock of the store meanwhile.
//!
//! The store on the disk is redb: one file, copy on write, a checksum for each page, one transaction at a time. More is
//! not needed because reads are served from memory. Alternatives: sled has not left its beta ("may not be fit for
//! production", issues 1039 and 1417), fjall's batches ignored failed writes of its journal (issue 304), persy is under
//! MPL-2.0.

pub(crate) mod database;
pub(crate) mod folder;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::durable::database::Database;
use crate::rules::ServiceRules;
use crate::store::SharedStore;
use crate::store::journal::Journal;

/// Decides when the changes of an emulator reach the disk. Feature `emulator-durable`.
///
/// Pass it to [`Emulator::open`](crate::Emulator::open). Responses to reads wait like those to writes: they never show
/// data that the policy could still lose.
///
/// | policy | a response waits until its changes | after the process was killed | after a power failure |
/// |---|---|---|---|
/// | `Always` | are written and synced | nothing acknowledged is lost | nothing acknowledged is lost |
/// | `Interval` | are in memory | the newest changes are lost | the newest changes are lost |
/// | `Never` | are written, not synced | nothing acknowledged is lost | anything may be lost, and the folder damaged |
///
/// Under each policy a batch is stored entirely or not at all. Only the newest changes can be lost: if a change
/// survives, so do all changes before it. A damaged folder is not opened.
///
/// With `Interval`, the changes of the interval and of up to two writes to the disk can be lost, also if a write fails,
/// for example on a full disk. If more than 64 MiB of changes are pending, responses wait too.
///
/// After a failed write the emulator acknowledges nothing more: it answers each request with 500.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyncPolicy {
    /// Before each response; concurrent requests share a sync.
    Always,
    /// In the background, this long after the previous sync.
    Interval(Duration),
    /// Written before each response, synced when the emulator is dropped.
    Never,
}

/// The open folder of an emulator and its clones.
///
/// On drop it stores pending changes and releases the folder.
#[derive(Debug)]
pub(crate) struct Durable {
    journal: Journal,
    thread: Option<JoinHandle<()>>,
}

impl Durable {
    /// Opens a folder, and creates it if it is missing. Returns its state, and the handle that keeps it open.
    pub(crate) fn open(path: &Path, rules: &'static ServiceRules, sync: SyncPolicy) -> io::Result<(SharedStore, Self)> {
        let (lock, database, accounts, last_write) = folder::open(path, rules, sync != SyncPolicy::Never)?;
        let journal = Journal::new(match sync {
            SyncPolicy::Interval(interval) => Some(interval),
            SyncPolicy::Always | SyncPolicy::Never => None,
        });
        let store = SharedStore::recorded(accounts, last_write, &journal);
        let mut writer = Writer::new(journal.clone(), database);
        let thread = thread::Builder::new().name("azure-table-durable".to_owned());
        let thread = thread.spawn(move || {
            while writer.step() {}
            // All acknowledged changes are stored. If closing fails, opening recovers the folder.
            let _ = writer.database.close();
            drop(lock);
        })?;
        let thread = Some(thread);
        Ok((store, Self { journal, thread }))
    }
}

impl Drop for Durable {
    fn drop(&mut self) {
        self.journal.close();
        if let Some(thread) = self.thread.take() {
            // All waiting callers were notified of a panic.
            let _ = thread.join();
        }
    }
}

/// Stores the entries of a journal.
#[derive(Debug)]
pub(crate) struct Writer {
    journal: Journal,
    database: Database,
    last: Instant,
}

impl Writer {
    pub(crate) fn new(journal: Journal, database: Database) -> Self {
        let last = Instant::now();
        Self {
            journal,
            database,
            last,
        }
    }

    /// Waits until entries are due, and stores them. Returns `false` when the journal is closed and empty, or storing
    /// failed.
    pub(crate) fn step(&mut self) -> bool {
        let Some((entries, newest)) = self.journal.take(self.last) else {
            return false;
        };
        let mut outcome = StoredGroup {
            journal: &self.journal,
            newest,
            stored: Err(Arc::from("its writer panicked")),
        };
        let stored = self.database.commit(entries);
        outcome.stored = stored.map_err(|e| Arc::from(e.to_string()));
        let is_stored = outcome.stored.is_ok();
        drop(outcome);
        self.last = Instant::now();
        is_stored
    }
}

/// The outcome of storing a group. Dropping it publishes the outcome, after a panic too, so that no caller waits
/// forever.
struct StoredGroup<'j> {
    journal: &'j Journal,
    newest: u64,
    stored: Result<(), Arc<str>>,
}

impl Drop for StoredGroup<'_> {
    fn drop(&mut self) {
        self.journal.publish(self.newest, self.stored.clone());
    }
}
