//! The links of the guides, which lead somewhere in a checkout as well as in rustdoc.
//!
//! A guide links by label: `[filters][guide::queries#filters]`, ``[`Fence`][patterns::Fence]``. The label is a path
//! from the crate's root, behind `kind@` if the path alone is ambiguous. `cargo xtask links` writes two definitions of
//! each label: a relative path at the end of the guide, and the item in `docs/links`. rustdoc reads those first, and
//! the first definition of a label wins.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::{SourceFile, Sources, root};

/// The folder of the guides, from the root of the checkout.
pub const GUIDES: &str = "azure-table/docs";

/// Begins the definitions at the end of a guide.
const MARKER: &str = "<!-- cargo xtask links -->";

/// Returns the files that `cargo xtask links` writes, with their contents.
///
/// # Panics
/// A guide cannot be read, or has a label that names no item of this checkout.
pub fn generated() -> Vec<(PathBuf, String)> {
    let sources = Sources::read(root());
    let mut files = Vec::new();
    for (path, text) in guides() {
        let name = path.file_name().unwrap_or_default().to_owned();
        let body = body(&text);
        let labels = labels(body);
        let in_checkout: String = labels
            .iter()
            .map(|label| format!("[{label}]: {}\n", in_checkout(&sources, label, &path)))
            .collect();
        let in_rustdoc: String = labels
            .iter()
            .map(|label| format!("[{label}]: {}\n", item(label)))
            .collect();
        let end = match labels.is_empty() {
            true => String::new(),
            false => format!("\n{MARKER}\n\n{in_checkout}"),
        };
        let links = path.with_file_name("links").join(name);
        files.push((path, format!("{body}{end}")));
        files.push((links, in_rustdoc));
    }
    files
}

/// Returns the guides of this checkout, with their texts.
///
/// # Panics
/// A guide cannot be read.
pub fn guides() -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(root().join(GUIDES)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    pages.sort();
    pages
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

/// Returns the text without its generated definitions.
pub fn body(text: &str) -> &str {
    text.split(&format!("\n{MARKER}")).next().unwrap_or_default()
}

/// Returns the labels of a text, outside of its programs.
pub fn labels(text: &str) -> BTreeSet<&str> {
    let mut labels = BTreeSet::new();
    // A closing fence follows each opening one, so that every other part is prose.
    for prose in text.split("\n```").step_by(2) {
        let ends = prose.split("][").skip(1).filter_map(|rest| rest.split_once(']'));
        labels.extend(ends.map(|(label, _)| label));
    }
    labels
}

/// Returns the item of a label, as rustdoc names it.
fn item(label: &str) -> String {
    match label.split_once('@') {
        Some((kind, path)) => format!("{kind}@crate::{path}"),
        None => format!("crate::{label}"),
    }
}

/// Returns the file of a label, relative to the guide.
fn in_checkout(sources: &Sources, label: &str, guide: &Path) -> String {
    let path = label.split_once('@').map_or(label, |(_, path)| path);
    let (path, section) = path.split_once('#').unwrap_or((path, ""));
    match path.strip_prefix("guide::") {
        Some(page) if section.is_empty() => format!("{page}.md"),
        Some(page) => format!("{page}.md#{section}"),
        None => match file(sources, path) {
            Some(file) => match file.strip_prefix("azure-table/") {
                Some(below) => format!("../{below}"),
                None => format!("../../{file}"),
            },
            None => panic!("{}: [{label}] names no item", guide.display()),
        },
    }
}

/// Returns the file that declares an item: a method's own file, if a type has several.
fn file<'s>(sources: &'s Sources, path: &str) -> Option<&'s str> {
    let names: Vec<&str> = path.split("::").collect();
    let is_type = |name: &&str| name.starts_with(char::is_uppercase);
    let place = names.iter().position(is_type).unwrap_or(names.len() - 1);
    let (owner, member) = (names[place], names.get(place + 1));
    // The folder of `patterns::Log`; the client's own type comes before one of the same name in another crate.
    let folder = format!("/{}", names[0]);
    let nearest = |file: &&SourceFile| (!file.path.contains(&folder), !file.path.starts_with("azure-table/"));
    let files = || sources.files.iter();
    let of_member = member.and_then(|member| {
        let has_member = |file: &&SourceFile| declares(file, &["fn "], member) && implements(file, owner);
        files().filter(has_member).min_by_key(nearest)
    });
    let kinds = [
        "struct ",
        "enum ",
        "trait ",
        "type ",
        "fn ",
        "const ",
        "macro_rules! ",
        "proc_macro_derive(",
    ];
    let of_owner = || files().filter(|file| declares(file, &kinds, owner)).min_by_key(nearest);
    // A module, or a type that a macro declares: the file that exports it.
    let of_module = || files().find(|file| file.modules() == ["api", names[0]] || file.modules() == [names[0]]);
    let found = of_member.or_else(of_owner).or_else(of_module)?;
    Some(&found.path)
}

fn declares(file: &SourceFile, kinds: &[&str], name: &str) -> bool {
    let is_public = |line: &str| line.contains("pub ") || line.contains("macro_rules!") || line.contains("proc_macro");
    let lines = file
        .code
        .lines()
        .filter(|line| is_public(line) || line.trim_start().starts_with("fn "));
    lines
        .into_iter()
        .any(|line| kinds.iter().any(|kind| follows(line, kind, name)))
}

fn implements(file: &SourceFile, owner: &str) -> bool {
    let starts = |line: &&str| line.starts_with("impl") || line.contains("trait ");
    let names = |line: &str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|name| name == owner)
    };
    file.code.lines().filter(starts).any(names)
}

/// Returns `true` if the whole word `name` follows `before`.
fn follows(line: &str, before: &str, name: &str) -> bool {
    let rest = line.split(before).skip(1).filter_map(|rest| rest.strip_prefix(name));
    rest.into_iter()
        .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_in_prose_alone() {
        let text = "[a][guide::b#c], [`D`][struct@d::D]\n```rust\nlet e = f[0][1];\n```\n[g][h]";
        let expected = ["guide::b#c", "h", "struct@d::D"];
        assert_eq!(Vec::from_iter(labels(text)), expected);
    }

    #[test]
    fn items_lead_to_their_files() {
        let sources = Sources::read(root());
        let guide = Path::new("azure-table/docs/queries.md");
        for (label, link) in [
            ("guide::batches", "batches.md"),
            ("mod@guide::queries#filters", "queries.md#filters"),
            ("patterns::Fence", "../src/patterns/fence.rs"),
            ("TableQuery::scan", "../src/client/query/scan.rs"),
            ("struct@Emulator", "../../azure-table-emulator/src/in_process.rs"),
        ] {
            assert_eq!(in_checkout(&sources, label, guide), link);
        }
    }
}
