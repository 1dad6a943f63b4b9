//! A file that grows by appends, which are on the disk before their position is stored.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Done, Failure};
use crate::position::create_private;
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
    /// Creates a file, or opens the standard output for `-`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn create(path: &Path, compression: Compression) -> Done<Self> {
        let file = match path.as_os_str() == "-" {
            true => None,
            false => Some(create_private(path)?),
        };
        Ok(Self {
            path: path.to_owned(),
            compression,
            file,
            waiting: Vec::new(),
            length: 0,
        })
    }

    /// Opens a file that was written up to a length. Cuts off what a crash left behind it. Without a length, the file
    /// is created.
    ///
    /// # Errors
    /// The file is shorter: it was moved or changed since.
    pub(crate) fn resume(path: &Path, compression: Compression, length: u64) -> Done<Self> {
        if length == 0 {
            return Self::create(path, compression);
        }
        let failed = |error: io::Error| Failure::of_file(path, error);
        let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?.len();
        if found < length {
            let text = format!("{found} bytes, its position is {length}: bring the file back, or delete the position");
            return Err(Failure::of_file(path, text));
        }
        file.set_len(length).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            compression,
            file: Some(file),
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
        let synced = self.file.as_ref().map_or(Ok(()), File::sync_data);
        appended.and(synced).map_err(|error| self.named(error))
    }
}
