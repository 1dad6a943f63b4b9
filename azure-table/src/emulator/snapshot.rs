//! What an emulator remembers, as a value and as a file that a person can read, compare and write.
//!
//! Owns [`EmulatorSnapshot`], its way from an emulator and back, and its file. The text is `snapshot/text.rs`, a row in it
//! `snapshot/entity.rs`, all else of an account `snapshot/head.rs`.

mod entity;
mod line;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::emulator::Emulator;
use crate::emulator::rules::Rules;
use crate::emulator::store::Account;
use crate::model::datetime::DateTime;
use crate::model::error::{Error, Result};
use crate::model::guid::Guid;

/// All that an [`Emulator`] remembers: accounts with their properties, tables with their policies, rows with their types and
/// Timestamps (which are the ETags too). Feature `emulator`.
///
/// An emulator that it is [restored](Emulator::restore) to answers as the first one would have. It has no keys and none of the
/// settings that the `with_…` methods make. What a lagging second region has not seen yet it has after a restore.
///
/// Its text has a JSON object on each line, in the order of accounts, tables and rows, so that versions of it compare line by line:
///
/// ```text
/// {"azure-table-snapshot":1}
/// {"account":"devstoreaccount1"}
/// {"table":"Blogs"}
/// {"PartitionKey":"Channel9","RowKey":"1","Rating":5,"Views@odata.type":"Edm.Int64","Views":"12"}
/// ```
///
/// Rows follow their table, tables their account. Values are those that an insert would have, a type beside each that JSON does
/// not show. What is left out has its default: a text written by hand needs no more than the above. A row without Timestamp has
/// the time at which it was read.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use azure_table::{DynamicEntity, Emulator, EmulatorSnapshot, TableServiceClient};
/// let text = r#"{"azure-table-snapshot":1}
/// {"account":"devstoreaccount1"}
/// {"table":"Blogs"}
/// {"PartitionKey":"Channel9","RowKey":"1","Rating":5}
/// "#;
/// let emulator = Emulator::new();
/// emulator.restore(&text.parse()?)?;
/// let blogs = TableServiceClient::on(emulator.clone()).dynamic_table("Blogs")?;
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
    rules: &'static Rules,
    /// The time of the last version of a row: none is given twice.
    last_write: DateTime,
    accounts: BTreeMap<String, Account>,
}

impl EmulatorSnapshot {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read; [`InvalidData`](io::ErrorKind::InvalidData) — it is no snapshot: the text names file, line and column.
    pub fn read(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|e| at(path, &e))?;
        let wrong =
            |e: &dyn fmt::Display| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {e}", path.display()));
        let text = str::from_utf8(&bytes).map_err(|e| wrong(&format_args!("the text is not UTF-8: {e}")))?;
        text.parse().map_err(|e| wrong(&e))
    }

    /// Writes a file, in the place of one that is there. It is written beside its place and put there as a whole: whatever happens,
    /// there is the old file or the new one. Who may read the old one may read the new one. When it returns, the file and its name
    /// are on the disk, as far as the file system can tell (on Windows the name may follow).
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        // What a link stands for is written, and not the link.
        let place = fs::canonicalize(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_owned());
        let beside = beside(&place);
        let permissions = fs::metadata(&place).ok().map(|place| place.permissions());
        let written = self
            .write_new(&beside, permissions)
            .and_then(|()| fs::rename(&beside, &place));
        written.map_err(|e| {
            // It may not even be there.
            let _ = fs::remove_file(&beside);
            at(&place, &e)
        })?;
        keep_name(folder_of(&place)).map_err(|e| at(&place, &e))
    }

    fn write_new(&self, path: &Path, permissions: Option<Permissions>) -> io::Result<()> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        // Before anything is in it that others must not read.
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        let mut out = BufWriter::new(file);
        text::write(self, &mut out)?;
        out.flush()?;
        out.get_ref().sync_all().or_else(unsupported)
    }

    /// The names of the accounts that anything was written to.
    pub fn accounts(&self) -> impl Iterator<Item = &str> {
        self.accounts.keys().map(String::as_str)
    }

    /// How many tables there are, in all accounts.
    pub fn table_count(&self) -> usize {
        self.accounts.values().map(|account| account.tables.len()).sum()
    }

    /// How many entities there are, in all tables.
    pub fn entity_count(&self) -> usize {
        let tables = self.accounts.values().flat_map(|account| account.tables.values());
        tables.map(|table| table.rows.len()).sum()
    }
}

/// A file in the same folder, so that it can be renamed, of a name that no other has.
fn beside(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.{}", Guid::random()))
}

/// The folder of a file; the present one for a bare name.
fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Waits until the names in a folder are on the disk: a rename is not, when the power fails, until its folder is.
#[cfg(unix)]
fn keep_name(folder: &Path) -> io::Result<()> {
    match fs::File::open(folder) {
        Ok(folder) => folder.sync_all().or_else(unsupported),
        // One in which files may be made and not be listed.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(e) => Err(e),
    }
}

#[cfg(not(unix))]
fn keep_name(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Not every file system can be told to wait for the disk.
fn unsupported(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput => Ok(()),
        _ => Err(error),
    }
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// The text of the file.
impl fmt::Display for EmulatorSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        text::write(self, &mut bytes).map_err(|_| fmt::Error)?;
        f.write_str(&String::from_utf8_lossy(&bytes))
    }
}

impl FromStr for EmulatorSnapshot {
    type Err = Error;

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — it is no snapshot, or one of a later version; the message names line and
    /// column.
    fn from_str(text: &str) -> Result<Self> {
        text::read(text)
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

impl Emulator {
    /// All that it remembers, as of now. It is a copy, and takes as much memory again.
    pub fn snapshot(&self) -> EmulatorSnapshot {
        let store = self.store();
        let (accounts, last_write) = store.all();
        let accounts = accounts.iter().map(|(name, account)| (name.clone(), account.clone()));
        EmulatorSnapshot {
            rules: self.settings.rules(),
            last_write,
            accounts: accounts.collect(),
        }
    }

    /// Forgets all that it remembers for what the snapshot has, for all clones. Accounts and other settings stay.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — the snapshot is of [Cosmos DB](Self::cosmos) and the emulator is not, or
    /// the other way round.
    pub fn restore(&self, snapshot: &EmulatorSnapshot) -> Result<()> {
        let (theirs, own) = (snapshot.rules.profile, self.settings.rules().profile);
        if theirs != own {
            return Err(Error::invalid_input(format!(
                "the snapshot is of {theirs}, the emulator is {own}"
            )));
        }
        let accounts = snapshot.accounts.iter();
        let accounts = accounts.map(|(name, account)| (name.clone(), account.clone()));
        self.store_mut().replace_all(accounts.collect(), snapshot.last_write);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_a_bare_name_is_the_present_one() {
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
