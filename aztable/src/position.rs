//! The position of a long command in a file, from which the same command resumes.
//!
//! A position belongs to one job: account, table, filter and file. A hash of them is in the file, and a position of
//! another job is an error.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::failure::{Done, InFile as _, fail, usage};
use crate::files;

/// The time between two positions that are stored.
const INTERVAL: Duration = Duration::from_secs(1);

/// The contents of the file.
#[derive(Serialize, Deserialize)]
struct Stored {
    job: String,
    /// The state of a command with several parts.
    run: Value,
    position: Value,
}

/// A file with the position of a job.
#[derive(Clone)]
pub(crate) struct PositionFile {
    path: PathBuf,
    job: String,
    /// The state of a command with several parts, which is stored beside the position of a part.
    pub(crate) run: Value,
    saved: Option<Instant>,
    /// An earlier run has stored a position.
    pub(crate) is_resumed: bool,
}

impl PositionFile {
    /// Names the file of a job. `parts` are all that the position depends on.
    pub(crate) fn new(path: impl Into<PathBuf>, parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self {
            path: path.into(),
            job: hexadecimal(&hash.finalize()),
            run: Value::Null,
            saved: None,
            is_resumed: false,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the stored position, or `None` if the job begins.
    ///
    /// # Errors
    /// The file cannot be read, or belongs to another job.
    pub(crate) fn load<P: DeserializeOwned>(&mut self) -> Done<Option<P>> {
        let json = match fs::read(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            json => json.in_file(&self.path)?,
        };
        let stored: Stored = serde_json::from_slice(&json).in_file(&self.path)?;
        if stored.job != self.job {
            let path = self.path.display();
            fail!(
                "{path}: a position of another account, table, filter or file: name another --position, or delete it"
            );
        }
        (self.run, self.is_resumed) = (stored.run, true);
        serde_json::from_value(stored.position).in_file(&self.path).map(Some)
    }

    /// Returns the position from which a command resumes, as its user says, or `None` for one that begins.
    ///
    /// # Errors
    /// The errors of [`load`](Self::load) and [`check`](Self::check).
    pub(crate) fn resumed<P: DeserializeOwned>(&mut self, is_requested: bool) -> Done<Option<P>> {
        let position = self.load()?;
        Self::check(&self.path, position.is_some(), is_requested)?;
        Ok(position)
    }

    /// Checks that a command resumes where it has a position.
    ///
    /// # Errors
    /// The position exists and the user does not resume, or it is absent and the user does.
    pub(crate) fn check(path: &Path, is_there: bool, is_requested: bool) -> Done<()> {
        let path = path.display();
        match (is_there, is_requested) {
            (true, false) => usage!("{path} is the position of an unfinished run: add --resume={path}, or delete it"),
            (false, true) => usage!("no position {path}: to begin, leave out --resume"),
            _ => Ok(()),
        }
    }

    /// Checks that positions can be stored, before there is one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn check_writable(&self) -> Done<()> {
        let new = files::with_ending(&self.path, files::NEW);
        // A run that was killed may have left one before the first position.
        let is_position = |bytes: Vec<u8>| bytes.is_empty() || bytes.starts_with(b"{\"job\":");
        let is_ours = self.is_resumed || fs::read(&new).is_ok_and(is_position);
        files::check_writable(&new, is_ours, files::NOT_OURS)?;
        let failed = |error| format!("no position can be stored: {error}: name another --position FILE");
        let written = files::open_to_write(&new, 0).and_then(|_| files::delete(&new));
        written.map_err(failed).in_file(&self.path)
    }

    /// Returns `true` if the last position was stored some time ago.
    pub(crate) fn is_due(&self) -> bool {
        self.saved.is_none_or(|saved| saved.elapsed() >= INTERVAL)
    }

    /// Replaces the stored position. A crash leaves the old or the new one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn save(&mut self, position: impl Serialize) -> Done<()> {
        let stored = Stored {
            job: self.job.clone(),
            run: self.run.clone(),
            position: serde_json::to_value(position)?,
        };
        files::replace(&self.path, &serde_json::to_vec(&stored)?)?;
        self.saved = Some(Instant::now());
        Ok(())
    }

    /// Deletes the file, after the end of the job.
    ///
    /// # Errors
    /// The file cannot be deleted.
    pub(crate) fn delete(&self) -> Done<()> {
        files::delete(&files::with_ending(&self.path, files::NEW))?;
        files::delete(&self.path)
    }
}

/// Returns a hash as text.
pub(crate) fn hexadecimal(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}
