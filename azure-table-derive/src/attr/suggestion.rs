//! Suggestions for unknown names.
//!
//! Contains the error for an unknown attribute, and the search for similar names. `ast/key.rs` uses the search for
//! fields too.

/// Names of attributes in other libraries.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("skip", "ignore"),
    ("name", "rename"),
    ("pk", "partition_key"),
    ("partition", "partition_key"),
    ("rk", "row_key"),
    ("row", "row_key"),
    ("version", "etag"),
    ("prefix", "columns"),
    ("const", "column"),
    ("embed", "flatten"),
    ("inline", "flatten"),
    ("nested", "flatten"),
    ("convert", "with"),
    ("serialize_with", "with"),
    ("large", "chunked"),
    ("rest", "extra"),
    ("deny_unknown_fields", "deny_unknown_properties"),
    ("migrate", "upgrade"),
    ("discriminator", "tag"),
    ("unknown", "other"),
    ("fallback", "other"),
    ("repr", "integer"),
    ("entity", "of"),
];

/// Returns the error for an attribute that is not one of the `known`, at this `place`.
pub(crate) fn unknown(name: &str, place: &str, known: &[&str]) -> String {
    let meant = did_you_mean(meant(name, known));
    format!("unknown attribute `{name}`: {meant}{place} write {}", list(known, "or"))
}

/// Returns the question "did you mean" with a space after it, or an empty text.
pub(crate) fn did_you_mean(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |meant| format!("did you mean `{meant}`? "))
}

/// Returns the `known` attribute of which `name` is a synonym or a misspelling.
pub(crate) fn meant<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = OTHER_WORDS
        .iter()
        .find(|(other, _)| *other == name)
        .map_or(name, |(_, ours)| ours);
    similar(word, known.iter().copied())
}

/// Returns the names, in backquotes.
pub(crate) fn list(names: &[&str], last: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((end, before)) if !before.is_empty() => format!("{} {last} {end}", before.join(", ")),
        _ => quoted.concat(),
    }
}

/// Returns the candidate that `name` is most likely a misspelling of.
pub(crate) fn similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let name = plain(name);
    // A name with more than a third of its letters wrong is a different word.
    let most = name.chars().count() / 3;
    candidates
        .into_iter()
        .map(|candidate| (distance(&name, &plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the number of letters to be inserted, removed, replaced, or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let mut previous = None;
    for (i, x) in a.chars().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut least = (row[j] + usize::from(x != *y)).min(row[j + 1] + 1).min(next[j] + 1);
            if j > 0 && previous == Some(*y) && b[j - 1] == x {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
        previous = Some(x);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_are_recognized_and_other_words_are_not() {
        let known = ["partition_key", "row_key", "rename", "ignore", "etag"];
        for (slip, meant) in [
            ("ingore", Some("ignore")),
            ("PartitionKey", Some("partition_key")),
            ("rowkey", Some("row_key")),
            ("renam", Some("rename")),
            ("e_tag", Some("etag")),
            ("flatten", None),
            ("x", None),
        ] {
            assert_eq!(similar(slip, known), meant, "{slip}");
        }
    }

    #[test]
    fn words_of_other_libraries_are_known() {
        assert_eq!(
            unknown("skip", "on a field", &["ignore", "rename"]),
            "unknown attribute `skip`: did you mean `ignore`? on a field write `ignore` or `rename`"
        );
    }
}
