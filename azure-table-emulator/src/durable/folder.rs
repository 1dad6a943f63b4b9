//! The folder of a durable emulator: its files, its lock, its format.
//!
//! Defines [`EmulatorFolder`], the names in the folder, and the errors that name it. A folder has two files:
//!
//! - `tables-1.redb`: the tables (`durable/database.rs`), with the format in its name, so that any version of this
//!   crate can tell a newer format from damage
//! - `lock`: locked while a process has the folder open, with the number of that process
//!
//! The tables of a new folder are created under a temporary name: a crash leaves no incomplete file.

#![expect(
    clippy::incompatible_msrv,
    reason = "the feature `durable` needs Rust 1.90, as redb does"
)]

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use azure_table_wire::value::datetime::DateTime;
use redb::StorageBackend;
use redb::backends::FileBackend;

use crate::durable::database::{Database, FORMAT, damaged};
use crate::rules::ServiceRules;
use crate::snapshot::{at, folder_of, keep_name};
use crate::store::account::Accounts;

const LOCK: &str = "lock";
/// The text before and after the format number.
const TABLES: (&str, &str) = ("tables-", ".redb");
/// The suffix of tables that are being created.
const NEW: &str = ".new";

/// A verified folder of a durable emulator, with the number of its tables and entities. Feature `emulator-durable`.
///
/// [`check`](Self::check) verifies a folder, [`upgrade`](Self::upgrade) converts it to the format of this version.
/// [`Emulator::open`](crate::Emulator::open) opens it for use. To copy tables to or from a folder, use an
/// [`EmulatorSnapshot`](crate::EmulatorSnapshot).
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("azure-table-check-{}", std::process::id()));
/// use azure_table::Emulator;
/// use azure_table::emulator::{EmulatorFolder, SyncPolicy};
/// drop(Emulator::open(&folder, SyncPolicy::Always)?);
/// let found = EmulatorFolder::check(&folder)?;
/// assert_eq!((found.format(), found.table_count(), found.entity_count()), (1, 0, 0));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatorFolder {
    format: u32,
    accounts: Vec<String>,
    tables: usize,
    entities: usize,
    bytes: u64,
}

impl EmulatorFolder {
    /// Verifies a folder: every checksum, and every account, table and entity.
    ///
    /// Recovers the folder first, as opening it does, if its last process was killed. Blocks until all is read.
    ///
    /// # Errors
    /// - [`NotFound`](io::ErrorKind::NotFound): it is not an emulator folder.
    /// - [`InvalidData`](io::ErrorKind::InvalidData): it is damaged. The text describes the damage.
    /// - [`Unsupported`](io::ErrorKind::Unsupported): it has a newer format. The text names both.
    /// - [`ResourceBusy`](io::ErrorKind::ResourceBusy): a process has it open.
    /// - The folder cannot be read or written.
    pub fn check(folder: impl AsRef<Path>) -> io::Result<Self> {
        let folder = folder.as_ref();
        let no_folder = || {
            let why = format!("{}: not an emulator folder", folder.display());
            io::Error::new(io::ErrorKind::NotFound, why)
        };
        if !folder.exists() {
            return Err(no_folder());
        }
        let file = tables(folder)?.ok_or_else(no_folder)?;
        let _lock = Lock::of(folder)?;
        let (database, accounts, _) = read(folder, &file, None, true)?;
        database.close().map_err(|e| at(folder, &e))?;
        let tables = || accounts.values().flat_map(|account| account.tables.values());
        Ok(Self {
            format: FORMAT,
            tables: tables().count(),
            entities: tables().map(|table| table.rows.len()).sum(),
            bytes: fs::metadata(&file).map_err(|e| at(&file, &e))?.len(),
            accounts: accounts.keys().cloned().collect(),
        })
    }

    /// Converts a folder to the format of this version, and verifies it.
    ///
    /// Only one format exists so far, so each folder either has the current format or is rejected as newer.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check).
    pub fn upgrade(folder: impl AsRef<Path>) -> io::Result<Self> {
        Self::check(folder)
    }

    /// Returns the number of the folder's format.
    pub fn format(&self) -> u32 {
        self.format
    }

    /// Returns the names of the accounts that were written to, in order.
    pub fn accounts(&self) -> impl Iterator<Item = &str> {
        self.accounts.iter().map(String::as_str)
    }

    /// Returns the number of tables in all accounts.
    pub fn table_count(&self) -> usize {
        self.tables
    }

    /// Returns the number of entities in all tables.
    pub fn entity_count(&self) -> usize {
        self.entities
    }

    /// Returns the size of the tables on the disk in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The lock of a folder, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(File);

impl Lock {
    fn of(folder: &Path) -> io::Result<Self> {
        let path = folder.join(LOCK);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(|e| at(&path, &e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // If the lock prevents others from reading, the number stays unknown.
                let _ = file.read_to_string(&mut holder);
                let process = match holder.trim() {
                    "" => "another process".to_owned(),
                    number => format!("process {number}"),
                };
                let why = format!("{}: {process} has this folder open", folder.display());
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, why));
            }
            Err(TryLockError::Error(e)) => return Err(at(&path, &e)),
        }
        let number = std::process::id();
        let written = file.set_len(0).and_then(|()| writeln!(file, "{number}"));
        written.map_err(|e| at(&path, &e))?;
        Ok(Self(file))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The next holder writes its own number. Closing the file would not do: until its exec, a process that this one
        // starts has the file open too.
        let _ = self.0.set_len(0).and(self.0.unlock());
    }
}

/// Opens a folder and reads its state. Creates the folder if it is missing.
pub(super) fn open(
    folder: &Path,
    rules: &'static ServiceRules,
    is_synced: bool,
) -> io::Result<(Lock, Database, Accounts, DateTime)> {
    create_folder(folder).map_err(|e| at(folder, &e))?;
    // Checks the folder before it creates the lock, so that a foreign folder stays unchanged.
    tables(folder)?;
    let lock = Lock::of(folder)?;
    let file = match tables(folder)? {
        Some(file) => file,
        None => create(folder, rules)?,
    };
    let (database, accounts, last_write) = read(folder, &file, Some(rules), is_synced)?;
    Ok((lock, database, accounts, last_write))
}

/// Creates a folder and its parents if they are missing, and syncs their names to the disk.
fn create_folder(folder: &Path) -> io::Result<()> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    fs::create_dir_all(folder)?;
    missing.into_iter().try_for_each(|folder| keep_name(folder_of(folder)))
}

/// Returns the path of the tables in a folder, or `None` in an empty one. Other files and newer tables are errors.
fn tables(folder: &Path) -> io::Result<Option<PathBuf>> {
    let mut found = None;
    let mut other = None;
    for entry in fs::read_dir(folder).map_err(|e| at(folder, &e))? {
        let entry = entry.map_err(|e| at(folder, &e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let format = name.strip_prefix(TABLES.0).and_then(|rest| rest.strip_suffix(TABLES.1));
        match format.map(str::parse::<u32>) {
            Some(Ok(FORMAT)) => found = Some(entry.path()),
            Some(Ok(format)) => {
                let folder = folder.display();
                let why = format!(
                    "{folder}: the folder has format {format}, this version of azure-table reads format {FORMAT}; use \
                     a newer one"
                );
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
            // A mounted file system may have `lost+found` from the start.
            _ if name == LOCK || name.ends_with(NEW) || name == "lost+found" => {}
            _ => other = Some(name),
        }
    }
    match (found, other) {
        (None, Some(other)) => {
            let why = format!(
                "{}: not an emulator folder, and not empty: it contains {other:?}",
                folder.display()
            );
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
        (found, _) => Ok(found),
    }
}

fn create(folder: &Path, rules: &'static ServiceRules) -> io::Result<PathBuf> {
    let path = folder.join(format!("{}{FORMAT}{}", TABLES.0, TABLES.1));
    let new = folder.join(format!("{}{FORMAT}{}{NEW}", TABLES.0, TABLES.1));
    let create = || {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(&new)?;
        Database::create(backend(file)?, rules)?;
        fs::rename(&new, &path)?;
        keep_name(folder)
    };
    create().map_err(|e| at(folder, &e))?;
    Ok(path)
}

fn read(
    folder: &Path,
    file: &Path,
    rules: Option<&'static ServiceRules>,
    is_synced: bool,
) -> io::Result<(Database, Accounts, DateTime)> {
    let open = || {
        let opened = OpenOptions::new().read(true).write(true).open(file)?;
        if opened.metadata()?.len() == 0 {
            return Err(damaged("the file of its tables is empty"));
        }
        let storage = backend(opened)?;
        if is_synced {
            Database::open(storage, rules)
        } else {
            Database::open(Unsynced(storage), rules)
        }
    };
    // redb reports most damaged pages as errors, but panics at some.
    let opened = catch_unwind(AssertUnwindSafe(open)).unwrap_or_else(|_| Err(damaged("its tables cannot be read")));
    opened.map_err(|e| match e.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => damaged(format!(
            "{}: the folder is damaged: {e}; restore it from a copy or a snapshot",
            folder.display()
        )),
        _ => at(folder, &e),
    })
}

fn backend(file: File) -> io::Result<FileBackend> {
    FileBackend::new(file).map_err(io::Error::other)
}

/// A file that is synced only when it is closed.
#[derive(Debug)]
struct Unsynced(FileBackend);

impl StorageBackend for Unsynced {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.sync_data()?;
        self.0.close()
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::guid::Guid;

    use super::*;

    /// A process that is being started has copies of all open files.
    #[test]
    fn dropped_lock_is_free_while_another_process_has_its_file_open() {
        let folder = std::env::temp_dir().join(format!("azure-table-{}", Guid::random()));
        fs::create_dir(&folder).unwrap();
        let lock = Lock::of(&folder).unwrap();
        let _copy = lock.0.try_clone().unwrap();
        assert!(Lock::of(&folder).is_err());
        drop(lock);
        Lock::of(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
