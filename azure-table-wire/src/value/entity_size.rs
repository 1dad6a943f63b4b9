//! The size of an entity by the published formula. It decides the bill, and estimates the limit of 1 MiB.
//!
//! Source: "How the size of an entity is calculated" (2011). It is not confirmed that the service's own check uses this
//! sum.

use crate::value::edm::Edm;
use crate::value::ordinal::utf16_len;

/// Returns the bytes of an entity without properties.
#[inline]
pub fn of_keys(partition_key: &str, row_key: &str) -> usize {
    4 + 2 * (utf16_len(partition_key) + utf16_len(row_key))
}

/// Returns the bytes of a property.
#[inline]
pub fn of_property(name_units: usize, value: &Edm<'_>) -> usize {
    let value = match value {
        Edm::String(text) => 4 + 2 * utf16_len(text),
        Edm::Binary(bytes) => 4 + bytes.len(),
        Edm::DateTime(_) | Edm::Double(_) | Edm::Int64(_) => 8,
        Edm::Guid(_) => 16,
        Edm::Int32(_) => 4,
        Edm::Boolean(_) => 1,
    };
    8 + 2 * name_units + value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_formula() {
        assert_eq!(of_keys("ab", "é"), 10);
        assert_eq!(of_property(4, &Edm::String("abc".into())), 8 + 8 + 10);
        assert_eq!(of_property(1, &Edm::Binary(vec![0; 5].into())), 8 + 2 + 9);
        assert_eq!(of_property(1, &Edm::Boolean(true)), 11);
    }
}
