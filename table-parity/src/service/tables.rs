//! The file that names the tables of a run: each before it is created, until it is deleted.
//!
//! It has the names, one per line, their prefix, the properties of the service while they are changed, and a salted
//! hash of the account's address: a cleanup of another account would find no table, and lose the names. The file is
//! replaced as a whole, so that a kill leaves the old one or the new one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use azure_table::Guid;
use sha2::{Digest as _, Sha256};

/// The first line.
const HEAD: &str =
    "# Tables of a run of table-parity, which deletes them at its end. If it was killed, this deletes them:";
const COMMAND: &str = "the command of the run, with --cleanup ";
/// The beginning of the line with the salt and the hash of the account's address.
const ACCOUNT: &str = "# account ";
/// The beginning of the line with the beginning of every name of the run.
const PREFIX: &str = "# prefix ";
/// The beginning of the line with the properties to restore, as JSON text.
const PROPERTIES: &str = "# properties ";

#[derive(Debug)]
pub(crate) struct Tables {
    path: PathBuf,
    /// The salt and the hash of the account's address.
    account: String,
    prefix: Option<String>,
    noted: Mutex<Noted>,
}

#[derive(Clone, Debug, Default)]
struct Noted {
    names: BTreeSet<String>,
    properties: Option<String>,
}

impl Tables {
    /// Creates the file for a run on the account at this address, whose tables have this prefix. It must not exist,
    /// because it may name the tables of another run.
    pub(crate) fn create(path: &Path, address: &str, prefix: &str) -> io::Result<Self> {
        File::create_new(path).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists => io::Error::other(
                "the file exists, and may name tables of another run: choose another --tables, or delete them with \
                 --cleanup",
            ),
            _ => e,
        })?;
        let salt = Guid::random().to_string();
        let tables = Self::at(path, hashed(&salt, address), Some(prefix), Noted::default());
        tables.write(&Noted::default())?;
        Ok(tables)
    }

    /// Reads the file of an earlier run, which must have been on the account at this address.
    pub(crate) fn open(path: &Path, address: &str) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        let mut lines = text.lines();
        let account = text.lines().find_map(|line| line.strip_prefix(ACCOUNT));
        let (Some(HEAD), Some(account)) = (lines.next(), account) else {
            return Err(io::Error::other("it is not a file of tables of this program"));
        };
        let salt = account.split(' ').next().unwrap_or_default();
        if hashed(salt, address) != account {
            return Err(io::Error::other(
                "its tables belong to another account: set the connection string of that run. Nothing was sent",
            ));
        }
        let mut noted = Noted::default();
        for line in lines.filter(|line| !line.is_empty()) {
            if let Some(properties) = line.strip_prefix(PROPERTIES) {
                noted.properties = Some(serde_json::from_str(properties)?);
            } else if !line.starts_with('#') {
                // A name of Cosmos DB may have any characters.
                noted.names.insert(serde_json::from_str(line)?);
            }
        }
        let prefix = text.lines().find_map(|line| line.strip_prefix(PREFIX));
        Ok(Self::at(path, account.to_owned(), prefix, noted))
    }

    fn at(path: &Path, account: String, prefix: Option<&str>, noted: Noted) -> Self {
        Self {
            path: path.to_owned(),
            account,
            prefix: prefix.map(str::to_owned),
            noted: Mutex::new(noted),
        }
    }

    /// Returns the path as it was given: an absolute one may contain the name of the user.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the command that deletes the tables and restores the properties of the file.
    pub(crate) fn command(&self) -> String {
        format!("{COMMAND}{:?}", self.path)
    }

    pub(crate) fn prefix(&self) -> Option<&str> {
        self.prefix.as_deref()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.noted().names.iter().cloned().collect()
    }

    /// Returns the properties to restore.
    pub(crate) fn properties(&self) -> Option<String> {
        self.noted().properties.clone()
    }

    /// Adds a name. Returns `true` if it is new.
    pub(crate) fn add(&self, name: &str) -> io::Result<bool> {
        self.change(|noted| noted.names.insert(name.to_owned()))
    }

    /// Removes a name. Returns `true` if it was there.
    pub(crate) fn remove(&self, name: &str) -> io::Result<bool> {
        self.change(|noted| noted.names.remove(name))
    }

    pub(crate) fn set_properties(&self, properties: Option<String>) -> io::Result<bool> {
        self.change(|noted| {
            let is_new = noted.properties != properties;
            noted.properties = properties;
            is_new
        })
    }

    /// Returns `true` if no table and no properties are noted.
    pub(crate) fn is_clean(&self) -> bool {
        let noted = self.noted();
        noted.names.is_empty() && noted.properties.is_none()
    }

    /// Removes the file if it names nothing.
    pub(crate) fn finish(&self) -> io::Result<bool> {
        let is_clean = self.is_clean();
        if is_clean {
            fs::remove_file(&self.path)?;
        }
        Ok(is_clean)
    }

    /// Writes the file if the change returns `true`.
    fn change(&self, change: impl FnOnce(&mut Noted) -> bool) -> io::Result<bool> {
        let mut noted = self.noted();
        let is_changed = change(&mut noted);
        if is_changed {
            self.write(&noted)?;
        }
        Ok(is_changed)
    }

    fn write(&self, noted: &Noted) -> io::Result<()> {
        let json = |text: &String| serde_json::to_string(text).map_err(io::Error::from);
        let mut lines = vec![
            HEAD.to_owned(),
            format!("#   {COMMAND}{:?}", std::path::absolute(&self.path)?),
            format!("{ACCOUNT}{}", self.account),
        ];
        lines.extend(self.prefix().map(|prefix| format!("{PREFIX}{prefix}")));
        if let Some(properties) = &noted.properties {
            lines.push(format!("{PROPERTIES}{}", json(properties)?));
        }
        for name in &noted.names {
            lines.push(json(name)?);
        }
        let mut new = self.path.clone().into_os_string();
        new.push(".new");
        let mut file = File::create(&new)?;
        file.write_all(format!("{}\n", lines.join("\n")).as_bytes())?;
        file.sync_all()?;
        fs::rename(new, &self.path)
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a salt and the hash of an address with it.
fn hashed(salt: &str, address: &str) -> String {
    let hash = Sha256::digest(format!("{salt} {address}"));
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{salt} {hash}")
}
