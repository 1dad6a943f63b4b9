//! The comparison of a request with a recorded one.
//!
//! Defines [`Fingerprint`]: the compared parts of a request, and a description of the differences between two. The
//! compared parts are the method, the path below the account, the query, the location, the body, and the headers that
//! change the meaning of the request.

use crate::recording::RecordedRequest;

/// The compared headers. The others concern the time, the caller, or the transport.
const COMPARED: [&str; 6] = [
    "accept",
    "content-type",
    "if-match",
    "if-none-match",
    "prefer",
    "x-http-method",
];

/// The number of characters shown of each of two long texts that differ.
const SHOWN: usize = 120;
/// The number of those characters that precede the first difference.
const SHOWN_BEFORE: usize = 30;

/// The compared parts of a request.
#[derive(Clone, Debug)]
pub(crate) struct Fingerprint {
    /// Method and path.
    pub(crate) name: String,
    parts: Vec<Part>,
}

/// A part: its name, its weight in the distance of two requests, and its text.
type Part = (String, u32, String);

impl Fingerprint {
    /// Creates a fingerprint, with the test's masks applied.
    pub(crate) fn of(request: &RecordedRequest, mask: impl Fn(&str) -> String) -> Self {
        let (path, query) = request.target();
        let path = mask(path);
        // The remaining time of a call is not compared.
        let pairs = query.split('&').filter(|pair| !pair.starts_with("timeout="));
        let query = mask(&pairs.collect::<Vec<_>>().join("&"));
        let region = if request.is_secondary() { "second" } else { "first" };
        let name = format!("{} /{path}", request.method);
        let mut parts = vec![
            ("method".to_owned(), 8, request.method.clone()),
            ("path".to_owned(), 8, path),
            ("query".to_owned(), 4, query),
            ("region".to_owned(), 1, region.to_owned()),
        ];
        parts.extend(COMPARED.map(|name| {
            let value = request.headers.get(name).map(|value| mask(value));
            (format!("header {name}"), 1, value.unwrap_or_default())
        }));
        parts.push(("body".to_owned(), 2, mask(request.body())));
        Self { name, parts }
    }

    /// Returns the distance to another fingerprint: 0 if they are equal.
    pub(crate) fn distance(&self, other: &Self) -> u32 {
        self.differing(other).map(|((_, weight, _), _)| weight).sum()
    }

    /// Describes the differences of a request from this recorded one.
    pub(crate) fn differences(&self, came: &Self) -> String {
        let differences = self.differing(came).map(|((what, _, recorded), (.., came))| {
            let (recorded, came) = parting(recorded, came);
            format!("the {what} was `{recorded}`, it is `{came}`")
        });
        differences.collect::<Vec<_>>().join("; ")
    }

    fn differing<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a Part, &'a Part)> {
        let pairs = self.parts.iter().zip(&other.parts);
        pairs.filter(|((.., own), (.., other))| own != other)
    }
}

/// Returns both texts, or if they are long, excerpts that begin shortly before the first difference.
fn parting(a: &str, b: &str) -> (String, String) {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let length = |text: &str| text.chars().count();
    let skipped = match length(a).max(length(b)) {
        0..=SHOWN => 0,
        _ => same.saturating_sub(SHOWN_BEFORE),
    };
    let shown = |text: &str| {
        let part: String = text.chars().skip(skipped).take(SHOWN).collect();
        let before = if skipped > 0 { "…" } else { "" };
        let after = if length(text) > skipped + SHOWN { "…" } else { "" };
        format!("{before}{part}{after}")
    };
    (shown(a), shown(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_shown_at_their_first_difference() {
        assert_eq!(parting("abc", "abd"), ("abc".to_owned(), "abd".to_owned()));
        let same = "ä".repeat(200);
        let (a, b) = parting(&format!("{same}1{same}"), &format!("{same}2"));
        assert_eq!(b, format!("…{}2", "ä".repeat(30)));
        assert!(
            a.starts_with(&format!("…{}1ä", "ä".repeat(30))) && a.ends_with("ä…"),
            "{a}"
        );
    }
}
