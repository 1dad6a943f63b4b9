//! Integers of other sizes than the service's two: widened when written, checked when read.
//!
//! Contains the impls for `i8`, `i16`, `u8`, `u16` (Edm.Int32) and `u32`, `u64` (Edm.Int64; `u64` is checked when it is
//! written as well). `i32` and `i64` need no conversion and are in `property.rs`.

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};

use crate::entity::property::{Property, ReadProperty};

macro_rules! integers {
    ($($type:ident: $variant:ident, $read:ident;)*) => {$(
        impl Property for $type {
            type Compared = Self;
            const EDM_TYPE: EdmType = EdmType::$variant;
            fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
                Ok(Some(Edm::$variant((*self).into())))
            }
        }

        impl ReadProperty for $type {
            fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
                let stored = value.$read()?;
                Self::try_from(stored)
                    .map_err(|_| outside(stored.into(), stringify!($type), (Self::MIN.into(), Self::MAX.into())))
            }
        }
    )*};
}
integers! {
    i8: Int32, as_i32;
    i16: Int32, as_i32;
    u8: Int32, as_i32;
    u16: Int32, as_i32;
    u32: Int64, as_i64;
}

impl Property for u64 {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::Int64;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        i64::try_from(*self)
            .map(|value| Some(Edm::Int64(value)))
            .map_err(|_| outside((*self).into(), "Edm.Int64", (i64::MIN.into(), i64::MAX.into())))
    }
}

impl ReadProperty for u64 {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        let stored = value.as_i64()?;
        Self::try_from(stored).map_err(|_| outside(stored.into(), "u64", (Self::MIN.into(), Self::MAX.into())))
    }
}

/// Returns an error that shows on which side `value` is beyond the range of the type `name`.
fn outside(value: i128, name: &str, (least, greatest): (i128, i128)) -> ValueError {
    ValueError::new(if value < least {
        format!("{value} is below the least {name} {least}")
    } else {
        format!("{value} is above the greatest {name} {greatest}")
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use azure_table_wire::value::edm::Token;

    use super::*;

    fn read<T: ReadProperty>(digits: &str, annotation: Option<EdmType>) -> Result<T, ValueError> {
        T::from_wire(WireValue {
            annotation,
            token: match annotation {
                Some(EdmType::Int64) => Token::Text(digits),
                _ => Token::Number(digits),
            },
        })
    }

    /// Asserts that both ends of the range read back, and that the next value fails with an error that names it, its
    /// type and the end.
    fn has_ends<T: ReadProperty + Property + Debug + PartialEq>(least: T, greatest: T, name: &str) {
        let annotation = (T::EDM_TYPE == EdmType::Int64).then_some(EdmType::Int64);
        let mut ends = Vec::new();
        for end in [least, greatest] {
            let stored: i128 = match end.to_edm().unwrap().unwrap() {
                Edm::Int32(value) => value.into(),
                Edm::Int64(value) => value.into(),
                other => panic!("{other:?}"),
            };
            assert_eq!(read::<T>(&stored.to_string(), annotation).unwrap(), end);
            ends.push(stored);
        }
        for (beyond, why) in [
            (ends[0] - 1, format!("below the least {name} {}", ends[0])),
            (ends[1] + 1, format!("above the greatest {name} {}", ends[1])),
        ] {
            let error = read::<T>(&beyond.to_string(), annotation).unwrap_err().to_string();
            assert_eq!(error, format!("{beyond} is {why}"));
        }
    }

    #[test]
    fn each_integer_ends_where_its_type_ends() {
        has_ends(i8::MIN, i8::MAX, "i8");
        has_ends(i16::MIN, i16::MAX, "i16");
        has_ends(u8::MIN, u8::MAX, "u8");
        has_ends(u16::MIN, u16::MAX, "u16");
        has_ends(u32::MIN, u32::MAX, "u32");
        assert_eq!(
            read::<u8>("300", None).unwrap_err().to_string(),
            "300 is above the greatest u8 255"
        );
    }

    #[test]
    fn u64_is_limited_to_values_of_int64() {
        assert_eq!(
            (i64::MAX as u64).to_edm().unwrap(),
            Some(Edm::Int64(9_223_372_036_854_775_807))
        );
        assert_eq!(
            (1_u64 << 63).to_edm().unwrap_err().to_string(),
            "9223372036854775808 is above the greatest Edm.Int64 9223372036854775807"
        );
        assert_eq!(
            read::<u64>("-1", Some(EdmType::Int64)).unwrap_err().to_string(),
            "-1 is below the least u64 0"
        );
        assert_eq!(read::<u64>("9223372036854775807", None).unwrap(), i64::MAX as u64);
    }

    #[test]
    fn int32_is_widened_and_int64_is_not_narrowed() {
        assert_eq!(read::<u32>("7", None).unwrap(), 7);
        assert_eq!(
            read::<u16>("7", Some(EdmType::Int64)).unwrap_err().to_string(),
            "expected Edm.Int32, found Edm.Int64"
        );
    }
}
