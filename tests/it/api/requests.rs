//! The guide `operations` names every public method that sends requests, and every kind of operation.

use std::collections::BTreeSet;
use std::fs;

use xtask::sources::{SourceFile, Sources, root};

/// The macros that declare a future of the client.
const MACROS: [&str; 4] = ["operation!", "write_operation!", "single_request!", "query_write!"];

fn guide() -> String {
    fs::read_to_string(root().join("azure-table/src/guide/operations.md")).unwrap()
}

/// The files whose public methods may send.
fn sources() -> Vec<SourceFile> {
    let sources = Sources::read(root());
    let files = sources.files.into_iter();
    files
        .filter(|file| file.path.starts_with("azure-table/src/") && ["client", "patterns"].contains(&file.layer()))
        .collect()
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The futures and streams of these files, by their names.
fn senders(files: &[SourceFile]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in files {
        for of in ["Future for ", "Stream for "] {
            let named = file.skeleton.split(of).skip(1).map(identifier);
            names.extend(named.filter(|name| !name.is_empty()).map(str::to_owned));
        }
        for of in MACROS {
            for rest in file.skeleton.split(of).skip(1) {
                let declared = rest
                    .find(|c: char| c.is_ascii_uppercase())
                    .map(|at| identifier(&rest[at..]));
                names.extend(declared.map(str::to_owned));
            }
        }
    }
    names
}

/// The type of an `impl` line.
fn owner(line: &str) -> Option<&str> {
    let mut rest = line.strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.char_indices().find(|(at, c)| {
            let is_arrow = *at > 0 && rest.as_bytes()[at - 1] == b'-';
            depth += i32::from(*c == '<') - i32::from(*c == '>' && !is_arrow);
            depth == 0
        })?;
        rest = &rest[end.0 + 1..];
    }
    let rest = rest.split(" for ").last()?.trim_start();
    Some(identifier(rest.rsplit("::").next()?)).filter(|name| !name.is_empty())
}

/// The public methods that send, as `Owner::method`.
fn methods() -> BTreeSet<String> {
    let files = sources();
    let senders = senders(&files);
    let mut found = BTreeSet::new();
    for file in &files {
        let mut of = "";
        let mut rest = file.skeleton.as_str();
        while let Some((line, after)) = rest.split_once('\n') {
            if line.starts_with("impl") {
                of = owner(line).unwrap_or_default();
            }
            // The type is an argument of the macro.
            if line.starts_with("macro_rules!") {
                of = "";
            }
            let code = line.trim_start();
            let (name, is_async) = match (code.strip_prefix("pub fn "), code.strip_prefix("pub async fn ")) {
                (Some(name), _) => (name, false),
                (_, Some(name)) => (name, true),
                _ => {
                    rest = after;
                    continue;
                }
            };
            let signature = rest
                .split('{')
                .next()
                .unwrap_or_default()
                .split(" where")
                .next()
                .unwrap_or_default();
            let output = signature.rsplit("->").next().unwrap_or_default().trim();
            let returns_sender = senders.contains(identifier(output)) && !senders.contains(of);
            if !of.is_empty() && (is_async || returns_sender) {
                found.insert(format!("{of}::{}", identifier(name)));
            }
            rest = after;
        }
    }
    found
}

#[test]
fn guide_names_every_method_that_sends() {
    let guide = guide();
    let methods = methods();
    let is_named = |method: &String| {
        let mut at = guide.match_indices(method.as_str());
        at.any(|(at, _)| {
            let next = guide[at + method.len()..].chars().next();
            !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
        })
    };
    let missing: Vec<_> = methods.iter().filter(|method| !is_named(method)).collect();
    assert!(
        missing.is_empty(),
        "azure-table/src/guide/operations.md lacks {missing:#?}"
    );
    // The reader of sources finds them all.
    for known in [
        "TableClient::insert",
        "TableClient::modify",
        "TableClient::delete_where",
        "Bulk::write",
        "TableQuery::all",
    ] {
        assert!(methods.contains(known), "{known} is not found");
    }
    assert!(methods.len() > 90, "{} methods: {methods:#?}", methods.len());
}

#[test]
fn guide_names_every_kind_of_operation() {
    let guide = guide();
    let source = fs::read_to_string(root().join("azure-table-core/src/model/operation_kind.rs")).unwrap();
    let kinds: Vec<&str> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Self::"))
        .filter_map(|line| line.split_once(" => Facts::"))
        .map(|(kind, _)| kind)
        .collect();
    assert!(kinds.len() > 30, "{kinds:?}");
    let missing: Vec<_> = kinds
        .iter()
        .filter(|kind| !guide.contains(&format!("`{kind}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
