//! Parts of a response's text that differ in every run.
//!
//! Defines [`after_each`], [`without`] and [`without_ids`], for comparisons of two responses. The kit masks GUIDs and
//! times.

/// Returns the text with the rest after each `mark`, up to the next one, replaced by `change`.
pub fn after_each(text: &str, mark: &str, change: impl Fn(&str) -> String) -> String {
    let mut parts = text.split(mark);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(mark);
        out.push_str(&change(part));
    }
    out
}

/// Returns the text without the parts between each `before` and the next `end`.
pub fn without(text: &str, before: &str, end: &str) -> String {
    after_each(text, before, |rest| {
        rest.find(end).map_or("", |at| &rest[at..]).to_owned()
    })
}

/// Returns the text without the id after each of the marks: hexadecimal digits and hyphens.
pub fn without_ids(text: &str, marks: &[&str]) -> String {
    let is_id = |c: char| c.is_ascii_hexdigit() || c == '-';
    marks.iter().fold(text.to_owned(), |text, mark| {
        after_each(&text, mark, |rest| rest.trim_start_matches(is_id).to_owned())
    })
}
