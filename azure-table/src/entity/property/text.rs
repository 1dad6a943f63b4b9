//! Text: Edm.String.
//!
//! Contains the impls for owned and borrowed text and for one character. `&str` and `Box<str>` are written through
//! `str` and `pointer.rs`. All of them are compared with a `String`, so that `.eq("x")` works on every text column.

use std::borrow::Cow;
use std::sync::Arc;

use azure_table_wire::error::{ValueError, expected};
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::property::{Property, ReadProperty, as_text};

macro_rules! text {
    ($($type:ty),*) => {$(
        impl Property for $type {
            type Compared = String;
            const EDM_TYPE: EdmType = EdmType::String;
            fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
                Ok(Some(Edm::String(Cow::Borrowed(self))))
            }
        }
    )*};
}
text! { String, str, Cow<'_, str>, Arc<str> }

impl ReadProperty for String {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        value.as_str().map(str::to_owned)
    }
}

/// Always reads owned text.
impl ReadProperty for Cow<'_, str> {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        String::from_wire(value).map(Cow::Owned)
    }
}

impl ReadProperty for Arc<str> {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        value.as_str().map(Self::from)
    }
}

impl ReadProperty for Box<str> {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        value.as_str().map(Self::from)
    }
}

as_text! {
    char, sorted: true, one_character;
}

/// Parses text of exactly one character.
pub(crate) fn one_character(text: &str) -> Result<char, ValueError> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(expected(
            "one character",
            format_args!("{} of them", text.chars().count()),
        )),
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::Token;

    use super::*;

    fn read<T: ReadProperty>(text: &str) -> Result<T, ValueError> {
        T::from_wire(WireValue {
            annotation: None,
            token: Token::Text(text),
        })
    }

    #[test]
    fn all_text_is_written_and_read() {
        let text = "O'Brien ü😀";
        let expected = Some(Edm::from(text));
        assert_eq!(text.to_edm().unwrap(), expected);
        assert_eq!(<&str>::to_edm(&text).unwrap(), expected);
        assert_eq!(read::<String>(text).unwrap().to_edm().unwrap(), expected);
        assert_eq!(read::<Cow<'_, str>>(text).unwrap().to_edm().unwrap(), expected);
        assert_eq!(read::<Arc<str>>(text).unwrap().to_edm().unwrap(), expected);
        assert_eq!(read::<Box<str>>(text).unwrap().to_edm().unwrap(), expected);
    }

    #[test]
    fn a_char_is_exactly_one_character() {
        for character in ['\0', 'ü', '😀'] {
            assert_eq!(read::<char>(&character.to_string()).unwrap(), character);
            assert_eq!(character.to_edm().unwrap(), Some(Edm::from(&*character.to_string())));
        }
        assert_eq!(
            read::<char>("ab").unwrap_err().to_string(),
            "expected one character, found 2 of them"
        );
        assert!(read::<char>("").is_err());
    }
}
