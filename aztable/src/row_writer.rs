//! Writes the rows of a source to a table, and accounts for each of them.
//!
//! Outcomes arrive in any order; `row_writer/page_ledger.rs` assigns them to the pages of the source. The stored position is
//! the end of a page. A resumed command repeats the rows behind it: upserts do no harm, and an insert of an equal row
//! is "unchanged".

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_table::bulk::{Leftover, LeftoverReason};
use azure_table::operation::OperationKind;
use azure_table::{BulkOutcome, DynamicEntity, ErrorKind, TableClient, TableOperation, TableServiceClient};
use clap::Args;
use futures_util::stream::{self, Stream, StreamExt as _, TryStreamExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;

use crate::failure::{Done, Failure, usage, with_causes};
use crate::files;
use crate::ledger::{Ledger, Outcome, RowEnd};
use crate::place::TablePlace;
use crate::position::PositionFile;
use crate::row_writer::page_ledger::{PageLedger, Stored};
use crate::row_writer::rejects::Rejects;
use crate::rows::compared::same_properties;
use crate::rows::unread::ReadRow;
use crate::session::{Session, resumable, was_applied};
use crate::terminal::Total;

pub(crate) mod page_ledger;
mod rejects;

/// The failed rows that are compared with the stored ones at the same time.
const RESOLVED: usize = 32;
/// The outcomes that are counted together.
const COUNTED: usize = 100;
/// The rows that wait for a batch.
const PENDING: usize = 20_000;

/// The options of commands that write many rows.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct SendOptions {
    /// A new file for rejected rows and their reasons, as JSON lines
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    /// At most so many rows a second
    #[arg(long, value_name = "ROWS")]
    max_rate: Option<u32>,
}

impl SendOptions {
    /// Checks that no file is lost to the rejected rows.
    ///
    /// # Errors
    /// There is a file, or its folder is absent.
    pub(crate) fn check(&self) -> Done<()> {
        let Some(path) = &self.rejects else { return Ok(()) };
        files::check_writable(path, false, "name another file for --rejects")?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            usage!("no folder {} for --rejects", folder.display());
        }
        Ok(())
    }

    /// Returns the length of the file of rejected rows.
    pub(crate) fn rejected(&self) -> u64 {
        let found = self.rejects.as_ref().and_then(|path| path.metadata().ok());
        found.map_or(0, |found| found.len())
    }
}

/// The options of commands that write many rows, and resume.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct WriteOptions {
    #[command(flatten)]
    pub(crate) sending: SendOptions,
    /// The file of the position, if its usual place cannot be written
    #[arg(long, value_name = "FILE")]
    position: Option<PathBuf>,
    /// Go on from the position in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
}

impl WriteOptions {
    /// Checks the options, and returns the file of the position and the position of the source.
    ///
    /// # Errors
    /// The errors of [`stored`](Self::stored).
    pub(crate) fn position<P: DeserializeOwned + Default>(&self, name: &str, job: &[&str]) -> Done<(PositionFile, P)> {
        let (file, stored) = self.stored::<Stored<P>>(name.as_ref(), job)?;
        Ok((file, stored.map(|stored| stored.source).unwrap_or_default()))
    }

    /// Checks the options, and returns the file of the position, and what it has.
    ///
    /// # Errors
    /// A file would be lost to the rejected rows, or the errors of [`PositionFile::resumed`].
    pub(crate) fn stored<S: DeserializeOwned>(&self, default: &Path, job: &[&str]) -> Done<(PositionFile, Option<S>)> {
        if self.resume.is_none() {
            self.sending.check()?;
        }
        // Rejected rows are appended to the file of the first run alone.
        let rejects = format!("{:?}", self.sending.rejects);
        let path = self.resume.as_deref().or(self.position.as_deref()).unwrap_or(default);
        let mut file = PositionFile::new(path, &[job, &[&*rejects]].concat());
        let stored = file.resumed(self.resume.is_some())?;
        Ok((file, stored))
    }
}

/// A row of a source.
pub(crate) enum Item {
    Write {
        operation: TableOperation,
        /// The row of an operation that cannot be built.
        unbuilt: Option<Value>,
        /// An earlier row of the source has its key.
        is_repeated: bool,
    },
    /// A row that is not sent: the target has it already, or it cannot be read or must not be written.
    Ended(RowEnd),
}

impl Item {
    /// Returns the insert or the upsert of a row that can be read.
    pub(crate) fn read(row: ReadRow, insert: bool) -> Self {
        row.map_or_else(|rejection| Self::Ended(Err(rejection)), |row| Self::row(row, insert))
    }

    /// Returns the insert of a row, or its upsert.
    pub(crate) fn row(mut row: DynamicEntity, insert: bool) -> Self {
        (row.etag, row.timestamp) = (None, None);
        let operation = match insert {
            true => TableOperation::insert(&row),
            false => TableOperation::insert_or_replace(&row),
        };
        Self::write(operation, &row)
    }

    /// Returns a write. If it is rejected, `row` is what is left.
    pub(crate) fn write(operation: TableOperation, row: impl Serialize) -> Self {
        let unbuilt = match operation.keys() {
            Some(_) => None,
            None => Some(serde_json::to_value(row).unwrap_or_default()),
        };
        Self::Write {
            operation,
            unbuilt,
            is_repeated: false,
        }
    }

    /// Says whether an earlier row of the source has the key of this one.
    pub(crate) fn repeated(mut self, yes: bool) -> Self {
        if let Self::Write { is_repeated, .. } = &mut self {
            *is_repeated = yes;
        }
        self
    }
}

/// The rows of a page.
pub(crate) struct Page<P> {
    /// The number of rows that were read.
    pub(crate) read: usize,
    pub(crate) items: Vec<Item>,
    /// The position behind them.
    pub(crate) position: P,
}

/// The target of rows.
pub(crate) struct RowWriter<'s> {
    session: &'s Session,
    service: TableServiceClient,
    table: TableClient<DynamicEntity>,
    sending: SendOptions,
    /// `None` for a command that begins again.
    pub(crate) position: Option<PositionFile>,
    /// The number of rows of the source, if it is known.
    pub(crate) total: Option<Total>,
    /// The keys of rejected rows, of which the next row of the source supersedes none.
    rejected: Mutex<HashSet<(String, String)>>,
}

impl<'s> RowWriter<'s> {
    /// Asks, and then creates the folder and the table that the rows go to.
    ///
    /// # Errors
    /// The user declines, no position can be stored, the table cannot be created, or it is gone since a position was
    /// stored.
    pub(crate) async fn confirmed(
        session: &'s Session,
        plan: &str,
        table: &TablePlace,
        sending: &SendOptions,
        position: Option<PositionFile>,
    ) -> Done<Self> {
        session.confirm(plan)?;
        position.as_ref().map_or(Ok(()), PositionFile::check_writable)?;
        if position.as_ref().is_some_and(|position| position.is_resumed) {
            if !session.connections.exists(&table.account) || !session.table(table)?.table_exists().await? {
                usage!("{table} is gone since the position was stored: begin without --resume");
            }
        } else {
            session.connections.create_folder(&table.account)?;
            session.table(table)?.create_table_if_not_exists().await?;
        }
        Self::open(session, table, sending, position)
    }

    /// Opens a table that exists.
    ///
    /// # Errors
    /// The account cannot be opened.
    pub(crate) fn open(
        session: &'s Session,
        table: &TablePlace,
        sending: &SendOptions,
        position: Option<PositionFile>,
    ) -> Done<Self> {
        let (service, table) = session.connections.service_and_table(table)?;
        Ok(Self {
            session,
            service,
            table,
            sending: sending.clone(),
            position,
            total: None,
            rejected: Mutex::default(),
        })
    }

    /// Writes each row of a source as an item, prints the counts, and deletes the position.
    ///
    /// # Errors
    /// Rows are rejected, or the errors of [`write`](Self::write).
    pub(crate) async fn write_rows<R, P: Serialize + DeserializeOwned>(
        mut self,
        pages: impl Stream<Item = Done<(Vec<R>, P)>>,
        item: impl Fn(R) -> Item,
    ) -> Done<()> {
        let pages = pages.map_ok(|(rows, position)| Page {
            read: rows.len(),
            items: rows.into_iter().map(&item).collect(),
            position,
        });
        let (ledger, done) = self.write(pages).await?;
        let delete = |()| self.position.as_ref().map_or(Ok(()), PositionFile::delete);
        ledger.end(&self.session.terminal, done.and_then(delete))
    }

    /// Writes the rows of a source. Returns the counts, and the error of the source or the table, of a signal, or of rows
    /// that are left and not rejected.
    ///
    /// # Errors
    /// The position or the file of rejected rows cannot be opened.
    pub(crate) async fn write<P>(&mut self, pages: impl Stream<Item = Done<Page<P>>>) -> Done<(Ledger, Done<()>)>
    where
        P: Serialize + DeserializeOwned,
    {
        let mut position = self.position.take();
        let before = position.as_mut().map(PositionFile::load::<Option<Stored<P>>>);
        let before = before.transpose()?.flatten().flatten();
        let (ledger, rejected) = before.map_or_else(Default::default, |before| (before.ledger, before.rejects));
        let rejects = Rejects::open(self.session.terminal, self.sending.rejects.as_deref(), rejected)?;
        let book = Arc::new(Mutex::new(Book {
            ledger: PageLedger::new(ledger),
            position,
            rejects,
        }));
        let this = &*self;
        this.session.interrupt.wait_for_position();
        let interrupt = this.session.interrupt.clone();
        let taken = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&taken);
        let operations = pages
            .take_while(move |_| std::future::ready(!interrupt.is_set()))
            .and_then(|page| async {
                let operations = lock(&book).ledger.add(page);
                if operations.is_empty() {
                    // Positions are stored even while a source without changes is always ready. A pause of one with
                    // changes would send batches that are not full.
                    tokio::task::yield_now().await;
                }
                Ok(stream::iter(operations.into_iter().map(Ok)))
            })
            .try_flatten()
            .inspect_ok(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
        let mut bulk = this.table.bulk().max_failures(usize::MAX).max_pending(PENDING);
        if let Some(rate) = this.sending.max_rate {
            bulk = bulk.max_rate(rate);
        }
        let mut outcomes = bulk.write_try_stream(operations).outcomes();
        let mut resolved = outcomes
            .by_ref()
            .map(|outcome| this.outcome(outcome))
            .buffer_unordered(RESOLVED)
            .ready_chunks(COUNTED);
        let mut progress = this.session.progress(this.total.clone());
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let stopped = loop {
            let is_due = tokio::select! {
                ended = resolved.next() => {
                    let Some(ended) = ended else { break None };
                    let mut book = lock(&book);
                    let ended = ended.into_iter().try_for_each(|ended| {
                        let (sent, end) = ended?;
                        book.ledger.end(sent, end);
                        Ok(())
                    });
                    if let Err(error) = ended {
                        break Some(error);
                    }
                    book.position.as_ref().is_some_and(PositionFile::is_due)
                },
                _ = seconds.tick() => true,
            };
            let mut book = lock(&book);
            progress.set(book.ledger.counted());
            if is_due && let Err(error) = book.save() {
                break Some(error);
            }
        };
        drop(resolved);
        let (error, report) = match outcomes.finish() {
            Ok(report) => (None, report),
            Err(interrupted) => {
                let (error, report) = interrupted.into_parts();
                (Some(error), report)
            }
        };
        drop(progress);
        let mut book = lock(&book);
        for left in report.leftovers() {
            let outcome = match left.reason() {
                LeftoverReason::NotAttempted => Outcome::NotAttempted,
                _ => Outcome::InDoubt,
            };
            book.ledger.end(left.index(), Ok(outcome));
        }
        let taken = taken.load(Ordering::Relaxed);
        let ended = this.finish(&mut book, stopped.or(error), taken);
        self.position = book.position.take();
        Ok(ended)
    }

    /// Returns the counts. An error names the position that is stored.
    fn finish<P: Serialize>(&self, book: &mut Book<P>, error: Option<Failure>, taken: u64) -> (Ledger, Done<()>) {
        let is_cut_off = error.is_some() || self.session.interrupt.is_set();
        if is_cut_off {
            book.ledger.end_untaken(taken);
        }
        let saved = book.save();
        let ledger = book.ledger.total(is_cut_off);
        let written = book.rejects.write(book.ledger.take_rejected());
        let done = match error.or_else(|| saved.and(written).err()) {
            Some(error) => Err(error),
            None if self.session.interrupt.is_set() => Err(Session::interrupted(ledger.ended())),
            None if ledger.is_final() => Ok(()),
            None => ledger.check(),
        };
        let done = done.map_err(|error| match &book.position {
            Some(position) => resumable(error, position.path()),
            None => error,
        });
        (ledger, done)
    }

    /// Returns the outcome of a row that was sent, and its number.
    async fn outcome(&self, outcome: BulkOutcome) -> Done<(u64, RowEnd)> {
        match outcome {
            BulkOutcome::Applied(applied) => {
                let end = Ok(self.applied(applied.kind(), applied.keys()));
                Ok((applied.index(), end))
            }
            // Each row has such a future: a small one, if it is applied.
            BulkOutcome::Leftover(leftover) => Ok((leftover.index(), Box::pin(self.outcome_of(leftover)).await?)),
            _ => Err(Failure::new("an outcome that this version does not know")),
        }
    }

    /// Returns the outcome of a write that was applied. It superseded another one if the source has its key twice.
    fn applied(&self, kind: OperationKind, keys: (&str, &str)) -> Outcome {
        let mut rejected = lock(&self.rejected);
        match kind {
            OperationKind::Delete => Outcome::Deleted,
            _ if !rejected.is_empty() && rejected.remove(&(keys.0.to_owned(), keys.1.to_owned())) => Outcome::Written,
            _ => Outcome::Superseded,
        }
    }

    async fn outcome_of(&self, leftover: Leftover) -> Done<RowEnd> {
        let operation = leftover.operation();
        let kind = operation.map(TableOperation::kind);
        match leftover.reason() {
            LeftoverReason::InDoubt(error) => {
                let keys = operation.and_then(TableOperation::keys).unwrap_or_default();
                Ok(Ok(match was_applied(&self.service, error).await {
                    Some(true) => kind.map_or(Outcome::Written, |kind| self.applied(kind, keys)),
                    Some(false) => Outcome::NotAttempted,
                    None => Outcome::InDoubt,
                }))
            }
            LeftoverReason::Rejected(error) => {
                let row = operation.and_then(TableOperation::entity);
                // An earlier run, or another program, has done what this one wants.
                match (kind, error.kind(), &row) {
                    (Some(OperationKind::Delete), ErrorKind::NotFound, _) => return Ok(Ok(Outcome::Deleted)),
                    (Some(OperationKind::Insert), ErrorKind::AlreadyExists, Some(row)) => {
                        match self.table.get((&row.partition_key, &row.row_key)).await {
                            Ok(Some(stored)) if same_properties(&stored, row) => return Ok(Ok(Outcome::Unchanged)),
                            // One that cannot be read is another one.
                            Err(error) if error.kind() != ErrorKind::InvalidResponse => return Err(error.into()),
                            _ => {}
                        }
                    }
                    _ => {}
                }
                let keys = operation.and_then(TableOperation::keys).or(error.entity());
                if let Some((partition, row)) = keys {
                    lock(&self.rejected).insert((partition.to_owned(), row.to_owned()));
                }
                let row = row.map_or_else(|| Ok(json!(keys)), serde_json::to_value)?;
                Ok(Err((row, with_causes(&**error))))
            }
            _ => Ok(Ok(Outcome::NotAttempted)),
        }
    }
}

/// The state that the source and the outcomes of a run change.
struct Book<P> {
    ledger: PageLedger<P>,
    position: Option<PositionFile>,
    rejects: Rejects,
}

impl<P: Serialize> Book<P> {
    /// Stores rejected rows, and then the position behind them.
    fn save(&mut self) -> Done<()> {
        self.rejects.write(self.ledger.take_rejected())?;
        match (&mut self.position, self.ledger.stored(self.rejects.settled)) {
            (Some(position), Some(stored)) => position.save(stored),
            _ => Ok(()),
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
