//! The run that goes on after a stop, and what it must end as.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::claims::Claim;
use crate::faults::{Between, Fault};
use crate::judge;
use crate::program::{Output, Ran};
use crate::script::Script;
use crate::task::{Leeway, Task};
use crate::world::{FileState, Moment};

impl Script<'_> {
    /// Runs the command that goes on, and checks that it ends as an undisturbed run. Returns its end.
    pub(crate) fn resume(
        &mut self,
        before: &Moment,
        stopped: Moment,
        ran: &Ran,
        task: &Task,
        stop: Fault,
    ) -> Option<Ran> {
        let new = |ending: &'static str| {
            let files = stopped.files.keys().filter(|path| !before.files.contains_key(*path));
            files
                .filter(move |path| path.as_os_str().to_string_lossy().ends_with(ending))
                .cloned()
        };
        let position = new(".position").next().or_else(|| new("position.json").next());
        let printed = ran.printed(task.is_json);
        self.failures
            .check(printed.is_some() <= position.is_some(), Claim::Resume, || {
                "a command that goes on is printed without a position".into()
            });
        let has_lost_it = position.is_some() && printed.is_none() && !stop.is_kill();
        self.failures.check(!has_lost_it, Claim::Resume, || {
            "a position is stored, and no command that goes on".into()
        });
        let mut run = task.run.clone();
        let is_utf8 = run.arguments.iter().all(|word| word.to_str().is_some());
        match (&printed, &position) {
            (Some(line), _) if is_utf8 => run.shell = Some(format!("exec {line}")),
            (_, Some(position)) => {
                let mut option = OsString::from("--resume=");
                option.push(position);
                let end = run
                    .arguments
                    .iter()
                    .position(|word| word == "--")
                    .unwrap_or(run.arguments.len());
                run.arguments.insert(end, option);
                let has_position = run.arguments.iter().position(|word| word == "--position");
                if let Some(place) = has_position {
                    run.arguments.drain(place..place + 2);
                }
            }
            _ => {}
        }
        if let Output::File(path) = &run.output
            && let Some(FileState::Bytes(bytes)) = before.files.get(path)
        {
            fs::write(path, bytes).unwrap();
        }
        let between = position
            .as_ref()
            .and_then(|position| Between::happen(self, task, before, &stopped, position));
        if let Some(between @ Between::NoBytesGone) = between {
            self.lines.push(format!("# {between:?}"));
        } else if let Some(between) = between {
            self.count("fault", between.name());
            self.lines.push(format!("# {between:?}"));
            self.is_over = true;
            let stopped = self.world.moment();
            let (ran, _) = self.run_once(&run, None);
            let after = self.world.moment();
            let failures = judge::refused(&stopped, &after, &ran, task);
            self.failures.0.extend(failures.0);
            return None;
        }
        if let Some(name) = self.finished_backup(before, &stopped, task) {
            if position.is_some() {
                let (again, _) = self.run_once(&run, None);
                self.failures.check(again.code == 0, Claim::Resume, || {
                    format!("the resume of a finished backup has exit code {}", again.code)
                });
            }
            return Some(Ran {
                code: task.expected.codes[0],
                output: name.into_bytes(),
                ..ran.clone()
            });
        }
        if position.is_none() {
            if let Some(path) = &task.backups {
                let left = backup_folders(&stopped, path);
                let folder = self
                    .folders
                    .iter_mut()
                    .find(|folder| path.ends_with(&folder.name))
                    .unwrap();
                folder.has_unfinished |= left > folder.backups.len();
            }
            if (stop.is_kill() || ran.code == Ran::INTERRUPTED_EARLY) && self.is_done(before, &stopped, ran, task) {
                return None;
            }
            if let Some(path) = &task.expected.rejects {
                let _ = fs::remove_file(path);
            }
            // Without a position, the program does not know these as its own.
            new(".part")
                .chain(new(".rows.jsonl.zst"))
                .for_each(|path| drop(fs::remove_file(path)));
        }
        let earlier = &ran.error;
        let (ran, _) = self.run_once(&run, None);
        let after = self.world.moment();
        let leeway = match task.kind {
            "sync --delete" | "sync" => None,
            "delete" | "patch" if position.is_none() || !stop.is_interrupt() => Some(Leeway::Fewer),
            "restore" | "import" | "copy" if task.expected.leeway == Leeway::Unchanged || task.kind == "restore" => {
                Some(Leeway::Unchanged)
            }
            _ => Some(Leeway::Exact),
        };
        let count = self.failures.0.len();
        self.end([before, &after], &ran, earlier, task, leeway);
        let skipped = self.skipped;
        if self.failures.0[count..]
            .iter()
            .any(|(claim, _)| !skipped.contains(&claim.name()))
        {
            self.failures.add(
                Claim::Resume,
                format!("after a stop ({}), the end differs", stop.name()),
            );
        }
        Some(ran)
    }

    /// Returns whether a command was killed behind its end.
    fn is_done(&self, before: &Moment, after: &Moment, ran: &Ran, task: &Task) -> bool {
        let mut ended = ran.clone();
        ended.code = task.expected.codes[0];
        let mut failures = judge::ended(&self.world, [before, after], &ended, "", task, None);
        if let Some(exported) = &task.expected.exported {
            exported.check(ran, self.python, &mut failures);
        }
        let is_ended = failures
            .0
            .iter()
            .all(|(claim, _)| *claim == Claim::RejectedRowsAreNamed);
        is_ended && matches!(task.kind, "export" | "restore")
    }

    /// Returns the name of the backup that a command has finished before it was killed.
    fn finished_backup(&self, before: &Moment, stopped: &Moment, task: &Task) -> Option<String> {
        let path = task.backups.as_ref()?;
        let new = stopped.files.keys().filter(|path| !before.files.contains_key(*path));
        let mut manifests = new.filter(|file| file.file_name().is_some_and(|name| name == "manifest.json"));
        let folder = manifests.find_map(|file| file.parent().filter(|folder| folder.parent() == Some(path)))?;
        Some(folder.file_name()?.to_str()?.to_owned())
    }
}

/// Returns the number of folders in a folder of backups.
fn backup_folders(stopped: &Moment, path: &Path) -> usize {
    let files = stopped.files.iter();
    let folders = files.filter(|(file, state)| file.parent() == Some(path) && **state == FileState::Folder);
    folders.count()
}
