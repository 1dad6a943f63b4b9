//! The faults of a run, and what happens between a stop and its `--resume`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::front::Strike;
use crate::program::{Output, Ran, Run};
use crate::script::Script;
use crate::task::Task;
use crate::world::{FileState, Moment};

/// A fault of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The service of a place strikes at a request.
    Service { place: usize, strike: Strike, at: u64 },
    /// A signal after a time.
    Signal(&'static str, Duration),
    /// Files may have so many blocks.
    FileLimit(u64),
    /// The standard output is `/dev/full`.
    FullDevice,
}

impl Fault {
    /// Returns in how many of eight runs a task has a fault: more often if a stop leaves a file that may be changed.
    pub(crate) fn chance(task: &Task) -> u8 {
        match task.kind {
            "import" if is_long(task) => 8,
            "export" | "import" => 6,
            _ => 4,
        }
    }

    /// A random fault of a task, if one can happen to it.
    pub(crate) fn random(script: &mut Script<'_>, task: &mut Task) -> Option<Self> {
        let servers: Vec<usize> = task
            .places
            .iter()
            .copied()
            .filter(|place| script.world.places[*place].is_server())
            .collect();
        let streams = task.kind == "export"
            && task.expected.exported.is_some()
            && task.run.arguments[2..]
                .iter()
                .any(|word| word == "-" || word == "/dev/stdout");
        let is_long = is_long(task);
        let random = &mut script.random;
        if streams && random.u8(..3) > 0 {
            return Some(Self::FullDevice);
        }
        // A position is stored once a second: a run that is to be killed behind one is slowed down.
        let is_slowed = is_long && matches!(task.kind, "import" | "copy" | "patch" | "delete");
        if is_slowed && !task.run.arguments.iter().any(|word| word == "--max-rate") && random.u8(..4) > 0 {
            let after = Duration::from_millis(random.u64(400..1_100));
            task.words(["--max-rate", "2000"]);
            return Some(Self::Signal("-KILL", after));
        }
        let writes_files = matches!(task.kind, "export" | "import" | "backup" | "copy");
        if servers.len() == task.places.len() && writes_files && random.u8(..6) == 0 {
            return Some(Self::FileLimit(random.u64(..8)));
        }
        let Some(place) = random.choice(servers) else {
            let name = if random.u8(..3) == 0 { "-INT" } else { "-KILL" };
            return Some(Self::Signal(name, Duration::from_millis(random.u64(20..150))));
        };
        // A short run that is interrupted early has a position, and an export a file that is not complete.
        let is_early = match task.kind {
            "export" => random.u8(..3) > 0,
            "import" => !is_long && random.u8(..5) < 3,
            "copy" => !is_long && random.u8(..5) < 2,
            _ => false,
        };
        if is_early {
            let (strike, at) = (Strike::Interrupt, random.u64(1..3));
            return Some(Self::Service { place, strike, at });
        }
        // A long run has a position long before its end, behind which it is killed.
        let kinds = if is_long { 18..40 } else { 0..40 };
        let strike = match random.u8(kinds) {
            0..=2 => Strike::Throttle,
            3 | 4 => Strike::Vanish,
            5..=7 => Strike::LoseResponse,
            8..=12 => Strike::Forbid,
            13..=25 => Strike::Interrupt,
            number => Strike::Kill {
                is_applied: number % 2 == 0,
            },
        };
        let at = match random.u8(..6) {
            // These wait a second and more: they should happen.
            _ if matches!(strike, Strike::Throttle | Strike::Vanish) => random.u64(1..4),
            _ if is_long => random.u64(8..45),
            0..=2 => random.u64(1..6),
            3 | 4 => random.u64(1..16),
            _ => random.u64(1..60),
        };
        Some(Self::Service { place, strike, at })
    }

    /// Changes a run so that the fault happens in it.
    pub(crate) fn apply(self, run: &mut Run) {
        match self {
            Self::Service { .. } => {}
            Self::Signal(name, after) => run.signal = Some((name, after)),
            Self::FileLimit(blocks) => run.blocks = Some(blocks),
            Self::FullDevice => run.output = Output::File("/dev/full".into()),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Service { strike, .. } => match strike {
                Strike::Throttle => "throttled",
                Strike::LoseResponse => "lost response",
                Strike::Forbid => "forbidden",
                Strike::Vanish => "gone",
                Strike::Kill { .. } => "killed",
                Strike::Interrupt => "interrupted",
            },
            Self::Signal("-KILL", _) => "killed after a time",
            Self::Signal(..) => "interrupted after a time",
            Self::FileLimit(_) => "file limit",
            Self::FullDevice => "/dev/full",
        }
    }

    /// Returns whether the fault has stopped the run. `has_struck`: the service has.
    pub(crate) fn has_stopped(self, ran: &Ran, has_struck: bool) -> bool {
        match self {
            Self::Service {
                strike: Strike::Throttle,
                ..
            } => false,
            // A write may stay in doubt: only its writer would know.
            Self::Service {
                strike: Strike::LoseResponse,
                ..
            } => {
                let in_doubt = [" in doubt", "\"in_doubt\":"]
                    .iter()
                    .any(|text| ran.error.contains(text));
                has_struck && ran.code == 1 && in_doubt && !ran.error.contains("\"in_doubt\":0")
            }
            Self::Service {
                strike: Strike::Forbid | Strike::Vanish,
                ..
            } => has_struck && ran.code == 1,
            Self::Service { .. } | Self::Signal(..) => matches!(ran.code, Ran::KILLED | Ran::INTERRUPTED_EARLY | 130),
            Self::FileLimit(_) | Self::FullDevice => {
                let is_full = ["File too large", "No space left"]
                    .iter()
                    .any(|text| ran.error.contains(text));
                ran.code == 1 && is_full
            }
        }
    }

    /// Returns whether the program had no time to say anything.
    pub(crate) fn is_kill(self) -> bool {
        matches!(
            self,
            Self::Service {
                strike: Strike::Kill { .. },
                ..
            } | Self::Signal("-KILL", _)
        )
    }

    pub(crate) fn is_interrupt(self) -> bool {
        matches!(
            self,
            Self::Service {
                strike: Strike::Interrupt,
                ..
            } | Self::Signal("-INT", _)
        )
    }
}

/// Returns whether a task has several pages.
fn is_long(task: &Task) -> bool {
    task.expected.counts.as_ref().is_some_and(|counts| counts.read > 1_000)
}

/// What happens between a stop and its `--resume`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    TableGone,
    FileChanged,
    FileGone,
    PartGone,
    /// The file of an export is gone, which has no bytes yet: a resume makes it again.
    NoBytesGone,
}

impl Between {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TableGone => "table gone",
            Self::FileChanged | Self::FileGone => "file changed",
            Self::PartGone | Self::NoBytesGone => ".part gone",
        }
    }

    /// Returns what it is if the unfinished file of an export is gone. No one may need it once the file is complete.
    fn of_part(position: &FileState) -> Option<Self> {
        let FileState::Bytes(bytes) = position else {
            return None;
        };
        let stored: serde_json::Value = serde_json::from_slice(bytes).ok()?;
        let position = &stored["position"];
        match (position["bytes"].as_u64()?, position["is_read"].as_bool()?) {
            _ if !position["complete"].is_null() => None,
            (0, true) => None,
            (0, false) => Some(Self::NoBytesGone),
            _ => Some(Self::PartGone),
        }
    }

    /// Chooses what happens, in some cases, and lets it happen.
    pub(crate) fn happen(
        script: &mut Script<'_>,
        task: &Task,
        before: &Moment,
        stopped: &Moment,
        position: &Path,
    ) -> Option<Self> {
        let is_new = |path: &std::path::PathBuf| !before.files.contains_key(path);
        let parts = stopped.files.keys().filter(|path| is_new(path));
        // A file with columns is made again from its rows: those are what must be there.
        let ends = |path: &std::path::Path, ending| path.as_os_str().to_string_lossy().ends_with(ending);
        let rows = parts.clone().find(|path| ends(path, ".rows.jsonl.zst"));
        let part = rows.or(parts.clone().find(|path| ends(path, ".part")));
        let mut kinds = Vec::new();
        if task.target.is_some() && matches!(task.kind, "import" | "copy") {
            kinds.push(Self::TableGone);
        }
        if let Some(path) = &task.source {
            kinds.extend([Self::FileGone; 2]);
            // A byte of a compressed file may be one that no reader looks at.
            if path
                .extension()
                .is_some_and(|ending| ["jsonl", "json", "csv"].iter().any(|plain| ending == *plain))
            {
                kinds.extend([Self::FileChanged; 3]);
            }
        }
        if task.kind == "export" && part.is_some() {
            kinds.extend(Self::of_part(stopped.files.get(position)?));
        }
        // A long run is better used to go on.
        let chance = if is_long(task) { 4 } else { 5 };
        if kinds.is_empty() || script.random.u8(..6) >= chance {
            return None;
        }
        let kind = *script.random.choice(&kinds)?;
        match (kind, &task.target, &task.source) {
            (Self::TableGone, Some((place, table)), _) => {
                script.world.places[*place].delete_table(script.world.path(), table);
            }
            (Self::FileChanged, _, Some(path)) => {
                let Some(FileState::Bytes(bytes)) = stopped.files.get(path) else {
                    return None;
                };
                let mut bytes = bytes.clone();
                // A digit of the first row, behind the other members of a response, has another value.
                let value = bytes
                    .windows(7)
                    .position(|text| text == b"\"value\"")
                    .unwrap_or_default();
                let mut digits = bytes.iter().enumerate().skip(value).take(400);
                let (place, _) = digits.find(|(_, byte)| byte.is_ascii_digit())?;
                bytes[place] = if bytes[place] == b'9' { b'8' } else { bytes[place] + 1 };
                fs::write(path, bytes).unwrap();
            }
            (Self::FileGone, _, Some(path)) => fs::remove_file(path).unwrap(),
            (Self::PartGone | Self::NoBytesGone, ..) => fs::remove_file(part?).unwrap(),
            _ => return None,
        }
        Some(kind)
    }
}
