//! The setters of the public interface, as the sources declare them: methods that return `Self`.
//!
//! Macros add setters to several types: their declarations and uses are followed.

use std::collections::{BTreeMap, BTreeSet};

use xtask::sources::{Sources, root};

/// The folders of the crates whose types a program names.
const CRATES: [&str; 5] = [
    "azure-table/src/",
    "azure-table-wire/src/",
    "azure-table-emulator/src/",
    "azure-table-testing/src/",
    "azure-table-patterns/src/",
];

/// The files that export names: the modules of the client, and the root of the patterns.
const EXPORTS: [&str; 5] = [
    "azure-table/src/lib.rs",
    "azure-table/src/entity.rs",
    "azure-table/src/filter.rs",
    "azure-table/src/key.rs",
    "azure-table-patterns/src/lib.rs",
];

/// Returns the setters of exported types, as `Type::setter`.
pub(super) fn setters() -> BTreeSet<String> {
    let sources = Sources::read(root());
    let files = sources
        .files
        .iter()
        .filter(|file| CRATES.iter().any(|folder| file.path.starts_with(folder)));
    let (mut of_types, mut of_macros, mut uses) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
    for file in files {
        read(&file.code, &mut of_types, &mut of_macros, &mut uses);
    }
    // A macro may use another one.
    let (mut queue, mut followed) = (uses, BTreeSet::new());
    while let Some((user, name)) = queue.pop() {
        if !followed.insert((user.clone(), name.clone())) {
            continue;
        }
        for found in of_macros.get(&name).into_iter().flatten() {
            match found {
                Found::Setter(setter) => drop(of_types.insert((user.clone(), setter.clone()))),
                Found::Use(other) => queue.push((user.clone(), other.clone())),
            }
        }
    }
    let exported = exported();
    let public = of_types.into_iter().filter(|(name, _)| exported.contains(name));
    public.map(|(name, setter)| format!("{name}::{setter}")).collect()
}

/// What a macro adds to a type.
#[derive(Clone)]
enum Found {
    Setter(String),
    /// What another macro adds.
    Use(String),
}

type Macros = BTreeMap<String, Vec<Found>>;

fn read(
    code: &str,
    of_types: &mut BTreeSet<(String, String)>,
    of_macros: &mut Macros,
    uses: &mut Vec<(String, String)>,
) {
    let (mut type_name, mut macro_name) = (String::new(), None::<String>);
    let lines: Vec<&str> = code.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        if let Some(name) = line.strip_prefix("macro_rules! ") {
            macro_name = Some(word(name));
        } else if line.starts_with('}') {
            macro_name = None;
        } else if line.starts_with("impl") {
            type_name = implemented(line);
        }
        let declared = text
            .strip_prefix("pub fn ")
            .or_else(|| text.strip_prefix("pub const fn "));
        if let Some(declared) = declared {
            let signature: String = lines[at..]
                .iter()
                .take_while(|line| !line.trim().is_empty())
                .copied()
                .collect();
            let signature = signature.split(['{', ';']).next().unwrap_or_default();
            if is_setter(signature) {
                match &macro_name {
                    None => drop(of_types.insert((type_name.clone(), word(declared)))),
                    Some(name) => of_macros
                        .entry(name.clone())
                        .or_default()
                        .push(Found::Setter(word(declared))),
                }
            }
        }
        let Some((used, arguments)) = text.split_once("!(") else {
            continue;
        };
        let used = word(used.rsplit("::").next().unwrap_or_default());
        match &macro_name {
            Some(name) if used.ends_with(|c: char| c.is_alphanumeric()) => {
                of_macros.entry(name.clone()).or_default().push(Found::Use(used));
            }
            None if !line.starts_with(' ') => {
                let first = match arguments.trim() {
                    "" => lines.get(at + 1).copied().unwrap_or_default().trim(),
                    first => first,
                };
                uses.push((word(first), used));
            }
            _ => {}
        }
    }
}

/// Returns `true` if a method takes `self` and returns `Self`, and is no conversion.
fn is_setter(signature: &str) -> bool {
    let arguments = signature.split_once('(').map_or("", |(_, rest)| rest.trim_start());
    let takes_self = ["self", "mut self", "&self"].iter().any(|own| {
        let rest = arguments.strip_prefix(own);
        rest.is_some_and(|rest| rest.starts_with([',', ')']))
    });
    takes_self
        && signature
            .split("->")
            .nth(1)
            .is_some_and(|output| word(output.trim()) == "Self")
}

/// Returns the type of an `impl` block.
fn implemented(line: &str) -> String {
    let header = line.strip_prefix("impl").unwrap_or_default();
    let mut depth = 0;
    // The parameters, and then the trait.
    let end = header.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '<') - i32::from(*c == '>');
        depth == 0
    });
    let rest = header[end.map_or(0, |(at, c)| at + c.len_utf8())..].trim_start();
    let rest = rest.split_once(" for ").map_or(rest, |(_, rest)| rest);
    word(rest.rsplit("::").next().unwrap_or(rest))
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Returns the names that a program can use.
fn exported() -> BTreeSet<String> {
    let api = std::fs::read_dir(root().join("azure-table/src/api")).unwrap();
    let api = api.map(|entry| entry.unwrap().path());
    let files = EXPORTS.iter().map(|file| root().join(file)).chain(api);
    let texts: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let statements = texts
        .split("pub use ")
        .skip(1)
        .filter_map(|rest| rest.split(';').next());
    let words = statements.flat_map(|statement| statement.split(|c: char| !c.is_alphanumeric()));
    words
        .filter(|word| word.starts_with(char::is_uppercase))
        .map(str::to_owned)
        .collect()
}
