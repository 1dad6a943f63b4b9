//! `copy`, `sync` and `diff`: two tables.

use std::collections::BTreeSet;

use crate::claims::{Claim, Failures};
use crate::imports::{Written, accepts};
use crate::options::{Selection, add_output, add_writing};
use crate::program::Ran;
use crate::rows::{Key, Table, is_readable, same};
use crate::script::Script;
use crate::task::{Expected, Leeway, Task};
use crate::world::{Moment, Place};

/// A random copy.
pub(crate) fn copy(script: &mut Script<'_>, before: &Moment) -> Task {
    let (from, from_table) = script.source(before);
    let (to, to_table) = script.other_target(before, from, &from_table);
    let stored = &before.tables[from][&from_table];
    let selection = Selection::random(&mut script.random, stored, true);
    let is_insert = script.random.u8(..4) == 0;
    let mut written = Written::to(before.tables[to].get(&to_table));
    let rows = selection.of(stored);
    for row in rows.values() {
        match is_readable(row) {
            true => written.write(&script.world.places[to], row, is_insert),
            false => written.reject(&row.row_key),
        }
    }
    let mut expected = written.expected(before, to, &to_table);
    expected.versions = rows.into_values().collect();
    if is_insert {
        expected.leeway = Leeway::Unchanged;
    }
    let mut task = Task::new("copy", expected);
    task.words(["copy"]);
    script.add_tables(&mut task, [(from, &*from_table), (to, &*to_table)]);
    if is_insert {
        script.count("option", "--insert");
        task.words(["--insert"]);
    }
    selection.add_to(&mut task, script);
    add_output(script, &mut task);
    add_writing(script, &mut task, true);
    task.target = Some((to, to_table));
    task.places = vec![from, to];
    task
}

/// The result of a comparison.
#[derive(Default)]
struct Comparison {
    equal: Vec<Key>,
    missing: Vec<Key>,
    changed: Vec<Key>,
    extra: Vec<Key>,
    rejected: Vec<Key>,
}

impl Comparison {
    fn of(from: &Table, to: &Table) -> Self {
        let mut comparison = Self::default();
        let keys: BTreeSet<&Key> = from.keys().chain(to.keys()).collect();
        for key in keys {
            let list = match (from.get(key), to.get(key)) {
                (Some(one), _) if !is_readable(one) => &mut comparison.rejected,
                (None, Some(other)) if !is_readable(other) => &mut comparison.rejected,
                (Some(_), None) => &mut comparison.missing,
                (None, _) => &mut comparison.extra,
                (Some(one), Some(other)) if is_readable(other) && same(one, other) => &mut comparison.equal,
                (Some(_), Some(_)) => &mut comparison.changed,
            };
            list.push(key.clone());
        }
        comparison
    }

    /// Returns the rows that differ, with their marks.
    fn differences(&self) -> BTreeSet<(char, Key)> {
        let marked = [('-', &self.missing), ('~', &self.changed), ('+', &self.extra)];
        let all = marked
            .iter()
            .flat_map(|(mark, keys)| keys.iter().map(|key| (*mark, key.clone())));
        all.collect()
    }
}

/// A random sync, or its `--dry-run`.
pub(crate) fn sync(script: &mut Script<'_>, before: &Moment) -> Task {
    let (from, from_table) = script.source(before);
    let (to, to_table) = script.other_target(before, from, &from_table);
    let is_dry = script.random.u8(..6) == 0 && before.tables[to].contains_key(&to_table);
    let deletes = script.random.bool();
    let stored = &before.tables[from][&from_table];
    let selection = Selection::random(&mut script.random, stored, !deletes);
    let empty = Table::new();
    let target = before.tables[to].get(&to_table).unwrap_or(&empty);
    let compared = Comparison::of(&selection.of(stored), &selection.of(target));
    let (kind, expected) = if is_dry {
        ("sync --dry-run", printed_before_writes(before, compared, deletes))
    } else {
        let expected = synced(
            &script.world.places[to],
            before,
            (from, &*from_table),
            (to, &*to_table),
            &compared,
            deletes,
        );
        (if deletes { "sync --delete" } else { "sync" }, expected)
    };
    let mut task = Task::new(kind, expected);
    task.words(["sync"]);
    script.add_tables(&mut task, [(from, &*from_table), (to, &*to_table)]);
    if deletes {
        task.words(["--delete"]);
    }
    if is_dry {
        task.words(["--dry-run"]);
    }
    selection.add_to(&mut task, script);
    add_output(script, &mut task);
    if !is_dry {
        add_writing(script, &mut task, false);
        task.target = Some((to, to_table));
    }
    task.can_fail = !is_dry;
    task.places = vec![from, to];
    task
}

fn synced(
    place: &Place,
    before: &Moment,
    (from, from_table): (usize, &str),
    (to, to_table): (usize, &str),
    compared: &Comparison,
    deletes: bool,
) -> Expected {
    let mut written = Written::to(before.tables[to].get(to_table));
    for key in compared.missing.iter().chain(&compared.changed) {
        let row = &before.tables[from][from_table][key];
        match accepts(place, row) {
            true => written.write(place, row, false),
            false => written.reject(&key.1),
        }
    }
    compared.rejected.iter().for_each(|key| written.reject(&key.1));
    written.counts.unchanged = compared.equal.len() as u64;
    for key in &compared.extra {
        if deletes {
            written.table.remove(key);
            written.counts.deleted += 1;
        } else {
            written.counts.kept += 1;
        }
    }
    written.expected(before, to, to_table)
}

/// Returns what a command must do that prints a comparison: nothing else.
fn printed(before: &Moment, compared: &Comparison) -> Expected {
    let code = i32::from(!compared.rejected.is_empty());
    let mut expected = Expected::nothing(before, &[code]);
    expected.named = compared.rejected.iter().map(|key| key.1.clone()).collect();
    let counts = [&compared.equal, &compared.missing, &compared.changed, &compared.extra].map(Vec::len);
    expected
        .checks
        .push(Box::new(move |_, _, ran: &Ran, failures: &mut Failures| {
            let [equal, missing, changed, extra] = counts.map(thousands);
            let text = format!("{equal} equal, {missing} missing, {changed} changed, {extra} extra");
            let is_event = |line: &str| {
                let event: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
                let names = ["equal", "missing", "changed", "extra"];
                event["event"] == "end" && names.iter().zip(counts).all(|(name, count)| event[name] == count)
            };
            let is_printed = ran.error.contains(&text) || ran.error.lines().any(is_event);
            let is_quiet = !ran.error.contains(" equal, ") && !ran.error.contains("\"event\":\"end\"");
            failures.check(is_printed || is_quiet, Claim::Counts, || format!("expected: {text}"));
        }));
    expected
}

/// Returns what a dry run must do: the comparison is from the target to the source.
fn printed_before_writes(before: &Moment, mut compared: Comparison, deletes: bool) -> Expected {
    std::mem::swap(&mut compared.missing, &mut compared.extra);
    if !deletes {
        compared.missing.clear();
    }
    let mut expected = printed(before, &compared);
    let [write, delete] = [compared.extra.len() + compared.changed.len(), compared.missing.len()].map(thousands);
    let text = format!("would write {write}, delete {delete}; nothing was written");
    expected
        .checks
        .push(Box::new(move |_, _, ran: &Ran, failures: &mut Failures| {
            let is_quiet = !ran.error.contains("would write ");
            failures.check(is_quiet || ran.error.contains(&text), Claim::Counts, || {
                format!("expected: {text}")
            });
        }));
    expected
}

pub(crate) fn thousands(number: usize) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", number / 1_000, number % 1_000),
    }
}

/// A random diff.
pub(crate) fn diff(script: &mut Script<'_>, before: &Moment) -> Task {
    let (from, from_table) = script.source(before);
    let (to, to_table) = script.other_source(before, from, &from_table);
    let selection = Selection::random(&mut script.random, &before.tables[from][&from_table], true);
    let rows = |place: usize, table: &str| selection.of(&before.tables[place][table]);
    let compared = Comparison::of(&rows(from, &from_table), &rows(to, &to_table));
    let differences = compared.differences();
    let mut expected = printed(before, &compared);
    if !differences.is_empty() {
        expected.codes = vec![1];
    }
    let mut task = Task::new("diff", Expected::nothing(before, &[0]));
    task.words(["diff"]);
    script.add_tables(&mut task, [(from, &*from_table), (to, &*to_table)]);
    selection.add_to(&mut task, script);
    add_output(script, &mut task);
    let is_json = task.is_json;
    expected
        .checks
        .push(Box::new(move |_, _, ran: &Ran, failures: &mut Failures| {
            let output = String::from_utf8_lossy(&ran.output);
            let lines: Vec<_> = output.lines().filter(|line| !line.starts_with("    ")).collect();
            let number = if is_json {
                differences.len()
            } else {
                differences.len().min(100)
            };
            failures.check(lines.len() == number, Claim::Counts, || {
                format!("{} lines of differences, expected {number}", lines.len())
            });
            for (mark, (partition, row)) in &differences {
                let is_printed = match is_json {
                    false => lines.contains(&&*format!("{mark} {partition:?} {row:?}")),
                    true => {
                        let name = match mark {
                            '-' => "missing",
                            '+' => "extra",
                            _ => "changed",
                        };
                        lines.iter().any(|line| {
                            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
                            line["difference"] == name
                                && line["partition_key"] == partition.as_str()
                                && line["row_key"] == row.as_str()
                        })
                    }
                };
                let is_beyond = differences.len() > number;
                failures.check(is_printed || is_beyond, Claim::RowsArrive, || {
                    format!("no line {mark} {partition:?} {row:?}")
                });
            }
        }));
    task.expected = expected;
    task.can_fail = false;
    task.places = vec![from, to];
    task
}
