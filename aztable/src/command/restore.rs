//! `restore`: the tables of a backup in an account or a folder that has none of them, resumable.

use std::path::PathBuf;

use azure_table::TableName;
use clap::Args;
use futures_util::stream::{self, Stream, StreamExt as _};
use indicatif::HumanCount;

use crate::backup::manifest::TableEntry;
use crate::backup::merged_rows::MergedRows;
use crate::backup::stored_backup::StoredBackup;
use crate::failure::{Done, Failure};
use crate::place::{AccountPlace, TablePlace};
use crate::position::PositionFile;
use crate::row_writer::{Item, Page, RowWriter, WriteOptions};
use crate::rows::read_ahead::read_ahead;
use crate::session::Session;

/// The rows between two positions.
const PAGE: usize = 1_000;

#[derive(Args)]
pub(crate) struct Restore {
    /// The folder of the backups
    folder: PathBuf,
    /// A backup by its name, or the latest that had ended at a time: 2026-01-02T03:04:05Z. Without it, the latest one
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

impl Restore {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        self.options.check(None)?;
        let backup = StoredBackup::at(&self.folder, self.at.as_deref(), &self.tables)?;
        let entries = self.entries(&backup)?;
        session.connections.create_folder(&self.into)?;
        let account = session.connections.described(&self.into)?;
        let name = self.name.as_deref().unwrap_or_default();
        let job = [&*account, &backup.sha256, &self.tables.join(","), name];
        // The position in a table, and beside it the number of tables that are done, and the length of their rejects.
        let default = self.folder.join(format!("{}.restore.position", backup.name()));
        let path = self.options.resume.clone().unwrap_or(default);
        let mut done_path = path.clone().into_os_string();
        done_path.push(".tables");
        let mut stored = PositionFile::new(done_path, &job);
        let started = stored.load::<(usize, u64)>()?;
        PositionFile::check(&path, started.is_some(), self.options.resume.is_some())?;
        let (done, mut rejected) = started.unwrap_or_default();
        let mut chains = Vec::new();
        for (index, entry) in entries.iter().enumerate().skip(done) {
            let chain = backup.chain(&entry.table)?;
            chain.iter().try_for_each(|backup| backup.verify_files(&entry.table))?;
            chains.push((index, entry, chain));
            let is_started = started.is_some() && index == done;
            let table = session.table(&self.target(&entry.table)?)?;
            if !is_started && table.table_exists().await? {
                let text = format!(
                    "{} exists at {account}: a backup is restored into absent tables",
                    table.name()
                );
                return Err(Failure::usage(text));
            }
        }
        session.terminal.confirm(&format!(
            "restore {} tables with {} rows of the backup {}, read from {} to {}, into {account}\n\
             the service sets new ETags and Timestamps",
            chains.len(),
            HumanCount(chains.iter().map(|(_, entry, _)| entry.rows).sum()),
            backup.name(),
            backup.manifest.start,
            backup.manifest.end
        ))?;
        let mut left = Vec::new();
        for (index, entry, chain) in chains {
            stored.save((index, rejected))?;
            let target = self.target(&entry.table)?;
            session
                .terminal
                .note(&format!("{target}: {} rows", HumanCount(entry.rows)));
            session.table(&target)?.create_table_if_not_exists().await?;
            let name = target.to_string();
            let job = [&job[..], &[&*name]].concat();
            let writer = RowWriter::part(session, &target, &self.options, &path, &job, rejected)?;
            let before = writer.resumed::<u64>()?.unwrap_or_default();
            let mut merged = MergedRows::open(&chain, &entry.table)?;
            merged.skip(before)?;
            match writer.write(read_ahead(pages(merged, before)), Some(entry.rows)).await {
                // Rejected rows are printed. The others, and the other tables, are restored.
                Err(error) if !path.exists() && !session.interrupt.is_set() => {
                    left.push(format!("{}: {error}", entry.table));
                }
                written => written?,
            }
            rejected = self.options.sending.rejected();
        }
        stored.delete()?;
        match left.is_empty() {
            true => Ok(()),
            false => Err(Failure::new(left.join("; "))),
        }
    }

    /// Returns the tables to restore.
    fn entries<'b>(&self, backup: &'b StoredBackup) -> Done<Vec<&'b TableEntry>> {
        if self.name.is_some() && self.tables.len() != 1 {
            return Err(Failure::usage("--as names one table: name it in --tables"));
        }
        let absent = |table: &str| Failure::usage(format!("the backup {} has no table {table}", backup.name()));
        match self.tables.is_empty() {
            true => Ok(backup.manifest.tables.iter().collect()),
            false => self
                .tables
                .iter()
                .map(|table| backup.table(table).ok_or_else(|| absent(table)))
                .collect(),
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

/// Returns the upserts of rows, with the number of rows behind each page. The first page has none: from then on, the
/// position exists until all rows have an outcome.
fn pages(merged: MergedRows, before: u64) -> impl Stream<Item = Done<Page<u64>>> {
    let begin = stream::iter([Ok((Vec::new(), before))]);
    let upserts = stream::try_unfold((merged, before), move |(mut merged, mut rows)| async move {
        let mut items = Vec::with_capacity(PAGE);
        while items.len() < PAGE
            && let Some(row) = merged.next()?
        {
            items.push(Item::row(row, false));
        }
        rows += items.len() as u64;
        Ok((!items.is_empty()).then_some(((items, rows), (merged, rows))))
    });
    begin.chain(upserts)
}
