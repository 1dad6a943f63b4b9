//! Hashes of RowKeys within a partition, so that sets of rows hold no text.
//!
//! Two rows may have the same hash. Code that needs exact results compares the keys; code that separates rows may
//! separate more than necessary.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

/// A hash of a RowKey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowHash(u64);

/// A set of rows of one partition.
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

/// A hasher that passes a hash through unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    /// Never called: a hash is written as a whole.
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
