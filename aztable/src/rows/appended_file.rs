//! A file that grows by appends, which are on the disk before their position is stored.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::failure::Done;
use crate::files::open_to_write;
use crate::rows::compression::Compression;

/// A file, or the standard output. Bytes that are written wait for the next append.
pub(crate) struct AppendedFile {
    path: PathBuf,
    compression: Compression,
    /// `None` for the standard output.
    file: Option<File>,
    waiting: Vec<u8>,
    length: u64,
}

impl AppendedFile {
    /// Opens a file that is ours up to a length, or the standard output for `-`.
    ///
    /// # Errors
    /// The errors of [`open_to_write`].
    pub(crate) fn open(path: &Path, compression: Compression, length: u64) -> Done<Self> {
        let is_file = path.as_os_str() != "-";
        let file = is_file.then(|| open_to_write(path, length)).transpose()?;
        Ok(Self {
            path: path.to_owned(),
            compression,
            file,
            waiting: Vec::new(),
            length,
        })
    }

    /// Returns the length after the last append.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    fn append(&mut self) -> io::Result<()> {
        let member = self.compression.member(&self.waiting)?;
        let written = match &mut self.file {
            None => io::stdout().write_all(&member),
            Some(file) => file.write_all(&member),
        };
        let length = member.len() as u64;
        self.waiting.clear();
        written?;
        self.length += length;
        Ok(())
    }

    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }
}

impl Write for AppendedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= self.compression.length_of_append() {
            self.append().map_err(|error| self.named(error))?;
        }
        Ok(bytes.len())
    }

    /// Returns once all bytes are on the disk. A compressed file is not empty, though its contents are.
    fn flush(&mut self) -> io::Result<()> {
        let mut appended = Ok(());
        if !self.waiting.is_empty() || self.length == 0 {
            appended = self.append();
        }
        let synced = match self.file.as_ref().map(File::sync_data) {
            // A device or a pipe is no disk.
            Some(Err(error)) if error.kind() != ErrorKind::InvalidInput => Err(error),
            _ => Ok(()),
        };
        appended.and(synced).map_err(|error| self.named(error))
    }
}
