//! `restore`: the tables of a backup in an account or a folder that has none of them, resumable.
//!
//! A table's name is in the position before the table is created, and rows are inserted: what another program has
//! written meanwhile stays.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use azure_table::{DynamicEntity, ErrorKind, Filter, TableClient, TableName};
use clap::Args;
use futures_util::stream::{self, Stream};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::backup::manifest::{TableEntry, lacks};
use crate::backup::merged_rows::MergedRows;
use crate::backup::sorted_lines::KeyLine;
use crate::backup::stored_backup::StoredBackup;
use crate::failure::{Done, Failure, fail, usage};
use crate::ledger::{Ledger, Outcome};
use crate::place::{AccountPlace, TablePlace};
use crate::row_writer::page_ledger::Stored;
use crate::row_writer::{Item, Page, RowWriter, WriteOptions};
use crate::rows::compared::same_properties;
use crate::rows::read_ahead::read_ahead;
use crate::session::{Session, resumable};
use crate::terminal::{Total, counted};

const ABSENT: &str = "a backup is restored into absent tables";
/// The rows between two positions.
const PAGE: usize = 1_000;
/// The rows behind a position that are held in memory: more than a killed run had in flight.
const BEHIND: usize = 50_000;

#[derive(Args)]
pub(crate) struct Restore {
    /// The folder of the backups
    folder: PathBuf,
    /// A backup by its name, or the latest that had ended at a time, as `backups` prints it: 2026-01-02T03:04:05Z.
    /// Without it, the latest one
    #[arg(long, value_name = "NAME|TIME")]
    at: Option<String>,
    /// The account: NAME, @FILE or local:DIR; its tables of these names must be absent
    #[arg(long, value_name = "PLACE")]
    into: AccountPlace,
    /// Only these tables
    #[arg(long, value_delimiter = ',', value_name = "TABLE,…")]
    tables: Vec<String>,
    /// The name of the restored table, with one of --tables
    #[arg(long = "as", value_name = "TABLE", requires = "tables")]
    name: Option<String>,
    #[command(flatten)]
    options: WriteOptions,
}

/// Rows by their keys.
type Written = HashMap<(String, String), DynamicEntity>;

/// The part of a restore that is done.
#[derive(Serialize, Deserialize, Default)]
struct Run {
    /// The name of the backup.
    backup: Option<String>,
    /// The tables that this restore creates so far. Rows of the last one may be missing.
    tables: Vec<String>,
    /// The rows of those that are done.
    ledger: Ledger,
    /// The length of the file of rejected rows.
    rejects: u64,
}

impl Restore {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let account = session.connections.described(&self.into)?;
        let options = format!("{:?}", (&self.at, &self.tables, &self.name));
        let default = self.folder.join("restore.position");
        let (mut stored, position) = self.options.stored(&default, &[&account, &options])?;
        let mut run = match position.is_some() {
            true => serde_json::from_value(stored.run.clone())?,
            false => Run::default(),
        };
        let mut position = position.flatten();
        let at = run.backup.as_deref().or(self.at.as_deref());
        let backup = StoredBackup::at(&self.folder, at, &self.tables, session.terminal)?;
        run.backup = Some(backup.name().to_owned());
        let entries = self.entries(&backup)?;
        self.check_names(session, &entries)?;
        let noted = run.tables.len();
        let mut chains = Vec::new();
        for (index, entry) in entries.into_iter().enumerate().skip(noted.saturating_sub(1)) {
            let chain = backup.chain(&entry.table)?;
            chain.iter().try_for_each(|backup| backup.verify_files(&entry.table))?;
            if index >= noted && session.connections.exists(&self.into) {
                let table = session.table(&self.target(&entry.table)?)?;
                if table.table_exists().await? {
                    usage!("{} exists at {account}: {ABSENT}", table.name());
                }
            }
            chains.push((index, entry, chain));
        }
        let (name, start, end) = (backup.name(), backup.manifest.start, backup.manifest.end);
        let rows = counted(chains.iter().map(|(_, entry, _)| entry.rows).sum(), "row");
        let lacks = lacks(chains.iter().map(|(_, entry, _)| entry.rejected).sum());
        session.confirm(&format!(
            "restore {} with {rows} of the backup {name}, read from {start} to {end}, into {account}{lacks}\n\
             the service sets new ETags and Timestamps",
            counted(chains.len() as u64, "table")
        ))?;
        stored.check_writable()?;
        session.interrupt.wait_for_position();
        session.connections.create_folder(&self.into)?;
        for (index, entry, chain) in chains {
            let target = self.target(&entry.table)?;
            session.note(&format!("{target}: {}", counted(entry.rows, "row")));
            if index >= run.tables.len() {
                run.tables.push(entry.table.clone());
            }
            stored.run = json!(run);
            let (mut merged, table) = (MergedRows::open(&chain, &entry.table)?, session.table(&target)?);
            let resumed = position.take();
            if resumed.is_none() {
                stored.save(None::<()>)?;
                let created = create(&table, index < noted, &account).await;
                created.map_err(|error| resumable(error, stored.path()))?;
            }
            let mut begin: Stored<u64> = resumed.unwrap_or_default();
            begin.rejects = begin.rejects.max(run.rejects);
            let written = behind(&table, merged.skip(begin.source)?).await;
            let written = written.map_err(|error| resumable(error, stored.path()))?;
            stored.save(&begin)?;
            let mut writer = RowWriter::open(session, &target, &self.options.sending, Some(stored.clone()))?;
            let pages = pages(merged, begin.source, written);
            writer.total = Some(Total::new(entry.rows.into()));
            let (mut ledger, done) = writer.write(pages).await?;
            // The backup lacks them.
            ledger.read(entry.rejected as usize);
            ledger.count(Outcome::Rejected, entry.rejected);
            run.ledger.add(&ledger);
            if done.is_err() {
                return run.ledger.end(&session.terminal, done);
            }
            session.note(&format!("{target}: {ledger}"));
            run.rejects = self.options.sending.rejected();
        }
        stored.delete()?;
        run.ledger.end(&session.terminal, Ok(()))
    }

    /// Checks that each table has a name of its own in the account.
    fn check_names(&self, session: &Session, entries: &[&TableEntry]) -> Done<()> {
        let mut names = BTreeMap::new();
        for entry in entries {
            let name = session.connections.identity(&self.into, &entry.table)?;
            if let Some(other) = names.insert(name, &entry.table) {
                usage!(
                    "{other} and {} are one table there: restore one of them with --tables and --as",
                    entry.table
                );
            }
        }
        Ok(())
    }

    /// Returns the tables to restore.
    fn entries<'b>(&self, backup: &'b StoredBackup) -> Done<Vec<&'b TableEntry>> {
        if self.name.is_some() && self.tables.len() != 1 {
            usage!("--as names one table: name it in --tables");
        }
        let absent = |table: &str| Failure::usage(format!("the backup {} has no table {table}", backup.name()));
        let named = |table: &String| backup.table(table).ok_or_else(|| absent(table));
        match self.tables.is_empty() {
            true => Ok(backup.manifest.tables.iter().collect()),
            false => self.tables.iter().map(named).collect(),
        }
    }

    fn target(&self, table: &str) -> Done<TablePlace> {
        let (account, table) = (
            self.into.clone(),
            TableName::new(self.name.as_deref().unwrap_or(table))?,
        );
        Ok(TablePlace { account, table })
    }
}

/// Creates a table. One without rows may be `noted`: a kill came before its creation was stored.
async fn create(table: &TableClient<DynamicEntity>, noted: bool, account: &str) -> Done<()> {
    match table.create_table().await {
        // A creation whose response was lost may be the one that exists.
        Err(error) if error.kind() == ErrorKind::AlreadyExists || error.may_have_applied() => {
            let may_be_ours = noted || error.may_have_applied();
            if !may_be_ours || table.query().allow_table_scan().first().await?.is_some() {
                fail!("{} exists at {account}: {ABSENT}", table.name());
            }
            Ok(())
        }
        created => Ok(created?),
    }
}

/// Returns the rows of a table behind a key, which a run that was killed has written.
async fn behind(table: &TableClient<DynamicEntity>, last: Option<KeyLine>) -> Done<Written> {
    let mut query = table.query().allow_table_scan();
    if let Some(KeyLine(partition, row, ..)) = last {
        let [partition, row] = [partition, row].map(|key| key.replace('\'', "''"));
        let later = format!("PartitionKey eq '{partition}' and RowKey gt '{row}'");
        query = query.filter(Filter::raw(format!("PartitionKey gt '{partition}' or ({later})")));
    }
    // Rows beyond are compared one by one, if another program has written so many.
    let rows = query.limit(BEHIND).all().await?.into_iter();
    Ok(rows
        .map(|row| ((row.partition_key.clone(), row.row_key.clone()), row))
        .collect())
}

/// Returns the inserts of rows that are not `written`, with the number of rows behind each page.
fn pages(merged: MergedRows, before: u64, written: Written) -> impl Stream<Item = Done<Page<u64>>> {
    let begin = (merged, before, written);
    read_ahead(stream::try_unfold(
        begin,
        |(mut merged, rows, mut written)| async move {
            let (mut items, mut read) = (Vec::with_capacity(PAGE), 0);
            while read < PAGE
                && let Some(row) = merged.next()?
            {
                let stored = written.remove(&(row.partition_key.clone(), row.row_key.clone()));
                read += 1;
                items.push(match stored.is_some_and(|stored| same_properties(&stored, &row)) {
                    true => Item::Ended(Ok(Outcome::Unchanged)),
                    false => Item::row(row, true),
                });
            }
            let position = rows + read as u64;
            let page = Page { read, items, position };
            Ok((read > 0).then_some((page, (merged, position, written))))
        },
    ))
}
