//! The mapping between the fields of an entity and its PartitionKey and RowKey.
//!
//! Defines [`KeyShape`] (a constant that the derive emits), [`KeyWriter`] and [`KeyParts`]. Field texts come from
//! [`TableKey`].
//!
//! Key templates are data, and the code that joins and splits keys by them is here. So their rules are tested once, and
//! the derive emits only constants and plain calls. An enum of entities has no key tuple, because the keys of its
//! variants differ. `TableEntity::key_shape` is a method of the value, so that each variant has its own template.

use azure_table_wire::error::error_text::Shown;
use azure_table_wire::error::{Error, Result, ValueError, expected};
use azure_table_wire::value::key_text::key_text_fault;
use serde::Serialize;

use crate::key::key_start::{KeyStart, Start};
use crate::key::key_texts::{self, KeyTexts};
use crate::key::operand::Operand;
use crate::key::table_key::{ReadTableKey, TableKey};

/// The pieces of an entity's two keys, from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KeyShape {
    /// The pieces of the PartitionKey.
    pub partition_key: &'static [KeyPiece],
    /// The pieces of the RowKey.
    pub row_key: &'static [KeyPiece],
}

/// The maximum number of fields in the two keys of an entity.
pub const MAX_KEY_FIELDS: usize = 8;

/// A piece of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum KeyPiece {
    /// The text of the field of this name.
    Field(&'static str),
    /// The text of a numeric field, padded to this number of digits: `{n:04}` in a template.
    Padded(&'static str, usize),
    /// Fixed text. It separates any two fields.
    Literal(&'static str),
}

impl KeyShape {
    /// One field per key: the shape of most entities, handwritten ones included.
    pub const SIMPLE: Self = Self {
        partition_key: &[KeyPiece::Field("PartitionKey")],
        row_key: &[KeyPiece::Field("RowKey")],
    };

    fn keys(&self) -> [(&'static str, &'static [KeyPiece]); 2] {
        [("PartitionKey", self.partition_key), ("RowKey", self.row_key)]
    }

    /// Returns the pieces of the PartitionKey (0) or of the RowKey (1).
    const fn pieces(&self, key: usize) -> &'static [KeyPiece] {
        if key == 0 { self.partition_key } else { self.row_key }
    }
}

/// Returns `true` if a RowKey of this shape has a piece that ends at `at`.
pub(crate) fn row_key_is_cut_at(shape: &KeyShape, row_key: &str, at: usize) -> bool {
    let mut end = 0;
    let mut pieces = shape.row_key.iter().peekable();
    while end < at
        && let Some(piece) = pieces.next()
        && let Some(length) = end_of(piece, pieces.peek().copied(), &row_key[end..])
    {
        end += length;
    }
    end == at
}

/// Builds the two keys of an entity from its key fields, in order.
#[derive(Debug)]
pub struct KeyWriter {
    shape: KeyShape,
    /// 0 while the PartitionKey is written, 1 for the RowKey.
    key: usize,
    piece: usize,
    texts: KeyTexts,
    /// The lengths of both keys up to the last field whose text does not sort as its values do.
    unsorted: Option<[usize; 2]>,
}

impl KeyWriter {
    pub(crate) fn new(shape: &KeyShape) -> Self {
        Self {
            shape: *shape,
            key: 0,
            piece: 0,
            texts: KeyTexts::started(),
            unsorted: None,
        }
    }

    /// Adds the next field, in the order of the shape: PartitionKey first, then RowKey.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the value has no key text, or the shape has
    ///   fewer fields.
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the text contains or overlaps the literal that
    ///   follows it, so that it could not be read back.
    pub fn field<T: TableKey + ?Sized>(&mut self, value: &T) -> Result<()> {
        let (key_name, name) = self
            .next_field()?
            .ok_or_else(|| Error::invalid_input("more key fields are written than the entity's key shape has"))?;
        let rejected = |e: ValueError| Error::invalid_input(format!("{key_name}, field `{name}`: {e}"));
        let width = match self.shape.pieces(self.key).get(self.piece) {
            Some(KeyPiece::Padded(_, width)) => Some(*width),
            _ => None,
        };
        let text = self.texts.text();
        let start = text.len();
        if start == 0 {
            value.write_key(text).map_err(rejected)?;
        } else {
            // Each field gets an empty text: a type that replaces the text instead of appending cannot erase other
            // fields.
            let mut own = key_texts::spare();
            value.write_key(&mut own).map_err(rejected)?;
            text.push_str(&own);
            key_texts::give_back(own);
        }
        if let Some(width) = width {
            shorten::<T>(text, start, width).map_err(rejected)?;
        }
        self.piece += 1;
        if let Some(KeyPiece::Literal(literal)) = self.shape.pieces(self.key).get(self.piece) {
            let end = text.len();
            text.push_str(literal);
            self.piece += 1;
            if text[start..].find(literal) != Some(end - start) {
                return Err(Error::invalid_input(format!(
                    "{key_name}, field `{name}`: {:?} contains {literal:?}, which ends the field in the key",
                    &text[start..end]
                )));
            }
        }
        if !T::SORTED {
            let (partition_key, row_key) = self.texts.pair();
            self.unsorted = Some([partition_key.len(), row_key.len()]);
        }
        Ok(())
    }

    /// Adds the next field from a value that is accepted for it.
    pub(crate) fn field_from<T: TableKey, G: Operand<T>>(&mut self, given: G) -> Result<()> {
        given
            .into_operand()
            .map_err(|e| self.rejected(e))
            .and_then(|value| self.field(&value))
    }

    fn rejected(&mut self, e: ValueError) -> Error {
        match self.next_field() {
            Ok(Some((key_name, name))) => Error::invalid_input(format!("{key_name}, field `{name}`: {e}")),
            _ => Error::invalid_input(e.to_string()),
        }
    }

    /// Returns the key and the name of the next field, after writing the literals before it; `None` after the last.
    fn next_field(&mut self) -> Result<Option<(&'static str, &'static str)>> {
        loop {
            let key_name = if self.key == 0 { "PartitionKey" } else { "RowKey" };
            match self.shape.pieces(self.key).get(self.piece) {
                Some(KeyPiece::Field(name) | KeyPiece::Padded(name, _)) => return Ok(Some((key_name, name))),
                Some(KeyPiece::Literal(literal)) => {
                    self.texts.text().push_str(literal);
                    self.piece += 1;
                }
                None if self.key == 0 => {
                    self.key = 1;
                    self.piece = 0;
                    self.texts.end_partition_key();
                }
                None => return Ok(None),
            }
        }
    }

    /// Returns the PartitionKey and RowKey.
    pub(crate) fn finish(mut self) -> Result<KeyTexts> {
        if let Some((key_name, name)) = self.next_field()? {
            return Err(Error::invalid_input(format!(
                "{key_name}, field `{name}`: it was not written"
            )));
        }
        check_keys(self.texts.partition_key(), self.texts.row_key())?;
        Ok(self.texts)
    }

    /// Returns the PartitionKey, which needs all of its fields.
    pub(crate) fn finish_partition(mut self) -> Result<String> {
        if let Some(("PartitionKey", name)) = self.next_field()? {
            return Err(Error::invalid_input(format!(
                "PartitionKey, field `{name}`: a whole partition needs every field of its key"
            )));
        }
        let (partition_key, _) = self.texts.into_pair();
        check_key("PartitionKey", &partition_key)?;
        Ok(partition_key)
    }

    /// Returns the common beginning of all keys with these fields, including the literals after the last field, and the
    /// beginning of its texts up to the last field whose text does not sort as its values do.
    pub(crate) fn finish_start(mut self) -> Result<(KeyStart, Option<[String; 2]>)> {
        let next = self.next_field()?.map(|_| self.key);
        let (partition_key, row_key) = self.texts.into_pair();
        check_keys(&partition_key, &row_key)?;
        let unsorted = self
            .unsorted
            .map(|[partition, row]| [partition_key[..partition].to_owned(), row_key[..row].to_owned()]);
        let (partition_key, row_key) = match next {
            Some(0) => (Start::Prefix(partition_key), None),
            Some(_) => (Start::Whole(partition_key), Some(Start::Prefix(row_key))),
            None => (Start::Whole(partition_key), Some(Start::Whole(row_key))),
        };
        Ok((KeyStart { partition_key, row_key }, unsorted))
    }
}

/// Removes the leading zeros of a number's key text, from `start` on, so that `width` digits are left.
fn shorten<T: TableKey + ?Sized>(text: &mut String, start: usize, width: usize) -> Result<(), ValueError> {
    let digits = T::DIGITS.ok_or_else(|| ValueError::new("only a field of digits can have a width"))?;
    let surplus = digits.saturating_sub(width);
    if text[start..].bytes().take(surplus).any(|digit| digit != b'0') {
        let number = text[start..].trim_start_matches('0');
        return Err(ValueError::new(format!(
            "{number} has more than {width} digits, the width in the key template; a greater width gives all rows other keys"
        )));
    }
    text.replace_range(start..start + surplus, "");
    text.insert_str(start, &"0".repeat(width.saturating_sub(digits)));
    Ok(())
}

/// Reverses [`shorten`]: the digits as the type writes them. Text of another width names another row.
fn lengthen<T: ReadTableKey>(text: &str, width: usize) -> Result<String, ValueError> {
    let digits = T::DIGITS.ok_or_else(|| ValueError::new("only a field of digits can have a width"))?;
    if text.len() != width || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(expected(&format!("{width} digits"), Shown(text)));
    }
    let number = text.trim_start_matches('0');
    Ok(format!("{number:0>digits$}"))
}

/// Rejects key text that the service would reject.
pub(crate) fn check_keys(partition_key: &str, row_key: &str) -> Result<()> {
    check_key("PartitionKey", partition_key)?;
    check_key("RowKey", row_key)
}

#[doc(hidden)]
pub(crate) fn check_key(name: &str, text: &str) -> Result<()> {
    match key_text_fault(text) {
        None => Ok(()),
        Some(fault) => Err(Error::invalid_input(format!("{name} {}: {fault}", Shown(text)))),
    }
}

/// The texts of an entity's key fields, split out of its keys.
#[derive(Debug)]
pub struct KeyParts<'a> {
    shape: &'a KeyShape,
    /// The texts; on the stack, since every row of a page has them.
    parts: [&'a str; MAX_KEY_FIELDS],
    count: usize,
}

impl<'a> KeyParts<'a> {
    /// Splits the keys by the shape.
    pub(crate) fn split(shape: &'a KeyShape, partition_key: &'a str, row_key: &'a str) -> Result<Self> {
        let mut parts = Self {
            shape,
            parts: [""; MAX_KEY_FIELDS],
            count: 0,
        };
        for ((name, pieces), text) in shape.keys().into_iter().zip([partition_key, row_key]) {
            parts.cut(pieces, text).ok_or_else(|| {
                Error::invalid_response(format!(
                    "{name} {} does not have the form {}",
                    Shown(text),
                    form(pieces)
                ))
            })?;
        }
        Ok(parts)
    }

    /// Splits one key.
    fn cut(&mut self, pieces: &[KeyPiece], text: &'a str) -> Option<()> {
        let mut rest = text;
        let mut pieces = pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            let (part, behind) = rest.split_at(end_of(piece, pieces.peek().copied(), rest)?);
            if !matches!(piece, KeyPiece::Literal(_)) {
                *self.parts.get_mut(self.count)? = part;
                self.count += 1;
            }
            rest = behind;
        }
        rest.is_empty().then_some(())
    }

    /// Returns the value of the `index`th key field.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): the text is not the key of a `T`.
    pub fn read<T: ReadTableKey>(&self, index: usize) -> Result<T> {
        let text = self.parts[..self.count].get(index).ok_or_else(|| {
            Error::invalid_response(format!(
                "the key has {} fields, number {index} was requested",
                self.count
            ))
        })?;
        let (name, value) = match self.piece(index) {
            Some(KeyPiece::Padded(name, width)) => {
                (*name, lengthen::<T>(text, *width).and_then(|text| T::read_key(&text)))
            }
            Some(KeyPiece::Field(name)) => (*name, T::read_key(text)),
            _ => ("", T::read_key(text)),
        };
        value.map_err(|e| Error::invalid_response(format!("key field `{name}`: {e}")))
    }

    fn piece(&self, index: usize) -> Option<&'static KeyPiece> {
        let pieces = self.shape.partition_key.iter().chain(self.shape.row_key);
        pieces.filter(|piece| !matches!(piece, KeyPiece::Literal(_))).nth(index)
    }
}

/// Returns the end of a piece in the text of a key. A field ends where the literal after it first occurs, as
/// [`KeyWriter::field`] ensures; the last takes the rest.
fn end_of(piece: &KeyPiece, next: Option<&KeyPiece>, text: &str) -> Option<usize> {
    match (piece, next) {
        (KeyPiece::Literal(literal), _) => text.starts_with(literal).then_some(literal.len()),
        (_, Some(KeyPiece::Literal(literal))) => text.find(literal),
        _ => Some(text.len()),
    }
}

/// Returns the template of a key, as a user would write it.
pub(crate) fn form(pieces: &[KeyPiece]) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            KeyPiece::Field(name) => format!("{{{name}}}"),
            KeyPiece::Padded(name, width) => format!("{{{name}:0{width}}}"),
            KeyPiece::Literal(literal) => (*literal).to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use KeyPiece::{Field, Literal};

    use super::*;

    const SHAPE: KeyShape = KeyShape {
        partition_key: &[Field("state"), Literal(";"), Field("city")],
        row_key: &[Literal("o-"), Field("id"), Literal("::"), Field("n")],
    };

    fn write(fields: [&str; 4]) -> Result<(String, String)> {
        let mut writer = KeyWriter::new(&SHAPE);
        for field in &fields {
            writer.field(field)?;
        }
        writer.finish().map(KeyTexts::into_pair)
    }

    #[test]
    fn keys_are_built_from_fields_and_literals_and_split_again() {
        let (pk, rk) = write(["WA", "Sea;ttle", "7", "x:y::z"]).unwrap();
        assert_eq!((&*pk, &*rk), ("WA;Sea;ttle", "o-7::x:y::z"));
        let parts = KeyParts::split(&SHAPE, &pk, &rk).unwrap();
        assert_eq!(parts.parts[..parts.count], ["WA", "Sea;ttle", "7", "x:y::z"]);
    }

    /// A key type may replace the text that it receives, which is empty.
    #[test]
    fn field_cannot_overwrite_another_field() {
        struct Replaces(&'static str);
        impl TableKey for Replaces {
            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                self.0.clone_into(text);
                Ok(())
            }
        }
        let mut writer = KeyWriter::new(&KeyShape::SIMPLE);
        writer.field(&Replaces("sales-department")).unwrap();
        writer.field(&Replaces("x")).unwrap();
        assert_eq!(writer.finish().unwrap().pair(), ("sales-department", "x"));
    }

    #[test]
    fn value_that_overlaps_the_literal_is_an_error() {
        let text = write(["W;A", "x", "7", "1"]).unwrap_err().to_string();
        assert!(text.contains("field `state`") && text.contains("\";\""), "{text}");
        // "7:" + "::" would be cut after "7".
        assert!(
            write(["WA", "x", "7:", "1"])
                .unwrap_err()
                .to_string()
                .contains("field `id`")
        );
    }

    #[test]
    fn keys_of_another_form_are_an_error_that_shows_the_form() {
        let text = KeyParts::split(&SHAPE, "WA", "o-7::1").unwrap_err().to_string();
        assert!(text.contains("{state};{city}"), "{text}");
        assert!(KeyParts::split(&SHAPE, "WA;S", "7::1").is_err());
    }

    #[test]
    fn number_is_written_with_the_width_of_the_template() {
        const PADDED: KeyShape = KeyShape {
            partition_key: &[Literal("p")],
            row_key: &[KeyPiece::Padded("n", 4), Literal("-"), Field("id")],
        };
        let write = |n: u32| {
            let mut writer = KeyWriter::new(&PADDED);
            writer.field(&n)?;
            writer.field("x")?;
            writer.finish().map(KeyTexts::into_pair)
        };
        let (pk, rk) = write(70).unwrap();
        assert_eq!((&*pk, &*rk), ("p", "0070-x"));
        assert_eq!(KeyParts::split(&PADDED, &pk, &rk).unwrap().read::<u32>(0).unwrap(), 70);
        assert_eq!(write(0).unwrap().1, "0000-x");
        for other in ["7-x", "00070-x", "-x", "+070-x"] {
            assert!(
                KeyParts::split(&PADDED, "p", other).unwrap().read::<u32>(0).is_err(),
                "{other}"
            );
        }
        let text = write(12_345).unwrap_err().to_string();
        assert!(
            text.starts_with("RowKey, field `n`: 12345 has more than 4 digits, the width in the key template"),
            "{text}"
        );
    }

    #[test]
    fn leading_fields_are_the_start_of_a_key() {
        let start = |fields: &[&str]| {
            let mut writer = KeyWriter::new(&SHAPE);
            fields.iter().for_each(|field| writer.field(*field).unwrap());
            writer.finish_start().unwrap().0
        };
        assert_eq!(start(&["WA"]).partition_key, Start::Prefix("WA;".into()));
        let row = |fields: &[&str]| start(fields).row_key;
        assert_eq!(row(&["WA"]), None);
        assert_eq!(row(&["WA", "S"]), Some(Start::Prefix("o-".into())));
        assert_eq!(row(&["WA", "S", "7"]), Some(Start::Prefix("o-7::".into())));
        assert_eq!(row(&["WA", "S", "7", "1"]), Some(Start::Whole("o-7::1".into())));
    }

    #[test]
    fn start_ends_its_unsorted_fields_within_their_key() {
        struct Level(&'static str);
        impl TableKey for Level {
            const SORTED: bool = false;
            fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
                text.push_str(self.0);
                Ok(())
            }
        }
        const OF_BOTH: KeyShape = KeyShape {
            partition_key: &[Field("zone"), Literal("-"), Field("channel")],
            row_key: &[Field("level"), Literal("_"), Field("n")],
        };
        type Write<'w> = &'w dyn Fn(&mut KeyWriter) -> Result<()>;
        let unsorted = |fields: &[Write<'_>]| {
            let mut writer = KeyWriter::new(&OF_BOTH);
            fields.iter().for_each(|write| write(&mut writer).unwrap());
            writer.finish_start().unwrap().1
        };
        let (zone, channel) = (
            |key: &mut KeyWriter| key.field(&Level("eu")),
            |key: &mut KeyWriter| key.field("Channel9"),
        );
        let (level, number) = (
            |key: &mut KeyWriter| key.field(&Level("é")),
            |key: &mut KeyWriter| key.field("7"),
        );
        let texts = |partition_key: &str, row_key: &str| Some([partition_key.to_owned(), row_key.to_owned()]);
        assert_eq!(unsorted(&[&zone]), texts("eu-", ""));
        assert_eq!(unsorted(&[&zone, &channel]), texts("eu-", ""));
        assert_eq!(unsorted(&[&zone, &channel, &level]), texts("eu-Channel9", "é_"));
        assert_eq!(
            unsorted(&[&zone, &channel, &level, &number]),
            texts("eu-Channel9", "é_")
        );
    }

    #[test]
    fn missing_and_extra_fields_are_errors() {
        let mut writer = KeyWriter::new(&SHAPE);
        writer.field("WA").unwrap();
        assert!(writer.finish().unwrap_err().to_string().contains("field `city`"));
        let mut writer = KeyWriter::new(&KeyShape::SIMPLE);
        writer.field("a").unwrap();
        writer.field("b").unwrap();
        assert!(writer.field("c").is_err());
    }
}
