//! A file that grows by appends, which are on the disk before their position is stored.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Done, InFile as _, fail};
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
        let is_file = path.as_os_str() != "-";
        let file = is_file.then(|| create_private(path)).transpose()?;
        Ok(Self::at(path, compression, file, 0))
    }

    fn at(path: &Path, compression: Compression, file: Option<File>, length: u64) -> Self {
        Self {
            path: path.to_owned(),
            compression,
            file,
            waiting: Vec::new(),
            length,
        }
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
        let mut file = OpenOptions::new().write(true).open(path).in_file(path)?;
        let found = file.metadata().in_file(path)?.len();
        if found < length {
            let path = path.display();
            fail!("{path}: {found} bytes, its position is {length}: bring the file back, or delete the position");
        }
        file.set_len(length).in_file(path)?;
        file.seek(SeekFrom::End(0)).in_file(path)?;
        Ok(Self::at(path, compression, Some(file), length))
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
