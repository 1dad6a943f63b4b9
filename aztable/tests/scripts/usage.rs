//! What the scripts have used: commands, formats, kinds of paths, faults, options.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;

/// All kinds, by group. Each must occur in 300 scripts.
const KINDS: [(&str, &[&str]); 6] = [
    (
        "command",
        &[
            "import",
            "export",
            "copy",
            "sync",
            "sync --delete",
            "sync --dry-run",
            "diff",
            "backup",
            "restore",
            "verify-backup",
            "backups",
            "patch",
            "delete",
            "put",
        ],
    ),
    (
        "format",
        &[
            "jsonl",
            "json array",
            "json response",
            "csv of aztable",
            "csv of python",
            "parquet of aztable",
            "parquet of pyarrow",
            "jsonl of aztable",
            "gz",
            "zst",
            "byte order mark",
            "export csv",
            "export parquet",
            "export jsonl",
        ],
    ),
    (
        "path",
        &[
            "plain",
            "RAM disk",
            "symbolic link",
            "dangling link",
            "standard stream",
            "/dev/stdout",
            "named pipe",
            "not UTF-8",
            "existing",
            "foreign .part",
            "foreign .position",
            "foreign .rows.jsonl.zst",
        ],
    ),
    ("place", &["folder", "port", "cosmos"]),
    (
        "fault",
        &[
            "throttled",
            "lost response",
            "forbidden",
            "gone",
            "killed",
            "interrupted",
            "killed after a time",
            "interrupted after a time",
            "file limit",
            "/dev/full",
            "table gone",
            "file changed",
            ".part gone",
        ],
    ),
    (
        "option",
        &[
            "--insert",
            "--overwrite",
            "--rejects",
            "--position",
            "--json",
            "--quiet",
            "--partition",
            "--prefix",
            "--filter",
            "--select",
            "--system",
            "--keys",
            "--max-rate",
            "--full",
            "--tables",
            "secret",
        ],
    ),
];

#[derive(Default)]
pub(crate) struct Usage(Mutex<BTreeMap<(String, String), usize>>);

impl Usage {
    pub(crate) fn count(&self, group: &str, kind: &str) {
        let mut counts = self.0.lock().unwrap();
        *counts.entry((group.to_owned(), kind.to_owned())).or_default() += 1;
    }

    fn of(&self, group: &str, kind: &str) -> usize {
        let counts = self.0.lock().unwrap();
        counts
            .get(&(group.to_owned(), kind.to_owned()))
            .copied()
            .unwrap_or_default()
    }

    /// Returns the kinds that never occurred.
    pub(crate) fn missing(&self, has_parquet: bool) -> Vec<&'static str> {
        let has_ram_disk = crate::paths::ram_disk().is_some();
        let all = KINDS
            .iter()
            .flat_map(|(group, kinds)| kinds.iter().map(move |kind| (group, *kind)));
        let all = all.filter(|(_, kind)| has_parquet || *kind != "parquet of pyarrow");
        let all = all.filter(|(_, kind)| has_ram_disk || *kind != "RAM disk");
        all.filter(|(group, kind)| self.of(group, kind) == 0)
            .map(|(_, kind)| kind)
            .collect()
    }

    /// Returns a line for each group.
    pub(crate) fn table(&self) -> String {
        let mut text = String::new();
        for (group, kinds) in KINDS {
            let counted = kinds.iter().map(|kind| format!("{kind} {}", self.of(group, kind)));
            let _ = writeln!(text, "{group:8} {}", counted.collect::<Vec<_>>().join(", "));
        }
        text
    }
}
