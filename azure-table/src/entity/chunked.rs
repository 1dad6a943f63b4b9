//! Values too large for one property, stored in several.
//!
//! A `Text` that fits is stored as itself. A longer one is stored as `Text_1`, `Text_2` …, and `Text` is an Int32 with
//! the number of pieces, which a program without `chunked` rejects. After a merge with a shorter value, stale pieces stay
//! in the entity and are not read.

use std::borrow::Cow;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::edm::{Edm, EdmType, Token};

use crate::entity::property_writer::PropertyWriter;
use crate::entity::row::Row;

/// The length of a full piece of text, in UTF-16 units. Sources disagree about the service's exact limit near 32,768.
/// Stored rows depend on this number: never change it.
const PIECE_UNITS: usize = 32_000;
/// The length of a full piece of bytes.
const PIECE_BYTES: usize = 64_000;

/// A type that `#[table(chunked)]` splits over several properties: `String`, `Vec<u8>`, or an `Option` of either.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in pieces",
    label = "#[table(chunked)] is for `String` and `Vec<u8>`, and `Option` of them",
    note = "remove `chunked`, or store it as JSON in one property with #[table(json)]"
)]
pub trait Chunked: Sized {
    /// The type of each piece.
    const EDM_TYPE: EdmType;

    /// Returns the pieces, each within the service's limit for one property. `None` for an absent value.
    #[doc(hidden)]
    fn pieces(&self) -> Option<Vec<Edm<'_>>>;

    /// Joins the pieces into the value.
    #[doc(hidden)]
    fn join(pieces: Vec<Edm<'_>>) -> Option<Self>;

    /// Returns the value for an absent property, or `None` if its absence is an error.
    #[doc(hidden)]
    fn absent() -> Option<Self> {
        None
    }

    /// Writes the pieces of a field.
    #[doc(hidden)]
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
        write(properties, name, self)
    }

    /// Reads the value under the first of these names that the row has.
    #[doc(hidden)]
    fn found(row: &Row<'_>, prefix: &str, names: &[&str]) -> Result<Option<Self>> {
        let mut names = names.iter().map(|name| within(prefix, name));
        let stored = names.find(|whole| row.get(whole).is_some());
        stored.map(|whole| read(row, &whole)).transpose()
    }
}

/// Returns the name of a property or a group inside a group.
pub fn within<'n>(prefix: &str, name: &'n str) -> Cow<'n, str> {
    if prefix.is_empty() {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{prefix}{name}"))
    }
}

impl Chunked for String {
    const EDM_TYPE: EdmType = EdmType::String;

    fn pieces(&self) -> Option<Vec<Edm<'_>>> {
        let mut pieces = Vec::new();
        let mut rest = self.as_str();
        loop {
            let (piece, after) = rest.split_at(end_of_piece(rest));
            pieces.push(Edm::String(Cow::Borrowed(piece)));
            rest = after;
            if rest.is_empty() {
                return Some(pieces);
            }
        }
    }

    fn join(pieces: Vec<Edm<'_>>) -> Option<Self> {
        let mut text = String::new();
        for piece in pieces {
            let Edm::String(piece) = piece else { return None };
            text.push_str(&piece);
        }
        Some(text)
    }
}

/// Returns the number of bytes of `text` that fit into one property.
fn end_of_piece(text: &str) -> usize {
    if text.len() <= PIECE_UNITS {
        return text.len();
    }
    let mut units = 0;
    for (at, character) in text.char_indices() {
        units += character.len_utf16();
        if units > PIECE_UNITS {
            return at;
        }
    }
    text.len()
}

impl Chunked for Vec<u8> {
    const EDM_TYPE: EdmType = EdmType::Binary;

    fn pieces(&self) -> Option<Vec<Edm<'_>>> {
        if self.is_empty() {
            return Some(vec![Edm::Binary(Cow::Borrowed(&[]))]);
        }
        Some(
            self.chunks(PIECE_BYTES)
                .map(|piece| Edm::Binary(Cow::Borrowed(piece)))
                .collect(),
        )
    }

    fn join(pieces: Vec<Edm<'_>>) -> Option<Self> {
        let mut bytes = Vec::new();
        for piece in pieces {
            let Edm::Binary(piece) = piece else { return None };
            bytes.extend_from_slice(&piece);
        }
        Some(bytes)
    }
}

impl<T: Chunked> Chunked for Option<T> {
    const EDM_TYPE: EdmType = T::EDM_TYPE;

    fn pieces(&self) -> Option<Vec<Edm<'_>>> {
        self.as_ref().and_then(T::pieces)
    }

    fn join(pieces: Vec<Edm<'_>>) -> Option<Self> {
        T::join(pieces).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// Writes a value in pieces.
pub fn write<T: Chunked>(properties: &mut PropertyWriter<'_>, name: &str, value: &T) -> Result<()> {
    let Some(pieces) = value.pieces() else { return Ok(()) };
    if let [whole] = &*pieces {
        return properties.value(name, whole);
    }
    let count = i32::try_from(pieces.len()).unwrap_or(i32::MAX);
    properties.value(name, &Edm::Int32(count))?;
    let mut numbered = (1..).zip(&pieces);
    numbered.try_for_each(|(number, piece)| properties.value(&format!("{name}_{number}"), piece))
}

/// Reads a value from its pieces; `name` is the whole name, with the prefix of a flattened field.
pub fn read<T: Chunked>(row: &Row<'_>, name: &str) -> Result<T> {
    let fault = |why: &str| Error::invalid_response(format!("property `{name}`: {why}"));
    let Some(property) = row.get(name) else {
        return T::absent().ok_or_else(|| fault("it is missing"));
    };
    let pieces = match property.value().token {
        Token::Number(_) => {
            let count = property.read::<i32>()?;
            if count < 2 {
                return Err(fault(&format!("{count} is not the number of its pieces")));
            }
            let piece = |number| {
                let piece = format!("{name}_{number}");
                let missing = || fault(&format!("its piece `{piece}` is missing"));
                row.get(&piece).ok_or_else(missing)?.read_as(T::EDM_TYPE)
            };
            (1..=count).map(piece).collect::<Result<_>>()?
        }
        _ => vec![property.read_as(T::EDM_TYPE)?],
    };
    T::join(pieces).ok_or_else(|| fault("its pieces have another type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_at_the_limit_of_units() {
        for (text, pieces) in [
            (String::new(), 1),
            ("x".repeat(PIECE_UNITS), 1),
            ("x".repeat(PIECE_UNITS + 1), 2),
            ("\u{1f600}".repeat(PIECE_UNITS), 2),
            (format!("x{}", "\u{1f600}".repeat(PIECE_UNITS / 2)), 2),
        ] {
            let cut = text.pieces().unwrap();
            assert_eq!(cut.len(), pieces);
            assert_eq!(String::join(cut).unwrap(), text);
        }
        let bytes = vec![7_u8; PIECE_BYTES + 1];
        assert_eq!(bytes.pieces().unwrap().len(), 2);
        assert_eq!(None::<String>.pieces(), None);
    }
}
