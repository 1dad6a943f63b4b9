//! The sources of the crates as text: only product code, and the imports of each file.
//!
//! Contains the parser that the tests of the layers and `cargo xtask figures` share. It parses Rust as far as needed:
//! comments, literals and unit tests are blanked, and a path belongs to the file of its longest module. A parent that
//! imports its child is an import too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folders of product code, from the root of a checkout.
pub const CRATES: [&str; 8] = [
    "azure-table/src",
    "azure-table-wire/src",
    "azure-table-derive/src",
    "azure-table-emulator/src",
    "azure-table-patterns/src",
    "azure-table-testing/src",
    "aztable/src",
    "table-parity/src",
];

/// A file of product code.
#[derive(Debug)]
pub struct SourceFile {
    /// Its path from the root of the checkout.
    pub path: String,
    /// The whole text.
    pub text: String,
    /// The text with blanks for comments and unit tests.
    pub code: String,
    /// `code`, with blanks for literals of text as well.
    pub skeleton: String,
    /// The crate's folder, then the modules down to this one.
    module: Vec<String>,
}

impl SourceFile {
    pub(crate) fn new(path: String, text: String) -> Self {
        let (mut code, mut skeleton) = blanked(&text);
        blank_tests(&mut code, &mut skeleton);
        let stem = path.trim_end_matches(".rs");
        // A program beside its library is a crate of its own.
        let (root, below) = match stem.split_once("/src/program/") {
            Some((package, below)) => (format!("{package}/src/program"), below),
            None => stem
                .split_once("/src/")
                .map_or_else(|| (String::new(), stem), |(package, below)| (package.to_owned(), below)),
        };
        let below = below.split('/').filter(|name| !matches!(*name, "lib" | "main"));
        let module = [root].into_iter().chain(below.map(str::to_owned)).collect();
        Self {
            path,
            text,
            code,
            skeleton,
            module,
        }
    }

    /// Counts the lines without unit tests.
    pub fn lines(&self) -> usize {
        let code = self.code.trim_end().lines().count();
        let comments = self.text.lines().zip(self.code.lines()).take(code);
        comments
            .filter(|(text, code)| !code.trim().is_empty() || is_kept(text))
            .count()
    }

    /// Counts the lines of code, without blank lines, comments and unit tests.
    pub fn code_lines(&self) -> usize {
        self.code.lines().filter(|line| !line.trim().is_empty()).count()
    }

    /// Returns the names of its module, from the crate's root.
    pub fn modules(&self) -> Vec<&str> {
        self.module.iter().skip(1).map(String::as_str).collect()
    }

    /// Returns the folder or file below `src`.
    pub fn layer(&self) -> &str {
        self.module.get(1).map_or("", String::as_str)
    }
}

/// Returns `true` if a line without code belongs to the product: blank, or a comment.
fn is_kept(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with("//")
}

/// The product code of a checkout.
#[derive(Debug)]
pub struct Sources {
    /// In the order of their paths.
    pub files: Vec<SourceFile>,
    imports: OnceLock<Vec<BTreeSet<usize>>>,
}

impl Sources {
    /// Reads the checkout at `root`.
    ///
    /// # Panics
    /// The checkout has no sources.
    pub fn read(root: &Path) -> Self {
        let mut files = Vec::new();
        for folder in CRATES {
            for (path, text) in rust_files(&root.join(folder)) {
                let path = path
                    .strip_prefix(root)
                    .unwrap_or(&path)
                    .to_string_lossy()
                    .replace('\\', "/");
                if !is_test(&path) {
                    files.push(SourceFile::new(path, text));
                }
            }
        }
        assert!(files.len() > 40, "no sources at {}", root.display());
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self::new(files)
    }

    pub(crate) fn new(files: Vec<SourceFile>) -> Self {
        Self {
            files,
            imports: OnceLock::new(),
        }
    }

    /// Returns the imports of each file, as indexes into `files`.
    pub fn imports(&self) -> &[BTreeSet<usize>] {
        self.imports.get_or_init(|| self.find_imports())
    }

    fn find_imports(&self) -> Vec<BTreeSet<usize>> {
        let modules: BTreeMap<&[String], usize> = self
            .files
            .iter()
            .enumerate()
            .map(|(n, file)| (&*file.module, n))
            .collect();
        let file_of = |path: &[String]| (1..=path.len()).rev().find_map(|n| modules.get(&path[..n]).copied());
        let imports_of = |(own, file): (usize, &SourceFile)| {
            let tokens = tokens(&file.skeleton);
            // The names of modules here: its children, and imported modules.
            let mut names = BTreeMap::new();
            for words in tokens.windows(2).filter(|words| words[0] == "mod") {
                let child = [&*file.module, &[words[1].to_owned()]].concat();
                if modules.contains_key(&*child) {
                    names.insert(words[1].to_owned(), child);
                }
            }
            let mut paths = Vec::new();
            for (path, name) in paths_in(file, &tokens, &names) {
                if modules.contains_key(&*path) {
                    names.insert(name, path);
                }
            }
            for (path, _) in paths_in(file, &tokens, &names) {
                paths.extend(file_of(&path));
            }
            paths.into_iter().filter(|&used| used != own).collect()
        };
        self.files.iter().enumerate().map(imports_of).collect()
    }

    /// Returns the groups of files that import each other, directly or by others, the largest first.
    pub fn circles(&self) -> Vec<Vec<&str>> {
        let imports = self.imports();
        let reached: Vec<BTreeSet<usize>> = (0..self.files.len())
            .map(|from| {
                let mut reached = BTreeSet::new();
                let mut next = vec![from];
                while let Some(file) = next.pop() {
                    next.extend(imports[file].iter().copied().filter(|&used| reached.insert(used)));
                }
                reached
            })
            .collect();
        let circle_of = |file: usize| -> Vec<usize> {
            let others = reached[file].iter().copied();
            others.filter(|&other| reached[other].contains(&file)).collect()
        };
        let circles: BTreeSet<Vec<usize>> = (0..self.files.len())
            .map(circle_of)
            .filter(|circle| circle.len() > 1)
            .collect();
        let paths = |circle: Vec<usize>| circle.into_iter().map(|file| &*self.files[file].path).collect();
        let mut circles: Vec<Vec<&str>> = circles.into_iter().map(paths).collect();
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }
}

/// The root of this crate's checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Returns the Rust files below a folder, with their text.
///
/// # Panics
/// The files cannot be read.
pub fn rust_files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// Returns `true` if the whole file is unit tests, by its path from the root.
pub fn is_test(path: &str) -> bool {
    path.split('/').any(|part| matches!(part, "tests" | "tests.rs"))
}

/// Returns the text with blanks for comments, and with blanks for literals too.
fn blanked(text: &str) -> (String, String) {
    let bytes = text.as_bytes();
    let (mut code, mut skeleton) = (bytes.to_vec(), bytes.to_vec());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let behind_word = at > 0 && is_word(bytes[at - 1]);
        let (length, is_comment) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), true)
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), true)
        } else if rest.starts_with('"') {
            (quoted(rest, '"'), false)
        } else if let Some(hashes) = (!behind_word || bytes[at - 1] == b'b')
            .then(|| raw_hashes(rest))
            .flatten()
        {
            let close = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 2;
            (
                rest[start..]
                    .find(&close)
                    .map_or(rest.len(), |end| start + end + close.len()),
                false,
            )
        } else if rest.starts_with('\'') && (rest[1..].starts_with('\\') || rest[1..].chars().nth(1) == Some('\'')) {
            (quoted(rest, '\''), false)
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
            continue;
        };
        if is_comment {
            blank(&mut code[at..at + length]);
        }
        blank(&mut skeleton[at..at + length]);
        at += length;
    }
    let into_text = |bytes| String::from_utf8(bytes).unwrap();
    (into_text(code), into_text(skeleton))
}

/// Returns the number of `#` of a raw literal that begins here.
fn raw_hashes(rest: &str) -> Option<usize> {
    let hashes = rest.strip_prefix('r')?;
    let behind = hashes.trim_start_matches('#');
    behind.starts_with('"').then(|| hashes.len() - behind.len())
}

/// Returns the length of a literal with escapes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    rest.len()
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Replaces items for tests by blanks.
fn blank_tests(code: &mut String, skeleton: &mut String) {
    let mut from = 0;
    while let Some(start) = ["#[cfg(test)]", "#[cfg(all(test,", "#![cfg(test)]"]
        .iter()
        .filter_map(|mark| skeleton[from..].find(mark))
        .min()
    {
        let start = from + start;
        let end = if skeleton[start..].starts_with("#!") {
            skeleton.len()
        } else {
            start + item_length(&skeleton[start..])
        };
        for text in [&mut *code, &mut *skeleton] {
            let blanks: String = text[start..end]
                .chars()
                .map(|c| if c == '\n' { '\n' } else { ' ' })
                .collect();
            // The number of bytes stays the same, so that positions in both texts agree.
            let missing = end - start - blanks.len();
            text.replace_range(start..end, &(blanks + &" ".repeat(missing)));
        }
        from = end;
    }
}

/// Returns the length of an item with its attributes: to its `;`, or to the end of its block.
fn item_length(rest: &str) -> usize {
    let (mut depth, mut is_import) = (0_usize, false);
    for (at, c) in rest.char_indices() {
        is_import |= depth == 0 && rest[at..].starts_with("use ");
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if c == '}' && depth == 0 && !is_import {
                    return at + 1;
                }
            }
            // A field of a struct, or an arm.
            ',' if depth == 0 => return at + 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Returns the words and signs of a text, `::` as one.
fn tokens(skeleton: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let bytes = skeleton.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let mut end = at + 1;
        if is_word(bytes[at]) {
            while end < bytes.len() && is_word(bytes[end]) {
                end += 1;
            }
        } else if skeleton[at..].starts_with("::") {
            end += 1;
        }
        if !bytes[at].is_ascii_whitespace() {
            found.push(&skeleton[at..end]);
        }
        at = end;
    }
    found
}

/// Returns the paths of a file, from the crate, each with the name that it has after its import.
fn paths_in(file: &SourceFile, tokens: &[&str], names: &BTreeMap<String, Vec<String>>) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    // The modules inside the file, with the depth of their blocks.
    let mut inner: Vec<(&str, usize)> = Vec::new();
    let mut depth = 0;
    for (at, &token) in tokens.iter().enumerate() {
        match token {
            "{" => {
                depth += 1;
                if at >= 2 && tokens[at - 2] == "mod" {
                    inner.push((tokens[at - 1], depth));
                }
            }
            "}" => {
                inner.pop_if(|(_, of)| *of == depth);
                depth -= 1;
            }
            _ => {}
        }
        let before = at.checked_sub(1).map_or("", |before| tokens[before]);
        if tokens.get(at + 1) != Some(&"::") || matches!(before, "::" | "." | "in" | "mod") {
            continue;
        }
        let mut here = file.module.clone();
        here.extend(inner.iter().map(|(name, _)| (*name).to_owned()));
        let start = match token {
            "crate" => here[..1].to_vec(),
            "azure_table_wire" | "azure_table_emulator" | "azure_table_patterns" | "azure_table_testing" => {
                vec![token.replace('_', "-")]
            }
            "self" => here,
            "super" => {
                here.pop();
                here
            }
            name => match names.get(name) {
                Some(module) => module.clone(),
                None => continue,
            },
        };
        leaves(&tokens[at + 2..], start, &mut found);
    }
    found
}

/// Reads the paths that begin with `path`: one, or the paths of a group. Returns the number of tokens read.
fn leaves(tokens: &[&str], mut path: Vec<String>, found: &mut Vec<(Vec<String>, String)>) -> usize {
    let mut at = 0;
    loop {
        match tokens.get(at).copied().unwrap_or_default() {
            "{" => {
                at += 1;
                while at < tokens.len() && tokens[at] != "}" {
                    at += if tokens[at] == "," {
                        1
                    } else {
                        leaves(&tokens[at..], path.clone(), found).max(1)
                    };
                }
                return at + 1;
            }
            "super" => {
                path.pop();
            }
            "self" | "*" => {}
            word => path.push(word.to_owned()),
        }
        at += 1;
        if tokens.get(at) != Some(&"::") {
            let name = match tokens.get(at) {
                Some(&"as") => {
                    at += 2;
                    tokens.get(at - 1).map_or(String::new(), |name| (*name).to_owned())
                }
                _ => path.last().cloned().unwrap_or_default(),
            };
            found.push((path, name));
            return at;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)]) -> Sources {
        let file = |(path, text): &(&str, &str)| SourceFile::new(format!("azure-table/src/{path}"), (*text).to_owned());
        Sources::new(files.iter().map(file).collect())
    }

    #[test]
    fn parents_and_children_form_one_cycle() {
        let sources = sources(&[
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b;\nfn f() { b::g() }"),
            ("a/b.rs", "use super::f;"),
            ("a/c.rs", "use crate::a::{b::{self as d}, f};\nfn h() { d::g() }"),
        ]);
        assert_eq!(sources.circles(), [["azure-table/src/a.rs", "azure-table/src/a/b.rs"]]);
        assert_eq!(sources.imports()[3].len(), 2);
    }

    #[test]
    fn comments_literals_and_tests_import_nothing() {
        let sources = sources(&[
            (
                "a.rs",
                "// crate::b\nconst A: (&str, char) = (\"crate::b \\\" \", '\"');\n#[cfg(test)]\nuse crate::{b};\n\
                 pub(in crate::b) fn f() {}\n#[cfg(test)]\nmod tests { use crate::b; }\nfn g() { r#\"\"crate::b\"# }",
            ),
            ("b.rs", "fn f() { crate::a::g() }"),
        ]);
        assert_eq!(sources.imports(), [BTreeSet::new(), BTreeSet::from([0])]);
        assert_eq!((sources.files[0].lines(), sources.files[0].code_lines()), (4, 3));
    }
}
