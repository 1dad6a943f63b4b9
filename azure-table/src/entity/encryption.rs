//! The format of encrypted values: AES-256-GCM with a data key that the value carries in wrapped form.
//!
//! Defines [`DataKey`], [`WrappedKey`], the key that encrypts ([`SealingKey`]) and the keys that decrypt a response
//! ([`Opener`]). The guide `encryption` documents the bytes. Wrapping is asynchronous and done by the client; nothing
//! here waits.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{Aead, KeyInit, Payload};
use azure_table_wire::error::{Error, ErrorKind, Result};
use zeroize::Zeroizing;

use crate::entity::unsealed::{Plaintext, UnsealedValue};

/// The first bytes of an encrypted value.
const MAGIC: &[u8; 6] = b"aztenc";
/// The base64 of the first bytes: whole characters of it.
#[doc(hidden)]
pub(crate) const MAGIC_BASE64: &str = "YXp0ZW5j";
const VERSION: u8 = 1;
/// The bytes before the key's id, with its length.
const HEAD: usize = 10;
const NONCE: usize = 12;
const TAG: usize = 16;
/// The maximum length of a key's id, and of a wrapped data key.
const MAX_PART: usize = 1_024;
/// The longest header in base64.
#[doc(hidden)]
pub(crate) const MAX_HEADER_BASE64: usize = (HEAD + MAX_PART + 2 + MAX_PART).div_ceil(3) * 4;

/// A key of 256 bits: a data key, or one that wraps data keys.
///
/// `Debug` never shows it, and its bytes are overwritten when it is dropped.
///
/// ```
/// use azure_table::encryption::DataKey;
/// let key = DataKey::from_bytes([7; 32]);
/// assert_eq!(format!("{key:?}"), "DataKey(not shown)");
/// assert_ne!(DataKey::random()?.as_bytes(), DataKey::random()?.as_bytes());
/// # Ok::<(), azure_table::Error>(())
/// ```
#[derive(Clone)]
pub struct DataKey(Zeroizing<[u8; 32]>);

impl DataKey {
    /// Creates a key of these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Creates a key from the operating system's source of randomness.
    ///
    /// # Errors
    /// - [`Other`](ErrorKind::Other): the operating system has no random bytes.
    pub fn random() -> Result<Self> {
        let mut bytes = Zeroizing::new([0; 32]);
        fill(&mut bytes[..])?;
        Ok(Self(bytes))
    }

    /// Returns the bytes of the key.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new((&*self.0).into())
    }
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey(not shown)")
    }
}

/// A data key in encrypted form, as each value stores it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WrappedKey {
    /// The id of the key that wraps it, 1 to 1,024 bytes. It is stored in the clear.
    pub key_id: String,
    /// The wrapped key, 1 to 1,024 bytes.
    pub bytes: Vec<u8>,
}

impl WrappedKey {
    /// Returns the wrapped key of a value, or `None` if the bytes are no encrypted value of this version.
    #[doc(hidden)]
    pub fn of_value(value: &[u8]) -> Option<Self> {
        Self::parse(value).map(|(key, _)| key)
    }

    fn parse(value: &[u8]) -> Option<(Self, Header)> {
        let (&[version, plaintext], rest) = value.strip_prefix(MAGIC)?.split_first_chunk()?;
        let plaintext = match (version, plaintext) {
            (VERSION, 0) => Plaintext::Text,
            (VERSION, 1) => Plaintext::Bytes,
            _ => return None,
        };
        let (key_id, rest) = part(rest)?;
        let (bytes, _) = part(rest)?;
        let wrapped = Self {
            key_id: str::from_utf8(key_id).ok()?.to_owned(),
            bytes: bytes.to_vec(),
        };
        let length = HEAD + key_id.len() + 2 + bytes.len();
        Some((wrapped, Header { plaintext, length }))
    }
}

/// The rest of a value's header.
struct Header {
    plaintext: Plaintext,
    length: usize,
}

/// Returns the bytes after a length of two bytes, and the rest.
fn part(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::from(u16::from_be_bytes(*length));
    rest.split_at_checked(length)
        .filter(|_| (1..=MAX_PART).contains(&length))
}

/// Returns the id of the key that wraps the data key of an encrypted value, or `None` if the bytes are not encrypted.
///
/// `value` is the property as it is stored, an Edm.Binary.
///
/// ```
/// use azure_table::encryption::key_id;
/// assert_eq!(key_id(b"aztenc\x01\x00\x00\x03new\x00\x04wrap"), Some("new"));
/// assert_eq!(key_id(b"plain"), None);
/// ```
pub fn key_id(value: &[u8]) -> Option<&str> {
    WrappedKey::parse(value)?;
    let (key_id, _) = part(&value[HEAD - 2..])?;
    str::from_utf8(key_id).ok()
}

/// The place of a value: the associated data of its cipher.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValuePlace<'a> {
    pub table: &'a str,
    pub partition_key: &'a str,
    pub row_key: &'a str,
    pub property: &'a str,
}

impl ValuePlace<'_> {
    fn associated_data(&self, header: &[u8]) -> Vec<u8> {
        // Table names are case-insensitive.
        let table = self.table.to_ascii_lowercase();
        let mut data = header.to_vec();
        for text in [&*table, self.partition_key, self.row_key, self.property] {
            data.extend_from_slice(&u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
            data.extend_from_slice(text.as_bytes());
        }
        data
    }
}

/// A data key that encrypts values, with its wrapped form.
#[doc(hidden)]
pub(crate) struct SealingKey {
    cipher: Aes256Gcm,
    wrapped: WrappedKey,
}

impl SealingKey {
    /// Creates the key.
    ///
    /// # Errors
    /// - `InvalidInput`: the id of the wrapping key or the wrapped key is empty or too long.
    pub(crate) fn new(key: &DataKey, wrapped: WrappedKey) -> Result<Self> {
        for (what, length) in [("id", wrapped.key_id.len()), ("wrapped data key", wrapped.bytes.len())] {
            if !(1..=MAX_PART).contains(&length) {
                return Err(Error::invalid_input(format!(
                    "the key provider returned a {what} of {length} bytes, it must have 1 to {MAX_PART}"
                )));
            }
        }
        Ok(Self {
            cipher: key.cipher(),
            wrapped,
        })
    }

    /// Encrypts a value for its place.
    pub(crate) fn seal(&self, place: &ValuePlace<'_>, value: &UnsealedValue) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE];
        fill(&mut nonce)?;
        self.seal_with(nonce, place, value)
    }

    /// Encrypts a value with this nonce.
    fn seal_with(&self, nonce: [u8; NONCE], place: &ValuePlace<'_>, value: &UnsealedValue) -> Result<Vec<u8>> {
        let WrappedKey { key_id, bytes } = &self.wrapped;
        let length = |part: &[u8]| u16::try_from(part.len()).unwrap_or(u16::MAX).to_be_bytes();
        let plaintext = u8::from(value.plaintext == Plaintext::Bytes);
        let mut sealed = Vec::with_capacity(HEAD + key_id.len() + 2 + bytes.len() + NONCE + value.bytes.len() + TAG);
        sealed.extend_from_slice(MAGIC);
        sealed.extend_from_slice(&[VERSION, plaintext]);
        sealed.extend_from_slice(&length(key_id.as_bytes()));
        sealed.extend_from_slice(key_id.as_bytes());
        sealed.extend_from_slice(&length(bytes));
        sealed.extend_from_slice(bytes);
        let payload = Payload {
            msg: &value.bytes,
            aad: &place.associated_data(&sealed),
        };
        let ciphertext = self.cipher.encrypt((&nonce).into(), payload);
        let ciphertext = ciphertext.map_err(|_| Error::invalid_input("the value is too long for AES-GCM"))?;
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&ciphertext);
        Ok(sealed)
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealingKey")
            .field("key_id", &self.wrapped.key_id)
            .finish_non_exhaustive()
    }
}

/// A key that decrypts values, or the error of its provider.
#[doc(hidden)]
#[derive(Clone)]
pub(crate) enum OpeningKey {
    Known(Arc<Aes256Gcm>),
    Failed(Arc<Error>),
}

impl OpeningKey {
    /// Returns the key for decryption.
    pub(crate) fn new(key: &DataKey) -> Self {
        Self::Known(Arc::new(key.cipher()))
    }
}

impl fmt::Debug for OpeningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(_) => f.write_str("Known(not shown)"),
            Self::Failed(e) => write!(f, "Failed({e})"),
        }
    }
}

/// The data keys of the encrypted values in one response.
#[doc(hidden)]
pub(crate) struct Opener {
    table: Arc<str>,
    keys: HashMap<WrappedKey, OpeningKey>,
}

impl Opener {
    /// Returns the keys for a response about this table.
    pub(crate) fn new(table: Arc<str>, keys: HashMap<WrappedKey, OpeningKey>) -> Self {
        Self { table, keys }
    }

    /// Decrypts the value of a property.
    ///
    /// # Errors
    /// - `InvalidResponse`: the value is not encrypted, or it was encrypted for another place.
    /// - `Other`, `Timeout`: the key provider did not unwrap its data key.
    pub(crate) fn open(
        &self,
        (partition_key, row_key): (&str, &str),
        property: &str,
        sealed: &[u8],
    ) -> Result<(Plaintext, Zeroizing<Vec<u8>>)> {
        let Some((wrapped, Header { plaintext, length })) = WrappedKey::parse(sealed) else {
            return Err(not_encrypted(property));
        };
        let key_id = &wrapped.key_id;
        let cipher = match self.keys.get(&wrapped) {
            Some(OpeningKey::Known(cipher)) => cipher,
            Some(OpeningKey::Failed(e)) => {
                let why =
                    format!("property `{property}`: its data key, wrapped by the key {key_id:?}, was not unwrapped");
                return Err(provider_error(e.copy(), why));
            }
            None => {
                let why =
                    format!("property `{property}`: its data key, wrapped by the key {key_id:?}, was not requested");
                return Err(Error::invalid_response(why));
            }
        };
        let place = ValuePlace {
            table: &self.table,
            partition_key,
            row_key,
            property,
        };
        let (header, rest) = sealed.split_at(length);
        let opened = rest.split_first_chunk::<NONCE>().and_then(|(nonce, ciphertext)| {
            let payload = Payload {
                msg: ciphertext,
                aad: &place.associated_data(header),
            };
            cipher.decrypt(nonce.into(), payload).ok()
        });
        let opened = opened.ok_or_else(|| {
            Error::invalid_response(format!(
                "property `{property}`: it does not decrypt with the key {key_id:?}: it was changed, or moved from another \
                 table, row or property"
            ))
        })?;
        Ok((plaintext, Zeroizing::new(opened)))
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener")
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}

/// All openers are equal: they hold the keys that a result needs, which are not part of its value.
impl PartialEq for Opener {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Opener {}

/// Returns the error of a call for a failure of the key provider. The provider's own kind would be mistaken for the
/// service's.
#[doc(hidden)]
pub(crate) fn provider_error(error: Error, why: String) -> Error {
    let why = format!("{why}: {error}");
    match error.kind() {
        ErrorKind::Timeout => Error::new(ErrorKind::Timeout, why),
        _ => Error::new(ErrorKind::Other, why).with_source(error),
    }
}

/// Returns the error of a value that is stored in the clear.
#[doc(hidden)]
pub(crate) fn not_encrypted(property: &str) -> Error {
    Error::invalid_response(format!(
        "property `{property}`: the stored value is not encrypted; if it was stored before the field was, read it with \
         `upgrade` and run `upgrade_where`"
    ))
}

/// Wraps a data key by another key, as the provider `LocalKeys` does.
#[doc(hidden)]
pub(crate) fn wrap_locally(key_id: &str, wrapping: &DataKey, key: &DataKey) -> Result<WrappedKey> {
    let mut nonce = [0; NONCE];
    fill(&mut nonce)?;
    let payload = Payload {
        msg: key.as_bytes(),
        aad: key_id.as_bytes(),
    };
    let wrapped = wrapping.cipher().encrypt((&nonce).into(), payload);
    let wrapped = wrapped.map_err(|_| Error::invalid_input("the data key cannot be wrapped"))?;
    Ok(WrappedKey {
        key_id: key_id.to_owned(),
        bytes: [&nonce[..], &wrapped].concat(),
    })
}

/// Unwraps a data key that [`wrap_locally`] wrapped, or returns `None` if this is not its wrapping key.
#[doc(hidden)]
pub(crate) fn unwrap_locally(wrapping: &DataKey, wrapped: &WrappedKey) -> Option<DataKey> {
    let (nonce, ciphertext) = wrapped.bytes.split_first_chunk::<NONCE>()?;
    let payload = Payload {
        msg: ciphertext,
        aad: wrapped.key_id.as_bytes(),
    };
    let key = Zeroizing::new(wrapping.cipher().decrypt(nonce.into(), payload).ok()?);
    let bytes = Zeroizing::new(<[u8; 32]>::try_from(&key[..]).ok()?);
    Some(DataKey(bytes))
}

fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|e| Error::other(format!("no random bytes from the operating system: {e}")))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn vectors() -> Value {
        serde_json::from_str(include_str!("../../vectors/encryption.json")).unwrap()
    }

    fn text<'v>(case: &'v Value, name: &str) -> &'v str {
        case[name].as_str().unwrap_or_else(|| panic!("{case} has no {name}"))
    }

    fn hex<const N: usize>(case: &Value, name: &str) -> [u8; N] {
        bytes(text(case, name)).try_into().unwrap()
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = (0..hex.len()).step_by(2);
        digits
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    }

    fn place(case: &Value) -> ValuePlace<'_> {
        ValuePlace {
            table: text(case, "table"),
            partition_key: text(case, "partition_key"),
            row_key: text(case, "row_key"),
            property: text(case, "property"),
        }
    }

    fn value(case: &Value) -> UnsealedValue {
        let (plaintext, bytes) = match case["text"].as_str() {
            Some(text) => (Plaintext::Text, text.as_bytes().to_vec()),
            None => (Plaintext::Bytes, bytes(text(case, "bytes"))),
        };
        UnsealedValue {
            name: text(case, "property").to_owned(),
            plaintext,
            bytes: bytes.into(),
        }
    }

    fn wrapped(case: &Value) -> WrappedKey {
        WrappedKey {
            key_id: text(case, "key_id").to_owned(),
            bytes: bytes(text(case, "wrapped_key")),
        }
    }

    fn open(case: &Value, place: &ValuePlace<'_>, sealed: &[u8]) -> Result<(Plaintext, Zeroizing<Vec<u8>>)> {
        let key = OpeningKey::new(&DataKey::from_bytes(hex(case, "data_key")));
        let opener = Opener::new(place.table.into(), HashMap::from([(wrapped(case), key)]));
        opener.open((place.partition_key, place.row_key), place.property, sealed)
    }

    /// `vectors/encryption.json`: values of another implementation, encrypted and decrypted.
    #[test]
    fn values_have_the_documented_bytes() {
        let vectors = vectors();
        let cases = vectors["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 4);
        for case in cases {
            let expected =
                base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text(case, "value_base64"));
            let expected = expected.unwrap();
            let key = SealingKey::new(&DataKey::from_bytes(hex(case, "data_key")), wrapped(case)).unwrap();
            let sealed = key.seal_with(hex(case, "nonce"), &place(case), &value(case)).unwrap();
            assert_eq!(sealed, expected, "{}", case["id"]);
            let UnsealedValue { plaintext, bytes, .. } = value(case);
            assert_eq!(open(case, &place(case), &expected).unwrap(), (plaintext, bytes));
            assert_eq!(key_id(&expected), Some(text(case, "key_id")));
            assert!(text(case, "value_base64").starts_with(MAGIC_BASE64));
        }
        let local = &vectors["local"];
        let wrapping = DataKey::from_bytes(hex(local, "wrapping_key"));
        let unwrapped = unwrap_locally(&wrapping, &wrapped(local)).unwrap();
        assert_eq!(*unwrapped.as_bytes(), hex(local, "data_key"));
        let again = wrap_locally("2026-11", &wrapping, &unwrapped).unwrap();
        assert_eq!(again.bytes.len(), 60);
        assert_eq!(
            unwrap_locally(&wrapping, &again).unwrap().as_bytes(),
            unwrapped.as_bytes()
        );
        let moved = WrappedKey {
            key_id: "2026-12".into(),
            ..again
        };
        assert!(unwrap_locally(&wrapping, &moved).is_none());
    }

    #[test]
    fn moved_or_changed_value_does_not_decrypt() {
        let vectors = vectors();
        let case = &vectors["cases"][0];
        let key = SealingKey::new(&DataKey::from_bytes(hex(case, "data_key")), wrapped(case)).unwrap();
        let home = place(case);
        let sealed = key.seal(&home, &value(case)).unwrap();
        let elsewhere = [
            ValuePlace {
                table: "Patients2",
                ..home
            },
            ValuePlace {
                partition_key: "north0",
                row_key: "0000001",
                ..home
            },
            ValuePlace {
                row_key: "00000002",
                ..home
            },
            ValuePlace {
                property: "Diagnosis",
                ..home
            },
        ];
        for place in elsewhere {
            let error = open(case, &place, &sealed).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{place:?}");
        }
        open(
            case,
            &ValuePlace {
                table: "pATIENTS",
                ..home
            },
            &sealed,
        )
        .unwrap();
        // Every bit is authenticated: of the header, the nonce, the ciphertext and the tag.
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            open(case, &home, &changed).unwrap_err();
        }
        for length in 0..sealed.len() {
            open(case, &home, &sealed[..length]).unwrap_err();
        }
    }

    #[test]
    fn parts_of_a_wrapped_key_have_limits() {
        let key = DataKey::random().unwrap();
        for (id, wrapped, is_valid) in [
            (1, 1, true),
            (1_024, 1_024, true),
            (0, 1, false),
            (1, 0, false),
            (1_025, 1, false),
        ] {
            let wrapped = WrappedKey {
                key_id: "k".repeat(id),
                bytes: vec![7; wrapped],
            };
            assert_eq!(SealingKey::new(&key, wrapped).is_ok(), is_valid);
        }
    }
}
