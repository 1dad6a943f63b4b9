//! The shapes of keys, in words: `text "_" 10 digits`.

use std::collections::BTreeMap;

/// The shapes that are told apart. Keys of further shapes are only counted.
const MOST_SHAPES: usize = 32;
/// The parts of a key that are told apart. The rest of the key is text.
const MOST_PARTS: usize = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Guid,
    Date,
    Digits,
    Text,
    Separator(char),
}

/// The keys of one shape.
#[derive(Clone, Debug)]
struct Seen {
    keys: u64,
    /// The lowest and highest length of each part.
    lengths: Vec<(usize, usize)>,
}

/// The shapes of the keys so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyShapes {
    shapes: BTreeMap<Vec<Part>, Seen>,
    others: u64,
}

impl KeyShapes {
    pub(crate) fn add(&mut self, key: &str) {
        let (parts, lengths): (Vec<Part>, Vec<usize>) = parts_of(key).into_iter().unzip();
        let is_full = self.shapes.len() == MOST_SHAPES;
        match self.shapes.get_mut(&parts) {
            Some(seen) => {
                seen.keys += 1;
                for (range, length) in seen.lengths.iter_mut().zip(lengths) {
                    *range = (range.0.min(length), range.1.max(length));
                }
            }
            None if is_full => self.others += 1,
            None => {
                let lengths = lengths.into_iter().map(|length| (length, length)).collect();
                self.shapes.insert(parts, Seen { keys: 1, lengths });
            }
        }
    }

    /// Returns the shapes in words with their numbers of keys, the most frequent first.
    pub(crate) fn in_words(&self) -> Vec<(String, u64)> {
        let mut shapes: Vec<_> = self
            .shapes
            .iter()
            .map(|(parts, seen)| (words(parts, &seen.lengths), seen.keys))
            .collect();
        shapes.extend((self.others > 0).then(|| ("other shapes".to_owned(), self.others)));
        shapes.sort_by_key(|(_, keys)| std::cmp::Reverse(*keys));
        shapes
    }
}

/// Splits a key into its parts, each with its number of characters.
fn parts_of(key: &str) -> Vec<(Part, usize)> {
    let (mut parts, mut rest) = (Vec::new(), key);
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (part, length) = if parts.len() + 1 == MOST_PARTS {
            (Part::Text, rest.len())
        } else if has_form(rest, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") {
            (Part::Guid, 36)
        } else if has_form(rest, "dddd-dd-dd") {
            (Part::Date, 10)
        } else if word == 0 {
            (Part::Separator(first), first.len_utf8())
        } else if rest.as_bytes().iter().take(word).all(u8::is_ascii_digit) {
            (Part::Digits, word)
        } else {
            (Part::Text, word)
        };
        let (taken, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        parts.push((part, taken.chars().count()));
        rest = after;
    }
    parts
}

/// Returns whether a text begins with a form, of which `d` is a digit and `x` a hexadecimal one, and ends there or goes
/// on with a separator, or with the `T` before a time.
fn has_form(text: &str, form: &str) -> bool {
    let fits = |(c, form): (char, char)| match form {
        'd' => c.is_ascii_digit(),
        'x' => c.is_ascii_hexdigit(),
        form => c == form,
    };
    let ends = text
        .chars()
        .nth(form.len())
        .is_none_or(|c| !c.is_alphanumeric() || c == 'T');
    text.len() >= form.len() && ends && text.chars().zip(form.chars()).all(fits)
}

fn words(parts: &[Part], lengths: &[(usize, usize)]) -> String {
    if parts.is_empty() {
        return "empty".into();
    }
    let word = |(part, (least, most)): (&Part, &(usize, usize))| match part {
        Part::Guid => "GUID".to_owned(),
        Part::Date => "date".to_owned(),
        Part::Digits if least == most => format!("{least} digit{}", if *least == 1 { "" } else { "s" }),
        Part::Digits => format!("{least} to {most} digits"),
        Part::Text => "text".to_owned(),
        Part::Separator(c) => format!("{:?}", c.to_string()),
    };
    parts.iter().zip(lengths).map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_in_words() {
        for (keys, shape) in [
            (vec!["0000000001", "0000000002"], "10 digits"),
            (vec!["1", "200"], "1 to 3 digits"),
            (vec!["00112233-4455-6677-8899-aabbccddeeff"], "GUID"),
            (vec!["2026-01-02T03"], "date text"),
            (vec!["2026-01-023"], "4 digits \"-\" 2 digits \"-\" 3 digits"),
            (vec!["2026-01-02"], "date"),
            (vec!["ada_2026-01-02_07"], "text \"_\" date \"_\" 2 digits"),
            (vec!["größe|é"], "text \"|\" text"),
            (vec![""], "empty"),
            (vec!["a b c d e f"], "text \" \" text \" \" text \" \" text \" \" text"),
        ] {
            let mut shapes = KeyShapes::default();
            keys.iter().for_each(|key| shapes.add(key));
            let expected = vec![(shape.to_owned(), keys.len() as u64)];
            assert_eq!(shapes.in_words(), expected, "{keys:?}");
        }
    }

    #[test]
    fn shapes_are_bounded() {
        let mut shapes = KeyShapes::default();
        for n in 0..1_000_u32 {
            shapes.add(&format!("{}{}", char::from_u32(0x2190 + n % 100).unwrap(), n));
        }
        let words = shapes.in_words();
        assert_eq!(words.len(), MOST_SHAPES + 1);
        assert_eq!(words.iter().map(|(_, keys)| keys).sum::<u64>(), 1_000);
    }
}
