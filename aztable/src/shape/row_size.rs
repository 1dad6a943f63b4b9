//! The size of a row by the published formula, from which the bill of Azure Storage is estimated.
//!
//! Source: "How the size of an entity is calculated" (2011).

use azure_table::{DynamicEntity, EdmValue};

/// Returns the bytes of a row.
pub(crate) fn row_size(row: &DynamicEntity) -> u64 {
    let keys = 4 + 2 * (units(&row.partition_key) + units(&row.row_key));
    let properties = row.properties.iter();
    let sizes = properties.map(|(name, value)| 8 + 2 * units(name) + value_size(value));
    keys + sizes.sum::<u64>()
}

fn value_size(value: &EdmValue) -> u64 {
    match value {
        EdmValue::String(text) => 4 + 2 * units(text),
        EdmValue::Binary(bytes) => 4 + bytes.len() as u64,
        EdmValue::Guid(_) => 16,
        EdmValue::Int32(_) => 4,
        EdmValue::Boolean(_) => 1,
        _ => 8,
    }
}

/// Returns the UTF-16 units of a text, which the service counts.
pub(crate) fn units(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_size_of_the_formula() {
        let mut row = DynamicEntity::new("ab", "é");
        assert_eq!(row_size(&row), 4 + 2 * 3);
        row.insert("Text", "abc");
        assert_eq!(row_size(&row), 10 + 8 + 8 + 10);
        row.insert("B", true);
        row.insert("L", 1_i64);
        assert_eq!(row_size(&row), 36 + 11 + 18);
    }
}
