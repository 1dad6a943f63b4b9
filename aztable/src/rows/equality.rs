//! Rows that are the same: keys, names, types and values.

use azure_table::{DynamicEntity, EdmValue};

/// Returns whether two rows have the same properties, whenever they were written.
pub(crate) fn same_properties(one: &DynamicEntity, other: &DynamicEntity) -> bool {
    let same =
        |(one, other): ((&String, &EdmValue), (&String, &EdmValue))| one.0 == other.0 && same_value(one.1, other.1);
    one.properties.len() == other.properties.len() && one.properties.iter().zip(&other.properties).all(same)
}

/// Returns whether two values are the same: NaN is, and 0.0 is not -0.0.
pub(crate) fn same_value(one: &EdmValue, other: &EdmValue) -> bool {
    match (one, other) {
        (EdmValue::Double(one), EdmValue::Double(other)) => {
            one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_value_count() {
        let row = |value: EdmValue| {
            let mut row = DynamicEntity::new("p", "r");
            row.insert("A", value);
            row
        };
        assert!(same_properties(&row(f64::NAN.into()), &row((-f64::NAN).into())));
        for (one, other) in [
            (EdmValue::Double(0.0), EdmValue::Double(-0.0)),
            (EdmValue::Int32(1), EdmValue::Int64(1)),
            (EdmValue::from("1"), EdmValue::Int32(1)),
        ] {
            assert!(!same_properties(&row(one), &row(other)));
        }
        assert!(!same_properties(&row(1_i32.into()), &DynamicEntity::new("p", "r")));
    }
}
