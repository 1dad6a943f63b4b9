//! `import`: a random file into a table.

use std::fs;

use azure_table::DynamicEntity;

use crate::counts::Counts;
use crate::files::{Format, Line, Mistake, Source, foreign};
use crate::options::{add_output, add_writing};
use crate::paths::{FilePath, PathKind};
use crate::rows::{Table, key, same};
use crate::script::Script;
use crate::task::{Expected, Leeway, Task};
use crate::world::{Moment, Place};

/// Returns whether the service may reject the row: most rows need not be tried.
fn is_odd(row: &DynamicEntity) -> bool {
    let is_odd_key = |key: &str| key.is_empty() || key.chars().any(|c| "/\\#?".contains(c) || c.is_control());
    let is_odd_name = |name: &str| !name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_odd_key(&row.partition_key)
        || is_odd_key(&row.row_key)
        || row.properties.keys().any(|name| is_odd_name(name))
        || row.properties.values().any(|value| value.to_string().len() > 30_000)
}

/// Returns whether a place takes a row.
pub(crate) fn accepts(place: &Place, row: &DynamicEntity) -> bool {
    !is_odd(row) || place.accepts(row)
}

/// The rows of a source written to a table one after the other.
#[derive(Default)]
pub(crate) struct Written {
    pub(crate) table: Table,
    pub(crate) counts: Counts,
    /// The RowKeys of rejected rows.
    pub(crate) named: Vec<String>,
    keys: std::collections::BTreeSet<(String, String)>,
}

impl Written {
    pub(crate) fn to(table: Option<&Table>) -> Self {
        Self {
            table: table.cloned().unwrap_or_default(),
            ..Self::default()
        }
    }

    pub(crate) fn reject(&mut self, name: &str) {
        self.counts.rejected += 1;
        self.named.push(name.to_owned());
    }

    pub(crate) fn write(&mut self, place: &Place, row: &DynamicEntity, is_insert: bool) {
        let key = key(row);
        if !accepts(place, row) {
            return self.reject(&row.row_key);
        }
        match self.table.get(&key) {
            Some(stored) if is_insert && same(stored, row) => self.counts.unchanged += 1,
            Some(_) if is_insert => self.reject(&row.row_key),
            _ => {
                match self.keys.insert(key.clone()) {
                    true => self.counts.written += 1,
                    false => self.counts.superseded += 1,
                }
                self.table.insert(key, row.clone());
            }
        }
    }

    /// Returns what a command must do that writes these rows to a table.
    pub(crate) fn expected(self, before: &Moment, place: usize, table: &str) -> Expected {
        let mut expected = Expected::counted(before, self.counts);
        expected.named = self.named;
        expected.tables[place].insert(table.to_owned(), self.table);
        expected
    }
}

/// A random import.
pub(crate) fn import(script: &mut Script<'_>, before: &Moment) -> Task {
    let source = Source::random(script);
    let (place, table) = script.target(before);
    let can_stream = source.format.ending() != "parquet" && !source.is_gzip && !source.is_zstandard;
    let path = FilePath::random(script, &source.ending(), can_stream);
    let is_dangling = path.kind == PathKind::DanglingLink;
    let is_insert = script.random.u8(..4) == 0;
    // The name of a position is text: that of another file may be meant.
    let is_text = path.kind != PathKind::NotUtf8 && !path.kind.is_stream();
    let has_foreign = is_text && script.random.u8(..15) == 0;
    let mut written = Written::to(before.tables[place].get(&table));
    for line in &source.lines {
        match line {
            Line::Garbage(text) => {
                let (_, name) = text.split_once(":\"").unwrap();
                written.reject(name.split('"').next().unwrap());
            }
            Line::Row(row) => written.write(&script.world.places[place], row, is_insert),
        }
    }
    let untyped_pipe = source.format == Format::CsvOfPython { is_typed: false } && path.kind.is_stream();
    let mut expected = match (is_dangling || has_foreign, source.mistake) {
        _ if untyped_pipe => Expected::nothing(before, &[2]),
        (true, _) => Expected::nothing(before, &[1, 2]),
        (false, Some(mistake)) => {
            let mut expected = Expected::nothing(before, &[1, 2]);
            if mistake == Mistake::EqualKeys {
                let Some(Line::Row(row)) = source.lines.last() else {
                    unreachable!("it has rows")
                };
                expected.messages.push(row.row_key.clone());
            }
            expected
        }
        (false, None) => written.expected(before, place, &table),
    };
    if source.has_uneven_keys && expected.counts.is_some() {
        expected.messages.push("warning".into());
    }
    expected.versions = source.rows().cloned().collect();
    if is_insert {
        expected.leeway = Leeway::Unchanged;
    }
    let mut task = Task::new("import", expected);
    task.words(["import"]);
    task.words([path.argument.clone()]);
    script.add_table(&mut task, place, &table);
    match path.kind {
        kind if kind.is_stream() => {
            let file = script.fresh("input");
            source.write(script, &file);
            task.run.input = Some(fs::read(&file).unwrap());
            fs::remove_file(file).unwrap();
            task.words(["--format", source.format.ending()]);
            if path.kind == PathKind::NamedPipe {
                task.run.pipe = Some(path.argument.clone());
            }
        }
        PathKind::DanglingLink => {}
        _ => {
            source.write(script, &path.file);
            task.source = Some(path.file.clone());
        }
    }
    if has_foreign {
        script.count("path", "foreign .position");
        // The position of an import is beside the link itself.
        foreign(&script.world.path().join(&path.argument), ".position");
    }
    if is_insert {
        script.count("option", "--insert");
        task.words(["--insert"]);
    }
    if source.has_named_keys {
        script.count("option", "--keys");
        task.words(["--keys", "city,id"]);
    }
    add_output(script, &mut task);
    add_writing(script, &mut task, !has_foreign);
    if task.is_quiet {
        task.expected.messages.retain(|message| message != "warning");
    }
    task.target = Some((place, table));
    task.places = vec![place];
    task
}
