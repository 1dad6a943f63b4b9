//! Options that several commands have: the selection of rows, output, rejected rows, rates.

use azure_table::{DynamicEntity, EdmValue};
use fastrand::Rng;

use crate::rows::Table;
use crate::script::Script;
use crate::task::Task;

/// The rows that a command selects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    partition: Option<String>,
    prefix: Option<String>,
    /// The least value of `Num`.
    least: Option<i32>,
}

impl Selection {
    /// A random selection, of all rows in most cases.
    pub(crate) fn random(random: &mut Rng, table: &Table, has_filter: bool) -> Self {
        let mut selection = Self::default();
        let kind = random.u8(..8);
        if kind < 2 {
            let partitions: Vec<&String> = table.keys().map(|(partition, _)| partition).collect();
            let partition = random.choice(partitions).cloned().unwrap_or("p".into());
            selection.partition = Some(partition);
            selection.prefix = (kind == 1).then(|| (*random.choice(&["r", "r00", "+", "0"]).unwrap()).into());
        }
        if has_filter && random.u8(..6) == 0 {
            selection.least = Some(*random.choice(&[0, 5, 49]).unwrap());
        }
        selection
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.partition.is_none() && self.least.is_none()
    }

    pub(crate) fn has(&self, row: &DynamicEntity) -> bool {
        self.partition
            .as_ref()
            .is_none_or(|partition| row.partition_key == *partition)
            && self
                .prefix
                .as_ref()
                .is_none_or(|prefix| row.row_key.starts_with(prefix))
            && self
                .least
                .is_none_or(|least| matches!(row.get("Num"), Some(EdmValue::Int32(number)) if *number >= least))
    }

    /// Returns the selected rows of a table.
    pub(crate) fn of(&self, table: &Table) -> Table {
        let selected = table.iter().filter(|(_, row)| self.has(row));
        selected.map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    pub(crate) fn add_to(&self, task: &mut Task, script: &Script<'_>) {
        if let Some(partition) = &self.partition {
            script.count("option", "--partition");
            task.words(["--partition", partition]);
        }
        if let Some(prefix) = &self.prefix {
            script.count("option", "--prefix");
            task.words(["--prefix", prefix]);
        }
        if let Some(least) = self.least {
            script.count("option", "--filter");
            task.words(["--filter", &format!("Num ge {least}")]);
        }
    }
}

/// Adds `--json`, `--quiet` and `--yes` at random.
pub(crate) fn add_output(script: &mut Script<'_>, task: &mut Task) {
    task.words(["--yes"]);
    match script.random.u8(..10) {
        0 | 1 => {
            script.count("option", "--json");
            task.is_json = true;
            task.words(["--json"]);
        }
        2 => {
            script.count("option", "--quiet");
            task.is_quiet = true;
            task.words(["--quiet"]);
        }
        _ => {}
    }
}

/// Adds the options of commands that write many rows. The file of rejected rows may be empty in the end.
pub(crate) fn add_writing(script: &mut Script<'_>, task: &mut Task, has_position: bool) {
    if script.random.u8(..3) == 0 {
        script.count("option", "--rejects");
        let path = script.fresh("rejects.jsonl");
        task.words(["--rejects".into(), path.clone().into_os_string()]);
        task.expected.changes.push(path.clone());
        task.expected.rejects = Some(path);
    }
    if script.random.u8(..10) == 0 {
        script.count("option", "--max-rate");
        task.words(["--max-rate", "20000"]);
    }
    if has_position && script.random.u8(..6) == 0 {
        script.count("option", "--position");
        let path = script.fresh("at.position");
        task.words(["--position".into(), path.clone().into_os_string()]);
        task.position = Some(path);
    }
}
