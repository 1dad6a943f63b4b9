//! A file that grows by appends, each of which is on the disk before its position is stored.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::failure::{Done, Failure};
use crate::position::create_private;
use crate::rows::compression::Compression;

/// The bytes of rows that are appended together.
pub(crate) const APPENDED: usize = 4 << 20;

/// A file, or the standard output.
pub(crate) struct AppendedFile {
    path: PathBuf,
    compression: Compression,
    /// `None` for the standard output.
    file: Option<File>,
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
            length: 0,
        })
    }

    /// Opens a file that was written up to a length. Cuts off what a crash left behind it.
    ///
    /// # Errors
    /// The file is shorter: it was moved or changed since.
    pub(crate) fn resume(path: &Path, compression: Compression, length: u64) -> Done<Self> {
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
            length,
        })
    }

    /// Appends bytes, and returns once they are on the disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn append(&mut self, bytes: Vec<u8>) -> Done<()> {
        let failed = |error: io::Error| Failure::of_file(&self.path, error);
        let member = self.compression.member(bytes).map_err(failed)?;
        match &mut self.file {
            None => io::stdout().write_all(&member).map_err(failed)?,
            Some(file) => file
                .write_all(&member)
                .and_then(|()| file.sync_data())
                .map_err(failed)?,
        }
        self.length += member.len() as u64;
        Ok(())
    }

    /// Returns the length after the last append.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}
