//! Text as key text: unchanged.
//!
//! Contains the impls for owned and borrowed text, `char`, `bool` and [`Guid`], whose own texts sort as they do, and
//! for references and boxes. `key_shape.rs` detects forbidden characters and keys that are too long. `escaped.rs`
//! accepts text with such characters.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;
use std::sync::Arc;

use azure_table_wire::error::{ValueError, expected};
use azure_table_wire::value::guid::Guid;

use crate::entity::property::one_character;
use crate::key::table_key::{ReadTableKey, TableKey};

macro_rules! text {
    ($($type:ty),*) => {$(
        impl TableKey for $type {
            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                text.push_str(self);
                Ok(())
            }
        }
    )*};
}
text! { String, str, Cow<'_, str>, Arc<str> }

macro_rules! read_text {
    ($($type:ty),*) => {$(
        impl ReadTableKey for $type {
            fn read_key(text: &str) -> Result<Self, ValueError> {
                Ok(text.into())
            }
        }
    )*};
}
read_text! { String, Arc<str>, Box<str> }

/// Always reads an owned text.
impl ReadTableKey for Cow<'_, str> {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

macro_rules! forwarded {
    ($($type:ty),*) => {$(
        impl<T: TableKey + ?Sized> TableKey for $type {
            const REVERSED: bool = T::REVERSED;
            const DIGITS: Option<usize> = T::DIGITS;
            const SORTED: bool = T::SORTED;

            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                T::write_key(self, text)
            }

            fn write_nearest(&self, text: &mut String) -> Result<Ordering, ValueError> {
                T::write_nearest(self, text)
            }
        }
    )*};
}
forwarded! { &T, Box<T> }

impl<T: ReadTableKey> ReadTableKey for Box<T> {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        T::read_key(text).map(Self::new)
    }
}

impl TableKey for char {
    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        text.push(*self);
        Ok(())
    }
}

impl ReadTableKey for char {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        one_character(text)
    }
}

impl TableKey for bool {
    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        text.push_str(if *self { "true" } else { "false" });
        Ok(())
    }
}

impl ReadTableKey for bool {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(expected("true or false", format_args!("{text:?}"))),
        }
    }
}

impl TableKey for Guid {
    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        // Writing to a String cannot fail.
        let _ = write!(text, "{self}");
        Ok(())
    }
}

impl ReadTableKey for Guid {
    /// Rejects upper-case letters: such text is the key of another row.
    fn read_key(text: &str) -> Result<Self, ValueError> {
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(expected("a GUID in lower case", format_args!("{text:?}")));
        }
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::table_key::key_text;

    #[test]
    fn text_is_its_own_key() {
        for text in ["", "a b", "漢字 100% +&'", "😀"] {
            assert_eq!(key_text(text), text);
            assert_eq!(key_text(&text), text);
            assert_eq!(key_text(&String::read_key(text).unwrap()), text);
            assert_eq!(key_text(&Cow::read_key(text).unwrap()), text);
            assert_eq!(key_text(&Arc::<str>::read_key(text).unwrap()), text);
            assert_eq!(key_text(&Box::<str>::read_key(text).unwrap()), text);
            assert_eq!(key_text(&Box::<String>::read_key(text).unwrap()), text);
        }
        assert_eq!(<&u32 as TableKey>::DIGITS, Some(10));
        const { assert!(<Box<crate::key::descending::Descending<u8>> as TableKey>::REVERSED) }
    }

    #[test]
    fn characters_booleans_and_guids_have_one_text_each() {
        assert_eq!(key_text(&'ü'), "ü");
        assert_eq!(char::read_key("ü").unwrap(), 'ü');
        assert!(char::read_key("").is_err() && char::read_key("ab").is_err());
        assert_eq!((key_text(&false), key_text(&true)), ("false".into(), "true".into()));
        assert!(bool::read_key("true").unwrap());
        assert!(bool::read_key("True").is_err());
        let text = "c9da6455-213d-42c9-9a79-3e9149a57833";
        assert_eq!(key_text(&Guid::read_key(text).unwrap()), text);
        assert!(Guid::read_key(&text.to_uppercase()).is_err());
    }
}
