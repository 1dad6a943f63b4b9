//! Compressed files. Each append is a member of its own, so that a file can be cut at any of them and continued.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use indicatif::ProgressBar;

use crate::failure::{Done, InFile as _};

/// The level of Zstandard: its own default.
const ZSTANDARD_LEVEL: i32 = 3;
/// The binary logarithm of the bytes that a reader holds, one block: a chain of backups has many readers.
const ZSTANDARD_WINDOW: u32 = 17;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstandard,
}

impl Compression {
    /// Splits the ending of a compression from the name of a file.
    pub(crate) fn of(name: &str) -> (&str, Self) {
        match (name.strip_suffix(".gz"), name.strip_suffix(".zst")) {
            (Some(name), _) => (name, Self::Gzip),
            (_, Some(name)) => (name, Self::Zstandard),
            _ => (name, Self::None),
        }
    }

    /// Returns bytes as a member of a compressed file.
    ///
    /// # Errors
    /// The compressor fails.
    pub(crate) fn member(self, bytes: &[u8]) -> io::Result<Cow<'_, [u8]>> {
        Ok(match self {
            Self::None => bytes.into(),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(bytes)?;
                encoder.finish()?.into()
            }
            Self::Zstandard => {
                let mut encoder = zstd::Encoder::new(Vec::new(), ZSTANDARD_LEVEL)?;
                encoder.window_log(ZSTANDARD_WINDOW)?;
                encoder.write_all(bytes)?;
                encoder.finish()?.into()
            }
        })
    }

    /// Returns the number of bytes that are appended together: of a member, or of what stays in a cache of the CPU.
    pub(crate) fn length_of_append(self) -> usize {
        if self == Self::None { 256 << 10 } else { 4 << 20 }
    }

    /// Returns a reader of all members.
    ///
    /// # Errors
    /// The decompressor fails.
    pub(crate) fn reader(self, bytes: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
        let bytes = BufReader::new(bytes);
        Ok(match self {
            Self::None => Box::new(bytes),
            Self::Gzip => Box::new(BufReader::new(MultiGzDecoder::new(bytes))),
            Self::Zstandard => Box::new(BufReader::new(zstd::Decoder::with_buffer(bytes)?)),
        })
    }
}

/// Opens a file, or the standard input for `-`. Counts the bytes of the file that are `read`.
///
/// # Errors
/// The file cannot be opened.
pub(crate) fn open(path: &Path, form: Compression, read: Option<&ProgressBar>) -> Done<Box<dyn BufRead + Send>> {
    let read = read.cloned().unwrap_or_else(ProgressBar::hidden);
    let opened = match path.as_os_str() == "-" {
        true => form.reader(io::stdin()),
        false => File::open(path).and_then(|file| form.reader(read.wrap_read(file))),
    };
    opened.in_file(path)
}
