//! `backup`: the rows of an account's tables in a folder, full or incremental, resumable.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;

use azure_table::{DateTime, TableServiceClient};
use clap::Args;
use futures_util::TryStreamExt as _;
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::backup::manifest::Manifest;
use crate::backup::stored_backup::{StoredBackup, names};
use crate::backup::table_pages::table_pages;
use crate::backup::table_writer::{TablePosition, TableWriter};
use crate::failure::{Done, Failure, InFile as _, usage};
use crate::ledger::Ledger;
use crate::place::AccountPlace;
use crate::position::PositionFile;
use crate::rows::read_ahead::read_ahead;
use crate::session::{Session, resumable};

/// The file of the position in the folder of an unfinished backup.
pub(crate) const POSITION: &str = "position.json";
/// The rows that a request returns at most.
const PAGE: u64 = 1_000;

#[derive(Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct Backup {
    /// An account: NAME, @FILE or local:DIR
    account: Option<AccountPlace>,
    /// The folder of the account's backups: each is a folder in it
    folder: PathBuf,
    /// Only these tables
    #[arg(long, value_delimiter = ',', value_name = "TABLE,…")]
    tables: Vec<String>,
    /// Store all rows, not only those that have changed since the latest backup of their table
    #[arg(long)]
    full: bool,
    /// Store all rows of a table after so many backups of it: a restore needs all since then
    #[arg(long, value_name = "N", default_value_t = 30)]
    chain: usize,
    /// The price of 10,000 requests, for the plan; yours is on your price sheet
    #[arg(long, value_name = "USD", default_value_t = 0.00036)]
    price: f64,
    /// Go on from the position in this file
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

/// The position of an unfinished backup.
#[derive(Serialize, Deserialize)]
struct Position {
    manifest: Manifest,
    tables: Vec<String>,
    /// The number of tables that are done.
    done: usize,
    current: Option<TablePosition>,
    /// The rows of the tables that are done.
    ledger: Ledger,
}

impl Backup {
    pub(crate) async fn run(self, session: &Session) -> Done<()> {
        let place = self.account.clone().unwrap_or_default();
        let service = session.connections.service(&place)?;
        let account = session.connections.described(&place)?;
        let account = match account.strip_prefix("local:") {
            Some(folder) => format!("local:{}", fs::canonicalize(folder)?.display()),
            None => account,
        };
        let (earlier, _) = StoredBackup::all(&self.folder, session.terminal)?;
        if let Some(other) = earlier.iter().find(|backup| backup.manifest.account != account) {
            let (folder, other) = (self.folder.display(), &other.manifest.account);
            usage!("{folder}: it has backups of {other}: name another folder for {account}");
        }
        let now = DateTime::now();
        // `restore` takes the latest one by these times.
        if let Some(latest) = earlier.last().filter(|latest| latest.manifest.end > now) {
            usage!(
                "this machine's clock is at {now}, before the end of {}: set the clock",
                latest.name()
            );
        }
        // Names sort as their times do: with three digits of milliseconds, whatever they are.
        let (seconds, milliseconds) = (now.unix_millis().div_euclid(1_000), now.unix_millis().rem_euclid(1_000));
        let second = DateTime::from_unix_seconds(seconds).to_string().replace(':', "-");
        let name = format!("{}.{milliseconds:03}Z", second.trim_end_matches('Z'));
        let path = self.resume.clone();
        let path = path.unwrap_or_else(|| self.folder.join(&name).join(POSITION));
        let folder = path.parent().unwrap_or(&self.folder).to_owned();
        let full = if self.full { "full" } else { "" };
        let mut stored = PositionFile::new(&path, &[&account, &self.tables.join(","), full]);
        let mut position = match (&self.resume, stored.load::<Position>()?) {
            (Some(_), Some(_)) if Manifest::is_in(&folder) => return stored.delete(),
            (Some(_), Some(position)) => position,
            (Some(path), None) => return Err(Failure::of_file(path, "no position of a backup")),
            (None, _) => {
                self.reject_second()?;
                Position {
                    manifest: Manifest::new(name, account.clone(), !self.tables.is_empty(), now),
                    tables: self.names(&service).await?,
                    done: 0,
                    current: None,
                    ledger: Ledger::default(),
                }
            }
        };
        session.confirm(&self.plan(&position, &account, &folder, &earlier))?;
        session.interrupt.wait_for_position();
        if self.resume.is_none() {
            fs::create_dir_all(&folder).in_file(&folder)?;
            stored.save(&position)?;
        }
        let read = self.read(session, &service, &folder, &earlier, &mut stored, &mut position);
        let done = read.await.and_then(|()| {
            position.manifest.end = DateTime::now();
            position.manifest.store(&folder)
        });
        if let Err(error) = done {
            return position.ledger.end(&session.terminal, Err(resumable(error, &path)));
        }
        stored.delete()?;
        let name = &position.manifest.name;
        session.terminal.either(json!({ "backup": name }), name)?;
        position.ledger.end(&session.terminal, Ok(()))
    }

    /// Checks that no backup in the folder is unfinished.
    fn reject_second(&self) -> Done<()> {
        for name in names(&self.folder)? {
            let folder = self.folder.join(name);
            let position = folder.join(POSITION);
            PositionFile::check(&position, position.exists() && !Manifest::is_in(&folder), false)?;
        }
        Ok(())
    }

    /// Returns the tables to read.
    ///
    /// # Errors
    /// One that the user names is absent.
    async fn names(&self, service: &TableServiceClient) -> Done<Vec<String>> {
        let mut names = match self.tables.is_empty() {
            true => service.list_tables().all().await?,
            false => self.tables.clone(),
        };
        names.sort();
        names.dedup();
        for (place, table) in names.iter().enumerate().filter(|_| !self.tables.is_empty()) {
            let mut others = names.iter().skip(place + 1);
            if let Some(other) = others.find(|other| other.eq_ignore_ascii_case(table)) {
                usage!("{table} and {other} may be one table: name it once");
            }
            if !service.dynamic_table(table)?.table_exists().await? {
                usage!("no such table: {table}");
            }
        }
        Ok(names)
    }

    /// Returns the backup on which that of a table is based.
    fn base<'b>(&self, table: &str, earlier: &'b [StoredBackup]) -> Option<&'b StoredBackup> {
        let newest = earlier.iter().rfind(|backup| backup.table(table).is_some());
        newest.filter(|newest| !self.full && newest.links(table, earlier) < self.chain)
    }

    /// Describes the backup, with the requests that the counts of earlier ones predict.
    fn plan(&self, position: &Position, account: &str, folder: &Path, earlier: &[StoredBackup]) -> String {
        let (count, folder) = (position.tables.len(), folder.display());
        let mut text = format!("back up {count} tables of {account} to {folder}\n");
        for table in &position.tables {
            let base = self.base(table, earlier);
            let changes = base.map(|base| format!("what has changed since {}", base.name()));
            let _ = writeln!(text, "  {table}: {}", changes.as_deref().unwrap_or("all rows"));
        }
        let latest = |table: &String| earlier.iter().rev().find_map(|backup| backup.table(table));
        let known: Vec<_> = position.tables.iter().filter_map(latest).collect();
        let rows = known.iter().map(|entry| entry.rows).sum();
        let requests = known.iter().map(|entry| entry.rows / PAGE + 1).sum();
        let unknown = count - known.len();
        text += &format!("Timestamps are not indexed: this reads all rows, with a request for each {PAGE}");
        if requests > 0 {
            let price = requests as f64 / 10_000.0 * self.price;
            let (rows, requests) = (HumanCount(rows), HumanCount(requests));
            let _ = write!(
                text,
                ".\nBy the latest backups: {rows} rows, {requests} requests, {price:.6} USD (10,000 requests: {} USD)",
                self.price
            );
            let charge = earlier.last().map_or(0, |backup| backup.manifest.request_units);
            if charge > 0 {
                let _ = write!(text, "; the latest one took {} request units", HumanCount(charge));
            }
            if unknown > 0 {
                let _ = write!(text, "; {unknown} tables are new");
            }
        }
        text
    }

    /// Reads all tables from the position on.
    async fn read(
        &self,
        session: &Session,
        service: &TableServiceClient,
        folder: &Path,
        earlier: &[StoredBackup],
        stored: &mut PositionFile,
        position: &mut Position,
    ) -> Done<()> {
        let mut progress = session.progress(None);
        let (requests, units) = (position.manifest.requests, position.manifest.request_units);
        while let Some(table) = position.tables.get(position.done).cloned() {
            // Without a position in the table, its rows are read again.
            let current = position.current.take().filter(|current| current.next.is_some());
            let base = match &current {
                None => self.base(&table, earlier),
                Some(current) => {
                    let name = current.entry.base.as_ref().map(|base| &*base.backup);
                    earlier.iter().find(|backup| name == Some(backup.name()))
                }
            };
            if let Some(base) = base {
                base.verify_as_base(&table)?;
            }
            let current = current.unwrap_or_else(|| TablePosition::new(&table, position.done, base));
            let before = position.manifest.tables.iter().map(|entry| entry.rows).sum::<u64>();
            let client = service.dynamic_table(&table)?;
            let pages = table_pages(service, &client, current.next.clone(), session);
            let mut pages = pin!(read_ahead(pages));
            let mut writer = TableWriter::open(folder, current, base)?;
            let entry = loop {
                let (rows, next) = match pages.try_next().await {
                    Ok(Some(page)) => page,
                    Ok(None) => break Some(writer.finish()?),
                    // Another program has deleted the table since the tables were listed.
                    Err(_) if self.tables.is_empty() && !client.table_exists().await? => break None,
                    // Rows that are read to be sorted have no position.
                    Err(_) if session.interrupt.is_set() => {
                        return Err(Session::interrupted(before + writer.entry().rows));
                    }
                    Err(error) => return Err(error),
                };
                writer.add_page(rows, &session.terminal)?;
                let rows = before + writer.entry().rows;
                progress.set(rows);
                let stop = session.interrupt.is_set();
                if stop || stored.is_due() {
                    position.current = Some(writer.flush(next)?);
                    stored.save(&*position)?;
                }
                if stop {
                    return Err(Session::interrupted(rows));
                }
            };
            match entry {
                Some((entry, ledger)) => {
                    position.manifest.tables.push(entry);
                    position.ledger.add(&ledger);
                }
                None => session.note(&format!("{table} was deleted meanwhile: left out")),
            }
            let cost = session.connections.meter.total();
            position.manifest.requests = requests + cost.requests;
            position.manifest.request_units = units + cost.request_charge.round() as u64;
            (position.done, position.current) = (position.done + 1, None);
            stored.save(&*position)?;
        }
        Ok(())
    }
}
