//! Bytes as key text.

use azure_table_wire::error::{ValueError, expected};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::key::table_key::{ReadTableKey, TableKey};

/// Bytes as part of a key: base64 with `-` and `_`, without padding.
///
/// `T` is `Vec<u8>`, `[u8; N]`, `Bytes` or another type of bytes.
///
/// **The text does not keep the order of the bytes**: `-` and `_` have the greatest values, but `-` sorts before the
/// digits and `_` before the lower-case letters. The type therefore has no `Ord`, and in a filter only `eq` and `ne`
/// are meaningful.
/// A key holds up to 768 bytes.
///
/// ```
/// use azure_table::TableKey;
/// use azure_table::key::{Base64Url, ReadTableKey};
/// let mut key = String::new();
/// Base64Url([0xfb_u8, 0xff, 0xfe]).write_key(&mut key).unwrap();
/// assert_eq!(key, "-__-");
/// assert_eq!(Base64Url::<Vec<u8>>::read_key(&key).unwrap().0, [0xfb, 0xff, 0xfe]);
/// ```
///
/// Source: RFC 4648 §5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Base64Url<T>(pub T);

impl<T> From<T> for Base64Url<T> {
    fn from(bytes: T) -> Self {
        Self(bytes)
    }
}

impl<T: AsRef<[u8]>> TableKey for Base64Url<T> {
    const SORTED: bool = false;

    fn write_key(&self, text: &mut String) -> Result<(), ValueError> {
        URL_SAFE_NO_PAD.encode_string(&self.0, text);
        Ok(())
    }
}

impl<T: AsRef<[u8]> + TryFrom<Vec<u8>>> ReadTableKey for Base64Url<T> {
    fn read_key(text: &str) -> Result<Self, ValueError> {
        let invalid = |what| expected(what, format_args!("{text:?}"));
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| invalid("base64url without padding"))?;
        T::try_from(bytes)
            .map(Self)
            .map_err(|_| invalid("base64url of another length"))
    }
}

#[cfg(test)]
mod tests {
    use azure_table_wire::value::key_text::MAX_KEY_UNITS;
    use bytes::Bytes;

    use super::*;
    use crate::key::table_key::key_text;

    #[test]
    fn bytes_round_trip() {
        for bytes in [&[][..], &[0], &[0xff, 0xfe], &[0; 3], &[62, 63, 64, 65]] {
            let text = key_text(&Base64Url(bytes));
            assert_eq!(Base64Url::<Vec<u8>>::read_key(&text).unwrap().0, bytes);
            assert_eq!(Base64Url::<Bytes>::read_key(&text).unwrap().0, bytes);
        }
        assert_eq!(key_text(&Base64Url([0; 768])).len(), MAX_KEY_UNITS);
    }

    #[test]
    fn each_value_has_one_text() {
        // Padding, the other alphabet, bits beyond the last byte, an impossible length.
        for wrong in ["AA==", "+/+/", "AB", "A", "AA A"] {
            assert!(Base64Url::<Vec<u8>>::read_key(wrong).is_err(), "{wrong}");
        }
        assert!(Base64Url::<[u8; 2]>::read_key("AA").is_err());
        assert_eq!(Base64Url::<[u8; 1]>::read_key("AA").unwrap(), Base64Url([0]));
    }
}
