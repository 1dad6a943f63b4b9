//! The emulator has floors: imports go downward, no files import each other in a circle, and rules are asked instead of profiles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::layers::{is_test, path_in_crate, rust_files};

/// The floors, highest first. `emulator` is the face itself.
const FLOORS: [&str; 12] = [
    "http",
    "emulator",
    "dispatch",
    "operations",
    "access",
    "load",
    "response",
    "snapshot",
    "request",
    "store",
    "settings",
    "rules",
];

/// The code of each file of the emulator by its module, `emulator::store::rows` for example: no comments, no unit tests.
fn modules() -> BTreeMap<String, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../azure-table/src");
    let mut modules = BTreeMap::new();
    for (path, text) in rust_files(&source) {
        let path = path_in_crate(&path);
        let module = path.with_extension("");
        if module.starts_with("emulator") && !is_test(path) {
            let names: Vec<_> = module.iter().map(|name| name.to_string_lossy()).collect();
            let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
            modules.insert(names.join("::"), lines.collect::<Vec<_>>().join("\n"));
        }
    }
    assert!(modules.len() > 20, "the sources were not found");
    modules
}

/// The paths that begin with `path` and go on in `text`, groups in braces included.
fn paths(path: &str, text: &str) -> Vec<String> {
    let Some(rest) = text.trim_start().strip_prefix("::") else {
        return vec![path.to_owned()];
    };
    let Some(group) = rest.strip_prefix('{') else {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
        return paths(&format!("{path}::{name}"), rest);
    };
    let mut depth = 0;
    let mut items = vec![String::new()];
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => items.push(String::new()),
            _ => {}
        }
        if c != ',' || depth > 0 {
            items.last_mut().unwrap().push(c);
        }
    }
    let items = items.iter().map(|item| item.trim()).filter(|item| !item.is_empty());
    items.flat_map(|item| paths(path, &format!("::{item}"))).collect()
}

/// The modules that each module imports.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules();
    let module_of = |path: &str| {
        let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
        let prefixes: Vec<&str> = ends.map(|end| &path[..end]).collect();
        prefixes
            .into_iter()
            .rfind(|prefix| modules.contains_key(*prefix))
            .map(str::to_owned)
    };
    let imported = |module: &String, code: &String| {
        assert!(!code.contains("super::"), "{module}: it names a module by `super`");
        let paths = code
            .split("crate::emulator")
            .skip(1)
            .flat_map(|rest| paths("emulator", rest));
        let found: BTreeSet<String> = paths.filter_map(|path| module_of(&path)).collect();
        (
            module.clone(),
            found.into_iter().filter(|other| other != module).collect(),
        )
    };
    let imports: BTreeMap<String, BTreeSet<String>> =
        modules.iter().map(|(module, code)| imported(module, code)).collect();
    assert!(
        imports.values().map(BTreeSet::len).sum::<usize>() > 100,
        "the imports were not found"
    );
    imports
}

/// The place of a module's floor, 0 at the top.
fn floor(module: &str) -> usize {
    let name = module.split("::").nth(1).unwrap_or("emulator");
    let floor = FLOORS.iter().position(|floor| *floor == name);
    assert!(floor.is_some(), "{module} stands on no floor");
    floor.unwrap_or_default()
}

#[test]
fn imports_of_the_emulator_go_downward() {
    for (module, imported) in imports() {
        for other in imported {
            assert!(
                floor(&other) >= floor(&module),
                "{module} imports {other}, which stands above"
            );
        }
    }
}

#[test]
fn no_files_of_the_emulator_import_each_other_in_a_circle() {
    let mut imports = imports();
    loop {
        let free: Vec<String> = imports
            .iter()
            .filter(|(_, imported)| imported.iter().all(|other| !imports.contains_key(other)))
            .map(|(module, _)| module.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        for module in free {
            imports.remove(&module);
        }
    }
    assert!(
        imports.is_empty(),
        "circles, and what imports them: {:?}",
        imports.keys()
    );
}

#[test]
fn emulator_asks_its_rules_and_never_which_service_it_is() {
    for (module, code) in modules() {
        assert!(
            floor(&module) == FLOORS.len() - 1 || !code.contains("Profile::"),
            "{module}: look a field of the rules up"
        );
    }
}

#[test]
fn imports_in_groups_are_found() {
    let found = paths(
        "emulator",
        "::{Emulator, store::{self, rows::{Rows, Reader}}, rules};\nuse std::fmt;",
    );
    let expected = [
        "Emulator",
        "store::self",
        "store::rows::Rows",
        "store::rows::Reader",
        "rules",
    ];
    assert_eq!(found, expected.map(|path| format!("emulator::{path}")));
}
