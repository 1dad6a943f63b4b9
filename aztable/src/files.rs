//! The files that the program writes: what is at a path, and what may be overwritten.
//!
//! A file is new, ours by a position that is stored before it is created, or somebody else's, which only `--overwrite`
//! replaces. A stream is written from its begin to its end: the standard streams, pipes, devices.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::failure::{Done, Failure, InFile as _, fail, usage};

/// The ending of a file that is about to replace another one.
pub(crate) const NEW: &str = ".new";
/// The advice for a file beside ours.
pub(crate) const NOT_OURS: &str = "no position says that this program wrote it: move it away";

/// Returns whether a file is a stream. The metadata say it, not the path: `/dev/shm` has ordinary files.
pub(crate) fn is_stream(path: &Path) -> bool {
    let is_other = |found: Metadata| !found.is_file() && !found.is_dir();
    path.as_os_str() == "-" || path.metadata().is_ok_and(is_other)
}

/// Returns `-` for a path that is a standard stream, such as `/dev/stdout`, wherever a shell has redirected it.
#[cfg(unix)]
pub(crate) fn or_standard(path: PathBuf, stream: &impl std::os::fd::AsFd) -> PathBuf {
    use std::os::unix::fs::MetadataExt as _;
    let same = |stream: Metadata, found: Metadata| (stream.dev(), stream.ino()) == (found.dev(), found.ino());
    let opened = stream.as_fd().try_clone_to_owned().map(File::from);
    let both = opened.and_then(|stream| Ok((stream.metadata()?, path.metadata()?)));
    let is_same = both.is_ok_and(|(stream, found)| same(stream, found));
    if is_same { "-".into() } else { path }
}

#[cfg(not(unix))]
pub(crate) fn or_standard<T>(path: PathBuf, _: &T) -> PathBuf {
    path
}

/// Returns the file behind a link, or the path itself.
///
/// # Errors
/// The link leads to nothing.
pub(crate) fn behind_links(path: &Path) -> Done<PathBuf> {
    if !path.is_symlink() || is_stream(path) {
        return Ok(path.to_owned());
    }
    let failed = |error| Failure::usage(format!("{}: a link to nothing: {error}", path.display()));
    path.canonicalize().map_err(failed)
}

/// Checks that a file may be written: it is ours, or it is absent.
///
/// # Errors
/// It is somebody else's. `advice` says what the user can do.
pub(crate) fn check_writable(path: &Path, is_ours: bool, advice: &str) -> Done<()> {
    if !is_ours && !is_stream(path) && path.symlink_metadata().is_ok() {
        usage!("{} exists: {advice}", path.display());
    }
    Ok(())
}

/// Opens a file that is ours up to a length, or creates it, or opens a stream. Cuts off what a crash left behind the
/// length. Only the user can read a file.
///
/// # Errors
/// The file cannot be opened, or is shorter: it was moved or changed since.
pub(crate) fn open_to_write(path: &Path, length: u64) -> Done<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    if is_stream(path) {
        return options.open(path).in_file(path);
    }
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.create(length == 0).open(path).in_file(path)?;
    let found = file.metadata().in_file(path)?.len();
    if found < length {
        let path = path.display();
        fail!("{path}: {found} bytes, its position is {length}: bring the file back, or delete the position");
    }
    file.set_len(length).in_file(path)?;
    file.seek(SeekFrom::End(0)).in_file(path)?;
    Ok(file)
}

/// Replaces a file of ours by a rename, after its contents are on the disk. A crash leaves the old or the new one, and
/// may leave `FILE.new`, which is ours as well.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Done<()> {
    let new = with_ending(path, NEW);
    let mut file = open_to_write(&new, 0)?;
    let written = file.write_all(contents).and_then(|()| file.sync_all());
    let renamed = written.and_then(|()| fs::rename(&new, path));
    renamed.inspect_err(|_| drop(fs::remove_file(&new))).in_file(path)
}

/// Deletes a file, if it is there.
///
/// # Errors
/// The file cannot be deleted.
pub(crate) fn delete(path: &Path) -> Done<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Failure::of_file(path, error)),
        _ => Ok(()),
    }
}

/// Returns the path of a file that belongs to another one.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(ending);
    name.into()
}

/// Returns once the names of the files in a folder are on the disk.
///
/// # Errors
/// The folder cannot be opened.
pub(crate) fn sync_folder(path: &Path) -> Done<()> {
    // Windows opens no folders, and needs no call.
    #[cfg(unix)]
    File::open(path).and_then(|folder| folder.sync_all()).in_file(path)?;
    Ok(())
}
