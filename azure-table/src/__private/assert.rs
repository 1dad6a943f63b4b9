//! Compile-time assertions of derived code about facts that the macro cannot see because it sees one type at a time.

use crate::entity::schema::{EntitySchema, GroupSchema, PropertySchema};
use crate::entity::table_entity::TableEntity;
use crate::key::key_shape::KeyPiece;

/// Asserts that the field of a template with a width is a number.
#[track_caller]
pub const fn assert_digits(digits: Option<usize>) {
    assert!(
        digits.is_some(),
        "only a field whose key text is digits can have a width: remove the width from the template, or use an unsigned \
         integer"
    );
}

/// Asserts that a projection selects from an entity.
pub const fn assert_entity<E: TableEntity>() {}

/// Asserts that a variant of an enum has the same partition fields as the first one.
#[track_caller]
pub const fn assert_partition<First: TableEntity, V: TableEntity<PartitionFields = First::PartitionFields>>() {
    let (first, own) = (First::SCHEMA.key.partition_key, V::SCHEMA.key.partition_key);
    let mut same = first.len() == own.len();
    let mut at = 0;
    while same && at < first.len() {
        same = match (&first[at], &own[at]) {
            // The names of fields are checked by their struct.
            (KeyPiece::Field(_), KeyPiece::Field(_)) => true,
            (KeyPiece::Padded(_, a), KeyPiece::Padded(_, b)) => *a == *b,
            (KeyPiece::Literal(a), KeyPiece::Literal(b)) => is_same(&[a], &[b]),
            _ => false,
        };
        at += 1;
    }
    assert!(
        same,
        "the variants of an enum of entities have the same PartitionKey: write the same #[table(partition_key = \"…\")] on \
         each of their structs"
    );
}

/// Asserts that the keys of a variant have a form that not every row has.
#[track_caller]
pub const fn assert_form<V: TableEntity>() {
    let mut is_distinct = false;
    let pieces = V::SCHEMA.key.row_key;
    let mut at = 0;
    while at < pieces.len() {
        is_distinct = is_distinct || matches!(pieces[at], KeyPiece::Literal(_));
        at += 1;
    }
    assert!(
        is_distinct || pieces.is_empty(),
        "every RowKey has this form, so no variant after this one is ever read: give its struct a template with fixed \
         text, or distinguish the variants by `row_key_prefix` or `tag`"
    );
}

/// Asserts that the entity of a variant does not store the tag itself.
#[track_caller]
pub const fn assert_untagged<V: TableEntity>(tag: &str) {
    let schema = V::SCHEMA;
    assert!(
        owners(schema.properties, schema.groups, [""; DEPTH], 0, &[tag]) == 0,
        "the entity has a property with the name of the tag, which the enum writes: remove that field, or write another \
         name with `tag = \"…\"`"
    );
}

/// Asserts that no flattened property has a name of another property: its own, an older one, or a piece's name.
#[track_caller]
pub const fn assert_distinct(schema: &EntitySchema) {
    assert!(
        are_distinct(schema, schema.properties, schema.groups, [""; DEPTH], 0),
        "a flattened property has the name of another property: write `prefix = \"…\"` beside `flatten`"
    );
}

/// The maximum depth of nested groups whose names are compared.
const DEPTH: usize = 6;

/// The parts of a complete name: prefixes from the outermost on, then the name. Unused parts are empty.
type Parts<'n> = [&'n str; DEPTH];

const fn are_distinct<'n>(
    schema: &'n EntitySchema,
    properties: &'n [PropertySchema],
    groups: &'n [GroupSchema],
    parts: Parts<'n>,
    depth: usize,
) -> bool {
    let mut at = 0;
    while at < properties.len() {
        let mut which = 0;
        while which <= properties[at].aliases.len() {
            let whole = whole_name(&properties[at], which, parts, depth);
            if owners(schema.properties, schema.groups, [""; DEPTH], 0, &whole) > 1 {
                return false;
            }
            which += 1;
        }
        at += 1;
    }
    at = 0;
    while at < groups.len() && depth + 1 < DEPTH {
        let mut inner = parts;
        inner[depth] = groups[at].prefix;
        if !are_distinct(schema, groups[at].properties, groups[at].groups, inner, depth + 1) {
            return false;
        }
        at += 1;
    }
    true
}

/// Returns the number of properties that are stored under this name, or read from it.
const fn owners(
    properties: &[PropertySchema],
    groups: &[GroupSchema],
    parts: Parts<'_>,
    depth: usize,
    name: &[&str],
) -> usize {
    let mut count = 0;
    let mut at = 0;
    while at < properties.len() {
        let mut which = 0;
        while which <= properties[at].aliases.len() {
            let whole = whole_name(&properties[at], which, parts, depth);
            if is_stored_as(&whole, properties[at].is_chunked, name) {
                count += 1;
                break;
            }
            which += 1;
        }
        at += 1;
    }
    at = 0;
    while at < groups.len() && depth + 1 < DEPTH {
        let mut inner = parts;
        inner[depth] = groups[at].prefix;
        count += owners(groups[at].properties, groups[at].groups, inner, depth + 1, name);
        at += 1;
    }
    count
}

/// Returns the name of a property, or its older name with this number from 1 on.
const fn whole_name<'n>(property: &PropertySchema, which: usize, parts: Parts<'n>, depth: usize) -> Parts<'n> {
    let mut whole = parts;
    whole[depth] = if which == 0 {
        property.name
    } else {
        property.aliases[which - 1]
    };
    whole
}

/// Returns `true` if `name` is `whole`, or the name of one of the pieces of a chunked property, as in
/// `entity/chunked.rs`.
const fn is_stored_as(whole: &[&str], is_chunked: bool, name: &[&str]) -> bool {
    let (mut whole, mut name) = (Bytes::of(whole), Bytes::of(name));
    while let Some(byte) = whole.next() {
        match name.next() {
            Some(other) if other == byte => {}
            _ => return false,
        }
    }
    match name.next() {
        None => true,
        Some(b'_') if is_chunked => name.is_number(),
        Some(_) => false,
    }
}

/// Returns `true` if two texts, each in parts, are equal.
pub(super) const fn is_same(a: &[&str], b: &[&str]) -> bool {
    Bytes::of(a).is(Bytes::of(b))
}

/// The bytes of a text in parts.
#[derive(Clone, Copy)]
struct Bytes<'n> {
    parts: &'n [&'n str],
    part: usize,
    byte: usize,
}

impl<'n> Bytes<'n> {
    const fn of(parts: &'n [&'n str]) -> Self {
        Self {
            parts,
            part: 0,
            byte: 0,
        }
    }

    const fn next(&mut self) -> Option<u8> {
        while self.part < self.parts.len() {
            let text = self.parts[self.part].as_bytes();
            if self.byte < text.len() {
                self.byte += 1;
                return Some(text[self.byte - 1]);
            }
            self.part += 1;
            self.byte = 0;
        }
        None
    }

    const fn is(mut self, mut other: Self) -> bool {
        loop {
            match (self.next(), other.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if a == b => {}
                _ => return false,
            }
        }
    }

    const fn is_number(mut self) -> bool {
        let mut digits = 0;
        while let Some(byte) = self.next() {
            if !byte.is_ascii_digit() {
                return false;
            }
            digits += 1;
        }
        digits > 0
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::EdmType;

    use super::*;
    use crate::key::key_shape::KeyShape;

    #[test]
    fn texts_in_parts_are_compared_as_a_whole() {
        assert!(is_same(&["Home_", "", "City"], &["Home", "_City", ""]));
        assert!(is_same(&[], &["", ""]));
        for other in ["Home_Cit", "Home_City_", "", "home_City"] {
            assert!(!is_same(&["Home_", "City"], &[other]), "{other}");
        }
    }

    #[test]
    fn name_is_found_in_every_group() {
        const CITY: &[PropertySchema] = &[PropertySchema::new("City", EdmType::String)];
        const fn schema(own: &'static [PropertySchema], groups: &'static [GroupSchema]) -> EntitySchema {
            EntitySchema {
                name: "",
                key: KeyShape::SIMPLE,
                properties: own,
                groups,
            }
        }
        const fn group(prefix: &'static str, groups: &'static [GroupSchema]) -> GroupSchema {
            GroupSchema {
                prefix,
                properties: CITY,
                groups,
            }
        }
        let distinct = |schema: EntitySchema| are_distinct(&schema, schema.properties, schema.groups, [""; DEPTH], 0);
        const APART: &[GroupSchema] = &[group("Home_", &[group("Old_", &[])]), group("Work_", &[])];
        assert!(distinct(schema(CITY, APART)));
        const TWICE: &[GroupSchema] = &[group("Home_", &[]), group("Home_", &[])];
        assert!(!distinct(schema(&[], TWICE)));
        const BARE: &[GroupSchema] = &[group("", &[])];
        assert!(!distinct(schema(CITY, BARE)));
        assert!(distinct(schema(&[], BARE)));
        const PIECES: &[GroupSchema] = &[GroupSchema {
            prefix: "Home_",
            properties: &[PropertySchema {
                aliases: &["Was"],
                is_chunked: true,
                ..PropertySchema::new("Text", EdmType::String)
            }],
            groups: &[],
        }];
        for (name, expected) in [
            ("Home_Text_2", false),
            ("Home_Was", false),
            ("Home_Was_1", false),
            ("Home_Text_", true),
            ("Home_Text_x", true),
            ("Text_1", true),
        ] {
            let own = [PropertySchema::new(name, EdmType::String)];
            let schema = schema(Vec::leak(own.to_vec()), PIECES);
            assert_eq!(distinct(schema), expected, "{name}");
        }
        const JOINED: &[GroupSchema] = &[group("Home_", &[group("Old_", &[])]), group("Home_Old_", &[])];
        assert!(!distinct(schema(&[], JOINED)));
    }
}
