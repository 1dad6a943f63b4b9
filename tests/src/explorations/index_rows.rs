//! Which index rows a table must have: by its entities and the format that the guide `indexes` states, not by the code
//! that writes or verifies them.

use std::collections::BTreeMap;

use azure_table::index::IndexedEntity;
use azure_table::{DynamicEntity, EdmValue, ReadEntity, TableServiceClient};
use azure_table_patterns::Indexed;

/// An index, as the derive of its entity declares it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared {
    name: &'static str,
    fields: &'static [Field],
    kind: Kind,
}

/// A field of an index, by its property.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field {
    Text(&'static str),
    /// A `u8`.
    Byte(&'static str),
    /// An `i32`.
    Int(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Plain,
    Unique,
    Covers,
}

impl Declared {
    pub(super) const fn plain(name: &'static str, fields: &'static [Field]) -> Self {
        let kind = Kind::Plain;
        Self { name, fields, kind }
    }

    pub(super) const fn unique(name: &'static str, fields: &'static [Field]) -> Self {
        let kind = Kind::Unique;
        Self { name, fields, kind }
    }

    pub(super) const fn covers(name: &'static str, fields: &'static [Field]) -> Self {
        let kind = Kind::Covers;
        Self { name, fields, kind }
    }

    /// Returns the RowKey and the properties of an entity's index row, or `None` if a field is absent.
    fn row_of(self, entity: &DynamicEntity) -> Option<(String, BTreeMap<String, EdmValue>)> {
        let mut key = format!("$ix;{}", self.name);
        let mut properties = BTreeMap::new();
        if self.kind == Kind::Covers {
            properties.clone_from(&entity.properties);
        }
        for field in self.fields {
            let (Field::Text(name) | Field::Byte(name) | Field::Int(name)) = field;
            key += &match (field, entity.get(name)?) {
                (Field::Text(_), EdmValue::String(text)) => format!(" {}", escaped(text)),
                (Field::Byte(_), EdmValue::Int32(number)) => format!(" {number:03}"),
                (Field::Int(_), EdmValue::Int32(number)) => {
                    format!(" {:010}", i64::from(*number) - i64::from(i32::MIN))
                }
                (field, value) => panic!("{field:?} is {value:?}"),
            };
            properties.remove(*name);
        }
        if self.kind == Kind::Unique {
            let owner = EdmValue::from(entity.row_key.as_str());
            properties.insert("IndexedRow".to_owned(), owner);
        } else {
            key += &format!(" {}", entity.row_key);
        }
        Some((key, properties))
    }
}

/// Escapes what the service forbids in keys, the characters that begin an escape, and spaces.
fn escaped(text: &str) -> String {
    let escape = |character| match character {
        ' ' => "!20".to_owned(),
        '!' => "!21".to_owned(),
        '#' => "\"1".to_owned(),
        '/' => ".1".to_owned(),
        '?' => ">1".to_owned(),
        '\\' => "[1".to_owned(),
        '.' | '>' | '[' | '"' => format!("{character}0"),
        _ => character.to_string(),
    };
    text.chars().map(escape).collect()
}

/// Checks that no index row of a table is missing, wrong or left over, and that `verify` agrees.
pub(super) async fn check<E: IndexedEntity + ReadEntity>(
    service: &TableServiceClient,
    table: &str,
    indexes: &[Declared],
    entities: &Indexed<E>,
) {
    assert_eq!(faults(service, table, indexes).await, [""; 0]);
    entities.verify().await.unwrap().ensure_none().unwrap();
}

/// Returns the index rows of a table that are missing, wrong or left over.
pub(super) async fn faults(service: &TableServiceClient, table: &str, indexes: &[Declared]) -> Vec<String> {
    let table = service.dynamic_table(table).unwrap();
    let rows = table.query().allow_table_scan().all().await.unwrap().into_iter();
    let rows = rows.filter(|row| row.partition_key != "$indexes");
    let (index_rows, entities): (Vec<_>, Vec<_>) = rows.partition(|row| row.row_key.starts_with("$ix;"));
    let key_and_properties = |row: DynamicEntity| ((row.partition_key, row.row_key), row.properties);
    let mut stored: BTreeMap<_, _> = index_rows.into_iter().map(key_and_properties).collect();
    let mut faults = Vec::new();
    for (entity, index) in entities
        .iter()
        .flat_map(|entity| indexes.iter().map(move |index| (entity, index)))
    {
        let Some((row_key, expected)) = index.row_of(entity) else {
            continue;
        };
        let found = stored.remove(&(entity.partition_key.clone(), row_key.clone()));
        if found.as_ref() != Some(&expected) {
            faults.push(format!("{row_key} should have {expected:?}: {found:?}"));
        }
    }
    faults.extend(stored.into_keys().map(|key| format!("{key:?} is left over")));
    faults
}
