//! The kinds of paths that files have.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::program::Output;
use crate::script::Script;

/// Returns the RAM disk of the machine, if it has one.
pub(crate) fn ram_disk() -> Option<&'static Path> {
    let path = Path::new("/dev/shm");
    path.is_dir().then_some(path)
}

/// The kind of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    Plain,
    RamDisk,
    Link,
    DanglingLink,
    /// `-`
    Stream,
    /// `/dev/stdout`, or `/dev/stdin`.
    Device,
    NamedPipe,
    NotUtf8,
}

impl PathKind {
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::RamDisk => "RAM disk",
            Self::Link => "symbolic link",
            Self::DanglingLink => "dangling link",
            Self::Stream => "standard stream",
            Self::Device => "/dev/stdout",
            Self::NamedPipe => "named pipe",
            Self::NotUtf8 => "not UTF-8",
        }
    }

    pub(crate) fn is_stream(self) -> bool {
        matches!(self, Self::Stream | Self::Device | Self::NamedPipe)
    }
}

/// A path of a file, as it stands on the command line, and where its contents are.
#[derive(Clone, Debug)]
pub(crate) struct FilePath {
    pub(crate) kind: PathKind,
    pub(crate) argument: PathBuf,
    /// The file itself, behind a link.
    pub(crate) file: PathBuf,
}

impl FilePath {
    /// A path of a random kind. The file itself is not created.
    pub(crate) fn random(script: &mut Script<'_>, ending: &str, can_stream: bool) -> Self {
        let kind = match script.random.u8(..16) {
            0 | 1 if ram_disk().is_some() => PathKind::RamDisk,
            2 | 3 => PathKind::Link,
            4 => PathKind::DanglingLink,
            5 | 6 if can_stream => PathKind::Stream,
            7 if can_stream => PathKind::Device,
            8 if can_stream && ending == "jsonl" => PathKind::NamedPipe,
            9 => PathKind::NotUtf8,
            _ => PathKind::Plain,
        };
        script.count("path", kind.name());
        let name = script.fresh(&format!("rows.{ending}"));
        Self::of(script, kind, name)
    }

    fn of(script: &Script<'_>, kind: PathKind, name: PathBuf) -> Self {
        let root = script.world.path();
        let same = |path: PathBuf| Self {
            kind,
            argument: path.clone(),
            file: path,
        };
        match kind {
            PathKind::Plain => Self {
                kind,
                file: root.join(&name),
                argument: name.file_name().unwrap().into(),
            },
            PathKind::RamDisk => same(
                script
                    .world
                    .ram
                    .as_ref()
                    .unwrap()
                    .path()
                    .join(name.file_name().unwrap()),
            ),
            PathKind::Link | PathKind::DanglingLink => {
                let folder = root.join("behind");
                let _ = fs::create_dir(&folder);
                let file = folder.join(name.file_name().unwrap());
                std::os::unix::fs::symlink(&file, &name).unwrap();
                Self {
                    kind,
                    argument: name,
                    file,
                }
            }
            PathKind::Stream => same("-".into()),
            PathKind::Device => same("/dev/stdin".into()),
            PathKind::NamedPipe => {
                let path = name.with_file_name(format!("{}.pipe.jsonl", script.number()));
                let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
                assert!(made.success());
                same(path)
            }
            PathKind::NotUtf8 => {
                let mut bytes = b"odd\xff".to_vec();
                bytes.extend(name.file_name().unwrap().as_encoded_bytes());
                same(root.join(OsString::from_vec(bytes)))
            }
        }
    }
}

/// Returns the path with an ending behind it: of a position, or of a file until it is complete.
pub(crate) fn with(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A random standard output for a file `/dev/stdout` or `-`: a pipe, or a file that has some bytes.
pub(crate) fn output(script: &mut Script<'_>) -> Output {
    match script.random.bool() {
        true => Output::Pipe,
        false => {
            let path = script.fresh("stdout");
            fs::write(&path, "before\n").unwrap();
            Output::File(path)
        }
    }
}
