//! The texts of an entity's two keys.
//!
//! Owns [`KeyTexts`]. Who makes them of fields is `key_shape.rs`; [`Key`](crate::Key) says of which entity they are.

use std::cell::Cell;

thread_local! {
    /// Memory of keys that are not needed any more: keys are made for each entity that is written. They have at most 6
    /// KiB.
    static SPARE: Cell<[String; 2]> = const { Cell::new([String::new(), String::new()]) };
}

/// Enough for most pairs of keys, in bytes: memory for as many is reserved at once.
const USUAL_KEYS: usize = 64;

/// An empty text, with memory of an earlier one.
pub(crate) fn spare() -> String {
    let take = |spare: &Cell<[String; 2]>| {
        let [first, second] = spare.take();
        spare.set([second, String::new()]);
        first
    };
    // At the end of a thread there is none.
    SPARE.try_with(take).unwrap_or_default()
}

/// Gives the memory of a text to later ones.
pub(crate) fn give_back(mut text: String) {
    text.clear();
    let _ = SPARE.try_with(|spare| {
        let [first, _] = spare.take();
        spare.set([text, first]);
    });
}

/// PartitionKey and RowKey, in one piece of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyTexts {
    text: String,
    /// Where the RowKey begins, once the PartitionKey is whole.
    row_key: Option<usize>,
}

impl KeyTexts {
    /// Both empty, and the PartitionKey to be written first.
    pub(crate) fn begun() -> Self {
        let mut text = spare();
        text.reserve(USUAL_KEYS);
        Self { text, row_key: None }
    }

    /// Both, copied.
    pub(crate) fn new(partition_key: &str, row_key: &str) -> Self {
        Self {
            text: [partition_key, row_key].concat(),
            row_key: Some(partition_key.len()),
        }
    }

    /// Gives its memory to later ones.
    pub(crate) fn done(self) {
        give_back(self.text);
    }

    /// The text of the PartitionKey until that is whole, then of both.
    pub(crate) fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// What comes now is the RowKey's.
    pub(crate) fn end_partition_key(&mut self) {
        self.row_key.get_or_insert(self.text.len());
    }

    /// PartitionKey and RowKey.
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
