//! Decrypts properties of a row, with the keys of its response.

use std::borrow::Cow;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::edm::{EdmType, Token, WireValue, base64_text};

use crate::entity::encryption::not_encrypted;
use crate::entity::property::{Property, ReadProperty};
use crate::entity::row::{Row, RowProperty, required};
use crate::entity::unsealed::Plaintext;

impl Row<'_> {
    /// Returns the decrypted value of a property. Use `Option<T>` for one that may be missing.
    ///
    /// For rows that are read with `resolve`. A field marked `#[table(encrypted)]` is decrypted by its entity.
    ///
    /// # Errors
    /// - `InvalidInput`: the client has no key provider.
    /// - `InvalidResponse`: the property is missing, not encrypted, of another type, or was changed or moved.
    /// - `Other`, `Timeout`: the key provider did not unwrap the data key.
    pub fn decrypted<T: Property + ReadProperty>(&self, name: &str) -> Result<T> {
        required(self.found_decrypted(name)?, name)
    }

    /// Returns the decrypted value of a property, or `None` if it is absent.
    pub(crate) fn found_decrypted<T: Property + ReadProperty>(&self, name: &str) -> Result<Option<T>> {
        self.get(name).map(|property| self.decrypt(property)).transpose()
    }

    /// Decrypts a property of this row.
    pub(crate) fn decrypt<T: Property + ReadProperty>(&self, property: &RowProperty<'_>) -> Result<T> {
        let name = property.name();
        let Some(opener) = self.opener() else {
            return Err(Error::invalid_input(format!(
                "property `{name}`: it is encrypted, and was read without a key provider: set one with `encryption` on \
                 the client, and read the row as its entity, not as a `DynamicEntity`"
            )));
        };
        let sealed = property.value().as_binary().map_err(|_| not_encrypted(name))?;
        let keys = (self.partition_key()?, self.row_key()?);
        let (plaintext, bytes) = opener.open(keys, name, &sealed)?;
        let fault = |why: &str| Error::invalid_response(format!("property `{name}`: {why}"));
        let (edm_type, text) = match plaintext {
            Plaintext::Text => {
                let text = str::from_utf8(&bytes).map_err(|_| fault("the decrypted text is not UTF-8"))?;
                (EdmType::String, Cow::Borrowed(text))
            }
            Plaintext::Bytes => (EdmType::Binary, Cow::Owned(base64_text(&bytes))),
        };
        if edm_type != T::EDM_TYPE {
            return Err(fault(&format!(
                "expected {}, found {edm_type} when decrypted",
                T::EDM_TYPE
            )));
        }
        let value = WireValue {
            annotation: Some(edm_type),
            token: Token::Text(&text),
        };
        // The reason of the type may quote the plaintext, and errors are logged.
        T::from_wire(value).map_err(|_| fault("the decrypted value is not valid for the type of the field"))
    }
}
