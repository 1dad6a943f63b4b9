//! Writes the rows of a source to a table, and accounts for each of them.
//!
//! Outcomes arrive in any order; `row_writer/ledger.rs` assigns them to the pages of the source. The stored position is
//! the end of a page. A resumed command repeats the rows behind it: upserts do no harm, and an insert of an equal row
//! is "unchanged".

use std::fs::File;
use std::io::{self, Read as _};
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

use crate::doubt::was_applied;
use crate::failure::{Done, Failure, with_causes};
use crate::place::TablePlace;
use crate::position::PositionFile;
use crate::row_writer::ledger::{Ledger, Outcome, Stored};
use crate::row_writer::rejects::Rejects;
use crate::rows::equality::same_properties;
use crate::session::Session;
use crate::tally::Tally;

pub(crate) mod ledger;
mod rejects;

/// The begin of a line of rejected rows.
const REJECTED: &[u8] = br#"{"reason":"#;
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
    fn check(&self) -> Done<()> {
        let Some(path) = &self.rejects else { return Ok(()) };
        if path.exists() {
            return Err(Failure::usage(format!(
                "{} exists: name another file for --rejects",
                path.display()
            )));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), |folder| match folder.is_dir() {
            true => Ok(()),
            false => Err(Failure::usage(format!("no folder {} for --rejects", folder.display()))),
        })
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
    /// Go on from the position in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
}

impl WriteOptions {
    /// Checks that neither a file nor the source is lost to the rejected rows. A resumed command has its file already.
    ///
    /// # Errors
    /// One would be.
    pub(crate) fn check(&self, source: Option<&Path>) -> Done<()> {
        let full = |path: &Path| path.canonicalize().ok();
        let rejects = self.sending.rejects.as_deref().and_then(full);
        match &self.resume {
            None => self.sending.check(),
            Some(_) if rejects.is_some() && rejects == source.and_then(full) => {
                Err(Failure::usage("--rejects names the file that is read"))
            }
            Some(_) => match &rejects {
                Some(path) if !is_of_rejects(path).map_err(|error| Failure::of_file(path, error))? => {
                    let text = "it has no rejected rows: name another file for --rejects";
                    Err(Failure::usage(format!("{}: {text}", path.display())))
                }
                _ => Ok(()),
            },
        }
    }
}

/// Returns whether a file is empty, or begins with a rejected row.
fn is_of_rejects(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    File::open(path)?.take(REJECTED.len() as u64).read_to_end(&mut begin)?;
    Ok(begin.is_empty() || begin == REJECTED)
}

/// A row of a source.
pub(crate) enum Item {
    Write(TableOperation),
    /// An operation that cannot be built, and its row.
    Unbuilt(TableOperation, Value),
    /// The target has the row already.
    Unchanged,
    /// No row: a line that cannot be read.
    Bad {
        text: String,
        why: String,
    },
}

impl Item {
    /// Returns the insert of a row, or its upsert.
    pub(crate) fn row(mut row: DynamicEntity, insert: bool) -> Self {
        (row.etag, row.timestamp) = (None, None);
        let operation = match insert {
            true => TableOperation::insert(&row),
            false => TableOperation::insert_or_replace(&row),
        };
        match operation.keys() {
            Some(_) => Self::Write(operation),
            None => Self::Unbuilt(operation, serde_json::to_value(&row).unwrap_or_default()),
        }
    }
}

/// The rows of a page, and the position after them.
pub(crate) type Page<P> = (Vec<Item>, P);

/// The target of rows.
pub(crate) struct RowWriter<'s> {
    session: &'s Session,
    service: TableServiceClient,
    table: TableClient<DynamicEntity>,
    sending: SendOptions,
    is_resumed: bool,
    /// `None` for a command that begins again.
    position: Option<PositionFile>,
    /// The length of the file of rejected rows before this part of a command. `None` for a whole command.
    part: Option<u64>,
}

impl<'s> RowWriter<'s> {
    /// Names the target, and the parts that its position depends on. `default` is the file of the position.
    pub(crate) fn new(
        session: &'s Session,
        table: &TablePlace,
        options: &WriteOptions,
        default: &Path,
        job: &[&str],
    ) -> Done<Self> {
        options.check(None)?;
        let path = options.resume.as_deref().unwrap_or(default);
        Ok(Self {
            position: Some(PositionFile::new(path, job)),
            is_resumed: options.resume.is_some(),
            ..Self::open(session, table, &options.sending)?
        })
    }

    /// Names the target of a part of a command, which checks the options and its position itself.
    pub(crate) fn part(
        session: &'s Session,
        table: &TablePlace,
        options: &WriteOptions,
        position: &Path,
        job: &[&str],
        rejected: u64,
    ) -> Done<Self> {
        Ok(Self {
            position: Some(PositionFile::new(position, job)),
            part: Some(rejected),
            ..Self::open(session, table, &options.sending)?
        })
    }

    /// Names the target of a command that has no position: the same command does the rest.
    pub(crate) fn repeatable(session: &'s Session, table: &TablePlace, sending: &SendOptions) -> Done<Self> {
        sending.check()?;
        Self::open(session, table, sending)
    }

    fn open(session: &'s Session, table: &TablePlace, sending: &SendOptions) -> Done<Self> {
        let (service, table) = session.connections.service_and_table(table)?;
        Ok(Self {
            session,
            service,
            table,
            sending: sending.clone(),
            is_resumed: false,
            position: None,
            part: None,
        })
    }

    /// Returns the position of the source from which the command resumes.
    ///
    /// # Errors
    /// It is of another job, or the user has not asked to resume, or it is absent and the user has.
    pub(crate) fn resumed<P: DeserializeOwned>(&self) -> Done<Option<P>> {
        let stored = self.stored::<P>()?;
        if let (Some(position), None) = (&self.position, self.part) {
            PositionFile::check(position.path(), stored.is_some(), self.is_resumed)?;
        }
        Ok(stored.map(|stored| stored.source))
    }

    fn stored<P: DeserializeOwned>(&self) -> Done<Option<Stored<P>>> {
        self.position.as_ref().map_or(Ok(None), PositionFile::load)
    }

    /// Writes each row of a source as an item.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub(crate) async fn write_rows<R, P: Serialize + DeserializeOwned>(
        self,
        pages: impl Stream<Item = Done<(Vec<R>, P)>>,
        item: impl Fn(R) -> Item,
    ) -> Done<()> {
        let items = pages.map_ok(|(rows, position)| (rows.into_iter().map(&item).collect(), position));
        self.write(items, None).await
    }

    /// Writes the rows of a source, and prints the counts.
    ///
    /// # Errors
    /// Rows are left, a signal came, or the errors of the source and of the table.
    pub(crate) async fn write<P>(mut self, pages: impl Stream<Item = Done<Page<P>>>, total: Option<u64>) -> Done<()>
    where
        P: Serialize + DeserializeOwned,
    {
        let before = self.stored::<P>()?;
        let new = || (Tally::default(), self.part.unwrap_or_default());
        let (tally, rejected) = before.map_or_else(new, |before| (before.tally, before.rejects));
        let book = Arc::new(Mutex::new(Book {
            ledger: Ledger::new(tally),
            position: self.position.take(),
            rejects: Rejects::open(self.session.terminal, self.sending.rejects.as_deref(), rejected)?,
        }));
        self.session.interrupt.wait_for_position();
        let interrupt = self.session.interrupt.clone();
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
        let mut bulk = self.table.bulk().max_failures(usize::MAX).max_pending(PENDING);
        if let Some(rate) = self.sending.max_rate {
            bulk = bulk.max_rate(rate);
        }
        let mut outcomes = bulk.write_try_stream(operations).outcomes();
        let mut resolved = outcomes
            .by_ref()
            .map(|outcome| self.outcome(outcome))
            .buffer_unordered(RESOLVED)
            .ready_chunks(COUNTED);
        let mut progress = self.session.progress(total);
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let stopped = loop {
            let is_due = tokio::select! {
                ended = resolved.next() => {
                    let Some(ended) = ended else { break None };
                    let mut book = lock(&book);
                    let ended = ended.into_iter().try_for_each(|ended| {
                        let (sent, outcome) = ended?;
                        book.ledger.end(sent, outcome);
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
            book.ledger.end(left.index(), outcome);
        }
        book.ledger.end_untaken(taken.load(Ordering::Relaxed));
        self.finish(&mut book, stopped.or(error))
    }

    /// Prints the counts, and decides whether a position stays.
    fn finish<P: Serialize>(&self, book: &mut Book<P>, error: Option<Failure>) -> Done<()> {
        let saved = book.save();
        let tally = book.ledger.total();
        let written = book.rejects.write(book.ledger.take_rejected());
        // The counts are printed even if the disk is full.
        let reported = tally.report(&self.session.terminal);
        let error = error.or_else(|| saved.and(written).err());
        let is_interrupted = self.session.interrupt.is_set();
        let is_whole = tally.in_doubt + tally.not_attempted == 0;
        let path = book.position.as_ref().map(PositionFile::path);
        let resumable = |error| match path {
            Some(path) => self.session.resumable(error, path),
            None => error,
        };
        match error {
            Some(error) => Err(resumable(error)),
            None if is_interrupted => Err(self.session.interrupted(tally.read, path)),
            None if !is_whole => Err(resumable(Failure::new("rows are left"))),
            None => {
                book.position.as_ref().map_or(Ok(()), PositionFile::delete)?;
                reported
            }
        }
    }

    /// Returns the outcome of a row that was sent, and its number.
    async fn outcome(&self, outcome: BulkOutcome) -> Done<(u64, Outcome)> {
        match outcome {
            BulkOutcome::Applied(applied) => {
                let outcome = match applied.kind() {
                    OperationKind::Delete => Outcome::Deleted,
                    _ => Outcome::Written,
                };
                Ok((applied.index(), outcome))
            }
            // Each row has such a future: a small one, if it is applied.
            BulkOutcome::Leftover(leftover) => Ok((leftover.index(), Box::pin(self.outcome_of(leftover)).await?)),
            _ => Err(Failure::new("an outcome that this version does not know")),
        }
    }

    async fn outcome_of(&self, leftover: Leftover) -> Done<Outcome> {
        let operation = leftover.operation();
        let kind = operation.map(TableOperation::kind);
        match leftover.reason() {
            LeftoverReason::InDoubt(error) => Ok(match was_applied(&self.service, error).await {
                Some(true) if kind == Some(OperationKind::Delete) => Outcome::Deleted,
                Some(true) => Outcome::Written,
                Some(false) => Outcome::NotAttempted,
                None => Outcome::InDoubt,
            }),
            LeftoverReason::Rejected(error) => {
                let row = operation.and_then(TableOperation::entity);
                // An earlier run, or another program, has done what this one wants.
                match (kind, error.kind(), &row) {
                    (Some(OperationKind::Delete), ErrorKind::NotFound, _) => return Ok(Outcome::Deleted),
                    (Some(OperationKind::Insert), ErrorKind::AlreadyExists, Some(row)) => {
                        let stored = self.table.get((&row.partition_key, &row.row_key)).await?;
                        if stored.is_some_and(|stored| same_properties(&stored, row)) {
                            return Ok(Outcome::Unchanged);
                        }
                    }
                    _ => {}
                }
                let keys = operation.and_then(TableOperation::keys);
                let row = row.map_or_else(|| Ok(json!(keys)), serde_json::to_value)?;
                Ok(Outcome::Rejected(row, with_causes(&**error)))
            }
            _ => Ok(Outcome::NotAttempted),
        }
    }
}

/// The state that the source and the outcomes of a run change.
struct Book<P> {
    ledger: Ledger<P>,
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

fn lock<T>(shared: &Arc<Mutex<T>>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
