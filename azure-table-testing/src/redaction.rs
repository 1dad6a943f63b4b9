//! The texts that a test keeps out of a recording.
//!
//! Defines [`Redaction`]: the texts, and the search for them in other text, in any encoding. Secrets that are always
//! hidden are in `secrets.rs`.

use azure_table_wire::codec::url;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::secrets::HIDDEN;

/// The text before the key in a token of Cosmos DB, as the emulator writes it.
const COSMOS_TOKEN: &str = "{\"token\":\"";

/// The texts to hide.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redaction {
    /// In the order of the search.
    texts: Vec<String>,
}

impl Redaction {
    pub(crate) fn add(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        // In URLs and filters a quote is doubled.
        self.texts.extend([text.replace('\'', "''"), text, HIDDEN.to_owned()]);
        // Text that is already hidden is first and stays unchanged, even if a client sends it back in a URL. Then, of
        // two texts with a common beginning, the longer one is first.
        self.texts
            .sort_by_key(|text| (text != HIDDEN, std::cmp::Reverse(text.len())));
        self.texts.dedup();
    }

    /// Replaces each hidden text with [`HIDDEN`].
    ///
    /// It finds them as they are, percent-encoded, escaped for JSON or XML, and in continuation tokens.
    pub(crate) fn hide(&self, text: &str) -> String {
        if self.texts.is_empty() {
            return text.to_owned();
        }
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        while let Some(raw) = text[at..].chars().next() {
            if let Some((token, end)) = self.token(text, at) {
                out.push_str(&token);
                at = end;
            } else if let Some(end) = self.found(text, at) {
                out.push_str(HIDDEN);
                at = end;
            } else {
                out.push(raw);
                at += raw.len_utf8();
            }
        }
        out
    }

    /// Returns the end of a hidden text that begins here.
    fn found(&self, text: &str, at: usize) -> Option<usize> {
        self.texts.iter().find_map(|hidden| {
            let as_it_is = text[at..].starts_with(hidden).then_some(at + hidden.len());
            as_it_is.max(spelled(text, at, hidden))
        })
    }

    /// Returns a continuation token that begins here, rebuilt without the hidden texts in it, and its end.
    ///
    /// Storage has `1!`, the length of the rest, `!`, and base64 with `-` for `=`: recorded continuation headers.
    fn token(&self, text: &str, begin: usize) -> Option<(String, usize)> {
        let of_storage = spelled(text, begin, "1!");
        let begin_of_key = match of_storage {
            Some(at) => spelled(text, run(text, at, |c| c.is_ascii_digit()).1, "!")?,
            None => spelled(text, begin, COSMOS_TOKEN)?,
        };
        let (encoded, end) = run(text, begin_of_key, |c| c.is_ascii_alphanumeric() || "+/=-".contains(c));
        let key = String::from_utf8(STANDARD.decode(encoded.replace('-', "=")).ok()?).ok()?;
        let hidden = self.hide(&key);
        if hidden == key {
            return None;
        }
        let encoded = STANDARD.encode(hidden);
        let token = match of_storage {
            Some(_) => format!("1!{}!{}", encoded.len(), encoded.replace('=', "-")),
            None => format!("{COSMOS_TOKEN}{encoded}"),
        };
        let is_address = text[begin..end].contains('%');
        Some((
            if is_address {
                url::encode(&token).to_string()
            } else {
                token
            },
            end,
        ))
    }
}

/// Returns the end of `wanted` if it begins here in any encoding.
fn spelled(text: &str, mut at: usize, wanted: &str) -> Option<usize> {
    for wanted in wanted.chars() {
        let (found, end) = character(text, at)?;
        let is_space_of_a_form = wanted == ' ' && found == '+';
        if found != wanted && !is_space_of_a_form {
            return None;
        }
        at = end;
    }
    Some(at)
}

/// Returns the characters of a kind from here on, and their end.
fn run(text: &str, mut at: usize, is_one: impl Fn(char) -> bool) -> (String, usize) {
    let mut found = String::new();
    while let Some((character, end)) = character(text, at).filter(|(character, _)| is_one(*character)) {
        found.push(character);
        at = end;
    }
    (found, at)
}

/// Returns the character that begins here, in any encoding, and its end.
fn character(text: &str, at: usize) -> Option<(char, usize)> {
    let rest = &text[at..];
    let first = rest.chars().next()?;
    let (character, length) = match first {
        '%' => percent(rest),
        '\\' => json(rest),
        '&' => xml(rest),
        _ => None,
    }
    .unwrap_or((first, first.len_utf8()));
    Some((character, at + length))
}

fn percent(text: &str) -> Option<(char, usize)> {
    [3, 6, 9, 12].into_iter().find_map(|length| {
        let decoded = url::decode(text.get(..length)?)?;
        Some((only(&decoded)?, length))
    })
}

fn json(text: &str) -> Option<(char, usize)> {
    [2, 6, 12].into_iter().find_map(|length| {
        let quoted = format!("\"{}\"", text.get(..length)?);
        let decoded: String = serde_json::from_str(&quoted).ok()?;
        Some((only(&decoded)?, length))
    })
}

/// Returns the only character of a text, or `None` if it has more or none.
fn only(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|_| characters.as_str().is_empty())
}

/// Decodes an escaped character of XML, such as `&amp;`. Returns its length too.
fn xml(text: &str) -> Option<(char, usize)> {
    const NAMED: [(&str, char); 6] = [
        ("&amp;", '&'),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&quot;", '"'),
        ("&apos;", '\''),
        ("&#39;", '\''),
    ];
    let (name, character) = NAMED.iter().find(|(name, _)| text.starts_with(name))?;
    Some((*character, name.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hide(hidden: &str, text: &str) -> String {
        let mut all = Redaction::default();
        all.add(hidden.to_owned());
        all.hide(text)
    }

    #[test]
    fn text_is_found_in_every_encoding() {
        for (hidden, spellings) in [
            (
                "jane doe",
                &["jane doe", "jane%20doe", "j%61ne+doe", r"jane\u0020doe"][..],
            ),
            ("müll", &["müll", "m%C3%BCll", "m%c3%bcll", r"m\u00FCll", r"m\u00fcll"]),
            ("it's", &["it's", "it''s", "it%27%27s", "it&apos;s", r"it\u0027s"]),
            ("a\"b\\/", &["a\"b\\/", r#"a\"b\\/"#, r#"a\"b\\\/"#, "a%22b%5C%2F"]),
            ("\u{1f600}", &["\u{1f600}", r"\uD83D\ude00", "%F0%9F%98%80"]),
            ("100%25", &["100%25", "100%2525"]),
            ("<&>", &["&lt;&amp;&gt;", "%3C%26%3E"]),
        ] {
            for spelling in spellings {
                let text = format!("Ä('{spelling}')\\");
                assert_eq!(hide(hidden, &text), "Ä('(hidden)')\\", "{spelling}");
            }
        }
        assert_eq!(hide("nbob", r"C:\nbob"), r"C:\(hidden)");
        // Hidden text, as a client sends it back.
        assert_eq!(hide("a", "'%28hidden%29'"), "'(hidden)'");
        assert_eq!(hide("hid", "(hidden) hid"), "(hidden) (hidden)");
        assert_eq!(hide("", "(a)"), "(a)");
    }

    #[test]
    fn token_is_rebuilt_without_the_hidden_text() {
        // `jane doe`, `row jane doe`, `(hidden)`, `row (hidden)`.
        assert_eq!(hide("jane doe", "1!12!amFuZSBkb2U-"), "1!12!KGhpZGRlbik-");
        assert_eq!(
            hide("jane doe", "$top=2&NextRowKey=1%2116%21cm93IGphbmUgZG9l&x=1"),
            "$top=2&NextRowKey=1%2116%21cm93IChoaWRkZW4p&x=1"
        );
        assert_eq!(
            hide("jane doe", r#"{"token":"amFuZSBkb2U=","range":{}}"#),
            r#"{"token":"KGhpZGRlbik=","range":{}}"#
        );
        for other in ["1!12!KGhpZGRlbik-", "1!4!cm93", "1!!", "1!5!????", "{\"token\":\"\"}"] {
            assert_eq!(hide("jane doe", other), other);
        }
    }

    proptest! {
        #[test]
        fn hidden_text_is_removed_completely_and_stays_hidden(
            hidden in "[ a-zA-Z'\"\\\\ü漢%&+/]{4,9}",
            around in "\\PC{0,9}",
        ) {
            let json = serde_json::to_string(&hidden).unwrap();
            // A character of no encoding separates the copies: in `\\%5C` the backslashes may be one escaped character,
            // and `%5C` the next.
            let text = format!("{around}|{hidden}|{around}|{}|{around}|{json}", url::encode(&hidden));
            let once = hide(&hidden, &text);
            prop_assert!(once.matches(HIDDEN).count() >= 3, "{}", once);
            prop_assert!(!once.contains(&hidden) || HIDDEN.contains(&hidden), "{}", once);
            prop_assert_eq!(hide(&hidden, &once), once);
        }
    }
}
