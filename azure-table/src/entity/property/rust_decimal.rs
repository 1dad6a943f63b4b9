//! Feature `rust-decimal-1`: `Decimal` as Edm.String.
//!
//! The text keeps the scale, so that `12.50` is read back unchanged. It does not sort as the numbers do (`10` before
//! `9`), and one number has several texts. A `Decimal` is compared for equality of its text only, and cannot be part of
//! a key.

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};
use rust_decimal::Decimal;

use crate::entity::property::{Property, ReadProperty, as_text};

as_text! {
    /// # Errors
    /// The text is not a number, or has more digits than a `Decimal` holds.
    Decimal, sorted: false, |text| {
        Self::from_str_exact(text).map_err(|e| ValueError::new(format!("{text:?} is not a Decimal: {e}")))
    };
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::Token;
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Decimal, ValueError> {
        Decimal::from_wire(WireValue {
            annotation: None,
            token: Token::Text(text),
        })
    }

    #[test]
    fn text_keeps_the_scale() {
        let price = Decimal::new(1_250, 2);
        assert_eq!(price.to_edm().unwrap(), Some(Edm::from("12.50")));
        assert_eq!(read("12.50").unwrap().scale(), 2);
        assert_eq!(price.normalize().to_edm().unwrap(), Some(Edm::from("12.5")));
    }

    #[test]
    fn number_with_too_many_digits_is_an_error() {
        let error = read("0.12345678901234567890123456789").unwrap_err().to_string();
        assert!(
            error.starts_with("\"0.12345678901234567890123456789\" is not a Decimal: "),
            "{error}"
        );
        for wrong in ["", "twelve", "1e5", "79228162514264337593543950336", "NaN"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_decimal_round_trips_digit_by_digit(mantissa in -(1_i128 << 96) + 1..1_i128 << 96, scale in 0..=28_u32) {
            let decimal = Decimal::from_i128_with_scale(mantissa, scale);
            let Some(Edm::String(text)) = decimal.to_edm().unwrap() else { panic!() };
            let back = read(&text).unwrap();
            prop_assert_eq!((back.mantissa(), back.scale()), (decimal.mantissa(), decimal.scale()));
        }
    }
}
