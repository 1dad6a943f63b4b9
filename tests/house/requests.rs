//! The guide `operations` names every public method that sends requests, and every kind of operation. The doc comment
//! of a method states the requests and the meaning of a lost response as the guide does.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use xtask::sources::{SourceFile, root};

use super::product;

/// The guide, from the root of the checkout.
const GUIDE: &str = "azure-table/src/guide/operations.md";

/// The sources of the patterns. Their doc comments link to the guide in another crate.
const PATTERNS: &str = "azure-table-patterns/src/";

/// The most methods in a row of the guide.
const MAX_METHODS: usize = 6;

/// The number of public methods that send. Only a new method, or one that leaves, changes it.
const METHODS: usize = 144;

/// The macros that declare a future of the client.
const MACROS: [&str; 2] = ["call_future!", "query_write!"];

fn guide() -> String {
    fs::read_to_string(root().join(GUIDE)).unwrap()
}

/// A public method that sends.
struct Method {
    /// Its file and line.
    place: String,
    /// The paragraphs of its doc comment, each as one line.
    docs: Vec<String>,
}

impl Method {
    /// Reads the method whose name is in the line at this index.
    fn read(file: &SourceFile, at: usize) -> Self {
        let lines: Vec<&str> = file.text.lines().take(at).map(str::trim).collect();
        let is_above = |line: &&&str| line.starts_with("///") || line.starts_with("#[");
        let above = lines.iter().rev().take_while(is_above).count();
        let docs = lines[at - above..].iter().filter_map(|line| line.strip_prefix("///"));
        let docs: Vec<&str> = docs.map(str::trim).collect();
        Self {
            place: format!("{}:{}", file.path, at + 1),
            docs: docs
                .split(|line| line.is_empty())
                .map(|lines| lines.join(" "))
                .map(|text| {
                    if file.path.starts_with(PATTERNS) {
                        text.replace("](azure_table::", "](crate::")
                    } else {
                        text
                    }
                })
                .collect(),
        }
    }

    /// Returns `true` if the doc comment has this paragraph about requests at its end, and no other.
    fn states(&self, expected: Option<&str>) -> bool {
        let is_stated = |text: &String| text.starts_with("Requests:");
        let Some(at) = self.docs.iter().position(is_stated) else {
            return expected.is_none();
        };
        let (stated, rest) = (&self.docs[at], &self.docs[at + 1..]);
        let is_last = rest
            .first()
            .is_none_or(|next| next.starts_with("# Errors") || next.starts_with("Source:"));
        Some(stated.as_str()) == expected && is_last && !rest.iter().any(is_stated)
    }
}

/// Returns the paragraph about requests in the doc comment of each method, by the tables of the guide.
fn requests(guide: &str) -> BTreeMap<String, String> {
    let cells = |row: &str| -> Vec<String> {
        let cells = row.trim_matches('|').split(" |");
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let mut found = BTreeMap::new();
    let mut columns = Vec::new();
    for line in guide.lines() {
        match line.starts_with('|') {
            false => columns.clear(),
            true if columns.is_empty() => columns = cells(line),
            true if line.starts_with("|---") || columns[0] != "method" => {}
            true => {
                let row = cells(line);
                assert!(row[0].split(", ").count() <= MAX_METHODS, "{GUIDE}: {line}");
                let cell = |name| {
                    let column = columns.iter().position(|column| column == name);
                    assert!(
                        column.is_some(),
                        "{GUIDE} has methods in a table without the column {name:?}"
                    );
                    row[column.unwrap()].as_str()
                };
                let (requests, lost) = (cell("requests"), cell("lost response"));
                // The requests vary.
                if lost.is_empty() {
                    continue;
                }
                let text = format!("Requests: {requests}. Lost response: {}.", link(lost));
                for method in row[0].split(", ").map(method_of) {
                    let earlier = found.insert(method, text.clone());
                    assert!(earlier.is_none(), "{GUIDE} has a method twice: {line}");
                }
            }
        }
    }
    found
}

/// Returns the meaning of a lost response as a link, without remarks. A word links to the guide, a type to itself.
fn link(cell: &str) -> String {
    let meaning = cell.split(": ").next().unwrap_or_default();
    if meaning.starts_with('[') {
        meaning.to_owned()
    } else {
        format!("[{meaning}](crate::guide::operations)")
    }
}

/// Returns the method of a link, or of code: `Owner::method`.
fn method_of(name: &str) -> String {
    let path = match name.split_once("](") {
        Some((_, target)) => target.trim_end_matches(')'),
        None => name.split('`').nth(1).unwrap_or_default(),
    };
    let start = path
        .rmatch_indices("::")
        .nth(1)
        .map_or(0, |(at, colons)| at + colons.len());
    path[start..].to_owned()
}

/// The files whose public methods may send.
fn sources() -> Vec<&'static SourceFile> {
    let files = product().files.iter();
    files
        .filter(|file| {
            let is_client = file.path.starts_with("azure-table/src/") && file.layer() == "client";
            is_client || file.path.starts_with(PATTERNS)
        })
        .collect()
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The futures and streams of these files, by their names.
fn senders(files: &[&SourceFile]) -> BTreeSet<String> {
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

/// The public methods that send, by `Owner::method`. A method that a macro declares has no owner.
fn methods() -> BTreeMap<String, Method> {
    let files = sources();
    let senders = senders(&files);
    let mut found = BTreeMap::new();
    for file in &files {
        let mut of = "";
        let mut rest = file.skeleton.as_str();
        let mut at = 0;
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
                    (rest, at) = (after, at + 1);
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
            let returns_sender = senders.contains(identifier(output)) && identifier(output) != of;
            if is_async || returns_sender {
                let path = format!("{of}::{}", identifier(name));
                let path = path.trim_start_matches("::");
                let other = found.insert(path.to_owned(), Method::read(file, at));
                assert!(other.is_none(), "{path} is declared twice: {}", file.path);
            }
            (rest, at) = (after, at + 1);
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
    let missing: Vec<_> = methods.keys().filter(|method| !is_named(method)).collect();
    assert!(missing.is_empty(), "{GUIDE} lacks {missing:#?}");
    // The reader of sources finds them all.
    for known in [
        "TableClient::insert",
        "TableClient::modify",
        "TableClient::delete_where",
        "Bulk::write",
        "TableQuery::all",
    ] {
        assert!(methods.contains_key(known), "{known} is not found");
    }
    assert_eq!(methods.len(), METHODS, "{:#?}", methods.keys());
}

#[test]
fn docs_state_the_requests_of_each_method() {
    let methods = methods();
    let requests = requests(&guide());
    let unknown: Vec<_> = requests.keys().filter(|name| !methods.contains_key(*name)).collect();
    assert!(unknown.is_empty(), "{GUIDE} has rows of unknown methods: {unknown:?}");
    assert!(requests.len() > 90, "{} rows: {requests:#?}", requests.len());
    let mut wrong = String::new();
    for (name, method) in &methods {
        let expected = requests.get(name).map(String::as_str);
        if !method.states(expected) {
            let line = expected.map_or("no line about requests".to_owned(), |text| format!("/// {text}"));
            wrong += &format!("{}: {name}\n    {line}\n", method.place);
        }
    }
    assert!(
        wrong.is_empty(),
        "doc comments differ from {GUIDE}; expected at their end, before `# Errors` and `Source:`:\n{wrong}"
    );
}

#[test]
fn guide_names_every_kind_of_operation() {
    let guide = guide();
    let source = fs::read_to_string(root().join("azure-table-wire/src/error/operation_kind.rs")).unwrap();
    let kinds: Vec<&str> = source
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Self::"))
        .filter_map(|line| line.split_once(" => Facts::"))
        .map(|(kind, _)| kind)
        .collect();
    assert!(kinds.len() >= 30, "{kinds:?}");
    let missing: Vec<_> = kinds
        .iter()
        .filter(|kind| !guide.contains(&format!("`{kind}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
