//! The finished backups in a folder, and the chains of their bases.

use std::fs;
use std::path::{Path, PathBuf};

use azure_table::DateTime;

use crate::backup::manifest::{Manifest, TableEntry};
use crate::failure::{Done, Failure};

/// A finished backup.
#[derive(Clone)]
pub(crate) struct StoredBackup {
    pub(crate) folder: PathBuf,
    pub(crate) manifest: Manifest,
    /// The checksum of the manifest.
    pub(crate) sha256: String,
}

impl StoredBackup {
    /// Opens a backup by its name.
    ///
    /// # Errors
    /// It is absent, unfinished or damaged.
    pub(crate) fn open(folder: &Path, name: &str) -> Done<Self> {
        let folder = folder.join(name);
        let (manifest, sha256) = Manifest::load(&folder)?;
        Ok(Self {
            folder,
            manifest,
            sha256,
        })
    }

    /// Opens the finished backups of a folder, the oldest first.
    ///
    /// # Errors
    /// One of them is damaged.
    pub(crate) fn all(folder: &Path) -> Done<Vec<Self>> {
        let names = names(folder)?.into_iter();
        let finished = names.filter(|name| Manifest::is_in(&folder.join(name)));
        let mut backups: Vec<_> = finished.map(|name| Self::open(folder, &name)).collect::<Done<_>>()?;
        backups.sort_by_key(|backup| backup.manifest.end);
        Ok(backups)
    }

    /// Opens the backup with some tables that a user names: by its name, by a time at which it had ended, or the
    /// latest.
    ///
    /// # Errors
    /// No backup has that name, or had ended by then, or the latest has only some tables and the user names none.
    pub(crate) fn at(folder: &Path, at: Option<&str>, tables: &[String]) -> Done<Self> {
        let by = match at {
            Some(name) if folder.join(name).is_dir() => return Self::open(folder, name),
            Some(time) => time.parse().map_err(|_| {
                let text = format!("no backup has the name {time:?}, and it is no time such as 2026-01-02T03:04:05Z");
                Failure::usage(format!("{}: {text}", folder.display()))
            })?,
            None => DateTime::MAX,
        };
        let has = |backup: &Self| tables.iter().all(|table| backup.table(table).is_some());
        let found = Self::all(folder)?
            .into_iter()
            .rfind(|backup| backup.manifest.end <= by && has(backup));
        match found {
            None => Err(Failure::of_file(
                folder,
                "no backup with these tables had ended by then",
            )),
            Some(found) if tables.is_empty() && found.manifest.is_subset => {
                let name = found.name();
                let text = format!("the latest backup has only some tables: --at {name}, or the name of another one");
                Err(Failure::usage(format!("{}: {text}", folder.display())))
            }
            Some(found) => Ok(found),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Returns the entry of a table.
    pub(crate) fn table(&self, table: &str) -> Option<&TableEntry> {
        self.manifest.tables.iter().find(|entry| entry.table == table)
    }

    /// Opens the base of a table of this backup.
    ///
    /// # Errors
    /// The base is absent, damaged or another one.
    pub(crate) fn base(&self, table: &str) -> Done<Option<Self>> {
        let Some(base) = self.table(table).and_then(|entry| entry.base.as_ref()) else {
            return Ok(None);
        };
        let parent = self.folder.parent().unwrap_or(&self.folder);
        let found = Self::open(parent, &base.backup);
        let found = found.map_err(|error| Failure::new(format!("the base of {}: {error}", self.name())))?;
        match found.sha256 == base.sha256 && found.table(table).is_some() {
            true => Ok(Some(found)),
            false => Err(Failure::of_file(
                &found.folder,
                format!("it is another backup than the base of {}", self.name()),
            )),
        }
    }

    /// Checks the files of a table.
    ///
    /// # Errors
    /// One of them is damaged.
    pub(crate) fn verify_files(&self, table: &str) -> Done<()> {
        let files = self.table(table).map(|entry| [&entry.keys_file, &entry.rows_file]);
        files
            .into_iter()
            .flatten()
            .try_for_each(|file| file.verify(&self.folder))
    }

    /// Checks a table before another backup is based on this one: its keys, and that its chain is there.
    ///
    /// # Errors
    /// A file is absent or damaged. `--full` needs none.
    pub(crate) fn verify_as_base(&self, table: &str) -> Done<()> {
        let keys = self
            .table(table)
            .map_or(Ok(()), |entry| entry.keys_file.verify(&self.folder));
        let checked = keys.and_then(|()| self.chain(table));
        checked.map_err(|error| Failure::new(format!("{error}: `--full` backs up without a base")))?;
        Ok(())
    }

    /// Opens this backup and those that have the other rows of a table, the newest first.
    ///
    /// # Errors
    /// The errors of [`base`](Self::base).
    pub(crate) fn chain(&self, table: &str) -> Done<Vec<Self>> {
        let mut chain = vec![self.clone()];
        while let Some(base) = chain.last().map(|last| last.base(table)).transpose()?.flatten() {
            chain.push(base);
        }
        Ok(chain)
    }
}

/// Returns the names of the folders in a folder, sorted: of finished and unfinished backups.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn names(folder: &Path) -> Done<Vec<String>> {
    let failed = |error| Failure::of_file(folder, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
