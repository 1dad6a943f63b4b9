//! Encrypts the properties that an encoded operation lacks, and finds the keys of encrypted values in a response.
//!
//! The entity's type is unknown here. The operation holds the values (`entity/unsealed.rs`), and its body is completed.

use azure_table_wire::error::{Error, Result};

#[cfg(feature = "encryption")]
pub(crate) use self::enabled::{keys_in, seal};
#[cfg(feature = "encryption")]
pub(crate) use crate::entity::encryption::SealingKey;
use crate::entity::unsealed::Unsealed;
use crate::write::encoded_operation::Encoded;
use crate::write::operation::TableOperation;

fn unsealed(operation: &TableOperation) -> Option<&Unsealed> {
    operation.encoded.as_ref().ok().and_then(Encoded::unsealed)
}

/// Returns the number of values that are not encrypted yet.
pub(crate) fn values(operation: &TableOperation) -> usize {
    unsealed(operation).map_or(0, |unsealed| unsealed.values.len())
}

/// The operations of a batch as values, if some of them may have to be encrypted.
#[derive(Debug, Default)]
pub(crate) struct KeptOperations(Option<Vec<TableOperation>>);

impl KeptOperations {
    /// Keeps all operations. By default, an operation that is not encrypted yet is rejected.
    pub(crate) fn turn_on(&mut self) {
        self.0 = Some(Vec::new());
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns all operations if one of them is not encrypted yet, so that another batch is composed of them.
    pub(crate) fn take_unsealed(&mut self) -> Option<Vec<TableOperation>> {
        self.0
            .take_if(|kept| kept.iter().any(|operation| values(operation) > 0))
    }

    pub(super) fn check(&self, operation: &TableOperation) -> Result<()> {
        match values(operation) {
            1.. if !self.is_on() => Err(without_provider(operation)),
            _ => Ok(()),
        }
    }

    /// Returns the least number of bytes by which encryption lengthens the body with this operation.
    pub(super) fn growth(&self, operation: &TableOperation) -> usize {
        let growth = |operation| unsealed(operation).map_or(0, |unsealed| unsealed.bytes().div_ceil(3) * 4);
        self.0.iter().flatten().map(growth).sum::<usize>() + growth(operation)
    }

    pub(super) fn push(&mut self, operation: &TableOperation) {
        if let Some(kept) = &mut self.0 {
            kept.push(operation.copy());
        }
    }
}

/// Checks that all values of these operations are encrypted.
///
/// # Errors
/// - `InvalidInput`: some are not.
pub(crate) fn check_all<'o>(mut operations: impl Iterator<Item = &'o TableOperation>) -> Result<()> {
    operations.try_for_each(|operation| operation.encoded.as_ref().map_or(Ok(()), Encoded::check_sealed))
}

/// Returns the error of an operation whose client has no key provider.
pub(crate) fn without_provider(operation: &TableOperation) -> Error {
    let name = unsealed(operation).and_then(|unsealed| unsealed.values.first());
    let name = name.map_or("", |value| &value.name);
    let (partition_key, row_key) = operation.keys().unwrap_or_default();
    Error::invalid_input(format!(
        "property `{name}`: it is encrypted, and the client has no key provider: set one with `encryption` on the client"
    ))
    .at_entity(partition_key, row_key)
}

/// The data key that encrypts. Without the feature `encryption` no key exists.
#[cfg(not(feature = "encryption"))]
pub(crate) enum SealingKey {}

/// Encrypts nothing, since there is no key.
#[cfg(not(feature = "encryption"))]
pub(crate) fn seal(_: &mut TableOperation, _: &str, key: &SealingKey) -> Result<()> {
    match *key {}
}

#[cfg(feature = "encryption")]
mod enabled {
    use std::collections::HashSet;

    use azure_table_wire::error::Result;
    use azure_table_wire::value::edm::Edm;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use memchr::memmem;

    use super::unsealed;
    use crate::entity::encryption::{MAGIC_BASE64, MAX_HEADER_BASE64, SealingKey, ValuePlace, WrappedKey};
    use crate::entity::property_writer::{MAX_BINARY_BYTES, MAX_ENTITY_BYTES};
    use crate::entity::write_json::extended;
    use crate::write::operation::TableOperation;

    /// Encrypts the values of an operation on this table.
    ///
    /// A value that is too long is no error here: Cosmos DB may accept it.
    pub(crate) fn seal(operation: &mut TableOperation, table: &str, key: &SealingKey) -> Result<()> {
        let Some(values) = unsealed(operation) else {
            return Ok(());
        };
        let (partition_key, row_key) = operation.keys().unwrap_or_default();
        let (mut sealed, mut exceeds, mut size) = (Vec::new(), None, values.entity_size);
        for value in &values.values {
            let place = ValuePlace {
                table,
                partition_key,
                row_key,
                property: &value.name,
            };
            let bytes = key
                .seal(&place, value)
                .map_err(|e| e.at_entity(partition_key, row_key))?;
            if bytes.len() > MAX_BINARY_BYTES {
                exceeds.get_or_insert_with(|| {
                    format!(
                        "property `{}`: it has {} bytes, and {} encrypted, more than the limit of {MAX_BINARY_BYTES}",
                        value.name,
                        value.bytes.len(),
                        bytes.len()
                    )
                });
            }
            size += bytes.len();
            sealed.push((value.name.as_str(), Edm::Binary(bytes.into())));
        }
        if size > MAX_ENTITY_BYTES {
            exceeds.get_or_insert_with(|| {
                format!("the entity has {size} bytes (estimated, encrypted), more than the limit of {MAX_ENTITY_BYTES}")
            });
        }
        let body = extended(operation.body(), sealed);
        if let Ok(encoded) = &mut operation.encoded {
            encoded.complete(&body, exceeds);
        }
        Ok(())
    }

    /// Returns the wrapped data keys of all encrypted values in the JSON of a response, each once, in their order.
    pub(crate) fn keys_in(body: &[u8]) -> Vec<WrappedKey> {
        // Searches only where a JSON string begins, because a text may mention any number of forged keys.
        let begins = |at: &usize| body[..*at].ends_with(b"\"") && !body[..*at].ends_with(b"\\\"");
        let values = memmem::find_iter(body, MAGIC_BASE64).filter(begins);
        let mut seen = HashSet::new();
        let keys = values.filter_map(|at| key_at(&body[at..]));
        keys.filter(|key| seen.insert(key.clone())).collect()
    }

    /// Returns the wrapped key of the value whose base64 begins here.
    fn key_at(text: &[u8]) -> Option<WrappedKey> {
        let text = text.split(|byte| *byte == b'"').next()?;
        let header = &text[..text.len().min(MAX_HEADER_BASE64)];
        if !header.contains(&b'\\') {
            return decoded(header);
        }
        // A server may escape `+` and `/`.
        let quoted = [b"\"", text, b"\""].concat();
        let text: String = serde_json::from_slice(&quoted).ok()?;
        decoded(&text.as_bytes()[..text.len().min(MAX_HEADER_BASE64)])
    }

    fn decoded(text: &[u8]) -> Option<WrappedKey> {
        let whole = &text[..text.len() / 4 * 4];
        WrappedKey::of_value(&STANDARD.decode(whole).ok()?)
    }
}

#[cfg(all(test, feature = "encryption"))]
mod tests {
    use azure_table_wire::value::edm::base64_text;

    use super::*;

    #[test]
    fn keys_are_found_in_json_with_and_without_escapes() {
        // All values of a byte, so that the base64 has `+` and `/`.
        let wrapped: Vec<u8> = (0..=255).collect();
        let value = [&b"aztenc\x01\x00\x00\x01k\x01\x00"[..], &wrapped, &[0; 40]].concat();
        let text = base64_text(&value);
        assert!(text.contains('+') && text.contains('/'));
        for text in [text.clone(), text.replace('/', "\\/"), text.replace('+', "\\u002B")] {
            let body =
                format!("{{\"value\":[{{\"A\":\"{text}\",\"B\":\"{text}\",\"C\":\"YXp0ZW5j\",\"D\":\"YXp0ZW5jAQ");
            let keys = keys_in(body.as_bytes());
            assert_eq!(keys.len(), 1);
            assert_eq!((&*keys[0].key_id, &keys[0].bytes), ("k", &wrapped));
        }
        assert!(keys_in(b"YXp0ZW5j").is_empty() && keys_in(b"").is_empty());
    }
}
