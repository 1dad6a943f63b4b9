//! Values as OData literals.

use std::fmt;

use crate::codec::odata::literal::Doubled;
use crate::value::edm::{Edm, double_text};

/// A value as a literal of a filter, with its type prefix and its quotes.
///
/// Source: REST "Querying tables and entities", literals; `L` for Int64, `X'…'` for binary.
#[derive(Debug)]
pub struct Literal<'a>(pub &'a Edm<'a>);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Edm::String(text) => write!(f, "'{}'", Doubled(text)),
            Edm::Boolean(value) => write!(f, "{value}"),
            Edm::Int32(value) => write!(f, "{value}"),
            Edm::Int64(value) => write!(f, "{value}L"),
            // OData 3 has no other name for it. JSON has: see `double_text`.
            Edm::Double(value) => f.write_str(&double_text(*value).replace("Infinity", "INF")),
            Edm::DateTime(value) => write!(f, "datetime'{value}'"),
            Edm::Guid(value) => write!(f, "guid'{value}'"),
            Edm::Binary(bytes) => {
                f.write_str("X'")?;
                for byte in bytes.iter() {
                    write!(f, "{byte:02x}")?;
                }
                f.write_str("'")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::edm::EdmValue;

    #[test]
    fn each_type_has_its_literal() {
        let guid = "debc44d5-04a9-42ea-ab2f-4e2cb49ff833";
        for (value, text) in [
            (EdmValue::from("O'Brien"), "'O''Brien'"),
            (EdmValue::from(true), "true"),
            (EdmValue::from(-5_i32), "-5"),
            (EdmValue::from(4_294_967_296_i64), "4294967296L"),
            (EdmValue::from(5.0), "5.0"),
            (EdmValue::from(1e300), "1.0e300"),
            (EdmValue::from(-1.5e-7), "-1.5e-7"),
            (EdmValue::from(f64::INFINITY), "INF"),
            (EdmValue::from(f64::NEG_INFINITY), "-INF"),
            (
                EdmValue::from(guid.parse::<crate::value::guid::Guid>().unwrap()),
                &format!("guid'{guid}'"),
            ),
            (EdmValue::from(vec![1_u8, 2, 255]), "X'0102ff'"),
        ] {
            assert_eq!(Literal(&value).to_string(), text);
        }
    }
}
