//! Checks the README: its first program is short and complete, and each struct has the same fields in all blocks.

use std::collections::BTreeMap;

use azure_table_tests::house::root;

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

/// Returns the blocks of code in this language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let mut parts = text.split("\n```");
    parts.next();
    // A closing fence follows each opening one.
    let blocks = parts.step_by(2).filter_map(|block| block.split_once('\n'));
    blocks
        .filter(|(fence, _)| fence.split(',').next() == Some(language))
        .map(|(_, code)| code)
        .collect()
}

#[test]
fn first_program_has_twenty_lines_and_its_dependencies() {
    let readme = readme();
    let program = blocks(&readme, "rust")[0];
    assert!(program.contains("fn main") && !program.lines().any(|line| line.starts_with("# ")));
    for step in ["#[derive(TableEntity", ".insert(", ".query().partition(", ".limit(50)"] {
        assert!(program.contains(step), "no {step}");
    }
    let lines = program.lines().count();
    assert!(lines <= 20, "{lines} lines");

    let manifest = blocks(&readme, "toml")[0];
    let dependencies = manifest.split("[dev-dependencies]").next().unwrap();
    assert!(
        dependencies.contains("\"emulator\""),
        "the program needs the feature `emulator`"
    );
}

#[test]
fn structs_have_the_same_fields_in_all_blocks() {
    let readme = readme();
    let mut structs = BTreeMap::new();
    for block in blocks(&readme, "rust") {
        let code: String = block
            .lines()
            .map(|line| line.strip_prefix("# ").unwrap_or(line))
            .flat_map(|line| [line.split("//").next().unwrap_or_default(), "\n"])
            .collect();
        for declared in code.split("struct ").skip(1) {
            let (name, rest) = declared.split_once('{').unwrap();
            let fields: String = rest.split('}').next().unwrap().split_whitespace().collect();
            let fields = fields.trim_end_matches(',').to_owned();
            let first = structs.entry(name.trim().to_owned()).or_insert_with(|| fields.clone());
            assert_eq!(*first, fields, "{name}");
        }
    }
    assert!(structs.len() > 1, "{structs:?}");
}
