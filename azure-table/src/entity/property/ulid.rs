//! Feature `ulid-3`: `Ulid` as Edm.String and part of a key; both are its 26 characters, which sort as the values do.

use azure_table_wire::error::{ValueError, expected};
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};
use ulid::Ulid;

use crate::entity::property::{Property, ReadProperty, as_text};
use crate::key::table_key::{ReadTableKey, TableKey};

/// The text, in ASCII.
const LENGTH: usize = 26;

as_text! {
    /// Accepts lower-case letters too.
    Ulid, sorted: true, read;
}

/// Rejects text of more than 128 bits, because `Ulid` would drop the first ones.
fn read(text: &str) -> Result<Ulid, ValueError> {
    Ulid::from_string(text)
        .ok()
        .filter(|id| id.array_to_str(&mut [0; LENGTH]).eq_ignore_ascii_case(text))
        .ok_or_else(|| expected("a ULID (26 characters)", format_args!("{text:?}")))
}

impl TableKey for Ulid {
    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        text.push_str(self.array_to_str(&mut [0; LENGTH]));
        Ok(())
    }
}

impl ReadTableKey for Ulid {
    /// Rejects lower-case letters: such text is the key of another row.
    fn read_key(text: &str) -> Result<Self, ValueError> {
        if text.bytes().any(|byte| byte.is_ascii_lowercase()) {
            return Err(expected("a ULID in capitals", format_args!("{text:?}")));
        }
        read(text)
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::Token;
    use proptest::prelude::*;

    use super::*;
    use crate::key::table_key::key_text;

    #[test]
    fn other_text_is_an_error() {
        let text = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        assert_eq!(key_text(&Ulid::read_key(text).unwrap()), text);
        let small = text.to_ascii_lowercase();
        assert_eq!(
            Ulid::read_key(&small).unwrap_err().to_string(),
            format!("expected a ULID in capitals, found {small:?}")
        );
        assert_eq!(read(&small).unwrap(), read(text).unwrap());
        // Beyond 128 bits, too short, and a letter that no ULID has.
        for wrong in [
            "8ZZZZZZZZZZZZZZZZZZZZZZZZZ",
            "01ARZ3NDEKTSV4RRFFQ69G5FA",
            "01ARZ3NDEKTSV4RRFFQ69G5FAU",
            "",
        ] {
            assert!(Ulid::read_key(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_ulid_round_trips_and_sorts_as_its_text(one in any::<u128>(), other in any::<u128>()) {
            let (one, other) = (Ulid::from(one), Ulid::from(other));
            let text = key_text(&one);
            prop_assert_eq!(one.to_edm().unwrap(), Some(Edm::from(&*text)));
            prop_assert_eq!(Ulid::read_key(&text).unwrap(), one);
            prop_assert_eq!(text.cmp(&key_text(&other)), one.cmp(&other));
            let wire = WireValue { annotation: None, token: Token::Text(&text) };
            prop_assert_eq!(Ulid::from_wire(wire).unwrap(), one);
        }
    }
}
