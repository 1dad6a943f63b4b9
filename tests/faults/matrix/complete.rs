//! The matrix contains every method of the client that sends.
//!
//! The methods are read from the client's sources: those that are `async`, and those that return a future or a stream
//! of the client. The test fails with the name of a method that has no entry in `operations/`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::operations;

/// Public methods that look as if they send but do not, with the reason.
const SEND_NOTHING: [(&str, &str); 0] = [];
/// The number of methods that send. Fewer are found if the sources are not understood.
const SENDING: usize = 85;

fn sources(folder: &str) -> Vec<String> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found)
            } else {
                found.extend(path.extension().is_some_and(|end| end == "rs").then_some(path))
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
    found.sort();
    let text = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        code.lines().filter(is_code).collect::<Vec<_>>().join("\n")
    };
    found.iter().map(text).collect()
}

fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Returns the text after the leading generics.
fn behind_generics(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if !text[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text[at + usize::from(c == '>')..].trim_start();
        }
    }
    ""
}

/// Returns the future and stream types of the client.
fn sending_types(sources: &[String]) -> BTreeSet<String> {
    const MACROS: [&str; 2] = ["call_future!", "query_write!"];
    let mut types = BTreeSet::new();
    for text in sources {
        for call in MACROS {
            for (at, _) in text.match_indices(call) {
                let is_other = text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                let arguments = text[at + call.len()..].trim_start();
                if let (false, Some(arguments)) = (is_other, arguments.strip_prefix(['(', '{'])) {
                    types.insert(name(arguments.trim_start()).to_owned());
                }
            }
        }
        for of in ["Future for ", "Stream for "] {
            let found = text.match_indices(of);
            types.extend(found.map(|(at, _)| name(&text[at + of.len()..]).to_owned()));
        }
    }
    types.remove("");
    types
}

/// Returns the methods that send, as `Type::method`.
fn sending_methods() -> BTreeSet<String> {
    let sources = sources("../azure-table/src/client");
    let types = sending_types(&sources);
    let mut methods = BTreeSet::new();
    for text in &sources {
        let mut of = "";
        for (at, line) in text.match_indices('\n').map(|(at, _)| (at + 1, &text[at + 1..])) {
            if let Some(head) = line.strip_prefix("impl") {
                let head = behind_generics(head.trim_start());
                let head = &head[..head.find('{').unwrap_or(head.len())];
                let head = head.split(" where").next().unwrap_or_default();
                of = name(head.rsplit(" for ").next().unwrap_or(head).trim_start());
            }
            let Some(signature) = line.strip_prefix("    pub ") else {
                continue;
            };
            let signature = &signature[..signature.find(" {\n").unwrap_or(signature.len())];
            let signature = signature.split("\n    where").next().unwrap_or_default();
            let is_async = signature.starts_with("async fn ");
            let function = signature.strip_prefix("async ").unwrap_or(signature);
            let Some(method) = function.strip_prefix("fn ") else {
                continue;
            };
            let output = signature.rsplit_once("-> ").map_or("", |(_, output)| output);
            let sends = types.contains(name(output)) && name(output) != of;
            assert!(!of.is_empty() || !sends, "{}", &text[at..at + 60]);
            if is_async || sends {
                methods.insert(format!("{of}::{}", name(method)));
            }
        }
    }
    methods
}

#[test]
fn every_method_that_sends_is_in_the_matrix() {
    let sending = sending_methods();
    let count = sending.len();
    assert_eq!(count, SENDING, "update `SENDING` if each sends: {sending:#?}");
    let calls = sources("faults/matrix/operations").concat();
    let mut entries = BTreeMap::<&str, &str>::new();
    for entry in operations::all() {
        for method in entry.methods {
            entries.insert(method, entry.name);
            let called = format!(".{}(", method.rsplit("::").next().unwrap_or_default());
            assert!(calls.contains(&called), "{}: no entry calls {method}", entry.name);
        }
    }
    let mut missing = sending.clone();
    missing.retain(|method| !entries.contains_key(method.as_str()));
    missing.retain(|method| !SEND_NOTHING.iter().any(|(known, _)| known == method));
    let advice = "add an entry to tests/faults/matrix/operations";
    assert!(missing.is_empty(), "{advice} for each of {missing:#?}");
    // A setting of the table, which makes any write send more.
    let is_setting = |method: &str| method == "TableClient::create_missing_table";
    let mut unknown = Vec::from_iter(entries.keys());
    unknown.retain(|method| !is_setting(method) && !sending.contains(**method));
    assert!(unknown.is_empty(), "gone, or send nothing: {unknown:#?}");
    let names: BTreeSet<_> = operations::all().iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), operations::all().len(), "two entries of one name");
}

/// The parser of the sources finds a method in every form.
#[test]
fn methods_that_send_are_found_by_their_types() {
    let sending = sending_methods();
    for method in [
        "TableClient::insert",
        "TableClient::refresh",
        "TableClient::update_where",
        "TableServiceClient::ping",
        "TableClient::create_table",
        "TableClient::recreate_table",
        "TableBatch::submit",
        "Bulk::insert",
        "Bulk::write_try_stream",
        "BulkOutcomes::next",
        "TableQuery::gather",
        "TableQuery::stream",
        "ScanStream::try_next",
        "Writer::flush",
    ] {
        assert!(sending.contains(method), "{method} is not found: {sending:#?}");
    }
    for method in ["TableClient::batch", "TableQuery::filter", "GetEntity::versioned"] {
        assert!(!sending.contains(method), "{method} sends nothing");
    }
}
