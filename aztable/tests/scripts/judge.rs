//! Holds a run against the model: tables, files, counts, exit code, output.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::claims::{Claim, Failures};
use crate::counts::{Counts, has_form};
use crate::program::Ran;
use crate::rows::{self, Table, same};
use crate::secrets::has_secret;
use crate::task::{Leeway, Task};
use crate::world::{FileState, Moment, World};

/// The counts of runs that differ too much to be compared.
pub(crate) type Compared = Option<Leeway>;

/// Checks what is true of every run: no panic, no secret, a known exit code, counts that add up.
pub(crate) fn any(before: &Moment, after: &Moment, ran: &Ran, task: &Task, failures: &mut Failures) {
    let panicked = ran.code == 101 || ran.error.contains("panicked");
    failures.check(!panicked, Claim::Panic, || "it panicked".into());
    failures.check(!ran.hangs, Claim::Panic, || "it hangs".into());
    let is_known = [0, 1, 2, 130, 141, Ran::KILLED, Ran::INTERRUPTED_EARLY].contains(&ran.code);
    failures.check(is_known || panicked, Claim::ExitCode, || {
        format!("exit code {}", ran.code)
    });
    let is_printed = has_secret(&ran.output) || has_secret(ran.error.as_bytes());
    failures.check(!is_printed, Claim::Secrets, || "a secret is printed".into());
    for (path, state) in &after.files {
        if let FileState::Bytes(bytes) = state
            && !before.files.contains_key(path)
            && has_secret(bytes)
        {
            failures.add(Claim::Secrets, format!("{} has a secret", path.display()));
        }
    }
    for counts in Counts::printed(&ran.error, task.is_json) {
        failures.check(counts.read == counts.sum(), Claim::Counts, || {
            format!("they do not add up: {counts:?}")
        });
    }
    failures.check(
        !ran.error.contains("rejected null"),
        Claim::RejectedRowsAreNamed,
        || "`rejected null`".into(),
    );
}

/// Checks the end of a command.
///
/// A resumed command has named rows in an earlier run, too.
pub(crate) fn ended(
    world: &World,
    [before, after]: [&Moment; 2],
    ran: &Ran,
    earlier: &str,
    task: &Task,
    leeway: Compared,
) -> Failures {
    let mut failures = Failures::default();
    any(before, after, ran, task, &mut failures);
    let expected = &task.expected;
    failures.check(expected.codes.contains(&ran.code), Claim::ExitCode, || {
        format!("exit code {}, expected {:?}", ran.code, expected.codes)
    });
    tables(before, after, task, &mut failures);
    files(before, after, task, &mut failures);
    if let (Some(counts), Some(leeway)) = (&expected.counts, leeway) {
        compare_counts(counts, leeway, ran, task, &mut failures);
    }
    named(after, &format!("{earlier}{}", ran.error), task, &mut failures);
    if !expected.messages.is_empty() {
        let has_one = expected.messages.iter().any(|text| ran.error.contains(text));
        failures.check(has_one, Claim::Message, || {
            format!("nothing says one of {:?}", expected.messages)
        });
    }
    for check in &expected.checks {
        check(world, after, ran, &mut failures);
    }
    failures
}

/// Compares the tables after a run with those that the model expects.
fn tables(before: &Moment, after: &Moment, task: &Task, failures: &mut Failures) {
    for (place, expected) in task.expected.tables.iter().enumerate() {
        let found = &after.tables[place];
        let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
        for name in names {
            let is_target = task
                .target
                .as_ref()
                .is_some_and(|(at, table)| (*at, table) == (place, name));
            let empty = Table::new();
            let (claim, before) = match is_target || task.kind == "restore" || task.kind == "put" {
                true => (Claim::RowsArrive, before.tables[place].get(name).unwrap_or(&empty)),
                false => (Claim::OtherTables, &empty),
            };
            match (expected.get(name), found.get(name)) {
                (Some(expected), Some(found)) => compare(claim, (place, name), before, expected, found, failures),
                (None, Some(_)) if is_target && task.expected.may_lack_table => {}
                (None, Some(_)) => failures.add(claim, format!("the table {name} of place {place} was created")),
                (Some(_), None) => failures.add(claim, format!("the table {name} of place {place} is absent")),
                (None, None) => {}
            }
        }
    }
}

fn compare(
    claim: Claim,
    (place, name): (usize, &str),
    before: &Table,
    expected: &Table,
    found: &Table,
    failures: &mut Failures,
) {
    let mut wrong = Vec::new();
    let mut deleted = None;
    for (key, row) in expected {
        match found.get(key) {
            Some(found) if same(found, row) => {}
            Some(found) => wrong.push(format!("{} instead of {}", rows::json(found), rows::json(row))),
            None => {
                if before.contains_key(key) {
                    deleted = Some(key.clone());
                }
                wrong.push(format!("no row {}", rows::json(row)));
            }
        }
    }
    let others = found.iter().filter(|(key, _)| !expected.contains_key(*key));
    wrong.extend(others.map(|(_, row)| format!("a row that should not be there: {}", rows::json(row))));
    if let Some(key) = deleted {
        failures.add(
            Claim::NoWrongDelete,
            format!("{key:?} was deleted from {name} of place {place}"),
        );
    }
    if let Some(example) = wrong.first() {
        let count = wrong.len();
        failures.add(
            claim,
            format!("{count} rows of {name} of place {place} are wrong: {example:.400}"),
        );
    }
}

fn is_in(path: &Path, folder: Option<&PathBuf>) -> bool {
    folder.is_some_and(|folder| path.starts_with(folder))
}

/// Checks that only the files of the command have changed.
fn files(before: &Moment, after: &Moment, task: &Task, failures: &mut Failures) {
    let changes = &task.expected.changes;
    for (path, state) in &before.files {
        if changes.contains(path) || is_in(path, task.backups.as_ref()) {
            continue;
        }
        failures.check(after.files.get(path) == Some(state), Claim::OtherFiles, || {
            let found = after.files.get(path).map(|state| format!("{state:.60?}"));
            format!("{} has changed: {found:?}", path.display())
        });
    }
    for path in after.files.keys().filter(|path| !before.files.contains_key(*path)) {
        let is_unfinished = path.file_name().is_some_and(|name| name == "position.json");
        let is_own = changes.contains(path) || is_in(path, task.backups.as_ref()) && !is_unfinished;
        failures.check(is_own, Claim::NoLeftovers, || format!("{} is left", path.display()));
    }
}

/// Checks the files and tables of a run that was stopped: nothing of others has changed, and each row of the target has
/// one of its versions.
pub(crate) fn stopped(before: &Moment, after: &Moment, ran: &Ran, task: &Task) -> Failures {
    let mut failures = Failures::default();
    any(before, after, ran, task, &mut failures);
    let expected = &task.expected;
    for (path, state) in &before.files {
        let may_change = expected.changes.contains(path) || is_in(path, task.backups.as_ref());
        failures.check(
            may_change || after.files.get(path) == Some(state),
            Claim::OtherFiles,
            || format!("{} has changed after a stop", path.display()),
        );
    }
    for path in after.files.keys().filter(|path| !before.files.contains_key(*path)) {
        let name = path.as_os_str().to_string_lossy();
        let endings = [".position", ".part", ".rows.jsonl.zst", ".new"];
        let is_own = endings.iter().any(|ending| name.ends_with(ending))
            || expected.changes.contains(path)
            || is_in(path, task.backups.as_ref());
        failures.check(is_own, Claim::NoLeftovers, || {
            format!("{} is left after a stop", path.display())
        });
    }
    for (place, tables) in after.tables.iter().enumerate() {
        for (name, found) in tables {
            let begin = before.tables[place].get(name);
            let Some(end) = expected.tables[place].get(name) else {
                failures.add(
                    Claim::OtherTables,
                    format!("the table {name} of place {place} was created"),
                );
                continue;
            };
            versions(task, (place, name), begin, end, found, &mut failures);
        }
        for name in before.tables[place].keys().filter(|name| !tables.contains_key(*name)) {
            failures.add(Claim::OtherTables, format!("the table {name} of place {place} is gone"));
        }
    }
    failures
}

/// Checks that each row of a table is as before, as expected at the end, or another version of the source.
fn versions(
    task: &Task,
    (place, name): (usize, &str),
    begin: Option<&Table>,
    end: &Table,
    found: &Table,
    failures: &mut Failures,
) {
    let begin = begin.cloned().unwrap_or_default();
    for (key, row) in found {
        let tables = [begin.get(key), end.get(key)].into_iter().flatten();
        let mut others = task.expected.versions.iter().filter(|other| rows::key(other) == *key);
        let is_known = tables.clone().any(|other| same(other, row)) || others.any(|other| same(other, row));
        failures.check(is_known, Claim::RowsArrive, || {
            format!("{name} of place {place} has {} after a stop", rows::json(row))
        });
    }
    for key in begin
        .keys()
        .filter(|key| end.contains_key(*key) && !found.contains_key(*key))
    {
        failures.add(
            Claim::NoWrongDelete,
            format!("{key:?} of {name} of place {place} is gone after a stop"),
        );
    }
}

fn compare_counts(expected: &Counts, leeway: Leeway, ran: &Ran, task: &Task, failures: &mut Failures) {
    let printed = Counts::printed(&ran.error, task.is_json);
    let is_silent = task.is_quiet && ran.code == 0;
    let Some(last) = printed.last() else {
        let claim = if task.is_quiet {
            Claim::CountsForm
        } else {
            Claim::Counts
        };
        return failures.check(is_silent, claim, || "no counts are printed".into());
    };
    let mut sum = Counts::default();
    printed.iter().for_each(|counts| sum.add(counts.clone()));
    let is_equal = |found: &Counts| match leeway {
        Leeway::Exact => found == expected,
        Leeway::Unchanged => {
            let merged = |counts: &Counts| {
                let mut counts = counts.clone();
                counts.written += std::mem::take(&mut counts.unchanged) + std::mem::take(&mut counts.superseded);
                counts
            };
            merged(found) == merged(expected)
        }
        Leeway::Fewer => found.read <= expected.read && found.left() == expected.left(),
    };
    let is_true = is_equal(last) || task.expected.has_parts && is_equal(&sum);
    failures.check(is_true, Claim::Counts, || {
        format!("{last:?}\n    expected {expected:?} ({leeway:?})")
    });
    if ran.code == 1 || task.is_json {
        failures.check(has_form(&ran.error, task.is_json), Claim::CountsForm, || {
            "the last error does not begin with the counts, or the event of the end lacks members".into()
        });
    }
}

/// Checks that each rejected row is named, and that the file of rejected rows has a line for each.
fn named(after: &Moment, error: &str, task: &Task, failures: &mut Failures) {
    let file = task.expected.rejects.as_ref().and_then(|path| after.files.get(path));
    let rejects = match file {
        Some(FileState::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    };
    let has_file = task.expected.rejects.is_some();
    if task.expected.counts.is_none() && task.kind == "restore" {
        return;
    }
    if has_file && let Some(counts) = &task.expected.counts {
        let lines = rejects.lines().count() as u64;
        failures.check(lines == counts.rejected, Claim::RejectedRowsAreNamed, || {
            format!("{lines} lines of rejected rows, expected {}", counts.rejected)
        });
        let is_null = rejects.contains("\"row\":null");
        failures.check(!is_null, Claim::RejectedRowsAreNamed, || {
            "a rejected row is null".into()
        });
    }
    // The standard error names the first ten.
    if !has_file && (task.is_quiet || task.expected.named.len() > 10) {
        return;
    }
    let is_plain = |name: &&String| name.chars().all(|c| c.is_ascii_alphanumeric());
    for name in task.expected.named.iter().filter(is_plain) {
        let is_named = rejects.contains(name.as_str()) || error.contains(name.as_str());
        failures.check(is_named, Claim::RejectedRowsAreNamed, || {
            format!("the row {name} is not named")
        });
    }
}

/// Checks a resume that must fail: something that it needs has changed. It must change nothing.
pub(crate) fn refused(stopped: &Moment, after: &Moment, ran: &Ran, task: &Task) -> Failures {
    let mut failures = Failures::default();
    any(stopped, after, ran, task, &mut failures);
    failures.check(ran.code != 0, Claim::Resume, || {
        "a resume that cannot succeed has exit code 0".into()
    });
    for (place, tables) in after.tables.iter().enumerate() {
        for (name, found) in tables {
            let is_same = stopped.tables[place].get(name).is_some_and(|stopped| {
                stopped.len() == found.len()
                    && stopped
                        .values()
                        .zip(found.values())
                        .all(|(one, other)| same(one, other))
            });
            failures.check(is_same, Claim::Resume, || {
                format!("a refused resume has written {name} of place {place}")
            });
        }
    }
    for (path, state) in &stopped.files {
        let is_output = task.expected.changes.contains(path);
        let is_same = after.files.get(path) == Some(state) || matches!(state, FileState::Folder);
        failures.check(!is_output || is_same, Claim::Resume, || {
            format!("a refused resume has changed {}", path.display())
        });
    }
    failures
}
