//! Any text as key text, reversibly and in its order.
//!
//! Defines [`Escaped`] and [`PercentEscaped`] and the table of their escapes. A character that is not permitted in a
//! key becomes its next lower permitted neighbour and an index, and so does that neighbour itself. The escapes are
//! prefix-free and sort as their characters do, so whole texts keep their order.

use std::cmp::Ordering;

use azure_table_wire::error::{ValueError, expected};
use serde::{Deserialize, Serialize};

use crate::key::descending::wrapper;
use crate::key::table_key::{ReadTableKey, TableKey};

macro_rules! escaped {
    ($(#[$doc:meta])* $name:ident, $percent:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name<T>(pub T);

        impl<T: TableKey> TableKey for $name<T> {
            const REVERSED: bool = T::REVERSED;
            const SORTED: bool = T::SORTED;

            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                escaped(text, $percent, |raw| self.0.write_key(raw))
            }

            fn write_nearest(&self, text: &mut String) -> Result<Ordering, ValueError> {
                escaped(text, $percent, |raw| self.0.write_nearest(raw))
            }
        }

        impl<T: ReadTableKey> ReadTableKey for $name<T> {
            fn read_key(text: &str) -> Result<Self, ValueError> {
                T::read_key(&unescape(text, $percent)?).map(Self)
            }
        }

        wrapper!($name);
    };
}

escaped! {
    /// Any text as part of a key, such as a path or a URL.
    ///
    /// The characters that the service forbids in keys are escaped. Spaces are escaped too, so that the text can be
    /// part of a tuple. Reading returns the original text, and the escaped texts keep the order of the originals.
    ///
    /// | character | text |
    /// |---|---|
    /// | U+0000..U+0020 (controls and space), `!` | `!` and two lower-case hexadecimal digits: `!00`..`!21` |
    /// | `"`, `#` | `"0`, `"1` |
    /// | `.`, `/` | `.0`, `.1` |
    /// | `>`, `?` | `>0`, `>1` |
    /// | `[`, `\` | `[0`, `[1` |
    /// | `~`, U+007F..U+009F (control characters) | `~00`, `~` and the code: `~7f`..`~9f` |
    /// | all others | as they are |
    ///
    /// A key has at most [`MAX_KEY_UNITS`](crate::key::MAX_KEY_UNITS); an escaped character takes two or three of them.
    /// An escaped prefix is a prefix of the escaped text, so queries by prefix work. Filters, keys and patches take the
    /// plain `T`. `%` is legal in a key and stays; [`PercentEscaped`] escapes it as well.
    ///
    /// ```
    /// use azure_table::TableKey;
    /// use azure_table::key::{Escaped, ReadTableKey};
    /// let path = Escaped("/var/log/a b.txt");
    /// let mut key = String::new();
    /// path.write_key(&mut key).unwrap();
    /// assert_eq!(key, ".1var.1log.1a!20b.0txt");
    /// assert_eq!(Escaped::<String>::read_key(&key).unwrap().as_str(), *path);
    /// ```
    ///
    /// Source: REST "Understanding the Table service data model", characters disallowed in key fields; the escapes are
    /// this crate's own.
    Escaped, false
}

escaped! {
    /// Any text as part of a key, escaped as in [`Escaped`], and `%` as well: `$` becomes `$0` and `%` becomes `$1`.
    ///
    /// Use it for keys that other programs put into URLs without a client library. This crate encodes a percent sign
    /// correctly, but some clients and proxies are known to decode it twice.
    ///
    /// ```
    /// use azure_table::TableKey;
    /// use azure_table::key::PercentEscaped;
    /// let mut key = String::new();
    /// PercentEscaped("100 %").write_key(&mut key).unwrap();
    /// assert_eq!(key, "100!20$1");
    /// ```
    ///
    /// Source: REST "Understanding the Table service data model"; user reports of percent signs in keys.
    PercentEscaped, true
}

/// Returns `true` for the characters that replace themselves and their successor, with the index 0 and 1.
const fn is_neighbour(character: char, percent: bool) -> bool {
    matches!(character, '"' | '.' | '>' | '[') || (percent && character == '$')
}

/// Appends the escaped form of what `write` writes.
fn escaped<W>(
    text: &mut String,
    percent: bool,
    write: impl FnOnce(&mut String) -> Result<W, ValueError>,
) -> Result<W, ValueError> {
    let mut raw = String::new();
    let written = write(&mut raw)?;
    raw.chars().for_each(|character| escape(character, percent, text));
    Ok(written)
}

fn escape(character: char, percent: bool, text: &mut String) {
    let code = u32::from(character);
    match character {
        '\0'..='!' => push_code('!', code, text),
        '~' => push_code('~', 0, text),
        '\u{7f}'..='\u{9f}' => push_code('~', code, text),
        '#' | '/' | '?' | '\\' => text.extend([previous(character), '1']),
        '%' if percent => text.push_str("$1"),
        _ if is_neighbour(character, percent) => text.extend([character, '0']),
        _ => text.push(character),
    }
}

/// Returns the character before an ASCII character.
fn previous(character: char) -> char {
    char::from((u32::from(character) as u8).wrapping_sub(1))
}

fn push_code(sign: char, code: u32, text: &mut String) {
    text.push(sign);
    for digit in [code >> 4, code & 0xf] {
        text.extend(char::from_digit(digit, 16));
    }
}

/// Reverses [`escape`], and rejects text that `escape` does not write.
fn unescape(text: &str, percent: bool) -> Result<String, ValueError> {
    let mut raw = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        let plain = match character {
            '!' => code(&mut rest).filter(|code| *code <= 0x21).and_then(char::from_u32),
            '~' => match code(&mut rest) {
                Some(0) => Some('~'),
                code => code
                    .filter(|code| (0x7f..=0x9f).contains(code))
                    .and_then(char::from_u32),
            },
            _ if is_neighbour(character, percent) => match rest.next() {
                Some('0') => Some(character),
                Some('1') => char::from_u32(u32::from(character) + 1),
                _ => None,
            },
            '\0'..=' ' | '#' | '/' | '?' | '\\' | '\u{7f}'..='\u{9f}' => None,
            '%' if percent => None,
            _ => Some(character),
        };
        raw.push(plain.ok_or_else(|| expected("escaped text", format_args!("{text:?}")))?);
    }
    Ok(raw)
}

/// Reads two lower-case hexadecimal digits.
fn code(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let mut digit = || rest.next().filter(|digit| !digit.is_ascii_uppercase())?.to_digit(16);
    Some(digit()? << 4 | digit()?)
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::key_text::key_text_fault;

    use super::*;
    use crate::key::table_key::key_text;

    #[test]
    fn every_escape_is_the_documented_one() {
        for (plain, escaped) in [
            ("\0", "!00"),
            ("\n", "!0a"),
            (" ", "!20"),
            ("!", "!21"),
            ("\"#", "\"0\"1"),
            ("$%", "$%"),
            ("./", ".0.1"),
            (">?", ">0>1"),
            ("[\\", "[0[1"),
            ("~", "~00"),
            ("\u{7f}\u{80}\u{9f}", "~7f~80~9f"),
            ("\u{a0}ü漢😀", "\u{a0}ü漢😀"),
            ("", ""),
        ] {
            assert_eq!(key_text(&Escaped(plain)), escaped);
            assert_eq!(*Escaped::<String>::read_key(escaped).unwrap(), plain);
        }
        assert_eq!(key_text(&PercentEscaped("$%")), "$0$1");
        assert_eq!(*PercentEscaped::<String>::read_key("$0$1").unwrap(), "$%");
    }

    #[test]
    fn single_characters_keep_their_order_and_are_permitted() {
        let escaped: Vec<_> = (0..0xd800)
            .filter_map(char::from_u32)
            .map(|c| (key_text(&Escaped(c)), key_text(&PercentEscaped(c))))
            .collect();
        assert!(escaped.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
        for (plain, percent) in &escaped {
            assert_eq!(key_text_fault(plain), None);
            assert!(!plain.contains(' ') && !percent.contains(['%', ' ']));
        }
    }

    #[test]
    fn unescaped_text_is_an_error() {
        for wrong in [
            " ", "a b", "/", "#", "?", "\\", "\u{7f}", "\u{9f}", "!", "!2", "!22", "!0A", "!+1", "~", "~01", "~7e",
            "~a0", "~7F", ".", ".2", "\"", ">x", "[",
        ] {
            assert!(Escaped::<String>::read_key(wrong).is_err(), "{wrong:?}");
        }
        assert!(Escaped::<String>::read_key("$").is_ok());
        for wrong in ["$", "%", "$2"] {
            assert!(PercentEscaped::<String>::read_key(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn inner_type_decides_which_text_is_read() {
        assert_eq!(Escaped::<u8>::read_key("007").unwrap(), Escaped(7));
        assert!(Escaped::<u8>::read_key("7").is_err());
        const { assert!(<Escaped<crate::key::descending::Descending<u8>> as TableKey>::REVERSED) }
    }
}
