//! No test passes without testing anything: a test that cannot run is ignored, with its reason.
//!
//! `tests/build.rs` detects the services of this machine. This module searches the sources of the tests for early
//! returns and other code by which a test skips itself.

use std::collections::BTreeSet;

use xtask::sources::{is_test, root, rust_files};

/// Returns and settings that do not skip a test: file or folder, function (all of them if it is empty), reason.
const ALLOWED: [(&str, &str, &str); 31] = [
    (
        "aztable/examples/baseline.rs",
        "main",
        "a program: the variable names its account",
    ),
    (
        "aztable/tests/guide.rs",
        "sessions_are_what_the_program_prints",
        "writes the guide on request",
    ),
    ("aztable/tests/kills.rs", "kills", "the number of kills"),
    (
        "aztable/tests/schema.rs",
        "printed_struct_reads_and_writes_all_rows",
        "writes the struct on request",
    ),
    (
        "examples/delete_channel/store.rs",
        "delete",
        "a later delivery finds the channel deleted",
    ),
    ("examples/stress/", "", "a program: its test asserts what it measured"),
    ("tests/house/skips.rs", "", "holds the forms that it looks for"),
    ("tests/ignored_tests.rs", "main", "a program: it names what was ignored"),
    ("tests/ui/main.rs", "messages", "the compiler may be another program"),
    ("tests/ui/main.rs", "check", "writes the messages on request"),
    (
        "table-parity/src/tests/azurite.rs",
        "differences_of_azurite_are_the_known_ones",
        "the address of Azurite, and writes the list on request",
    ),
    (
        "table-parity/src/tests/facts.rs",
        "",
        "the address of Azurite, and writes the results on request",
    ),
    ("tests/programs/soak/", "", "a program: it asserts how much it wrote"),
    ("tests/faults/matrix/", "", "how many cases ran is asserted"),
    (
        "tests/faults/adverse/positions.rs",
        "",
        "a service that does its worst failed the write before; the calls that succeed are counted",
    ),
    (
        "tests/faults/patterns.rs",
        "promises_of_patterns_hold_under_every_fault",
        "the number of runs of each pair, 1 by default",
    ),
    (
        "tests/src/promises.rs",
        "adverse_seeds",
        "the number of seeds of each promise, 20 by default",
    ),
    (
        "tests/src/explorations/",
        "",
        "tasks of a body, which checks what they did",
    ),
    (
        "tests/systems/",
        "",
        "libraries, and tasks of a body, which checks what they did",
    ),
    (
        "tests/faults/history/",
        "",
        "clients of a model, whose calls are checked",
    ),
    (
        "tests/src/backend.rs",
        "variable",
        "panics where the variable is missing",
    ),
    (
        "tests/src/bulk_stress.rs",
        "random_bulks_have_the_result_of_single_writes",
        "the number of runs, one by default",
    ),
    (
        "tests/src/untrusted/filter.rs",
        "check_filter",
        "after a refusal was checked, or for a filter that cannot stand inside another",
    ),
    (
        "tests/it/properties/mod.rs",
        "cases",
        "how many cases, a quarter by default",
    ),
    (
        "tests/it/properties/batches.rs",
        "check",
        "an empty batch, of which all was checked",
    ),
    (
        "tests/it/properties/keys.rs",
        "other_text_is_not_taken_for_escaped",
        "what is rejected has no value to check",
    ),
    (
        "tests/it/emulator/replay/repeated_session.rs",
        "make_table",
        "a table that is there is not made again",
    ),
    (
        "tests/it/wire/sockets.rs",
        "read_with_a_broken_response_is_retried",
        "the server ends a connection",
    ),
    (
        "tests/faults/explored_programs.rs",
        "pruned_orders_show_what_all_orders_show",
        "how many programs, 40 by default",
    ),
    (
        "azure-table-emulator/src/tests/durable/crash.rs",
        "crash_loses_no_acknowledged_or_visible_change_and_tears_no_batch",
        "how many crashes, 150 by default",
    ),
    (
        "azure-table/src/client/batching/engine/queue.rs",
        "no_partition_waits_forever",
        "the loop's success, before a panic",
    ),
];

/// Returns the places of a test file that may skip a test: the function and the line.
fn found(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut function = String::new();
    let mut is_test = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let code = line.trim();
        if code.starts_with("//") {
            continue;
        }
        is_test |= code.contains("#[") && code.contains("test");
        if let Some(name) = function_name(code) {
            name.clone_into(&mut function);
            // The functions of the conformance suite are tests as well.
            if (is_test || code.contains("&Backend"))
                && let Some(only) = only_an_if(line, lines.clone())
            {
                found.push((function.clone(), only));
            }
            is_test = false;
        }
        let leaves = code.contains("return;") || code.ends_with("{ return };") || code.contains("return Ok(());");
        let asks = code.contains("env::var") || code.contains("if cfg!(") || code.contains("if !cfg!(");
        if leaves || asks || (code.contains("print") && code.contains("skip")) {
            found.push((function.clone(), code.to_owned()));
        }
    }
    found
}

fn function_name(code: &str) -> Option<&str> {
    let (before, rest) = code.split_once("fn ")?;
    let words = [
        "",
        "pub",
        "async",
        "pub async",
        "pub(crate)",
        "pub(super)",
        "pub(crate) async",
        "pub(super) async",
    ];
    let name = rest.split(['(', '<']).next()?;
    words.contains(&before.trim_end()).then_some(name)
}

/// Returns the `if` without `else` that is the whole body of a function: it tests nothing if its condition is false.
/// Relies on the indentation of rustfmt.
fn only_an_if<'a>(function: &str, body: impl Iterator<Item = &'a str>) -> Option<String> {
    let indent = function.len() - function.trim_start().len();
    let end = format!("{}}}", " ".repeat(indent));
    let body: Vec<&str> = body.take_while(|line| !line.starts_with(&end)).collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let outermost = body
        .iter()
        .map(|line| depth(line))
        .filter(|depth| *depth > indent)
        .min()?;
    let statements: Vec<&str> = body
        .iter()
        .filter(|line| depth(line) == outermost && !line.trim_start().starts_with("//"))
        .map(|line| line.trim())
        .collect();
    match statements[..] {
        [only, "}"] if only.starts_with("if ") && only.ends_with('{') => Some(only.to_owned()),
        _ => None,
    }
}

/// Returns the tests of a file: the part after the code for a source file of a crate, else the whole file.
fn tests_of<'a>(path: &str, text: &'a str) -> &'a str {
    if path.contains("/src/") && !path.starts_with("tests/") && !is_test(path) {
        text.split_once("\n#[cfg(test)]\nmod tests {")
            .map_or("", |(_, tests)| tests)
    } else {
        text
    }
}

#[test]
fn no_test_skips_itself() {
    let mut allowed = BTreeSet::new();
    let (mut hidden, mut files) = (Vec::new(), 0);
    for folder in [
        "tests",
        "azure-table/src",
        "azure-table-wire/src",
        "azure-table-derive/src",
        "azure-table-emulator",
        "azure-table-patterns/src",
        "azure-table-testing/src",
        "aztable",
        "examples",
        "table-parity",
    ] {
        for (path, text) in rust_files(&root().join(folder)) {
            let path = path.strip_prefix(root()).unwrap();
            // Files that must not compile and build scripts are not tests.
            if (path.starts_with("tests/ui") && !path.ends_with("main.rs"))
                || path.starts_with("tests/fuzz")
                || path.ends_with("build.rs")
            {
                continue;
            }
            files += 1;
            let place = path.to_string_lossy().replace('\\', "/");
            for (function, line) in found(tests_of(&place, &text)) {
                let is_it = |(of, name, _): &(&str, &str, &str)| {
                    place.starts_with(of) && (name.is_empty() || *name == function)
                };
                match ALLOWED.iter().position(is_it) {
                    Some(index) => drop(allowed.insert(index)),
                    None => hidden.push(format!("{place}, {function}: {line}")),
                }
            }
        }
    }
    assert!(files > 200, "the sources were not found: {files}");
    assert!(
        hidden.is_empty(),
        "ignore a test that cannot run, or name the place in ALLOWED:\n{}",
        hidden.join("\n")
    );
    let unused: Vec<_> = (0..ALLOWED.len())
        .filter(|index| !allowed.contains(index))
        .map(|index| ALLOWED[index])
        .collect();
    assert!(unused.is_empty(), "nothing is to be allowed there: {unused:?}");
}

#[test]
fn each_form_of_a_skip_is_found() {
    for body in [
        "    let Some(vectors) = vectors() else { return };\n    assert!(vectors.len() > 3);",
        "    let Some(vectors) = vectors() else {\n        return;\n    };\n    assert!(vectors.len() > 3);",
        "    if std::env::var(\"X\").is_ok() {\n        assert!(true);\n    }\n    more();",
        "    if let Some(backend) = backend() {\n        assert!(true);\n        more();\n    }",
        "    // Where it is.\n    if there {\n        assert!(true);\n    }",
        "    if backend.is_none() {\n        return Ok(());\n    }\n    more();",
        "    eprintln!(\"skipped: no service\");\n    more();",
        "    if !cfg!(unix) {\n    }\n    more();",
    ] {
        for (head, end) in [
            ("#[test]\nfn test() {", "}"),
            ("pub async fn test(backend: &Backend) {", "}"),
            ("$($(#[tokio::test]\nasync fn test() {", "})+)+"),
        ] {
            let text = format!("{head}\n{body}\n{end}\n");
            let found = found(&text);
            assert!(
                found.iter().all(|(function, _)| function == "test") && !found.is_empty(),
                "{text}"
            );
        }
    }
    let good = "fn test() {\n    // return;\n    if a {\n        b();\n    } else {\n        c();\n    }\n}\n\nfn other() {\n    \
                let x = 1;\n    if x > y {\n        z();\n    }\n}\n";
    assert_eq!(found(good), []);
}
