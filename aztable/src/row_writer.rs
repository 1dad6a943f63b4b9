//! Writes the rows of a source to a table, and accounts for each of them.
//!
//! Outcomes arrive in any order. The position that is stored counts a row only if all rows before it have an outcome,
//! and belongs to the end of a page of the source. A resumed command repeats the rows behind it: upserts do no harm,
//! and an insert of an equal row is "unchanged".

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use azure_table::bulk::{Interrupted, Leftover, LeftoverReason};
use azure_table::operation::OperationKind;
use azure_table::{BulkOutcome, DynamicEntity, ErrorKind, TableClient, TableOperation, TableServiceClient};
use clap::Args;
use futures_util::stream::{self, Stream, StreamExt as _, TryStreamExt as _};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::doubt::was_applied;
use crate::failure::{Done, Failure, with_causes};
use crate::position::PositionFile;
use crate::rows::appended_file::AppendedFile;
use crate::rows::compression::Compression;
use crate::rows::equality::same_properties;
use crate::session::Session;
use crate::tally::Tally;

/// The rejected rows whose reasons are printed.
const PRINTED: u64 = 10;

/// The options of commands that write many rows.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Writing")]
pub(crate) struct WriteOptions {
    /// A file for rejected rows and their reasons, as JSON lines
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    /// At most so many rows a second
    #[arg(long, value_name = "ROWS")]
    max_rate: Option<u32>,
    /// Go on from the position in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
}

/// A row of a source.
pub(crate) enum Item {
    Write(TableOperation),
    /// The target has the row already.
    Unchanged,
    /// No row: a line that cannot be read.
    Bad {
        text: String,
        why: String,
    },
}

/// The rows of a page, and the position after them.
pub(crate) type Page<P> = (Vec<Item>, P);

/// The outcome of a row.
enum Outcome {
    Written,
    Deleted,
    Unchanged,
    Rejected(serde_json::Value, String),
    InDoubt,
    NotAttempted,
}

/// The stored position.
#[derive(Serialize, Deserialize)]
struct Stored<P> {
    source: P,
    tally: Tally,
    rejects: u64,
}

/// The rows that were read, and their outcomes.
struct Rows<P> {
    read: u64,
    /// For each row that was not sent, the number of rows that were sent before it.
    unsent: Vec<u64>,
    ends: VecDeque<(u64, P)>,
    outcomes: BTreeMap<u64, Outcome>,
    /// The counts of the rows before `next`.
    tally: Tally,
    next: u64,
}

impl<P> Rows<P> {
    /// Returns the place of a row that was sent, among all rows.
    fn place(&self, sent: u64) -> u64 {
        sent + self.unsent.partition_point(|before| *before <= sent) as u64
    }

    /// Adds a page. Returns the operations to send.
    fn add(&mut self, (items, position): Page<P>) -> Vec<TableOperation> {
        let mut operations = Vec::with_capacity(items.len());
        for item in items {
            let outcome = match item {
                Item::Write(operation) => {
                    operations.push(operation);
                    self.read += 1;
                    continue;
                }
                Item::Unchanged => Outcome::Unchanged,
                Item::Bad { text, why } => Outcome::Rejected(json!({ "text": text }), why),
            };
            let sent = self.read - self.unsent.len() as u64;
            self.unsent.push(sent);
            self.outcomes.insert(self.read, outcome);
            self.read += 1;
        }
        self.ends.push_back((self.read, position));
        operations
    }
}

/// The target of rows.
pub(crate) struct RowWriter<'s> {
    session: &'s Session,
    service: TableServiceClient,
    table: TableClient<DynamicEntity>,
    options: WriteOptions,
    position: PositionFile,
}

impl<'s> RowWriter<'s> {
    /// Names the target, and the parts that its position depends on. `default` is the file of the position.
    pub(crate) fn new(
        session: &'s Session,
        table: &str,
        options: WriteOptions,
        default: &Path,
        job: &[&str],
    ) -> Done<Self> {
        let (service, table) = session.connections.service_and_table(table)?;
        let path = options.resume.clone().unwrap_or_else(|| default.to_owned());
        Ok(Self {
            session,
            service,
            table,
            options,
            position: PositionFile::new(path, job),
        })
    }

    /// Returns the position of the source from which the command resumes.
    ///
    /// # Errors
    /// It is of another job, or the user has not asked to resume.
    pub(crate) fn resumed<P: DeserializeOwned>(&self) -> Done<Option<P>> {
        match self.position.load::<Stored<P>>()? {
            Some(_) if self.options.resume.is_none() => Err(self.session.unfinished(self.position.path())),
            stored => Ok(stored.map(|stored| stored.source)),
        }
    }

    /// Writes the rows of a source, and prints the counts.
    ///
    /// # Errors
    /// Rows are left, a signal came, or the errors of the source and of the table.
    pub(crate) async fn write<P>(mut self, pages: impl Stream<Item = Done<Page<P>>>, total: Option<u64>) -> Done<()>
    where
        P: Serialize + DeserializeOwned,
    {
        let before = self.position.load::<Stored<P>>()?;
        let (tally, rejected_bytes) = before.map(|before| (before.tally, before.rejects)).unwrap_or_default();
        let mut rejects = match &self.options.rejects {
            None => None,
            Some(path) if rejected_bytes > 0 => Some(AppendedFile::resume(path, Compression::None, rejected_bytes)?),
            Some(path) => Some(AppendedFile::create(path, Compression::None, true)?),
        };
        let rows = Arc::new(Mutex::new(Rows {
            read: 0,
            unsent: Vec::new(),
            ends: VecDeque::new(),
            outcomes: BTreeMap::new(),
            next: 0,
            tally,
        }));
        self.session.interrupt.wait_for_position();
        let interrupt = self.session.interrupt.clone();
        let operations = pages
            .take_while(move |_| std::future::ready(!interrupt.is_set()))
            .map_ok(|page| stream::iter(lock(&rows).add(page).into_iter().map(Ok)))
            .try_flatten();
        let bulk = self.table.bulk().max_failures(usize::MAX);
        let bulk = match self.options.max_rate {
            Some(rate) => bulk.max_rate(rate),
            None => bulk,
        };
        let mut outcomes = bulk.write_try_stream(operations).outcomes();
        let mut progress = self.session.progress(total);
        let (mut lines, mut printed, mut savable) = (Vec::new(), 0, None);
        while let Some(outcome) = outcomes.next().await {
            let (sent, outcome) = self.outcome(outcome).await?;
            let mut rows = lock(&rows);
            let place = rows.place(sent);
            rows.outcomes.insert(place, outcome);
            self.advance(&mut rows, &mut lines, &mut printed, &mut savable)?;
            progress.set(rows.tally.read);
            drop(rows);
            if self.position.is_due() && savable.is_some() {
                self.save(&mut savable, &mut lines, rejects.as_mut())?;
            }
        }
        let ended = outcomes.finish();
        let mut rows = lock(&rows);
        self.advance(&mut rows, &mut lines, &mut printed, &mut savable)?;
        self.save(&mut savable, &mut lines, rejects.as_mut())?;
        progress.end();
        self.finish(&mut rows, ended.err().map(Interrupted::into_error))
    }

    /// Counts the rows that have an outcome, up to the first that has none, or must be sent again.
    fn advance<P>(
        &self,
        rows: &mut Rows<P>,
        lines: &mut Vec<u8>,
        printed: &mut u64,
        savable: &mut Option<(Tally, P)>,
    ) -> Done<()> {
        loop {
            while rows.ends.front().is_some_and(|(end, _)| *end == rows.next) {
                *savable = rows
                    .ends
                    .pop_front()
                    .map(|(_, position)| (rows.tally.clone(), position));
            }
            let Some(outcome) = rows.outcomes.remove(&rows.next) else {
                return Ok(());
            };
            if let Outcome::InDoubt | Outcome::NotAttempted = outcome {
                rows.outcomes.insert(rows.next, outcome);
                return Ok(());
            }
            count(&mut rows.tally, &outcome);
            if let Outcome::Rejected(row, why) = outcome {
                if *printed < PRINTED {
                    let row = row.to_string();
                    self.session.terminal.note(&format!("rejected {row:.200}: {why:.1000}"));
                    *printed += 1;
                }
                if self.options.rejects.is_some() {
                    serde_json::to_writer(&mut *lines, &json!({ "reason": why, "row": row }))?;
                    lines.push(b'\n');
                }
            }
            rows.next += 1;
        }
    }

    /// Stores rejected rows, and then the position behind them.
    fn save<P: Serialize>(
        &mut self,
        savable: &mut Option<(Tally, P)>,
        lines: &mut Vec<u8>,
        rejects: Option<&mut AppendedFile>,
    ) -> Done<()> {
        let mut length = 0;
        if let Some(rejects) = rejects {
            if !lines.is_empty() {
                rejects.append(std::mem::take(lines))?;
            }
            length = rejects.length();
        }
        match savable.take() {
            Some((tally, source)) => self.position.save(Stored {
                source,
                tally,
                rejects: length,
            }),
            None => Ok(()),
        }
    }

    /// Prints the counts, and decides whether a position stays.
    fn finish<P>(self, rows: &mut Rows<P>, error: Option<Failure>) -> Done<()> {
        let mut tally = rows.tally.clone();
        let waiting = std::mem::take(&mut rows.outcomes);
        waiting.values().for_each(|outcome| count(&mut tally, outcome));
        let is_interrupted = self.session.interrupt.is_set();
        let is_whole = error.is_none() && !is_interrupted && tally.in_doubt + tally.not_attempted == 0;
        if is_whole {
            self.position.delete()?;
        }
        let reported = tally.report(&self.session.terminal);
        match error {
            Some(error) => Err(self.session.resumable(error, self.position.path())),
            None if is_interrupted => Err(self.session.interrupted(tally.read, Some(self.position.path()))),
            None if !is_whole => Err(self
                .session
                .resumable(Failure::new("rows are left"), self.position.path())),
            None => reported,
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
            BulkOutcome::Leftover(leftover) => Ok((leftover.index(), self.outcome_of(leftover).await?)),
            _ => Err(Failure::new("an outcome that this version does not know")),
        }
    }

    async fn outcome_of(&self, leftover: Leftover) -> Done<Outcome> {
        let operation = leftover.operation();
        let is_delete = operation.is_some_and(|operation| operation.kind() == OperationKind::Delete);
        match leftover.reason() {
            LeftoverReason::InDoubt(error) => Ok(match was_applied(&self.service, error).await {
                Some(true) if is_delete => Outcome::Deleted,
                Some(true) => Outcome::Written,
                Some(false) => Outcome::NotAttempted,
                None => Outcome::InDoubt,
            }),
            LeftoverReason::Rejected(error) => {
                let row = operation.and_then(TableOperation::entity);
                if is_delete && error.kind() == ErrorKind::NotFound {
                    return Ok(Outcome::Unchanged);
                }
                if let (ErrorKind::AlreadyExists, Some(row)) = (error.kind(), &row)
                    && let Some(stored) = self.table.get((&row.partition_key, &row.row_key)).await?
                    && same_properties(&stored, row)
                {
                    return Ok(Outcome::Unchanged);
                }
                let keys = operation.and_then(TableOperation::keys);
                let row = row.map_or_else(|| Ok(json!(keys)), serde_json::to_value)?;
                Ok(Outcome::Rejected(row, with_causes(&**error)))
            }
            _ => Ok(Outcome::NotAttempted),
        }
    }
}

fn count(tally: &mut Tally, outcome: &Outcome) {
    tally.read += 1;
    let count = match outcome {
        Outcome::Written => &mut tally.written,
        Outcome::Deleted => &mut tally.deleted,
        Outcome::Unchanged => &mut tally.unchanged,
        Outcome::Rejected(..) => &mut tally.rejected,
        Outcome::InDoubt => &mut tally.in_doubt,
        Outcome::NotAttempted => &mut tally.not_attempted,
    };
    *count += 1;
}

fn lock<T>(shared: &Arc<Mutex<T>>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
