//! Rows of a table in the terminal.

use crate::{output, process, program};

/// Runs the program. Returns its exit code, and standard output or, if it failed, standard error.
fn said(arguments: &[&str]) -> (Option<i32>, String) {
    let output = process::output(program("show_table").args(arguments), "show_table");
    let text = if output.status.success() {
        output.stdout
    } else {
        output.stderr
    };
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn all_columns_are_shown() {
    let text = output("show_table");
    for part in [
        "PartitionKey",
        "Magnitude",
        "Place",
        "Time",
        "Banda Sea",
        "2026-03-01T02:40:55Z",
        "3 rows",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn columns_filter_and_number_of_rows_are_arguments() {
    let (code, text) = said(&[
        "--columns",
        "Magnitude, Place",
        "--filter",
        "Magnitude ge 4.0",
        "--rows",
        "1",
    ]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Banda Sea") && text.contains("1 rows"), "{text}");
    assert!(!text.contains("Time") && !text.contains("Ester"), "{text}");
    assert!(text.find("Magnitude") < text.find("Place"), "{text}");
}

#[test]
fn mistakes_are_explained() {
    let (code, text) = said(&["--filter", "Magnitude >= 4"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("400 InvalidInput"), "{text}");
    assert!(text.contains("from character 11 on, \">= 4\""), "{text}");
    let (code, text) = said(&["--color"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("--color") && text.contains("usage: show_table"), "{text}");
}

#[test]
fn empty_connection_string_counts_as_unset() {
    let mut show_table = program("show_table");
    let output = process::output(show_table.env("AZURE_STORAGE_CONNECTION_STRING", ""), "show_table");
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert!(
        text.contains("an emulator in this process") && text.contains("Banda Sea"),
        "{text}"
    );
}
