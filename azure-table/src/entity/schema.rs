//! The schema of an entity type, as data: names, types, the form of its keys.
//!
//! Defines [`EntitySchema`] and its parts, their text, and the check for rows of an older schema that a newer one
//! cannot read. The derive emits a schema as a constant.

use std::fmt;

use azure_table_wire::value::edm::EdmType;
use serde::Serialize;

use crate::key::key_shape::{KeyPiece, KeyShape, form};

/// The stored form of an entity type.
///
/// Its text has one line for the type's name, one for each key and one for each property. Keep the text in a file
/// beside the code and pass it to [`assert_reads`](crate::entity::assert_reads).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EntitySchema {
    /// The name of the Rust type, for messages.
    pub name: &'static str,
    /// The shape of the two keys.
    pub key: KeyShape,
    /// The properties that are written; empty if the names are known only at run time.
    pub properties: &'static [PropertySchema],
    /// The properties of flattened fields.
    pub groups: &'static [GroupSchema],
}

/// A stored property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PropertySchema {
    /// The name in the service, after `rename`.
    pub name: &'static str,
    /// Its type.
    pub edm_type: EdmType,
    /// Older names that are read as well.
    pub aliases: &'static [&'static str],
    /// `true` if it is stored in pieces: `Text`, `Text_1` …
    pub is_chunked: bool,
    /// `true` if it is the JSON text of its field.
    pub is_json: bool,
}

/// The properties of a flattened field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GroupSchema {
    /// The prefix of their names.
    pub prefix: &'static str,
    /// The properties, without the prefix.
    pub properties: &'static [PropertySchema],
    /// Flattened fields inside it; their prefixes follow this one.
    pub groups: &'static [GroupSchema],
}

impl EntitySchema {
    /// Creates a schema without properties, for a handwritten entity.
    pub const fn new(name: &'static str, key: KeyShape) -> Self {
        Self {
            name,
            key,
            properties: &[],
            groups: &[],
        }
    }

    /// Sets the properties.
    #[must_use]
    pub const fn with_properties(self, properties: &'static [PropertySchema]) -> Self {
        Self { properties, ..self }
    }

    /// Returns every stored property with its full name, including flattened fields.
    fn stored(&self) -> Vec<(String, &'static PropertySchema)> {
        let mut stored = Vec::new();
        collect("", self.properties, self.groups, &mut stored);
        stored
    }
}

/// Returns `true` if names, keys and property types are equal: the client then treats both as the same type.
pub(crate) const fn is_same(schema: &EntitySchema, other: &EntitySchema) -> bool {
    text_is(schema.name, other.name)
        && pieces_are(schema.key.partition_key, other.key.partition_key)
        && pieces_are(schema.key.row_key, other.key.row_key)
        && properties_are(schema.properties, other.properties)
        && groups_are(schema.groups, other.groups)
}

/// Returns the older names of a stored property.
pub(crate) fn older_names(schema: &EntitySchema, name: &str) -> Vec<String> {
    let stored = schema.stored();
    let of_name = stored.iter().filter(|(whole, _)| whole == name);
    let names = of_name.flat_map(|(whole, property)| {
        let prefix = whole.strip_suffix(property.name).unwrap_or_default();
        property.aliases.iter().map(move |alias| format!("{prefix}{alias}"))
    });
    names.collect()
}

/// Returns `true` if `name` is an older name of a stored property, or of a chunk of one.
pub(crate) fn has_older_name(schema: &EntitySchema, name: &str) -> bool {
    schema.stored().iter().any(|(whole, property)| {
        let prefix = whole.strip_suffix(property.name).unwrap_or_default();
        let own = name.strip_prefix(prefix).unwrap_or_default();
        let mut aliases = property.aliases.iter();
        aliases.any(|alias| own == *alias || property.is_chunked && owns(alias, own))
    })
}

/// Returns `true` if `stored` is one of the properties of the chunked value `name`.
pub fn owns(name: &str, stored: &str) -> bool {
    let rest = stored.strip_prefix(name);
    rest.is_some_and(|rest| match rest.strip_prefix('_') {
        None => rest.is_empty(),
        Some(index) => !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()),
    })
}

impl PropertySchema {
    /// Creates a property without older names.
    pub const fn new(name: &'static str, edm_type: EdmType) -> Self {
        Self {
            name,
            edm_type,
            aliases: &[],
            is_chunked: false,
            is_json: false,
        }
    }

    /// Returns the attribute of a property that is not stored as its plain value. It follows the type in the text.
    fn attribute(&self) -> Option<&'static str> {
        let stored = [self.is_chunked, self.is_json];
        ATTRIBUTES
            .into_iter()
            .zip(stored)
            .find_map(|(name, is_stored)| is_stored.then_some(name))
    }
}

const CHUNKED: &str = "chunked";
const ATTRIBUTES: [&str; 2] = [CHUNKED, "json"];

fn collect(
    prefix: &str,
    properties: &'static [PropertySchema],
    groups: &'static [GroupSchema],
    stored: &mut Vec<(String, &'static PropertySchema)>,
) {
    stored.extend(
        properties
            .iter()
            .map(|property| (format!("{prefix}{}", property.name), property)),
    );
    for group in groups {
        collect(
            &format!("{prefix}{}", group.prefix),
            group.properties,
            group.groups,
            stored,
        );
    }
}

impl fmt::Display for EntitySchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        writeln!(f, "PartitionKey {}", form(self.key.partition_key))?;
        writeln!(f, "RowKey {}", form(self.key.row_key))?;
        for (name, property) in self.stored() {
            write!(f, "{name} {}", property.edm_type)?;
            property
                .attribute()
                .map_or(Ok(()), |attribute| write!(f, " {attribute}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Returns `true` if a field of type `now` reads a stored value of type `then` without loss.
fn reads(now: EdmType, then: EdmType) -> bool {
    now == then || (then == EdmType::Int32 && matches!(now, EdmType::Int64 | EdmType::Double))
}

/// Returns the reasons why `schema` cannot read rows of the `old` schema, which is text that `Display` wrote.
pub(super) fn unreadable(schema: &EntitySchema, old: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let stored = schema.stored();
    for line in old.lines().skip(1).map(str::trim).filter(|line| !line.is_empty()) {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        let key = match name {
            "PartitionKey" => Some(schema.key.partition_key),
            "RowKey" => Some(schema.key.row_key),
            _ => None,
        };
        if let Some(pieces) = key {
            if form(pieces) != rest {
                faults.push(format!("the {name} was {rest}, now it is {}", form(pieces)));
            }
            continue;
        }
        let found = stored.iter().find(|(whole, property)| {
            let prefix = whole.strip_suffix(property.name).unwrap_or_default();
            whole == name || property.aliases.iter().any(|alias| format!("{prefix}{alias}") == name)
        });
        let attribute = |known: &'static str| Some((rest.strip_suffix(known)?.strip_suffix(' ')?, Some(known)));
        let (rest, was) = ATTRIBUTES.into_iter().find_map(attribute).unwrap_or((rest, None));
        match (found, EdmType::from_name(rest)) {
            (None, _) => faults.push(format!(
                "the property `{name}` is gone: keep its field, or name it with #[table(alias = \"{name}\")]"
            )),
            (_, None) => faults.push(format!("the line {line:?} names no property type")),
            (Some((_, property)), Some(then)) if !reads(property.edm_type, then) => {
                faults.push(format!(
                    "the property `{name}` was {then}, now it is {}",
                    property.edm_type
                ));
            }
            (Some((_, property)), _) => match (was, property.attribute()) {
                (was, now) if was == now => {}
                // A chunked field also reads a value stored in one piece. A plain field would read only the first of
                // many.
                (None, Some(CHUNKED)) => {}
                (Some(was), _) => faults.push(format!(
                    "the property `{name}` was stored by a field with #[table({was})]: keep it on the field"
                )),
                (None, now) => faults.push(format!(
                    "the property `{name}` was stored by a field without #[table({})]: read such rows with \
                     #[table(upgrade = \"..\")], or rename the field",
                    now.unwrap_or_default()
                )),
            },
        }
    }
    faults
}

const fn text_is(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut same = one.len() == other.len();
    let mut at = 0;
    while same && at < one.len() {
        same = one[at] == other[at];
        at += 1;
    }
    same
}

const fn pieces_are(one: &[KeyPiece], other: &[KeyPiece]) -> bool {
    let mut same = one.len() == other.len();
    let mut at = 0;
    while same && at < one.len() {
        same = match (&one[at], &other[at]) {
            (KeyPiece::Literal(a), KeyPiece::Literal(b)) | (KeyPiece::Field(a), KeyPiece::Field(b)) => text_is(a, b),
            (KeyPiece::Padded(a, width), KeyPiece::Padded(b, other)) => text_is(a, b) && *width == *other,
            _ => false,
        };
        at += 1;
    }
    same
}

const fn properties_are(one: &[PropertySchema], other: &[PropertySchema]) -> bool {
    let mut same = one.len() == other.len();
    let mut at = 0;
    while same && at < one.len() {
        let (a, b) = (&one[at], &other[at]);
        same = text_is(a.name, b.name)
            && a.edm_type as u8 == b.edm_type as u8
            && a.is_chunked == b.is_chunked
            && a.is_json == b.is_json;
        at += 1;
    }
    same
}

const fn groups_are(one: &[GroupSchema], other: &[GroupSchema]) -> bool {
    let mut same = one.len() == other.len();
    let mut at = 0;
    while same && at < one.len() {
        let (a, b) = (&one[at], &other[at]);
        same =
            text_is(a.prefix, b.prefix) && properties_are(a.properties, b.properties) && groups_are(a.groups, b.groups);
        at += 1;
    }
    same
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::key_shape::KeyPiece::{Field, Literal};

    const SCHEMA: EntitySchema = EntitySchema {
        name: "Blog",
        key: KeyShape {
            partition_key: &[Field("channel")],
            row_key: &[Field("posted"), Literal("_"), Field("id")],
        },
        properties: &[
            PropertySchema {
                aliases: &["rating", "stars"],
                ..PropertySchema::new("rtg", EdmType::Int64)
            },
            PropertySchema {
                is_chunked: true,
                ..PropertySchema::new("text", EdmType::String)
            },
        ],
        groups: &[GroupSchema {
            prefix: "Home_",
            properties: &[PropertySchema {
                aliases: &["Town"],
                ..PropertySchema::new("City", EdmType::String)
            }],
            groups: &[],
        }],
    };

    #[test]
    fn the_text_has_a_line_for_each_stored_name() {
        assert_eq!(
            SCHEMA.to_string(),
            "Blog\nPartitionKey {channel}\nRowKey {posted}_{id}\nrtg Edm.Int64\ntext Edm.String chunked\nHome_City Edm.String\n"
        );
        assert_eq!(unreadable(&SCHEMA, &SCHEMA.to_string()), [""; 0]);
    }

    #[test]
    fn attributes_that_change_the_stored_value_are_faults() {
        const PLAIN: PropertySchema = PropertySchema::new("a", EdmType::Binary);
        const CHUNKED: PropertySchema = PropertySchema {
            is_chunked: true,
            ..PLAIN
        };
        const JSON: PropertySchema = PropertySchema {
            is_json: true,
            ..PropertySchema::new("b", EdmType::String)
        };
        const TEXT: PropertySchema = PropertySchema::new("b", EdmType::String);
        let plain = SCHEMA.with_properties(&[PLAIN, TEXT]);
        let special = SCHEMA.with_properties(&[CHUNKED, JSON]);
        let text = special.to_string();
        assert!(text.contains("a Edm.Binary chunked\nb Edm.String json\n"), "{text}");
        assert_eq!(unreadable(&special, &text), [""; 0]);
        assert_eq!(
            unreadable(&plain, &text),
            [
                "the property `a` was stored by a field with #[table(chunked)]: keep it on the field",
                "the property `b` was stored by a field with #[table(json)]: keep it on the field",
            ]
        );
        let gained = unreadable(&special, &plain.to_string());
        assert_eq!(gained.len(), 1);
        assert!(gained[0].starts_with("the property `b` was stored by a field without #[table(json)]: "));
    }

    #[test]
    fn older_names_and_their_pieces_are_known() {
        const CHUNKED: EntitySchema = SCHEMA.with_properties(&[PropertySchema {
            aliases: &["body"],
            is_chunked: true,
            ..PropertySchema::new("text", EdmType::String)
        }]);
        for (schema, name, is_older) in [
            (&SCHEMA, "stars", true),
            (&SCHEMA, "Home_Town", true),
            (&SCHEMA, "Town", false),
            (&SCHEMA, "stars_1", false),
            (&SCHEMA, "rtg", false),
            (&CHUNKED, "body", true),
            (&CHUNKED, "body_12", true),
            (&CHUNKED, "body_a", false),
            (&CHUNKED, "body_", false),
            (&CHUNKED, "body_x", false),
        ] {
            assert_eq!(has_older_name(schema, name), is_older, "{name}");
        }
    }

    #[test]
    fn removed_name_and_narrowed_type_are_faults() {
        let readable = "Blog\nPartitionKey {channel}\nRowKey {posted}_{id}\nstars Edm.Int32\nHome_Town Edm.String\n";
        assert_eq!(unreadable(&SCHEMA, readable), [""; 0]);
        let old = "Blog\nPartitionKey {user}\nmood Edm.String\ntext Edm.Int32\nrtg Edm.Double\n";
        let faults = unreadable(&SCHEMA, old);
        assert_eq!(faults.len(), 4, "{faults:?}");
        let pieces = "Blog\nPartitionKey {channel}\nRowKey {posted}_{id}\nrtg Edm.Int32 chunked\ntext Edm.String\n";
        let chunked = unreadable(&SCHEMA, pieces);
        assert!(
            chunked.len() == 1 && chunked[0].contains("`rtg` was stored by a field with #[table(chunked)]"),
            "{chunked:?}"
        );
        assert!(faults[1].contains("`mood` is gone") && faults[1].contains("alias"));
    }

    #[test]
    fn properties_of_the_value_are_recognized_by_name() {
        for stored in ["Text", "Text_1", "Text_12"] {
            assert!(owns("Text", stored));
        }
        for other in ["Tex", "Text_", "Text_a", "Text_1a", "Texts", "Text1"] {
            assert!(!owns("Text", other), "{other}");
        }
    }
}
