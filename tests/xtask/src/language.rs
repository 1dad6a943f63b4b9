//! Counts the violations of the rules of "How we write" in `CONTRIBUTING.md`.
//!
//! Contains the rules that a machine can check without false alarms, and the places that break them. The allowed counts
//! are in `tests/house/language.rs`.

use std::cmp::Reverse;
use std::fs;
use std::time::SystemTime;

use crate::sources::{SourceFile, Sources, root, rust_files};

/// The folders of code whose comments are checked.
const CODE: [&str; 10] = [
    "azure-table/src",
    "azure-table-wire/src",
    "azure-table-derive/src",
    "azure-table-emulator/src",
    "azure-table-patterns/src",
    "azure-table-testing/src",
    "aztable",
    "examples",
    "table-parity",
    "tests",
];

/// The folders of guides, and the documents of the root.
const GUIDES: [&str; 3] = [
    "azure-table/src/guide",
    "azure-table-patterns/src/guide",
    "azure-table-derive/docs",
];
const DOCUMENTS: [&str; 3] = ["README.md", "CONTRIBUTING.md", "DESIGN.md"];

/// Words with which no doc comment begins: a verb or a noun says more.
const FIRST_WORDS: [&str; 6] = ["What", "How", "Whether", "Who", "Where", "Makes"];

/// Phrases for which the field has a term, and the term.
const PHRASES: [(&str, &str); 13] = [
    ("who asks", "the caller, the credential"),
    ("wishes", "options"),
    ("may wish", "options"),
    ("on its way", "in flight"),
    ("on their way", "in flight"),
    ("of own doing", "in doubt"),
    ("found out about", "read back"),
    ("tried again", "retried"),
    ("tries again", "retries"),
    ("in force", "in effect"),
    ("there is none", "name what is missing"),
    ("second region", "secondary"),
    ("secret made of", "say what is not guaranteed"),
];

/// Words in the names of code for which the field has a term, by their beginnings, and the term.
const NAMES: [(&str, &str); 5] = [
    ("refus", "reject, service error"),
    ("answer", "response, respond"),
    ("asked", "requested"),
    ("begun", "started"),
    ("told", "reported"),
];

/// The maximum number of words of a sentence in a guide.
const MAX_WORDS: usize = 30;

/// The maximum number of characters of a comment line.
const MAX_CHARACTERS: usize = 120;

/// A place that breaks a rule: the file and line, and its text.
pub type Place = (String, String);

/// Returns each rule with the places that break it, the files that changed last first.
pub fn counts() -> Vec<(String, Vec<Place>)> {
    let texts = texts();
    let comments: Vec<(String, Vec<Comment>)> = texts
        .iter()
        .filter(|(path, _)| path.ends_with(".rs"))
        .map(|(path, text)| (path.clone(), comments(text)))
        .collect();
    let of_comments = |breaks: &dyn Fn(&Comment) -> bool| -> Vec<Place> {
        let in_file = |(path, comments): &(String, Vec<Comment>)| {
            let broken = comments.iter().filter(|comment| breaks(comment));
            broken
                .map(|comment| (format!("{path}:{}", comment.line), comment.text.clone()))
                .collect::<Vec<_>>()
        };
        comments.iter().flat_map(in_file).collect()
    };
    let mut counts: Vec<(String, Vec<Place>)> = FIRST_WORDS
        .iter()
        .map(|word| {
            let begins = |comment: &Comment| comment.begins_doc && comment.text.split(' ').next() == Some(word);
            (format!("doc comments that begin with {word}"), of_comments(&begins))
        })
        .collect();
    let wide = of_comments(&|comment: &Comment| comment.characters > MAX_CHARACTERS);
    counts.push((format!("comments over {MAX_CHARACTERS} characters"), wide));
    for (phrase, term) in PHRASES {
        let mut places = of_comments(&|comment: &Comment| has_phrase(&comment.text, phrase));
        let guides = texts.iter().filter(|(path, _)| path.ends_with(".md"));
        for (path, text) in guides {
            let lines = text.lines().enumerate().filter(|(_, line)| has_phrase(line, phrase));
            places.extend(lines.map(|(at, line)| (format!("{path}:{}", at + 1), line.to_owned())));
        }
        counts.push((format!("\"{phrase}\" ({term})"), places));
    }
    let files = Sources::read(root()).files;
    for (beginning, term) in NAMES {
        let in_file = |file: &SourceFile| {
            let lines = file.skeleton.lines().enumerate();
            lines
                .filter(|(_, line)| has_name(line, beginning))
                .map(|(at, line)| (format!("{}:{}", file.path, at + 1), line.trim().to_owned()))
                .collect::<Vec<_>>()
        };
        let places = files.iter().flat_map(in_file).collect();
        counts.push((format!("names with \"{beginning}\" ({term})"), places));
    }
    let guides = texts
        .iter()
        .filter(|(path, _)| path.contains("/docs/") || path.contains("/guide/"));
    let long = guides.flat_map(|(path, text)| {
        let sentences = sentences(text).into_iter();
        let long =
            sentences.filter(|(_, sentence)| sentence.split(' ').filter(|word| is_word(word)).count() > MAX_WORDS);
        long.map(move |(line, sentence)| (format!("{path}:{line}"), sentence))
    });
    counts.push((format!("sentences of guides over {MAX_WORDS} words"), long.collect()));
    counts
}

/// Returns `true` if a name in the line of code has a word with this beginning.
fn has_name(line: &str, beginning: &str) -> bool {
    // The name is of the standard library.
    let line = line.replace("ConnectionRefused", "");
    let mut names = line.split(|c: char| !c.is_alphanumeric());
    names.any(|name| {
        let words = name.char_indices().filter(|(at, c)| *at == 0 || c.is_uppercase());
        words
            .into_iter()
            .any(|(at, _)| name[at..].to_lowercase().starts_with(beginning))
    })
}

/// Returns the table of today's counts, in the form of the test.
pub fn table(counts: &[(String, Vec<Place>)]) -> String {
    let row = |(rule, places): &(String, Vec<Place>)| format!("    ({rule:?}, {}),\n", places.len());
    counts.iter().map(row).collect()
}

/// Returns the texts by their paths, the files that changed last first.
fn texts() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for folder in CODE {
        files.append(&mut rust_files(&root().join(folder)));
    }
    let guides = GUIDES
        .iter()
        .flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let guides = guides
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"));
    for path in guides.chain(DOCUMENTS.iter().map(|name| root().join(name))) {
        let text = fs::read_to_string(&path).unwrap();
        files.push((path, text));
    }
    let changed = |path: &std::path::Path| {
        fs::metadata(path)
            .and_then(|file| file.modified())
            .unwrap_or(SystemTime::UNIX_EPOCH)
    };
    files.sort_by_cached_key(|(path, _)| (Reverse(changed(path)), path.clone()));
    let named = files.into_iter().map(|(path, text)| {
        let path = path
            .strip_prefix(root())
            .unwrap_or(&path)
            .to_string_lossy()
            .replace('\\', "/");
        (path, text)
    });
    // This file names the phrases that it searches.
    let is_read = |(path, _): &(String, String)| {
        !path.ends_with("language.rs") && !path.contains("/target/") && !path.contains("node_modules")
    };
    named.filter(is_read).collect()
}

/// A line that is a comment.
struct Comment {
    line: usize,
    /// Without its comment marks.
    text: String,
    characters: usize,
    /// The first line of a doc comment.
    begins_doc: bool,
}

fn comments(text: &str) -> Vec<Comment> {
    let mut found = Vec::new();
    let mut was_doc = false;
    for (at, line) in text.lines().enumerate() {
        let code = line.trim();
        let doc = code.strip_prefix("///").or_else(|| code.strip_prefix("//!"));
        if let Some(text) = doc.or_else(|| code.strip_prefix("//")) {
            found.push(Comment {
                line: at + 1,
                text: text.trim().to_owned(),
                characters: line.chars().count(),
                begins_doc: doc.is_some() && !was_doc,
            });
        }
        was_doc = doc.is_some();
    }
    found
}

/// Returns `true` if the text has the phrase as whole words.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let text = text.to_lowercase();
    text.match_indices(phrase).any(|(at, found)| {
        let is_end = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
        is_end(text[..at].chars().next_back()) && is_end(text[at + found.len()..].chars().next())
    })
}

fn is_word(word: &str) -> bool {
    word.chars().any(char::is_alphanumeric)
}

/// Returns the sentences of a guide with their first line, without code, tables and headings.
fn sentences(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut is_code, mut open) = (false, (0, String::new()));
    for (at, line) in text.lines().chain([""]).enumerate() {
        let line = line.trim();
        is_code ^= line.starts_with("```");
        let is_break = is_code || line.is_empty() || line.starts_with(['|', '#', '`', '<']);
        let begins_item = line.starts_with("- ") || line.starts_with("* ");
        if (is_break || begins_item) && !open.1.is_empty() {
            found.push(std::mem::take(&mut open));
        }
        if is_break {
            continue;
        }
        for word in line.split(' ') {
            if open.1.is_empty() {
                open.0 = at + 1;
            }
            open.1 = format!("{} {word}", open.1).trim_start().to_owned();
            if word.trim_end_matches(['*', ')', '"', '`']).ends_with(['.', '?', '!']) {
                found.push(std::mem::take(&mut open));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_their_stops_and_at_blocks() {
        let text = "# A title.\nOne two\nthree. Four!\n- five\n- six.\n```\ncode. code\n```\n| a | b. |\nlast";
        let found = [
            (2, "One two three."),
            (3, "Four!"),
            (4, "- five"),
            (5, "- six."),
            (10, "last"),
        ];
        assert_eq!(sentences(text), found.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn doc_comments_begin_once() {
        let found = comments("/// What it is.\n/// What else.\nfn f() {} // no\n// What for.\n");
        let begins: Vec<bool> = found.iter().map(|comment| comment.begins_doc).collect();
        assert_eq!(begins, [true, false, false]);
        assert!(has_phrase("Who asks?", "who asks") && !has_phrase("who asksed", "who asks"));
    }
}
