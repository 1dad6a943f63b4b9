//! `f32` as Edm.Double. Every `f32` is a double, but not every double is an `f32`.

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::property::{Property, ReadProperty};

impl Property for f32 {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::Double;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::Double((*self).into())))
    }
}

impl ReadProperty for f32 {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        let stored = value.as_f64()?;
        let nearest = stored as Self;
        if f64::from(nearest) == stored || stored.is_nan() {
            Ok(nearest)
        } else {
            Err(ValueError::new(format!(
                "{stored} is not an f32, the nearest is {}",
                f64::from(nearest)
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::{Token, double_text};

    use super::*;

    fn read(text: &str) -> Result<f32, ValueError> {
        f32::from_wire(WireValue {
            annotation: Some(EdmType::Double),
            token: Token::Text(text),
        })
    }

    #[test]
    fn every_f32_round_trips_bit_by_bit() {
        for value in [
            0.0,
            -0.0,
            0.1,
            f32::MIN_POSITIVE,
            f32::MAX,
            1e-45,
            f32::INFINITY,
            f32::NEG_INFINITY,
        ] {
            let Some(Edm::Double(stored)) = value.to_edm().unwrap() else {
                panic!()
            };
            assert_eq!(read(&double_text(stored)).unwrap().to_bits(), value.to_bits());
        }
        assert!(read("NaN").unwrap().is_nan());
    }

    #[test]
    fn double_that_is_not_an_f32_is_an_error() {
        assert_eq!(
            read("0.1").unwrap_err().to_string(),
            "0.1 is not an f32, the nearest is 0.10000000149011612"
        );
        for wrong in ["1e300", "1e-300", "16777217"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert_eq!(read("16777216").unwrap(), 16_777_216.0);
    }
}
