//! Values as text: `age:int32=7` on the command line, cells of files with a type in their header.

use azure_table::{DynamicEntity, EdmType, EdmValue};
use serde_json::json;

use crate::failure::{Done, Failure, usage};

/// The names of types on the command line, beside those of the service.
pub(crate) const SHORT_NAMES: [(&str, EdmType); 8] = [
    ("string", EdmType::String),
    ("bool", EdmType::Boolean),
    ("int32", EdmType::Int32),
    ("int64", EdmType::Int64),
    ("double", EdmType::Double),
    ("datetime", EdmType::DateTime),
    ("guid", EdmType::Guid),
    ("binary", EdmType::Binary),
];

/// Returns the type of a name: `int32` or `Edm.Int32`.
///
/// # Errors
/// No type has the name.
pub(crate) fn type_named(name: &str) -> Done<EdmType> {
    let short = SHORT_NAMES.iter().find(|(short, _)| short.eq_ignore_ascii_case(name));
    let found = short.map(|(_, ty)| *ty).or_else(|| EdmType::from_name(name));
    found.ok_or_else(|| {
        let names = SHORT_NAMES.map(|(short, _)| short).join(", ");
        Failure::usage(format!("no type {name:?}: {names} or Edm.…"))
    })
}

/// Returns the short name of a type.
pub(crate) fn short_name(edm_type: EdmType) -> &'static str {
    let found = SHORT_NAMES.iter().find(|(_, ty)| *ty == edm_type);
    found.map_or(edm_type.name(), |(name, _)| *name)
}

/// Returns the beginning of a value, up to a number of characters.
pub(crate) fn shortened(value: &str, most: usize) -> String {
    match value.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

/// Returns the value of a type that a text is: the form in which values are printed.
///
/// # Errors
/// The text is no value of the type.
pub(crate) fn value_of(edm_type: EdmType, text: &str) -> Done<EdmValue> {
    let wrong = || Failure::usage(format!("{text:?} is no {edm_type}"));
    match edm_type {
        EdmType::String => Ok(text.into()),
        EdmType::Boolean => text.parse().map(EdmValue::Boolean).map_err(|_| wrong()),
        EdmType::Int32 => text.parse().map(EdmValue::Int32).map_err(|_| wrong()),
        // JSON has the rules of the service for the other types.
        _ => serde_json::from_value(json!({ (edm_type.name()): text })).map_err(|_| wrong()),
    }
}

/// A property on the command line: `Name=text`, or `Name:type=text`.
///
/// # Errors
/// The text has another form, or is no value of the type.
pub(crate) fn property(text: &str) -> Done<(String, EdmValue)> {
    let Some((name, value)) = text.split_once('=') else {
        usage!("{text:?} has no `=`: Name=text or Name:int32=7");
    };
    let (name, edm_type) = name.split_once(':').unwrap_or((name, "string"));
    Ok((name.to_owned(), value_of(type_named(edm_type)?, value)?))
}

/// Returns an entity of keys and properties as they stand on the command line.
///
/// # Errors
/// The errors of [`property`], and names that are the same.
pub(crate) fn entity(partition_key: &str, row_key: &str, properties: &[String]) -> Done<DynamicEntity> {
    let mut entity = DynamicEntity::new(partition_key, row_key);
    for text in properties {
        let (name, value) = property(text)?;
        if entity.insert(name.clone(), value).is_some() {
            usage!("the property {name:?} is named twice");
        }
    }
    Ok(entity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_reads_what_it_prints() {
        for (name, text) in [
            ("string", ""),
            ("bool", "true"),
            ("int32", "-2147483648"),
            ("int64", "9223372036854775807"),
            ("double", "NaN"),
            ("double", "-Infinity"),
            ("double", "1.5e300"),
            ("datetime", "1601-01-01T00:00:00.0000001Z"),
            ("guid", "00112233-4455-6677-8899-aabbccddeeff"),
            ("binary", "AAEC"),
        ] {
            let (property, value) = property(&format!("P:{name}={text}")).unwrap();
            assert_eq!((property.as_str(), value.to_string().as_str()), ("P", text), "{name}");
            assert_eq!(value.edm_type(), type_named(name).unwrap());
        }
    }

    #[test]
    fn another_text_is_rejected() {
        for (text, complaint) in [
            ("Age:int32=7.5", "\"7.5\" is no Edm.Int32"),
            ("Age:int=7", "no type \"int\""),
            ("Age", "has no `=`"),
        ] {
            assert!(property(text).unwrap_err().to_string().contains(complaint), "{text}");
        }
    }
}
