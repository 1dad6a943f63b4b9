//! ETags and the conditions made of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of an entity, as the service wrote it.
///
/// Opaque: compare it, send it back, never build one from a Timestamp.
/// Source: REST "Insert Entity", header `ETag`; `odata.etag` in the JSON of reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ETag(Box<str>);

impl ETag {
    /// An ETag from text that was stored earlier.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// The text, quotes included.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a replace, merge or delete demands of the stored entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It exists, whatever its version (`If-Match: *`).
    Exists,
    /// It is the version that was read (`If-Match: <etag>`).
    Matches(ETag),
    /// The entity declares an ETag field that is empty: an error before anything is sent, unless the call says
    /// `unconditionally()`.
    Unread,
}
