//! A CSV file with bad lines.

use std::fs;
use std::path::PathBuf;

use crate::{line, output, process, program};

#[test]
fn good_lines_are_stored_and_each_other_line_is_printed() {
    let text = output("csv_import");
    let bad_lines = text.lines().filter(|line| line.starts_with("bad line"));
    assert_eq!(bad_lines.count(), 3, "{text}");
    assert!(text.contains("(line: 4, byte: 51)"), "{text}");
    assert!(text.contains("Bergen/Voss"), "{text}");
    assert_eq!(line(&text, "stored")[1], "4", "{text}");
}

#[test]
fn file_of_bad_lines_ends_the_import() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bad_lines.csv");
    fs::write(
        &path,
        format!("shop,id,name,price\nOslo,1,tea,4.50\n{}", "Oslo,2\n".repeat(120)),
    )
    .unwrap();
    let output = process::output(program("csv_import").arg(&path), "csv_import");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{error}");
    assert!(error.contains("100 bad lines: is this the right file?"), "{error}");
}
