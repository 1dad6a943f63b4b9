//! `backup`, `restore`, `verify-backup` and `backups`: folders of backups, and what each backup has.

use std::collections::BTreeMap;

use crate::claims::{Claim, Failures};
use crate::counts::Counts;
use crate::imports::Written;
use crate::options::{add_output, add_writing};
use crate::program::Ran;
use crate::rows::{Table, is_readable};
use crate::script::Script;
use crate::task::{Expected, Task};
use crate::world::Moment;

/// A table in a backup.
#[derive(Clone, Debug)]
struct SavedTable {
    rows: Table,
    /// The number of rows that could not be read.
    missing: u64,
}

/// A backup.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    name: String,
    is_subset: bool,
    tables: BTreeMap<String, SavedTable>,
}

/// A folder with the backups of a place, the oldest first.
#[derive(Debug)]
pub(crate) struct SavedFolder {
    pub(crate) name: String,
    place: usize,
    pub(crate) backups: Vec<Saved>,
    /// The folder of a backup that was killed before its first position is left.
    pub(crate) has_unfinished: bool,
}

impl Saved {
    /// Takes the name that the program has printed.
    pub(crate) fn named(mut self, ran: &Ran) -> Self {
        let output = String::from_utf8_lossy(&ran.output);
        let json: serde_json::Value = serde_json::from_str(&output).unwrap_or_default();
        self.name = json["backup"].as_str().unwrap_or(output.trim()).to_owned();
        self
    }

    fn missing(&self) -> u64 {
        self.tables.values().map(|table| table.missing).sum()
    }
}

/// A random backup, and what it has once it has succeeded.
pub(crate) fn backup(script: &mut Script<'_>, before: &Moment) -> (Task, Saved) {
    let place = script.random.usize(..2);
    let folder = match script.folders.iter().position(|folder| folder.place == place) {
        Some(folder) => folder,
        None => {
            let name = format!("backups{place}");
            script.folders.push(SavedFolder {
                name,
                place,
                backups: Vec::new(),
                has_unfinished: false,
            });
            script.folders.len() - 1
        }
    };
    let is_full = script.random.u8(..4) == 0;
    let is_subset = script.random.u8(..4) == 0;
    let names: Vec<&String> = before.tables[place].keys().collect();
    let subset = (*script.random.choice(&names).unwrap()).clone();
    let mut counts = Counts::default();
    let mut named = Vec::new();
    let mut tables = BTreeMap::new();
    let earlier = &script.folders[folder];
    for (name, rows) in &before.tables[place] {
        if is_subset && *name != subset {
            continue;
        }
        let base = earlier.backups.iter().rev().find_map(|backup| backup.tables.get(name));
        let base = base.filter(|_| !is_full);
        let (readable, unreadable): (Table, Table) = rows.clone().into_iter().partition(|(_, row)| is_readable(row));
        for (key, row) in &readable {
            let stored = base.and_then(|base| base.rows.get(key));
            match stored.is_some_and(|stored| stored.etag == row.etag) {
                true => counts.unchanged += 1,
                false => counts.written += 1,
            }
        }
        counts.rejected += unreadable.len() as u64;
        named.extend(unreadable.keys().map(|key| key.1.clone()));
        tables.insert(
            name.clone(),
            SavedTable {
                rows: readable,
                missing: unreadable.len() as u64,
            },
        );
    }
    let mut expected = Expected::counted(before, counts);
    expected.named = named;
    let mut task = Task::new("backup", expected);
    task.backups = Some(script.world.path().join(&earlier.name));
    task.words(["backup", &*script.world.places[place].argument(), &*earlier.name]);
    if is_full {
        script.count("option", "--full");
        task.words(["--full"]);
    }
    if is_subset {
        script.count("option", "--tables");
        task.words(["--tables", &subset]);
    }
    add_output(script, &mut task);
    task.places = vec![place];
    (
        task,
        Saved {
            name: String::new(),
            is_subset,
            tables,
        },
    )
}

/// A random restore into the third place, whose tables may exist by then.
pub(crate) fn restore(script: &mut Script<'_>, before: &Moment) -> Option<Task> {
    const INTO: usize = 2;
    let folders: Vec<_> = script
        .folders
        .iter()
        .filter(|folder| !folder.backups.is_empty())
        .collect();
    let folder = script.random.choice(folders)?;
    let at = script
        .random
        .bool()
        .then(|| script.random.choice(&folder.backups))
        .flatten();
    let backup = at.or(folder.backups.last())?;
    let table = script
        .random
        .bool()
        .then(|| script.random.choice(backup.tables.keys()))
        .flatten();
    // The latest backup with this table.
    let has = |backup: &&Saved| table.is_none_or(|table| backup.tables.contains_key(table));
    let backup = at.or(folder.backups.iter().rev().find(has))?;
    let names: Vec<&String> = match table {
        Some(table) => vec![table],
        None => backup.tables.keys().collect(),
    };
    let exists = names.iter().any(|name| {
        let mut there = before.tables[INTO].keys();
        there.any(|there| there.eq_ignore_ascii_case(name))
    });
    let expected = if exists || at.is_none() && table.is_none() && backup.is_subset {
        Expected::nothing(before, &[2])
    } else {
        let mut counts = Counts::default();
        let mut missing = 0;
        let mut tables = BTreeMap::new();
        let mut named = Vec::new();
        for name in &names {
            let saved = &backup.tables[*name];
            let mut written = Written::to(None);
            let rows = saved.rows.values();
            rows.for_each(|row| written.write(&script.world.places[INTO], row, true));
            counts.add(written.counts);
            named.extend(written.named);
            missing += saved.missing;
            tables.insert((*name).clone(), written.table);
        }
        let mut expected = Expected::counted(before, counts);
        expected.tables[INTO].extend(tables);
        expected.named = named;
        expected.has_parts = true;
        if missing > 0 {
            // The missing rows may be counted.
            expected.counts = None;
            expected.codes = vec![1];
            expected.messages = ["reject", "missing", "lack", "could not be read"]
                .map(str::to_owned)
                .into();
        }
        expected
    };
    let mut words = vec!["restore".to_owned(), folder.name.clone(), "--into".to_owned()];
    words.push(script.world.places[INTO].argument());
    if let Some(at) = at {
        words.extend(["--at".to_owned(), at.name.clone()]);
    }
    if let Some(table) = table {
        words.extend(["--tables".to_owned(), table.clone()]);
    }
    let mut task = Task::new("restore", expected);
    task.position = Some(script.world.path().join(&folder.name).join("restore.position"));
    task.words(words);
    add_output(script, &mut task);
    add_writing(script, &mut task, true);
    if task.is_quiet {
        task.expected.messages.clear();
    }
    task.places = vec![INTO];
    Some(task)
}

/// `verify-backup` or `backups`.
pub(crate) fn inspect(script: &mut Script<'_>, before: &Moment, verifies: bool) -> Option<Task> {
    let folders: Vec<_> = script
        .folders
        .iter()
        .filter(|folder| !folder.backups.is_empty())
        .collect();
    let folder = script.random.choice(folders)?;
    let backups = folder.backups.clone();
    let missing = backups.iter().map(Saved::missing).sum::<u64>();
    let name = folder.name.clone();
    let kind = if verifies { "verify-backup" } else { "backups" };
    let code = i32::from(verifies && missing > 0);
    let codes: &[i32] = if verifies && folder.has_unfinished {
        &[1]
    } else {
        &[code]
    };
    let mut expected = Expected::nothing(before, codes);
    // A problem is reported instead of the rows that could not be read.
    if code == 1 && !folder.has_unfinished {
        expected.messages = ["reject", "missing", "lack", "could not be read"]
            .map(str::to_owned)
            .into();
    }
    if !verifies {
        expected
            .checks
            .push(Box::new(move |_, _, ran: &Ran, failures: &mut Failures| {
                listed(&backups, ran, failures)
            }));
    }
    let mut task = Task::new(kind, expected);
    task.words([kind, &name]);
    task.can_fail = false;
    Some(task)
}

/// Checks the list of backups.
fn listed(backups: &[Saved], ran: &Ran, failures: &mut Failures) {
    let output = String::from_utf8_lossy(&ran.output);
    for backup in backups {
        for (name, table) in &backup.tables {
            let begin = format!("{}  ", backup.name);
            let line = output.lines().find(|line| {
                let lower = line.to_lowercase();
                lower.starts_with(&begin.to_lowercase()) && lower.contains(&format!(" {}  ", name.to_lowercase()))
            });
            let Some(line) = line else {
                failures.add(Claim::Counts, format!("{} {name} is not listed", backup.name));
                continue;
            };
            let plural = if table.rows.len() == 1 { "row" } else { "rows" };
            let number = crate::pairs::thousands(table.rows.len());
            let is_counted =
                line.contains(&format!("  {number} {plural}")) || line.contains(&format!("  {number} rows"));
            failures.check(is_counted, Claim::Counts, || format!("expected {number} rows: {line}"));
            let is_named = ["without"].iter().any(|word| line.contains(word));
            let has_number = line.split([' ', ',']).any(|word| *word == *table.missing.to_string());
            failures.check(table.missing == 0 || is_named && has_number, Claim::Counts, || {
                format!("{} missing rows are not listed: {line}", table.missing)
            });
        }
    }
}
