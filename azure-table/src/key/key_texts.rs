//! The texts of an entity's two keys.
//!
//! Defines [`KeyTexts`]. `key_shape.rs` builds them from fields; a [`Key`](crate::Key) adds the type
//! of the entity.

use std::cell::Cell;
use std::fmt;

thread_local! {
    /// Reusable memory for keys, since the client builds the keys of each entity that it writes. It has at most 6 KiB.
    static SPARE: Cell<[String; 2]> = const { Cell::new([String::new(), String::new()]) };
}

/// The initial capacity in bytes, enough for most pairs of keys.
const USUAL_KEYS: usize = 64;

/// Returns an empty text that reuses the memory of an earlier one.
pub(crate) fn spare() -> String {
    let take = |spare: &Cell<[String; 2]>| {
        let [first, second] = spare.take();
        spare.set([second, String::new()]);
        first
    };
    // The thread is ending, so nothing can be reused.
    SPARE.try_with(take).unwrap_or_default()
}

/// Keeps the memory of a text for later ones.
pub(crate) fn give_back(mut text: String) {
    text.clear();
    let _ = SPARE.try_with(|spare| {
        let [first, _] = spare.take();
        spare.set([text, first]);
    });
}

/// PartitionKey and RowKey in one allocation.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct KeyTexts {
    text: String,
    /// The start of the RowKey, once the PartitionKey is complete.
    row_key: Option<usize>,
}

impl fmt::Debug for KeyTexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pair().fmt(f)
    }
}

impl KeyTexts {
    /// Creates two empty keys. The PartitionKey is written first.
    pub(crate) fn started() -> Self {
        let mut text = spare();
        text.reserve(USUAL_KEYS);
        Self { text, row_key: None }
    }

    /// Creates the keys from copies.
    pub(crate) fn new(partition_key: &str, row_key: &str) -> Self {
        Self {
            text: [partition_key, row_key].concat(),
            row_key: Some(partition_key.len()),
        }
    }

    /// Keeps the memory for later keys.
    pub(crate) fn done(self) {
        give_back(self.text);
    }

    /// Returns the text to append to: the PartitionKey so far, or both keys once the PartitionKey is complete.
    pub(crate) fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// Ends the PartitionKey. All text after it belongs to the RowKey.
    pub(crate) fn end_partition_key(&mut self) {
        self.row_key.get_or_insert(self.text.len());
    }

    /// Returns the PartitionKey and the RowKey.
    pub(crate) fn pair(&self) -> (&str, &str) {
        self.text.split_at(self.row_key.unwrap_or(self.text.len()))
    }

    pub(crate) fn partition_key(&self) -> &str {
        self.pair().0
    }

    pub(crate) fn row_key(&self) -> &str {
        self.pair().1
    }

    pub(crate) fn into_pair(mut self) -> (String, String) {
        let row_key = self.row_key.unwrap_or(self.text.len());
        let row_key = self.text.split_off(row_key);
        (self.text, row_key)
    }
}
