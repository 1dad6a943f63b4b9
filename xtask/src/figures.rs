//! The figures of a checkout's sources: lines, files, import cycles, and counts that should fall.

use xtask::sources::{SourceFile, Sources};

/// A file of at most this many lines is a fragment.
const FRAGMENT: usize = 60;

/// Prints the figures.
pub(crate) fn print(sources: &Sources) {
    let sum = |count: fn(&SourceFile) -> usize| -> usize { sources.files.iter().map(count).sum() };
    println!("{:6} product lines without unit tests", sum(SourceFile::lines));
    println!("{:6} of them code", sum(SourceFile::code_lines));
    println!("{:6} files", sources.files.len());
    println!(
        "{:6} files of at most {FRAGMENT} lines",
        sources.files.iter().filter(|file| file.lines() <= FRAGMENT).count()
    );
    println!(
        "{:6} matches on Profile outside account/profile.rs and the rules of the emulator",
        sum(profile_matches)
    );
    println!("{:6} operations compared as text", sum(compared_operations));
    let functions = sources
        .files
        .iter()
        .filter(|file| file.layer() == "pipeline")
        .flat_map(functions);
    if let Some((lines, name)) = functions.max() {
        println!("{lines:6} lines of the longest function of the pipeline: {name}");
    }
    let circles = sources.circles();
    println!("{:6} import circles among files", circles.len());
    for circle in &circles {
        println!("{:6} files: {}", circle.len(), circle.join(", "));
    }
}

/// The number of times that a profile is named outside of the rules.
fn profile_matches(file: &SourceFile) -> usize {
    let is_home = file.path.ends_with("/account/profile.rs") || file.path.starts_with("azure-table-emulator/src/rules");
    let named = file.skeleton.match_indices("Profile::");
    named
        .filter(|(at, name)| {
            file.skeleton[at + name.len()..].starts_with(char::is_uppercase)
                && !file.skeleton[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
        })
        .count()
        * usize::from(!is_home)
}

/// The number of comparisons of an operation's name with a text.
fn compared_operations(file: &SourceFile) -> usize {
    let behind = |words| {
        file.code
            .match_indices(words)
            .map(|(at, found): (usize, &str)| &file.code[at + found.len()..])
    };
    let equal = ["operation == ", "operation != "]
        .into_iter()
        .flat_map(behind)
        .filter(|rest| is_text(rest))
        .count();
    let parts = ["operation.ends_with(", "operation.starts_with(", "operation.contains("];
    let parts = parts.into_iter().flat_map(behind).count();
    let arms = behind("match operation {").map(|rest| {
        let block = rest.split_once("\n    }").map_or(rest, |(block, _)| block);
        let patterns = block.lines().filter_map(|line| line.split_once("=>"));
        patterns
            .flat_map(|(pattern, _)| pattern.split('|'))
            .filter(|pattern| is_text(pattern.trim()))
            .count()
    });
    equal + parts + arms.sum::<usize>()
}

/// Checks that a literal of text or the path of a constant begins here.
fn is_text(rest: &str) -> bool {
    let path = rest
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
        .next()
        .unwrap_or_default();
    let name = path.rsplit("::").next().unwrap_or_default();
    rest.starts_with('"') || (name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

/// The functions of a file, with their lines from signature to closing brace.
fn functions(file: &SourceFile) -> Vec<(usize, String)> {
    let lines: Vec<&str> = file.skeleton.lines().map(str::trim_end).collect();
    let function = |(start, line): (usize, &&str)| {
        let name = line.split("fn ").nth(1)?.split(['(', '<']).next()?;
        let signature = lines[start..].iter().position(|line| line.ends_with(['{', '}', ';']))?;
        if !lines[start + signature].ends_with('{') {
            return None;
        }
        // The code is formatted: the function ends at the first `}` with the indentation of its `fn`.
        let close = format!("{}}}", " ".repeat(line.len() - line.trim_start().len()));
        let end = lines[start..].iter().position(|line| *line == close)?;
        Some((end + 1, format!("{name}, {}", file.path)))
    };
    lines.iter().enumerate().filter_map(function).collect()
}
