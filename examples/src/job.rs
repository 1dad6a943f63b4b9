//! Jobs that a person interrupts and resumes: Ctrl-C, and the position in a file.

use std::fs::{self, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use azure_table::Continuation;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Tells a job to stop at its next good place, after the first Ctrl-C. The second Ctrl-C ends the process.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for Ctrl-C. Call it in a tokio runtime.
    pub fn listen() -> Self {
        let interrupt = Self::default();
        let flag = Arc::clone(&interrupt.0);
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                eprintln!("\nstopping at the next position; Ctrl-C again stops at once");
                flag.store(true, Ordering::Relaxed);
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        });
        interrupt
    }

    /// Returns whether Ctrl-C was pressed.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The position of a job that reads pages and writes a file.
#[derive(Serialize, Deserialize, Default, Debug)]
pub struct PagePosition {
    /// The number of rows so far.
    pub rows: usize,
    /// The length of the file that is written. A crash may leave half a page behind it.
    pub bytes: u64,
    /// The start, the next page, or the end.
    pub continuation: Continuation,
}

/// A file with the position of a job, as JSON.
#[derive(Clone, Debug)]
pub struct PositionFile(PathBuf);

impl PositionFile {
    /// Names the file. A job that starts fresh has none.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the stored position, or `None` if the job starts fresh.
    ///
    /// # Errors
    /// The file cannot be read, or is of another job.
    pub fn load<P: DeserializeOwned>(&self) -> Result<Option<P>> {
        match fs::read(&self.0) {
            Ok(json) => Ok(Some(serde_json::from_slice(&json)?)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the stored position. A crash leaves the old or the new one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, position: &impl Serialize) -> Result<()> {
        let mut new = self.0.clone().into_os_string();
        new.push(".new");
        let mut file = fs::File::create(&new)?;
        file.write_all(&serde_json::to_vec(position)?)?;
        file.sync_all()?;
        fs::rename(new, &self.0)
    }

    /// Deletes the file, after the end of the job.
    ///
    /// # Errors
    /// The file cannot be deleted.
    pub fn delete(&self) -> Result<()> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Writes `lines` to a file behind its first `length` bytes, and returns its new length.
///
/// Cuts off the rest of a crash behind the stored position.
///
/// # Errors
/// The file cannot be written, or is shorter than `length`: it was moved or changed since the position was stored.
pub fn append(path: &Path, length: u64, lines: &[u8]) -> Result<u64> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let found = file.metadata()?.len();
    if found < length {
        let path = path.display();
        let text =
            format!("{path} has {found} bytes, its stored position is {length}: bring it back, or delete the position");
        return Err(Error::other(text));
    }
    file.set_len(length)?;
    file.write_all(lines)?;
    file.sync_data()?;
    Ok(length + lines.len() as u64)
}
