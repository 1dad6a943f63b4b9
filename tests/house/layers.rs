//! Rules of the sources: imports point downward without cycles, files stay small, each names what it owns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use xtask::layers::Layers;
use xtask::sources::{CRATES, root, rust_files};

use super::product;

/// The layers of the client, highest first.
const CLIENT: Layers<'_> = Layers {
    folder: "azure-table/src",
    names: &[
        "lib guide",
        "api",
        "__private",
        "explore",
        "client",
        "pipeline",
        "request",
        "write",
        "account",
        "filter",
        "entity key",
    ],
};

/// The layers of the wire, highest first.
const WIRE: Layers<'_> = Layers {
    folder: "azure-table-wire/src",
    names: &[
        "lib",
        "service",
        "sas",
        "request response",
        "transport",
        "account",
        "filter",
        "codec",
        "error value",
    ],
};

/// The maximum number of lines of a source file, without unit tests.
const MAX_LINES: usize = 500;
/// The maximum number of modules in a folder. More are found faster in folders by subject.
const MAX_SIBLINGS: usize = 20;
/// The maximum number of files in a folder of the tests. The texts of `ui` are no modules.
const MAX_SIBLINGS_OF_TESTS: usize = 30;
/// The most lines of an example, or of the `main.rs` of one in a folder. `stress` is a study, not a lesson.
const MAX_LINES_OF_EXAMPLES: usize = 150;

/// Files that may import each other: a parent and its child, or two that form one unit.
const MAX_FILES_OF_A_CIRCLE: usize = 2;

#[test]
fn imports_point_downwards() {
    let sources = product();
    CLIENT.check_imports(sources, 500);
    WIRE.check_imports(sources, 50);
}

#[test]
fn imports_of_the_program_point_downwards() {
    let layers = Layers {
        folder: "azure-table-emulator/src/program",
        names: &[
            "main",
            "serve",
            "introduction",
            "folder",
            "control",
            "options",
            "token",
            "stop",
            "output",
        ],
    };
    let sources = product();
    layers.check_imports(sources, 15);
    layers.check_circles(sources);
}

#[test]
fn imports_of_table_parity_point_downwards() {
    let layers = Layers {
        folder: "table-parity/src",
        names: &[
            "main",
            "lib",
            "program",
            "command_line",
            "comparison parity",
            "suite facts",
            "fact",
            "run",
            "service",
            "step",
        ],
    };
    let sources = product();
    layers.check_imports(sources, 100);
}

#[test]
fn files_have_no_import_cycles() {
    let sources = product();
    let circles: Vec<_> = sources
        .circles()
        .into_iter()
        .filter(|circle| circle.len() > MAX_FILES_OF_A_CIRCLE)
        .collect();
    assert!(
        circles.is_empty(),
        "files that import each other: cut the circle\n{circles:#?}"
    );
}

#[test]
fn services_are_distinguished_by_their_rules() {
    for file in &product().files {
        let is_rule = file.path.ends_with("/account/profile.rs")
            || file.path.starts_with("azure-table-emulator/src/rules")
            // The program may name the service that it was started for, and a user of the client the one that it meets.
            || file.path.starts_with("azure-table-emulator/src/program/")
            || file.path.starts_with("aztable/src/")
            || file.path.starts_with("table-parity/src/");
        let is_named = ["Profile::Storage", "Profile::Cosmos"]
            .iter()
            .any(|name| file.skeleton.contains(name));
        assert!(is_rule || !is_named, "{}: look a field of the rules up", file.path);
    }
}

#[test]
fn files_are_small_and_open_with_a_comment() {
    for file in &product().files {
        let lines = file.lines();
        assert!(
            lines <= MAX_LINES,
            "{}: {lines} lines, more than the limit of {MAX_LINES}: move a part of it to a file of its own",
            file.path
        );
    }
    for (path, text) in sources() {
        assert!(
            text.starts_with("//!") || text.starts_with("#![doc"),
            "{path}: it does not open with a module comment"
        );
    }
}

#[test]
fn folders_have_few_modules() {
    let mut modules = BTreeMap::<String, BTreeSet<String>>::new();
    for file in &product().files {
        // Each folder on the way, with the module below it.
        let names: Vec<&str> = file.path.trim_end_matches(".rs").split('/').collect();
        for (depth, name) in names.iter().enumerate().skip(2).filter(|(_, name)| **name != "lib") {
            modules
                .entry(names[..depth].join("/"))
                .or_default()
                .insert((*name).to_owned());
        }
    }
    assert!(modules.len() > 20, "{} folders", modules.len());
    modules.retain(|_, modules| modules.len() > MAX_SIBLINGS);
    assert!(
        modules.is_empty(),
        "more than {MAX_SIBLINGS} modules: divide the folder by subject\n{modules:#?}"
    );
}

#[test]
fn folders_of_tests_have_few_modules() {
    let mut modules = BTreeMap::<PathBuf, usize>::new();
    for (path, _) in rust_files(&root().join("tests")) {
        if let Some(folder) = path.parent().filter(|folder| !folder.ends_with("ui/fail")) {
            *modules.entry(folder.to_owned()).or_default() += 1;
        }
    }
    assert!(modules.len() > 20, "{} folders", modules.len());
    modules.retain(|_, modules| *modules > MAX_SIBLINGS_OF_TESTS);
    assert!(
        modules.is_empty(),
        "more than {MAX_SIBLINGS_OF_TESTS} files: {modules:#?}"
    );
}

#[test]
fn examples_are_short() {
    let folder = root().join("examples");
    let is_program = |path: &std::path::Path| {
        let in_folder = path.strip_prefix(&folder).unwrap_or(path);
        let is_main = in_folder.ends_with("main.rs") && !in_folder.starts_with("stress");
        in_folder.components().count() == 1 || is_main
    };
    let files = rust_files(&folder);
    let programs: Vec<_> = files.iter().filter(|(path, _)| is_program(path)).collect();
    assert!(programs.len() > 20, "{} programs", programs.len());
    for (path, text) in programs {
        let lines = text.lines().count();
        assert!(lines <= MAX_LINES_OF_EXAMPLES, "{}: {lines} lines", path.display());
    }
}

#[test]
fn no_lint_is_allowed_without_a_reason() {
    // The derive writes `allow` into the user's code, for which the user decides.
    for (path, text) in sources().filter(|(path, _)| !path.contains("azure-table-derive")) {
        assert!(!text.contains("#[allow("), "{path}: use #[expect(…, reason = …)]");
    }
}

/// Returns the files of all crates, unit tests included, with their text.
fn sources() -> impl Iterator<Item = (String, String)> {
    let files = CRATES.into_iter().flat_map(|folder| rust_files(&root().join(folder)));
    files.map(|(path, text)| (path.display().to_string(), text))
}
