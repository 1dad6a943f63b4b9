//! Several values as one key field: `(A, B)` to `(A, B, C, D)`.
//!
//! The texts of the parts are joined by a space, the least character that a key may have. A part that is the beginning
//! of another therefore sorts before it, and the texts sort like the tuples. For the same reason no part may contain a
//! space. `key_shape.rs` has templates, which name the literals between fields.

use std::cmp::Ordering;

use azure_table_wire::error::{ValueError, expected};

use crate::key::table_key::{ReadTableKey, TableKey};

const SEPARATOR: char = ' ';
const AFTER_SEPARATOR: char = '!';

/// Appends the text of one part, the `number`th, by `write`.
fn write_part<W>(
    number: usize,
    text: &mut String,
    write: impl FnOnce(&mut String) -> Result<W, ValueError>,
) -> Result<W, ValueError> {
    if number > 1 {
        text.push(SEPARATOR);
    }
    let start = text.len();
    let written = write(text)?;
    if text[start..].contains(SEPARATOR) {
        return Err(ValueError::new(format!(
            "part {number} of the tuple, {:?}, has a space, which separates the parts: use Escaped<_> for it",
            &text[start..]
        )));
    }
    Ok(written)
}

/// Splits the text into exactly `N` parts.
fn parts<const N: usize>(text: &str) -> Result<[&str; N], ValueError> {
    let parts: Vec<_> = text.split(SEPARATOR).collect();
    parts
        .try_into()
        .map_err(|_| expected(&format!("{N} parts with a space between"), format_args!("{text:?}")))
}

macro_rules! tuples {
    ($(($($part:ident $value:ident $n:tt $number:literal),+))*) => {$(
        impl<$($part: TableKey),+> TableKey for ($($part,)+) {
            const SORTED: bool = $($part::SORTED)&&+;

            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                $(write_part($number, text, |text| self.$n.write_key(text))?;)+
                Ok(())
            }

            // A part between two keys decides alone: the text ends with it, before or after all parts that may follow.
            fn write_nearest(&self, text: &mut String) -> Result<Ordering, ValueError> {
                $(
                    let order = write_part($number, text, |text| self.$n.write_nearest(text))?;
                    let order = if $part::REVERSED { order.reverse() } else { order };
                    if order.is_gt() {
                        text.push(AFTER_SEPARATOR);
                    }
                    if order.is_ne() {
                        return Ok(order);
                    }
                )+
                Ok(Ordering::Equal)
            }
        }

        impl<$($part: ReadTableKey),+> ReadTableKey for ($($part,)+) {
            fn read_key(text: &str) -> Result<Self, ValueError> {
                let [$($value),+] = parts(text)?;
                Ok(($($part::read_key($value)?,)+))
            }
        }
    )*};
}
tuples! {
    (A a 0 1, B b 1 2)
    (A a 0 1, B b 1 2, C c 2 3)
    (A a 0 1, B b 1 2, C c 2 3, D d 3 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::descending::Descending;
    use crate::key::escaped::Escaped;
    use crate::key::table_key::key_text;

    #[test]
    fn parts_are_joined_by_a_space() {
        let two = ("WA".to_owned(), 7_u8);
        assert_eq!(key_text(&two), "WA 007");
        assert_eq!(<(String, u8)>::read_key("WA 007").unwrap(), two);
        let four = (String::new(), Descending(1_u8), 'x', String::new());
        assert_eq!(key_text(&four), " 254 x ");
        assert_eq!(
            <(String, Descending<u8>, char, String)>::read_key(" 254 x ").unwrap(),
            four
        );
        let order = [("a", "b"), ("a", "c"), ("a!", "a"), ("aa", "")].map(|pair| key_text(&pair));
        assert!(order.is_sorted());
    }

    #[test]
    fn a_space_inside_of_a_part_needs_escaping() {
        let error = ("WA", "New York").write_key(&mut String::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "part 2 of the tuple, \"New York\", has a space, which separates the parts: use Escaped<_> for it"
        );
        assert_eq!(key_text(&("WA", Escaped("New York"))), "WA New!20York");
        let nested = (1_u8, Escaped(("a", "b")));
        assert_eq!(key_text(&nested), "001 a!20b");
        assert_eq!(
            <(u8, Escaped<(char, char)>)>::read_key("001 a!20b").unwrap(),
            (1, Escaped(('a', 'b')))
        );
    }

    #[test]
    fn wrong_number_of_parts_is_an_error() {
        for wrong in ["", "a", "a b c"] {
            assert!(<(String, String)>::read_key(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(
            <(String, String, String)>::read_key("a b").unwrap_err().to_string(),
            "expected 3 parts with a space between, found \"a b\""
        );
    }
}
