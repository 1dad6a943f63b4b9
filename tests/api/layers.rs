//! The house stays in order: imports point downwards and in no circles, files stay small, each says what it owns.

use azure_table_tests::house::{House, root, rust_files};

/// The layers, highest first.
const LAYERS: [&str; 8] = [
    "testing", "emulator", "client", "pipeline", "protocol", "filter", "codec", "model",
];

/// Lines of a source file, unit tests not counted.
const MOST_LINES: usize = 500;

/// Files that may import each other: a parent and its child, or two that are one idea.
const MOST_FILES_OF_A_CIRCLE: usize = 2;

/// The larger circles that are left, by what their files' paths have in common, with the number of files. The list only shrinks.
const CIRCLES: [(&str, usize); 1] = [("azure-table/src/pipeline/retry", 3)];

#[test]
fn imports_point_downwards() {
    let house = House::read(root());
    let rank = |file: usize| LAYERS.iter().position(|layer| *layer == house.files[file].layer());
    for (own, imports) in house.imports().into_iter().enumerate() {
        let path = &house.files[own].path;
        let Some(above) = rank(own) else {
            continue;
        };
        for below in imports.into_iter().filter_map(rank) {
            let (own, used) = (LAYERS[above], LAYERS[below]);
            assert!(below >= above, "{path}: {own} uses {used}");
            assert!(
                !(matches!(own, "testing" | "emulator") && used == "client"),
                "{path}: what stands behind the transport does not know the client"
            );
            assert!(
                !(own == "testing" && used == "emulator"),
                "{path}: the fault kit stands before any transport"
            );
        }
    }
}

#[test]
fn files_import_each_other_in_no_circle() {
    let house = House::read(root());
    let mut left = CIRCLES.to_vec();
    let mut wrong = Vec::new();
    for circle in house.circles() {
        let found = (in_common(&circle), circle.len());
        match left
            .iter()
            .position(|(place, files)| (place.to_string(), *files) == found)
        {
            Some(listed) => drop(left.swap_remove(listed)),
            None if circle.len() > MOST_FILES_OF_A_CIRCLE => {
                wrong.push(format!("{} files of {}: {}", found.1, found.0, circle.join(", ")));
            }
            None => {}
        }
    }
    assert!(
        wrong.is_empty() && left.is_empty(),
        "files that import each other: cut the circle, or lower its number in CIRCLES\n{}\nno longer there, take it out of CIRCLES: \
         {left:?}",
        wrong.join("\n")
    );
}

/// What the paths have in common, by whole names.
fn in_common(paths: &[&str]) -> String {
    let names = |path: &str| -> Vec<String> { path.trim_end_matches(".rs").split('/').map(str::to_owned).collect() };
    let shared = paths.iter().map(|path| names(path)).reduce(|shared, path| {
        let both = shared.into_iter().zip(path);
        both.take_while(|(one, other)| one == other)
            .map(|(one, _)| one)
            .collect()
    });
    shared.unwrap_or_default().join("/")
}

#[test]
fn files_are_small_and_say_what_they_own() {
    for file in House::read(root()).files {
        let lines = file.lines();
        assert!(
            lines <= MOST_LINES,
            "{}: {lines} lines, the limit is {MOST_LINES}",
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
fn no_lint_is_allowed_without_a_reason() {
    // The derive writes `allow` into the user's code, which is its business.
    for (path, text) in sources().filter(|(path, _)| !path.contains("azure-table-derive")) {
        assert!(!text.contains("#[allow("), "{path}: use #[expect(…, reason = …)]");
    }
}

/// The files of both crates, unit tests included, with their text.
fn sources() -> impl Iterator<Item = (String, String)> {
    let folders = ["azure-table/src", "azure-table-derive/src"].into_iter();
    let files = folders.flat_map(|folder| rust_files(&root().join(folder)));
    files.map(|(path, text)| (path.display().to_string(), text))
}
