//! A key provider whose wrapping keys are in the program's memory.

use std::fmt;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::transport::BoxFuture;

use crate::entity::encryption::{DataKey, WrappedKey, unwrap_locally, wrap_locally};
use crate::pipeline::encryption::data_keys::KeyProvider;

/// A [`KeyProvider`] that wraps with keys in the program's memory, for example from a mounted secret, or in a test.
///
/// `Debug` shows the ids of the keys, never the keys.
///
/// ```
/// use azure_table::encryption::{DataKey, LocalKeys};
/// # fn secret(_: &str) -> azure_table::Result<[u8; 32]> { Ok([0; 32]) }
/// let keys = LocalKeys::new("2026-12", DataKey::from_bytes(secret("2026-12")?))   // wraps
///     .also("2026-11", DataKey::from_bytes(secret("2026-11")?));                  // unwraps older rows
/// assert_eq!(format!("{keys:?}"), r#"LocalKeys(["2026-12", "2026-11"])"#);
/// # Ok::<(), azure_table::Error>(())
/// ```
#[derive(Clone)]
pub struct LocalKeys {
    /// The first one wraps.
    keys: Vec<(String, DataKey)>,
}

impl LocalKeys {
    /// Creates a provider that wraps with this key.
    ///
    /// Rows store its id in the clear.
    pub fn new(key_id: impl Into<String>, key: DataKey) -> Self {
        Self {
            keys: vec![(key_id.into(), key)],
        }
    }

    /// Adds an older key, which only unwraps.
    #[must_use]
    pub fn also(mut self, key_id: impl Into<String>, key: DataKey) -> Self {
        self.keys.push((key_id.into(), key));
        self
    }
}

impl KeyProvider for LocalKeys {
    fn wrap<'a>(&'a self, data_key: &'a DataKey) -> BoxFuture<'a, Result<WrappedKey>> {
        let (key_id, key) = &self.keys[0];
        let wrapped = wrap_locally(key_id, key, data_key);
        Box::pin(async { wrapped })
    }

    fn unwrap<'a>(&'a self, wrapped: &'a WrappedKey) -> BoxFuture<'a, Result<DataKey>> {
        let key = self.keys.iter().find(|(key_id, _)| *key_id == wrapped.key_id);
        let unwrapped = match key {
            None => Err(Error::other("LocalKeys has no key of this id")),
            Some((_, key)) => unwrap_locally(key, wrapped).ok_or_else(|| {
                Error::other("the data key does not unwrap: another key had this id, or it was changed")
            }),
        };
        Box::pin(async { unwrapped })
    }
}

impl fmt::Debug for LocalKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&str> = self.keys.iter().map(|(key_id, _)| key_id.as_str()).collect();
        f.debug_tuple("LocalKeys").field(&ids).finish()
    }
}
