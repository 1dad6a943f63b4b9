//! The finished backups in a folder, and the chains of their bases.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use azure_table::{DateTime, DynamicEntity};

use crate::backup::manifest::{Manifest, TableEntry};
use crate::backup::sorted_lines::{KeyLine, SortedLines};
use crate::failure::{Done, Failure, InFile as _, fail, usage};
use crate::terminal::Terminal;

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

    /// Opens the finished backups of a folder, the oldest first. Also returns the name of the latest damaged one: they
    /// are left out, with a note.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn all(folder: &Path, terminal: Terminal) -> Done<(Vec<Self>, Option<String>)> {
        let (mut backups, mut damaged) = (Vec::new(), None);
        for name in names(folder)? {
            match Self::open(folder, &name) {
                Ok(backup) => backups.push(backup),
                Err(_) if !Manifest::is_in(&folder.join(&name)) => terminal.note(&format!("{name}: unfinished")),
                Err(error) => {
                    terminal.note(&format!("left out: {error}"));
                    damaged = Some(name);
                }
            }
        }
        backups.sort_by_key(|backup| backup.manifest.end);
        Ok((backups, damaged))
    }

    /// Opens the backup with some tables that a user names: by its name, by a time at which it had ended, or the
    /// latest.
    ///
    /// # Errors
    /// No backup has that name, or had ended by then, or the latest has only some tables and the user names none.
    pub(crate) fn at(folder: &Path, at: Option<&str>, tables: &[String], terminal: Terminal) -> Done<Self> {
        let path = folder.display();
        let by = match at.map(|time| (time, time.parse())) {
            Some((name, _)) if folder.join(name).is_dir() => return Self::open(folder, name),
            Some((_, Ok(time))) => time,
            Some((name, Err(_))) => {
                usage!("{path}: no backup has the name {name:?}, and it is no time such as 2026-01-02T03:04:05Z")
            }
            None => DateTime::MAX,
        };
        let has = |backup: &Self| tables.iter().all(|table| backup.table(table).is_some());
        let (all, damaged) = Self::all(folder, terminal)?;
        let first = all.iter().find(|backup| has(backup));
        let first = first.map_or("none".into(), |first| first.manifest.end.to_string());
        let Some(found) = all.into_iter().rfind(|backup| backup.manifest.end <= by && has(backup)) else {
            fail!("{path}: no backup with these tables had ended by then (the first end: {first})");
        };
        // Names sort as their times do.
        let (name, until) = (found.name(), by.to_string().replace(':', "-"));
        if let Some(damaged) = damaged.filter(|damaged| &**damaged > name && *damaged < until) {
            fail!("{path}: {damaged} is damaged, and later than {name}: --at {name} takes that one");
        }
        if tables.is_empty() && found.manifest.is_subset {
            usage!("{path}: the latest backup has only some tables: --at {name}, or the name of another one");
        }
        Ok(found)
    }

    pub(crate) fn name(&self) -> &str {
        &self.manifest.name
    }

    /// Returns the entry of a table.
    pub(crate) fn table(&self, table: &str) -> Option<&TableEntry> {
        self.manifest.tables.iter().find(|entry| entry.table == table)
    }

    /// Opens the file with the keys of a table.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn keys(&self, table: &str) -> Done<Option<SortedLines<KeyLine>>> {
        let open = |entry: &TableEntry| SortedLines::open(&self.folder.join(&entry.keys_file.name));
        self.table(table).map(open).transpose()
    }

    /// Opens the file with the rows of a table.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn rows(&self, table: &str) -> Done<Option<SortedLines<DynamicEntity>>> {
        let open = |entry: &TableEntry| SortedLines::open(&self.folder.join(&entry.rows_file.name));
        self.table(table).map(open).transpose()
    }

    /// Opens the base of a table of this backup.
    ///
    /// # Errors
    /// The base is absent, damaged or another one.
    pub(crate) fn base(&self, table: &str) -> Done<Option<Self>> {
        let base = self.table(table).and_then(|entry| entry.base.as_ref());
        let Some(base) = base else { return Ok(None) };
        let parent = self.folder.parent().unwrap_or(&self.folder);
        let found = Self::open(parent, &base.backup);
        let found = found.map_err(|error| Failure::new(format!("the base of {}: {error}", self.name())))?;
        if found.sha256 != base.sha256 || found.table(table).is_none() {
            let path = found.folder.display();
            fail!("{path}: it is another backup than the base of {}", self.name());
        }
        Ok(Some(found))
    }

    /// Checks the files of a table.
    ///
    /// # Errors
    /// One of them is damaged.
    pub(crate) fn verify_files(&self, table: &str) -> Done<()> {
        let files = self.table(table).map(|entry| [&entry.keys_file, &entry.rows_file]);
        let mut files = files.into_iter().flatten();
        files.try_for_each(|file| file.verify(&self.folder))
    }

    /// Checks a table before another backup is based on this one: its keys, and that its chain is there.
    ///
    /// # Errors
    /// A file is absent or damaged. `--full` needs none.
    pub(crate) fn verify_as_base(&self, table: &str) -> Done<()> {
        let entry = self.table(table);
        let keys = entry.map_or(Ok(()), |entry| entry.keys_file.verify(&self.folder));
        let checked = keys.and_then(|()| self.chain(table)).map(drop);
        checked.map_err(|error| Failure::new(format!("{error}: `--full` backs up without a base")))
    }

    /// Returns the number of backups that have the rows of a table, of which `all` has the others.
    pub(crate) fn links(&self, table: &str, all: &[Self]) -> usize {
        let base = self.table(table).and_then(|entry| entry.base.as_ref());
        let base = base.and_then(|base| all.iter().find(|backup| backup.name() == base.backup));
        1 + base.map_or(0, |base| base.links(table, all))
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

/// Returns the names of the folders in a folder, sorted: of finished and unfinished backups. An absent folder has none.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn names(folder: &Path) -> Done<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.in_file(folder)?,
    };
    let entries = entries.collect::<Result<Vec<_>, _>>().in_file(folder)?;
    let folders = entries.iter().filter(|entry| entry.path().is_dir());
    let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    Ok(names)
}
