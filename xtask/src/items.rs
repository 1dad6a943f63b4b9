//! The files that declare the public items, for links of the guides in a checkout.

use std::sync::OnceLock;

use crate::sources::{root, rust_files};

/// A file of the libraries.
struct Source {
    /// Its path from the root of the checkout.
    path: String,
    text: String,
}

/// Returns the files of the crates whose items users name.
fn sources() -> &'static [Source] {
    static SOURCES: OnceLock<Vec<Source>> = OnceLock::new();
    SOURCES.get_or_init(|| {
        let crates = ["", "-wire", "-emulator", "-patterns", "-testing"].map(|part| format!("azure-table{part}/src"));
        let files = crates.iter().flat_map(|folder| rust_files(&root().join(folder)));
        let sources = files.map(|(path, text)| {
            let path = path.strip_prefix(root()).unwrap_or(&path);
            let path = path.to_string_lossy().replace('\\', "/");
            Source { path, text }
        });
        sources.collect()
    })
}

/// Returns the files that contain this name.
fn naming(name: &str) -> impl Iterator<Item = &'static Source> {
    sources().iter().filter(move |source| source.text.contains(name))
}

/// Returns the file that declares an item, from the root of the checkout. For a method, that of its `impl` block.
///
/// # Panics
/// No file declares the item.
pub(crate) fn file_of(target: &str) -> &'static str {
    let path = target.split('@').next_back().unwrap_or_default();
    let path = path.split('#').next().unwrap_or_default();
    let names: Vec<&str> = path.split("::").skip(1).collect();
    let last = names.last().copied().unwrap_or_default();
    let owner = names.iter().find(|name| name.starts_with(char::is_uppercase));
    let found = match owner {
        Some(owner) => method(owner, last).or_else(|| declaration(owner)),
        None => declaration(last).or_else(|| module(&names)),
    };
    found.map_or_else(|| panic!("{target}: no file declares it"), |source| &source.path)
}

/// Returns the file with the method, in an `impl` block of its type.
fn method(owner: &str, name: &str) -> Option<&'static Source> {
    naming(name).find(|source| {
        source.text.split("\nimpl").skip(1).any(|block| {
            let (header, methods) = block.split_once('\n').unwrap_or_default();
            words(header).any(|word| word == owner)
                && !header.contains(" for ")
                && methods.lines().any(|line| declares(line, "    pub ", name))
        })
    })
}

/// Returns the file that declares the item, or in which a macro does, below its documentation.
fn declaration(name: &str) -> Option<&'static Source> {
    let by_itself = |source: &&Source| source.text.lines().any(|line| declares(line, "pub ", name));
    let by_macro = |source: &&Source| {
        let lines = source.text.lines().zip(source.text.lines().skip(1));
        lines
            .filter(|(above, _)| above.starts_with("    ///"))
            .any(|(_, line)| declares(line, "    ", name))
    };
    naming(name).find(by_itself).or_else(|| naming(name).find(by_macro))
}

/// Returns `true` if the line begins with `start` and declares this item.
fn declares(line: &str, start: &str, name: &str) -> bool {
    let is_keyword = |word: &&str| matches!(*word, "async" | "const" | "enum" | "fn" | "struct" | "trait" | "type");
    let words = line
        .strip_prefix(start)
        .map(|rest| words(rest).find(|word| !is_keyword(word)));
    words.flatten() == Some(name)
}

/// Returns the file of a public module of the client.
fn module(names: &[&str]) -> Option<&'static Source> {
    let path = names.join("/");
    let paths = ["", "api/"].map(|folder| format!("azure-table/src/{folder}{path}.rs"));
    sources().iter().find(|source| paths.contains(&source.path))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_have_the_file_that_declares_them() {
        for (target, file) in [
            ("struct@crate::TableServiceClient", "azure-table/src/client/service.rs"),
            ("crate::key::Escaped", "azure-table/src/key/escaped.rs"),
            ("crate::TablePermissions", "azure-table-wire/src/sas/permissions.rs"),
            ("crate::testing::Spy::bill", "azure-table-testing/src/spy.rs"),
            ("crate::ErrorKind::InDoubt", "azure-table-wire/src/error.rs"),
            ("fn@crate::testing::explore", "azure-table/src/explore.rs"),
            ("crate::transport", "azure-table/src/api/transport.rs"),
            ("mod@crate::entity::json_text", "azure-table/src/entity/json_text.rs"),
            ("crate::Lease::token", "azure-table-patterns/src/lease.rs"),
        ] {
            assert_eq!(file_of(target), file, "{target}");
        }
    }
}
