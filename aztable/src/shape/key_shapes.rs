//! The shapes of keys, in words: `text "_" 10 digits`.

use std::collections::BTreeMap;

use crate::terminal::counted;

/// The shapes that are told apart. Keys of further shapes are only counted.
const MOST_SHAPES: usize = 32;
/// The parts of a key that are told apart. The rest of the key is text.
const MOST_PARTS: usize = 9;

/// The shapes of the keys so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyShapes {
    shapes: BTreeMap<String, u64>,
    others: u64,
}

impl KeyShapes {
    pub(crate) fn add(&mut self, key: &str) {
        let shape = words(key);
        match self.shapes.len() < MOST_SHAPES || self.shapes.contains_key(&shape) {
            true => *self.shapes.entry(shape).or_default() += 1,
            false => self.others += 1,
        }
    }

    /// Returns the shapes in words with their numbers of keys, the most frequent first.
    pub(crate) fn in_words(&self) -> Vec<(String, u64)> {
        let mut shapes: Vec<_> = self.shapes.clone().into_iter().collect();
        shapes.extend((self.others > 0).then(|| ("other shapes".to_owned(), self.others)));
        shapes.sort_by_key(|(_, keys)| std::cmp::Reverse(*keys));
        shapes
    }
}

/// Returns the parts of a key in words.
fn words(key: &str) -> String {
    let (mut words, mut rest) = (Vec::new(), key);
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let is_number = rest.as_bytes().iter().take(word).all(u8::is_ascii_digit);
        let (part, length) = match first {
            _ if words.len() + 1 == MOST_PARTS => ("text".to_owned(), rest.len()),
            _ if has_form(rest, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx") => ("GUID".to_owned(), 36),
            _ if has_form(rest, "dddd-dd-dd") => ("date".to_owned(), 10),
            separator if word == 0 => (format!("{:?}", separator.to_string()), separator.len_utf8()),
            _ if is_number => (counted(word as u64, "digit"), word),
            _ => ("text".to_owned(), word),
        };
        rest = rest.get(length..).unwrap_or_default();
        words.push(part);
    }
    let words = words.join(" ");
    if words.is_empty() { "empty".into() } else { words }
}

/// Returns whether a text begins with a form, of which `d` is a digit and `x` a hexadecimal one, and ends there or goes
/// on with a separator, or with the `T` before a time.
fn has_form(text: &str, form: &str) -> bool {
    let fits = |(c, form): (char, char)| match form {
        'd' => c.is_ascii_digit(),
        'x' => c.is_ascii_hexdigit(),
        form => c == form,
    };
    let next = text.chars().nth(form.len());
    let ends = next.is_none_or(|c| !c.is_alphanumeric() || c == 'T');
    text.len() >= form.len() && ends && text.chars().zip(form.chars()).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_in_words() {
        for (keys, shape) in [
            (vec!["0000000001", "0000000002"], "10 digits"),
            (vec!["1", "2"], "1 digit"),
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
