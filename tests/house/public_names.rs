//! The names of the client: few at the root, all others in public modules, each with one path.

use std::collections::BTreeMap;

use xtask::pages;
use xtask::sources::root;

use super::named_methods::spans;

/// The names at the root of the crate.
const MAX_AT_ROOT: usize = 70;

/// The public modules and their files. `guide` has none, `entity::json_text` those that serde calls.
const MODULES: [(&str, &str); 17] = [
    ("", "lib.rs"),
    ("auth", "api/auth.rs"),
    ("batch", "api/batch.rs"),
    ("bulk", "api/bulk.rs"),
    ("emulator", "api/emulator.rs"),
    ("entity", "entity.rs"),
    ("filter", "filter.rs"),
    ("key", "key.rs"),
    ("index", "api/index.rs"),
    ("operation", "api/operation.rs"),
    ("query", "api/query.rs"),
    ("policy", "api/policy.rs"),
    ("retry", "api/retry.rs"),
    ("service", "api/service.rs"),
    ("telemetry", "api/telemetry.rs"),
    ("testing", "api/testing.rs"),
    ("transport", "api/transport.rs"),
];

/// The root of the patterns, from the root of the checkout. All its names are there.
const PATTERNS: &str = "azure-table-patterns/src/lib.rs";

fn source(file: &str) -> String {
    std::fs::read_to_string(root().join("azure-table/src").join(file)).unwrap()
}

/// Returns the names that a file exports, without modules and the derive crate's names.
fn exported(file: &str) -> Vec<String> {
    exported_by(&source(file))
}

/// Returns the names that a text exports, without modules and the derive crate's names.
fn exported_by(text: &str) -> Vec<String> {
    let statements = text
        .split("pub use ")
        .skip(1)
        .filter(|rest| {
            let crates = [
                "crate::",
                "self::",
                "azure_table_wire::",
                "azure_table_emulator::",
                "azure_table_testing::",
            ];
            crates.iter().any(|name| rest.starts_with(name))
        })
        .map(|rest| rest.split(';').next().unwrap());
    statements
        .filter(|statement| !statement.starts_with("crate::api::"))
        .flat_map(|statement| {
            let names = match statement.split_once('{') {
                Some((_, names)) => names.trim_end().trim_end_matches('}'),
                None => statement.rsplit("::").next().unwrap(),
            };
            let names: Vec<_> = names.split(',').map(|name| name.trim().to_owned()).collect();
            names.into_iter().filter(|name| !name.is_empty())
        })
        .collect()
}

#[test]
fn root_has_the_names_of_a_typical_program_only() {
    let names = exported("lib.rs");
    assert!(names.len() > 40, "the exports were not found: {names:?}");
    assert!(
        names.len() <= MAX_AT_ROOT,
        "{} names at the root: {names:?}",
        names.len()
    );
}

#[test]
fn each_name_has_one_path() {
    let mut paths: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (module, file) in MODULES {
        for name in exported(file) {
            paths.entry(name).or_default().push(module);
        }
    }
    assert!(paths.len() > 200, "the exports were not found");
    paths.retain(|_, modules| modules.len() > 1);
    assert!(paths.is_empty(), "{paths:?}");
}

#[test]
fn each_module_is_in_the_list() {
    let mut files: Vec<_> = std::fs::read_dir(root().join("azure-table/src/api"))
        .unwrap()
        .map(|entry| format!("api/{}", entry.unwrap().file_name().display()))
        .collect();
    files.retain(|file| !MODULES.iter().any(|(_, listed)| listed == file));
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn each_module_has_a_table_and_an_example() {
    for (module, file) in MODULES.into_iter().skip(1) {
        let page: String = source(file).lines().filter(|line| line.starts_with("//!")).collect();
        assert!(page.contains("|---|"), "{module}: no table");
        assert!(page.contains("# Examples"), "{module}: no example");
        for name in exported(file) {
            assert!(
                page.contains(&format!("`{name}`")),
                "{module}: its page does not name `{name}`"
            );
        }
    }
}

#[test]
fn patterns_have_names_of_their_own_on_one_page() {
    let text = std::fs::read_to_string(root().join(PATTERNS)).unwrap();
    let page: String = text.lines().filter(|line| line.starts_with("//!")).collect();
    assert!(
        page.contains("|---|") && page.contains("```"),
        "no table, or no example"
    );
    let names = exported_by(&text);
    assert!(names.len() > 10, "the exports were not found: {names:?}");
    let other = MODULES.map(|(_, file)| exported(file)).concat();
    for name in names {
        assert!(
            page.contains(&format!("[`{name}`]")),
            "{PATTERNS} does not name `{name}`"
        );
        assert!(!other.contains(&name), "{name} is a name of azure-table too");
    }
}

/// Returns the words of a text: names of items and others.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

#[test]
fn guides_say_where_a_name_outside_the_root_is() {
    let modules = MODULES.into_iter().skip(1).flat_map(|(_, file)| exported(file));
    let names: Vec<String> = modules.filter(|name| name.starts_with(char::is_uppercase)).collect();
    let mut missing = Vec::new();
    for (path, text) in pages::sources() {
        let page = path.file_name().unwrap().to_string_lossy().into_owned();
        // Variants of `OperationKind`, and names of another client, may be names of items too.
        if page == "operations.md" || page.starts_with("migrate_") {
            continue;
        }
        // A closing fence follows each opening one, so that every other part is prose.
        let parts = || text.split("\n```");
        let prose = || parts().step_by(2).flat_map(str::lines);
        // A link or a path, or a program that imports the name.
        let is_found = |name: &str| {
            prose().any(|line| line.split("::").skip(1).any(|rest| words(rest).next() == Some(name)))
                || parts()
                    .skip(1)
                    .step_by(2)
                    .any(|code| words(code).any(|word| word == name))
        };
        let named = prose().flat_map(spans).filter_map(|span| words(span).next());
        for name in named.filter(|name| names.iter().any(|other| other == name)) {
            if !is_found(name) {
                missing.push(format!("{page}: {name}"));
            }
        }
    }
    missing.dedup();
    assert!(missing.is_empty(), "neither linked nor with a path: {missing:#?}");
}
