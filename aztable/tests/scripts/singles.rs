//! `put`: one row.

use azure_table::DynamicEntity;

use crate::imports::accepts;
use crate::options::add_output;
use crate::rows::{is_readable, key};
use crate::script::Script;
use crate::task::{Expected, Task};
use crate::world::Moment;

/// A random put, also of a row that exists or that the service rejects.
pub(crate) fn put(script: &mut Script<'_>, before: &Moment) -> Task {
    let (place, table) = script.source(before);
    let stored = &before.tables[place][&table];
    let keys: Vec<_> = stored
        .iter()
        .filter(|(_, row)| is_readable(row))
        .map(|(key, _)| key)
        .collect();
    let mut row = DynamicEntity::new("p", format!("put{}", script.number()));
    match script.random.u8(..6) {
        0 | 1 => {
            if let Some(key) = script.random.choice(keys) {
                (row.partition_key, row.row_key) = key.clone();
            }
        }
        2 => row.row_key += "/",
        _ => {}
    }
    row.insert("Text", "it's \u{1F600}");
    row.insert("Num", 49);
    let is_insert = script.random.u8(..3) == 0;
    let is_refused = is_insert && stored.contains_key(&key(&row)) || !accepts(&script.world.places[place], &row);
    let mut expected = Expected::nothing(before, if is_refused { &[1, 2] } else { &[0] });
    if !is_refused {
        expected.tables[place]
            .get_mut(&table)
            .unwrap()
            .insert(key(&row), row.clone());
    }
    let mut task = Task::new("put", expected);
    task.words(["put"]);
    script.add_table(&mut task, place, &table);
    // A key may begin as an option does.
    if is_insert {
        script.count("option", "--insert");
        task.words(["--insert"]);
    }
    add_output(script, &mut task);
    task.words([
        "--",
        &row.partition_key,
        &row.row_key,
        "Text=it's \u{1F600}",
        "Num:int32=49",
    ]);
    task.places = vec![place];
    task.can_fail = false;
    task
}
