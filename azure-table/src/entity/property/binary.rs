//! Bytes: Edm.Binary.
//!
//! Contains the impls for growing, shared and fixed-size bytes; `&[u8]` is written through `[u8]` and `pointer.rs`. All
//! but `[u8; N]` are compared with a `Vec<u8>`.

use std::borrow::Cow;

use azure_table_wire::error::{ValueError, expected};
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};
use bytes::Bytes;

use crate::entity::property::{Property, ReadProperty};

macro_rules! bytes {
    ($($type:ty),*) => {$(
        impl Property for $type {
            type Compared = Vec<u8>;
            const EDM_TYPE: EdmType = EdmType::Binary;
            fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
                Ok(Some(Edm::Binary(Cow::Borrowed(self))))
            }
        }
    )*};
}
bytes! { Vec<u8>, [u8], Bytes }

impl<const N: usize> Property for [u8; N] {
    type Compared = Self;
    const EDM_TYPE: EdmType = EdmType::Binary;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        Ok(Some(Edm::Binary(Cow::Borrowed(self))))
    }
}

impl ReadProperty for Vec<u8> {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        value.as_binary()
    }
}

impl ReadProperty for Bytes {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        value.as_binary().map(Self::from)
    }
}

impl<const N: usize> ReadProperty for [u8; N] {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        let bytes = value.as_binary()?;
        bytes
            .try_into()
            .map_err(|bytes: Vec<u8>| expected(&format!("{N} bytes"), format_args!("{}", bytes.len())))
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::edm::Token;

    use super::*;

    fn read<T: ReadProperty>(base64: &str) -> Result<T, ValueError> {
        T::from_wire(WireValue {
            annotation: Some(EdmType::Binary),
            token: Token::Text(base64),
        })
    }

    #[test]
    fn all_bytes_are_written_and_read() {
        let expected = Some(Edm::from(vec![0, 1, 255]));
        assert_eq!(read::<Vec<u8>>("AAH/").unwrap().to_edm().unwrap(), expected);
        assert_eq!(read::<Bytes>("AAH/").unwrap().to_edm().unwrap(), expected);
        assert_eq!(read::<[u8; 3]>("AAH/").unwrap().to_edm().unwrap(), expected);
        assert_eq!(<&[u8]>::to_edm(&&[0, 1, 255][..]).unwrap(), expected);
        assert_eq!(read::<[u8; 0]>("").unwrap().len(), 0);
    }

    #[test]
    fn an_array_takes_exactly_its_length() {
        assert_eq!(
            read::<[u8; 16]>("AAH/").unwrap_err().to_string(),
            "expected 16 bytes, found 3"
        );
        assert!(read::<[u8; 2]>("AAH/").is_err());
    }
}
