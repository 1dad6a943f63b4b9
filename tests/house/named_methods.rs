//! Guides, doc comments and errors name only methods that exist.
//!
//! Checks calls in backticks, such as `` `create_table()` `` and `` `Emulator::cosmos` ``. Pages about another client
//! name its methods, so they are exempt.

use std::collections::BTreeSet;

use xtask::pages;
use xtask::sources::Sources;

use super::product;

/// Functions of other crates, and fields.
const FOREIGN: [&str; 12] = [
    "assert_snapshot",
    "default",
    "default_provider",
    "install_default",
    "keepalive",
    "min",
    "normalize",
    "println",
    "redirect",
    "set_sensitive",
    "testing",
    "user_timeout",
];

/// Returns the name that a span of code calls, or names as `Type::method`.
fn called(span: &str) -> Option<&str> {
    let (path, is_call) = match span.split_once('(') {
        Some((path, rest)) if rest.ends_with(')') => (path, true),
        Some(_) => return None,
        None => (span, false),
    };
    let is_path = |c: char| c.is_alphanumeric() || "_:.!".contains(c);
    let name = path.rsplit([':', '.']).next()?.trim_end_matches('!');
    let is_named = is_call || path.contains("::");
    let is_method = name.starts_with(|c: char| c.is_ascii_lowercase());
    (is_named && is_method && path.chars().all(is_path)).then_some(name)
}

/// Returns the spans of code in a line.
pub(super) fn spans(line: &str) -> impl Iterator<Item = &str> {
    let ended = line.matches('`').count() / 2 * 2;
    line.split('`').take(ended).skip(1).step_by(2)
}

/// Returns the names that are declared for users: public functions, methods of traits, macros.
fn declared(sources: &Sources) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for file in &sources.files {
        let has_trait = file.code.contains("trait ");
        for line in file.code.lines() {
            let code = line.trim_start();
            let is_public = code.starts_with("pub") || code.starts_with("macro_rules!");
            if is_public || (has_trait && code.len() < line.len()) {
                for kind in ["fn ", "macro_rules! "] {
                    let rest = code.split_once(kind).map_or("", |(_, rest)| rest);
                    names.insert(
                        rest.split(|c: char| !c.is_alphanumeric() && c != '_')
                            .next()
                            .unwrap_or_default(),
                    );
                }
            }
        }
    }
    names
}

#[test]
fn named_methods_exist() {
    let sources = product();
    let declared = declared(sources);
    let mut seen = 0;
    let mut missing = Vec::new();
    let mut check = |place: &str, line: &str| {
        for name in spans(line).filter_map(called) {
            seen += 1;
            if !declared.contains(name) && !FOREIGN.contains(&name) {
                missing.push(format!("{place}: {name} in {line:?}"));
            }
        }
    };
    for file in &sources.files {
        for line in file.text.lines().map(str::trim_start) {
            // Comments for maintainers name private functions too.
            if line.starts_with("///") || (!line.starts_with("//") && line.contains('"')) {
                check(&file.path, line);
            }
        }
    }
    for (path, text) in pages::sources() {
        let page = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !page.starts_with("migrate_") {
            let prose = text.split("\n```").step_by(2);
            prose.flat_map(str::lines).for_each(|line| check(&page, line));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(seen > 400, "{seen} methods");
}

#[test]
fn wrong_names_are_found() {
    for (span, name) in [
        ("conflicts(..)", Some("conflicts")),
        (".page_size(100)", Some("page_size")),
        ("Error::kind", Some("kind")),
        ("ErrorKind::InDoubt", None),
        ("max_conflicts", None),
        ("(a, b)", None),
    ] {
        assert_eq!(called(span), name, "{span}");
    }
}
