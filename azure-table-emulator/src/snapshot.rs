//! Snapshots: the store as a value, and as a file that a person can read, compare and write.
//!
//! Defines [`EmulatorSnapshot`], its conversion from and to a store, its file, and the lines of its text. Rows are in
//! `snapshot/entity.rs`, all other lines in `snapshot/line.rs`.
//!
//! A line is parsed by the same code as the body of an insert. So a file contains only what the service accepts, and
//! the ETag of a row follows from its Timestamp. A first pass finds the column of a fault. Account keys are settings
//! and never in a file.

pub(crate) mod entity;
pub(crate) mod line;

use std::fmt;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::guid::Guid;

use crate::rules::ServiceRules;
use crate::snapshot::line::{AccountLine, Fault, FirstLine, TableLine, VERSION};
use crate::store::SharedStore;
use crate::store::account::Accounts;
use crate::store::row::Row;

/// The whole state of an [`Emulator`](crate::Emulator). Feature `emulator`.
///
/// It holds accounts with their properties, tables with their policies, and rows with their types and Timestamps (which
/// also determine the ETags). An emulator [restored](crate::Emulator::restore) from it has the same state. Its later
/// writes get Timestamps after all earlier ones of both emulators, so that no ETag repeats. A snapshot contains neither
/// account keys nor other settings. After a restore, a lagging secondary has the whole state too.
///
/// Its text has one JSON object per line, ordered by accounts, tables and rows, so that versions can be compared line
/// by line. Rows of Cosmos DB are in the order of their insertion:
///
/// ```text
/// {"azure-table-snapshot":1}
/// {"account":"devstoreaccount1"}
/// {"table":"Blogs"}
/// {"PartitionKey":"Channel9","RowKey":"1","Rating":5,"Views@odata.type":"Edm.Int64","Views":"12"}
/// ```
///
/// Rows follow their table, tables their account. Values have the form of an insert, with a type annotation if JSON
/// does not determine the type. Omitted members have their defaults: a handwritten text needs only the members shown
/// above. A row without Timestamp gets the time at which it was parsed.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// use azure_table::emulator::EmulatorSnapshot;
/// let text = r#"{"azure-table-snapshot":1}
/// {"account":"devstoreaccount1"}
/// {"table":"Blogs"}
/// {"PartitionKey":"Channel9","RowKey":"1","Rating":5}
/// "#;
/// let emulator = Emulator::new();
/// emulator.restore(&text.parse()?)?;
/// let blogs = TableServiceClient::from_transport(emulator.clone()).dynamic_table("Blogs")?;
/// assert_eq!(blogs.get(("Channel9", "1")).await?.expect("restored").property::<i32>("Rating")?, 5);
///
/// let before = emulator.snapshot();
/// blogs.delete_table().await?;
/// emulator.restore(&before)?;
/// assert_eq!(emulator.snapshot().to_string(), before.to_string());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct EmulatorSnapshot {
    rules: &'static ServiceRules,
    /// The Timestamp of the latest write: no time is used twice.
    last_write: DateTime,
    accounts: Accounts,
}

impl EmulatorSnapshot {
    /// Copies the whole state of a store.
    pub(crate) fn of(store: &SharedStore, rules: &'static ServiceRules) -> Self {
        let store = store.read();
        let (accounts, last_write) = store.all();
        Self {
            rules,
            last_write,
            accounts: accounts.clone(),
        }
    }

    /// Replaces the whole state of a store with a copy of this one.
    pub(crate) fn restore_to(&self, store: &SharedStore, rules: &ServiceRules) -> Result<()> {
        let (theirs, own) = (self.rules.profile, rules.profile);
        if theirs != own {
            return Err(Error::invalid_input(format!(
                "the snapshot is of {theirs}, the emulator is {own}"
            )));
        }
        store.replace_all(self.accounts.clone(), self.last_write);
        store.block_until_stored()
    }

    /// Reads a snapshot from a file.
    ///
    /// # Errors
    /// - The file cannot be read.
    /// - [`InvalidData`](io::ErrorKind::InvalidData): it is not a snapshot. The text names file, line and column.
    pub fn read(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|e| at(path, &e))?;
        let wrong =
            |e: &dyn fmt::Display| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {e}", path.display()));
        let text = str::from_utf8(&bytes).map_err(|e| wrong(&format_args!("the text is not UTF-8: {e}")))?;
        text.parse().map_err(|e| wrong(&e))
    }

    /// Writes the snapshot to a file, and replaces an existing one.
    ///
    /// It writes a temporary file in the same folder and renames it. After a crash at any point, either the old or the
    /// new file exists in full. The new file keeps the permissions of the old one.
    ///
    /// When it returns, the file and its name are on the disk, as far as the file system reports. On Windows the name
    /// may follow later.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        // Writes to the target of a link instead of replacing the link.
        let place = fs::canonicalize(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_owned());
        let beside = beside(&place);
        let permissions = fs::metadata(&place).ok().map(|place| place.permissions());
        let written = self
            .write_new(&beside, permissions)
            .and_then(|()| fs::rename(&beside, &place));
        written.map_err(|e| {
            // It may not exist.
            let _ = fs::remove_file(&beside);
            at(&place, &e)
        })?;
        keep_name(folder_of(&place)).map_err(|e| at(&place, &e))
    }

    fn write_new(&self, path: &Path, permissions: Option<Permissions>) -> io::Result<()> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        // Sets the permissions before the file has content that others must not read.
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        let mut out = BufWriter::new(file);
        write_text(self, &mut out)?;
        out.flush()?;
        out.get_ref().sync_all().or_else(unsupported)
    }

    /// Returns the names of the accounts that were written to.
    pub fn accounts(&self) -> impl Iterator<Item = &str> {
        self.accounts.keys().map(String::as_str)
    }

    /// Returns the number of tables in all accounts.
    pub fn table_count(&self) -> usize {
        self.accounts.values().map(|account| account.tables.len()).sum()
    }

    /// Returns the number of entities in all tables.
    pub fn entity_count(&self) -> usize {
        let tables = self.accounts.values().flat_map(|account| account.tables.values());
        tables.map(|table| table.rows.len()).sum()
    }
}

/// Returns a unique file name in the same folder, for a rename.
fn beside(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.{}", Guid::random()))
}

/// Returns the folder of a file; the current one for a bare name.
pub(crate) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Syncs a folder: a rename survives a power failure only once its folder is on the disk.
#[cfg(unix)]
pub(crate) fn keep_name(folder: &Path) -> io::Result<()> {
    match fs::File::open(folder) {
        Ok(folder) => folder.sync_all().or_else(unsupported),
        // The folder permits creating files but not listing them.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(e) => Err(e),
    }
}

#[cfg(not(unix))]
pub(crate) fn keep_name(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Ignores the error of a file system that does not support syncing.
fn unsupported(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput => Ok(()),
        _ => Err(error),
    }
}

pub(crate) fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Writes the text of the file.
impl fmt::Display for EmulatorSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        write_text(self, &mut bytes).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&bytes))
    }
}

impl FromStr for EmulatorSnapshot {
    type Err = Error;

    /// Parses the text of a file.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table_wire::error::ErrorKind::InvalidInput): it is not a snapshot, or one of a
    ///   later version. The message names line and column.
    fn from_str(text: &str) -> Result<Self> {
        read_text(text)
    }
}

impl fmt::Debug for EmulatorSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmulatorSnapshot")
            .field("accounts", &self.accounts.keys())
            .field("tables", &self.table_count())
            .field("entities", &self.entity_count())
            .finish()
    }
}

fn write_text(snapshot: &EmulatorSnapshot, out: &mut dyn Write) -> io::Result<()> {
    json(out, &FirstLine::of(snapshot.rules, snapshot.last_write))?;
    for (name, account) in &snapshot.accounts {
        json(out, &AccountLine::of(name, account))?;
        for (key, table) in &account.tables {
            json(out, &TableLine::of(key, table, snapshot.rules))?;
            for (id, row) in table.rows.in_order() {
                out.write_all(&entity::write(id, row))?;
                out.write_all(b"\n")?;
            }
        }
    }
    Ok(())
}

fn json(out: &mut dyn Write, line: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

fn read_text(text: &str) -> Result<EmulatorSnapshot> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(n, line)| (n + 1, line))
        .filter(|(_, line)| !line.trim().is_empty());
    let no_snapshot = || {
        Error::invalid_input(format!(
            "line 1: expected {{\"azure-table-snapshot\":{VERSION}}}, it is empty"
        ))
    };
    let (number, first) = lines.next().ok_or_else(no_snapshot)?;
    let (rules, last_write) = FirstLine::read(first).map_err(|fault| fault.in_line(number, first))?;
    let mut reading = Reading {
        snapshot: EmulatorSnapshot {
            rules,
            last_write,
            accounts: Accounts::new(),
        },
        now: DateTime::now(),
        account: None,
        table: None,
    };
    for (number, line) in lines {
        reading.line(line).map_err(|fault| fault.in_line(number, line))?;
    }
    Ok(reading.snapshot)
}

/// The state of parsing: the lines so far, and the account and the table to which the next line belongs.
struct Reading {
    snapshot: EmulatorSnapshot,
    /// The time for rows without one, increasing for each.
    now: DateTime,
    account: Option<String>,
    table: Option<(String, &'static ServiceRules)>,
}

impl Reading {
    fn line(&mut self, line: &str) -> std::result::Result<(), Fault> {
        let snapshot = &mut self.snapshot;
        let account = self.account.as_ref().and_then(|name| snapshot.accounts.get_mut(name));
        if begins(line, "\"account\"") {
            let (name, account) = AccountLine::read(line)?;
            if snapshot.accounts.contains_key(&name) {
                return Err(twice("account", &name));
            }
            snapshot.accounts.insert(name.clone(), account);
            self.account = Some(name);
            self.table = None;
        } else if begins(line, "\"table\"") {
            let no_account = || Fault::of_line("a table, but no account before it".to_owned());
            let account = account.ok_or_else(no_account)?;
            let (key, rules, table) = TableLine::read(line, snapshot.rules, || tick(&mut self.now))?;
            if account.tables.contains_key(&key) {
                return Err(twice("table", &table.name));
            }
            account.tables.insert(key.clone(), table);
            self.table = Some((key, rules));
        } else {
            let no_table = || Fault::of_line("an entity, but no table of the account before it".to_owned());
            let (key, rules) = self.table.as_ref().ok_or_else(no_table)?;
            let table = account.and_then(|account| account.tables.get_mut(key));
            let rows = &mut table.ok_or_else(no_table)?.rows;
            let (id, properties, timestamp) = entity::parse(line, rules)?;
            if rows.contains_key(&id) {
                return Err(Fault::twice(&id.partition_key, &id.row_key));
            }
            let timestamp = timestamp.unwrap_or_else(|| tick(&mut self.now));
            snapshot.last_write = snapshot.last_write.max(timestamp);
            rows.set(id, Some(Row::new(&properties, timestamp)));
        }
        Ok(())
    }
}

fn tick(now: &mut DateTime) -> DateTime {
    let time = *now;
    *now = DateTime::from_ticks(time.ticks() + 1).unwrap_or(DateTime::MAX);
    time
}

fn twice(what: &str, name: &dyn fmt::Debug) -> Fault {
    Fault::of_line(format!("{what} {name:?}: it occurs twice"))
}

/// Returns `true` if the first member of a line has this name. An unknown line is parsed, and rejected, as an entity.
fn begins(line: &str, name: &str) -> bool {
    let rest = line.trim_start().strip_prefix('{').map(str::trim_start);
    rest.and_then(|rest| rest.strip_prefix(name))
        .is_some_and(|rest| rest.trim_start().starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_a_bare_name_is_the_current_one() {
        for (file, folder) in [("tables.json", "."), ("a/tables.json", "a"), ("/tables.json", "/")] {
            assert_eq!(folder_of(Path::new(file)), Path::new(folder));
        }
    }

    #[test]
    #[cfg(unix)]
    fn folder_is_synchronized() {
        keep_name(&std::env::temp_dir()).unwrap();
        let missing = std::env::temp_dir().join(Guid::random().to_string());
        assert_eq!(keep_name(&missing).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
