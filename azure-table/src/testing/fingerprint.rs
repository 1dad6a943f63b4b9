//! The comparison of a request with a recorded one.
//!
//! Owns [`Fingerprint`]: the compared parts of a request, and a description of the differences between two. The
//! compared parts are the method, the path below the account, the query, the location, the body, and the headers that
//! change the meaning of the request.

use std::collections::BTreeMap;

use crate::testing::recording::RecordedRequest;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    method: String,
    path: String,
    query: String,
    is_secondary: bool,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Fingerprint {
    /// Creates a fingerprint, with the test's masks applied.
    pub(crate) fn of(request: &RecordedRequest, mask: impl Fn(&str) -> String) -> Self {
        let (path, query) = request.target();
        // The remaining time of a call is not compared.
        let pairs = query.split('&').filter(|pair| !pair.starts_with("timeout="));
        let compared = request.headers.iter().filter(|(name, _)| COMPARED.contains(&&***name));
        Self {
            method: request.method.clone(),
            path: mask(path),
            query: mask(&pairs.collect::<Vec<_>>().join("&")),
            is_secondary: request.is_secondary(),
            headers: compared.map(|(name, value)| (name.clone(), mask(value))).collect(),
            body: mask(request.body()),
        }
    }

    /// Returns method and path.
    pub(crate) fn name(&self) -> String {
        format!("{} /{}", self.method, self.path)
    }

    /// Returns the distance to another fingerprint: 0 if they are equal.
    pub(crate) fn distance(&self, other: &Self) -> u32 {
        let parts = [
            (8, self.method == other.method),
            (8, self.path == other.path),
            (4, self.query == other.query),
            (2, self.body == other.body),
            (1, self.headers == other.headers),
            (1, self.is_secondary == other.is_secondary),
        ];
        parts
            .iter()
            .filter(|(_, is_same)| !is_same)
            .map(|(weight, _)| weight)
            .sum()
    }

    /// Describes the differences of a request from this recorded one.
    pub(crate) fn differences(&self, came: &Self) -> String {
        let mut found = Vec::new();
        let mut compare = |what: &str, recorded: &str, came: &str| {
            if recorded != came {
                let (recorded, came) = parting(recorded, came);
                found.push(format!("the {what} was `{recorded}`, it is `{came}`"));
            }
        };
        compare("method", &self.method, &came.method);
        compare("path", &self.path, &came.path);
        compare("query", &self.query, &came.query);
        let region = |is_secondary| if is_secondary { "second" } else { "first" };
        compare("region", region(self.is_secondary), region(came.is_secondary));
        for name in COMPARED {
            let value = |of: &Self| of.headers.get(name).cloned().unwrap_or_default();
            compare(&format!("header {name}"), &value(self), &value(came));
        }
        compare("body", &self.body, &came.body);
        found.join("; ")
    }
}

/// Returns both texts. Long ones begin shortly before the first difference.
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
