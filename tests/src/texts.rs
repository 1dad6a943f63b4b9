//! Text of requests and responses.
//!
//! Defines [`after_each`], [`without`] and [`without_ids`], for comparisons of two responses, and [`percent_decoded`]. The
//! kit masks GUIDs and times.

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

/// Decodes each `%` and its two hexadecimal digits into a byte.
///
/// # Panics
/// The bytes are not UTF-8.
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        // Text may have a `%` that encodes nothing.
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}
