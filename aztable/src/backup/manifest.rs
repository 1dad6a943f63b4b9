//! The manifest of a backup: what it has, when it was read, and the checksums of its files.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use azure_table::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::failure::{Done, Failure, InFile as _};
use crate::files::{self, sync_folder};
use crate::position::hexadecimal;
use crate::terminal::counted;

/// The file of a manifest in the folder of its backup.
const NAME: &str = "manifest.json";
/// The version of the format. Another one is an error.
const FORMAT: u64 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    format: u64,
    /// The version of the program.
    aztable: String,
    /// The name of the backup: that of its folder.
    pub(crate) name: String,
    /// The endpoint of the account, or `local:DIR`.
    pub(crate) account: String,
    /// It has only the tables that the user named.
    pub(crate) is_subset: bool,
    /// The times are of the clock of the machine that ran the backup.
    pub(crate) start: DateTime,
    pub(crate) end: DateTime,
    pub(crate) requests: u64,
    /// The charge of Cosmos DB.
    pub(crate) request_units: u64,
    pub(crate) tables: Vec<TableEntry>,
}

/// A table of a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TableEntry {
    pub(crate) table: String,
    /// Each row existed at some time between `start` and `end`.
    pub(crate) start: DateTime,
    pub(crate) end: DateTime,
    /// The number of rows of the table.
    pub(crate) rows: u64,
    /// The number of rows that the program cannot hold: the backup lacks them.
    pub(crate) rejected: u64,
    /// The number of rows in the file of rows.
    pub(crate) stored_rows: u64,
    /// The bytes of the rows in the file of rows, before compression.
    pub(crate) stored_bytes: u64,
    /// The backup that has the other rows.
    pub(crate) base: Option<Base>,
    pub(crate) rows_file: FileEntry,
    pub(crate) keys_file: FileEntry,
}

/// A backup on which an incremental one is based.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Base {
    pub(crate) backup: String,
    /// The checksum of its manifest.
    pub(crate) sha256: String,
}

/// A file of a backup.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

impl Manifest {
    /// Begins the manifest of a backup.
    pub(crate) fn new(name: String, account: String, is_subset: bool, start: DateTime) -> Self {
        Self {
            format: FORMAT,
            aztable: env!("CARGO_PKG_VERSION").into(),
            name,
            account,
            is_subset,
            start,
            end: start,
            requests: 0,
            request_units: 0,
            tables: Vec::new(),
        }
    }

    /// Returns whether a folder has a manifest: its backup is finished.
    pub(crate) fn is_in(folder: &Path) -> bool {
        folder.join(NAME).exists()
    }

    /// Reads the manifest of a folder, and its checksum.
    ///
    /// # Errors
    /// It is absent, damaged, of another format or of another folder.
    pub(crate) fn load(folder: &Path) -> Done<(Self, String)> {
        let path = folder.join(NAME);
        let damaged = |why: &str| Failure::of_file(&path, format!("damaged: {why}"));
        let json = fs::read(&path).in_file(&path)?;
        let stored: Value = serde_json::from_slice(&json).map_err(|error| damaged(&error.to_string()))?;
        let manifest = &stored["manifest"];
        let sha256 = checksum(manifest);
        if stored["sha256"] != sha256 {
            return Err(damaged("its checksum differs"));
        }
        if manifest["format"] != FORMAT {
            let text = format!("format {}, this version of aztable reads {FORMAT}", manifest["format"]);
            return Err(Failure::of_file(&path, text));
        }
        let manifest = Self::deserialize(manifest).map_err(|error| damaged(&error.to_string()))?;
        match folder.file_name().is_some_and(|name| *name == *manifest.name) {
            true => Ok((manifest, sha256)),
            false => Err(damaged(&format!("it belongs to the folder {}", manifest.name))),
        }
    }

    /// Finishes a backup. All its files are on the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn store(&self, folder: &Path) -> Done<()> {
        let manifest = serde_json::to_value(self)?;
        let stored = json!({ "sha256": checksum(&manifest), "manifest": manifest });
        sync_folder(folder)?;
        files::replace(&folder.join(NAME), &serde_json::to_vec_pretty(&stored)?)?;
        sync_folder(folder)
    }
}

/// Says how many rows a backup lacks, because they could not be read.
pub(crate) fn lacks(rows: u64) -> String {
    match rows {
        0 => String::new(),
        rows => format!(", without {} that could not be read", counted(rows, "row")),
    }
}

fn checksum(manifest: &Value) -> String {
    hexadecimal(&Sha256::digest(manifest.to_string()))
}

impl FileEntry {
    /// Names a file whose contents are not known.
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Describes a file as it is.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn of(folder: &Path, name: &str) -> Done<Self> {
        let path = folder.join(name);
        let failed = |error| Failure::of_file(&path, error);
        let mut file = BufReader::with_capacity(1 << 16, File::open(&path).map_err(failed)?);
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        while let read = file.fill_buf().map_err(failed)?.len()
            && read > 0
        {
            hash.update(file.buffer());
            bytes += read as u64;
            file.consume(read);
        }
        Ok(Self {
            name: name.to_owned(),
            bytes,
            sha256: hexadecimal(&hash.finalize()),
        })
    }

    /// Checks the contents of the file.
    ///
    /// # Errors
    /// It is absent, of another length, or of another checksum.
    pub(crate) fn verify(&self, folder: &Path) -> Done<()> {
        let found = Self::of(folder, &self.name)?;
        let text = match found {
            found if found.bytes != self.bytes => {
                format!("damaged: {} bytes, the manifest has {}", found.bytes, self.bytes)
            }
            found if found.sha256 != self.sha256 => "damaged: its checksum differs".into(),
            _ => return Ok(()),
        };
        Err(Failure::of_file(&folder.join(&self.name), text))
    }
}
