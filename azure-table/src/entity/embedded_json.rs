//! Stores any serde type as the text of one property: the implementation of `#[table(json)]`.

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The type of the property.
pub const EDM_TYPE: EdmType = EdmType::String;

/// Serializes the value as JSON text.
pub fn to_edm<T: Serialize + ?Sized>(value: &T) -> Result<Option<Edm<'static>>, ValueError> {
    match serde_json::to_string(value) {
        Ok(json) => Ok(Some(Edm::String(json.into()))),
        Err(e) => Err(ValueError::new(format!("it cannot be written as JSON: {e}"))),
    }
}

/// Checks that JSON text reads back as a `T`: serde_json writes NaN and infinities as `null`, for example.
pub fn check<T: DeserializeOwned>(json: &str) -> Result<(), ValueError> {
    let read = serde_json::from_str::<T>(json);
    read.map(drop)
        .map_err(|e| ValueError::new(format!("its JSON could not be read back: {e}")))
}

/// Deserializes the value from JSON text.
pub fn from_wire<T: DeserializeOwned>(value: WireValue<'_>) -> Result<T, ValueError> {
    serde_json::from_str(value.as_str()?).map_err(|e| ValueError::new(format!("its JSON does not fit: {e}")))
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::Token;
    use proptest::prelude::*;

    use super::*;

    fn read<T: DeserializeOwned>(json: &str) -> T {
        let token = Token::Text(json);
        from_wire(WireValue {
            annotation: None,
            token,
        })
        .unwrap()
    }

    proptest! {
        #[test]
        fn every_finite_double_reads_back_exactly(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            let Some(Edm::String(json)) = to_edm(&number).unwrap() else { unreachable!() };
            prop_assert_eq!(read::<f64>(&json).to_bits(), bits);
        }
    }
}
