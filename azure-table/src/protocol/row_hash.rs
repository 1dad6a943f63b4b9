//! Rows of a partition by a hash of their RowKey, so that sets of them hold no text.
//!
//! Two rows may have one hash: who must know compares the keys; who keeps rows apart keeps those apart as well.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

/// A hash of a RowKey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowHash(u64);

/// Some rows of a partition.
pub(crate) type RowHashes = HashSet<RowHash, BuildHasherDefault<AsItIs>>;

impl RowHash {
    pub(crate) fn of(row_key: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(row_key.as_bytes());
        Self(hasher.finish())
    }
}

impl Hash for RowHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

/// What is a hash is not hashed again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// Of nothing else: a hash is written as a whole.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
