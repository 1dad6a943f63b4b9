//! The values of encrypted properties until they are encrypted.
//!
//! An entity is encoded synchronously, but its data key may have to be fetched first. The encoded entity therefore
//! lacks its encrypted properties, and keeps their values here. `write/sealing.rs` encrypts them and completes the
//! entity.

use std::fmt;

use azure_table_wire::error::ValueError;
use azure_table_wire::value::edm::Edm;
use zeroize::Zeroizing;

use crate::entity::property::Property;

/// The type of a plaintext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plaintext {
    Text,
    Bytes,
}

/// A value that is not encrypted yet. Its memory is overwritten when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct UnsealedValue {
    /// The stored name of the property.
    pub name: String,
    pub plaintext: Plaintext,
    pub bytes: Zeroizing<Vec<u8>>,
}

/// The encrypted properties of an entity.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unsealed {
    pub values: Vec<UnsealedValue>,
    /// The size of the entity by the published formula, without the bytes of these values.
    pub entity_size: usize,
}

/// Returns the stored form of a value that is to be encrypted.
///
/// # Errors
/// The service cannot represent the value. The reason of the type may quote the plaintext, and errors are logged.
pub(crate) fn to_edm<T: Property + ?Sized>(value: &T) -> Result<Option<Edm<'_>>, ValueError> {
    let hidden = |_| ValueError::new("its type returned an error, which is not shown because it may quote the value");
    value.to_edm().map_err(hidden)
}

impl UnsealedValue {
    /// Creates the value of a property.
    ///
    /// # Errors
    /// The value is neither text nor bytes.
    pub fn new(name: &str, value: &Edm<'_>) -> Result<Self, ValueError> {
        let (plaintext, bytes) = match value {
            Edm::String(text) => (Plaintext::Text, text.as_bytes()),
            Edm::Binary(bytes) => (Plaintext::Bytes, &bytes[..]),
            other => {
                return Err(ValueError::new(format!(
                    "only text and bytes can be encrypted, this is an {}",
                    other.edm_type()
                )));
            }
        };
        Ok(Self {
            name: name.to_owned(),
            plaintext,
            bytes: Zeroizing::new(bytes.to_vec()),
        })
    }
}

impl Unsealed {
    /// Returns the message of an error: the values are needed in encrypted form, and no client encrypts them.
    pub(crate) fn without_key(&self) -> String {
        let name = self.values.first().map_or("", |value| &value.name);
        format!(
            "property `{name}`: it is encrypted when a client sends it; until then the entity has no stored form, and cannot \
             be copied or shown"
        )
    }

    /// Returns the bytes of the values.
    pub(crate) fn bytes(&self) -> usize {
        self.values.iter().map(|value| value.bytes.len()).sum()
    }
}

impl fmt::Debug for UnsealedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes, not shown)", self.name, self.bytes.len())
    }
}
