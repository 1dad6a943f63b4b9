//! Copies of a table.

use crate::{output, process, program};

#[test]
fn interrupted_copy_is_resumed_and_the_diff_finds_every_change() {
    let text = output("copy_table");
    let (copied, rest) = text.split_once("after an update").unwrap();
    let (changed, dumped) = rest.split_once("to a file").unwrap();
    for part in [
        "stopped    after 2000 rows",
        "resume     after 2000 rows",
        "copied     3500 rows",
        "3500 equal, 0 changed, 0 missing, 0 extra",
    ] {
        assert!(copied.contains(part), "{part}\n{text}");
    }
    for part in [
        "~ network0 00007",
        "+ network9 00000",
        "- network1 00001",
        "3498 equal, 1 changed, 1 missing, 1 extra",
    ] {
        assert!(changed.contains(part), "{part}\n{text}");
    }
    assert_eq!(dumped.matches("copied     3500 rows").count(), 2, "{text}");
    assert!(dumped.contains("3500 equal, 0 changed, 0 missing, 0 extra"), "{text}");
}

#[test]
fn table_or_file_is_not_copied_onto_itself() {
    for side in ["Quakes", "quakes.jsonl"] {
        let mut copy = program("copy_table");
        let said = process::output(copy.args([side, side]), "a copy");
        let error = String::from_utf8_lossy(&said.stderr);
        assert!(
            !said.status.success() && error.contains("both sides are the same"),
            "{error}"
        );
    }
}
