//! `delete` and `patch`: the rows of a selection.

use azure_table::EdmValue;

use crate::counts::Counts;
use crate::options::{Selection, add_output, add_writing};
use crate::script::Script;
use crate::task::{Expected, Task};
use crate::world::Moment;

/// A random deletion or patch. One patch in four sets a key: then every row is rejected.
pub(crate) fn selected(script: &mut Script<'_>, before: &Moment, is_patch: bool) -> Task {
    let (place, table) = script.source(before);
    let stored = &before.tables[place][&table];
    let selection = Selection::random(&mut script.random, stored, true);
    let sets_key = is_patch && script.random.u8(..4) == 0;
    let is_dry = script.random.u8(..8) == 0;
    let rows = selection.of(stored);
    let count = rows.len() as u64;
    let mut counts = Counts::default();
    let mut after = stored.clone();
    let mut named = Vec::new();
    for key in rows.keys() {
        match (is_patch, sets_key) {
            (false, _) => drop(after.remove(key)),
            (true, false) => drop(after.get_mut(key).unwrap().insert("Patched", EdmValue::Int64(7))),
            (true, true) => named.push(key.1.clone()),
        }
    }
    match (is_patch, sets_key) {
        (false, _) => counts.deleted = count,
        (true, false) => counts.written = count,
        (true, true) => counts.rejected = count,
    }
    let mut expected = Expected::counted(before, counts);
    expected.named = named;
    expected.tables[place].insert(table.clone(), after);
    if is_dry {
        // Rows that cannot be read cannot be printed.
        expected = Expected::nothing(before, &[0, 1]);
    }
    let verb = if is_patch { "patch" } else { "delete" };
    let mut task = Task::new(verb, expected);
    task.words([verb]);
    script.add_table(&mut task, place, &table);
    selection.add_to(&mut task, script);
    if selection.is_everything() {
        task.words(["--all"]);
    }
    if is_patch {
        task.words(["--set", if sets_key { "RowKey=1" } else { "Patched:int64=7" }]);
    }
    if is_dry {
        task.words(["--dry-run"]);
    }
    add_output(script, &mut task);
    if !is_dry {
        add_writing(script, &mut task, true);
    }
    task.target = Some((place, table));
    task.places = vec![place];
    task.can_fail = !is_dry;
    task
}
