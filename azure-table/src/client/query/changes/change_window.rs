//! The versions that a tail of changes has yielded and that a later poll may return again.

use std::collections::HashMap;

use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::etag::ETag;

use crate::entity::versioned::Versioned;
use crate::key::entity_key::Key;

/// The last yielded version of each row whose Timestamp lies in the overlap.
#[derive(Debug)]
pub(super) struct ChangeWindow<P> {
    versions: HashMap<Key<P>, (ETag, DateTime)>,
}

impl<P> ChangeWindow<P> {
    pub(super) fn new() -> Self {
        let versions = HashMap::new();
        Self { versions }
    }

    /// Returns `true` if this version was not yielded yet, and remembers it if a poll from `from` would return it.
    pub(super) fn is_new(&mut self, key: Key<P>, row: &Versioned<P>, from: DateTime) -> bool {
        if self.versions.get(&key).is_some_and(|(etag, _)| *etag == row.etag) {
            return false;
        }
        if row.timestamp >= from {
            self.versions.insert(key, (row.etag.clone(), row.timestamp));
        }
        true
    }

    /// Forgets the versions that no poll from `from` on returns.
    pub(super) fn forget_before(&mut self, from: DateTime) {
        self.versions.retain(|_, (_, timestamp)| *timestamp >= from);
        // Frees memory after the first poll of a large table, or after a burst of writes.
        if self.versions.capacity() > 4 * self.versions.len() {
            self.versions.shrink_to_fit();
        }
    }

    /// Returns the number of versions that are remembered.
    pub(super) fn len(&self) -> usize {
        self.versions.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(etag: &str, second: i64) -> Versioned<()> {
        Versioned {
            entity: (),
            etag: ETag::new(etag),
            timestamp: at(second),
        }
    }

    fn at(second: i64) -> DateTime {
        DateTime::from_unix_seconds(second)
    }

    #[test]
    fn window_holds_one_version_of_each_row_of_the_overlap() {
        let mut window = ChangeWindow::new();
        let key = |row: &str| Key::from_text("p", row).unwrap();
        assert!(window.is_new(key("1"), &row("a", 100), at(50)));
        assert!(!window.is_new(key("1"), &row("a", 100), at(50)));
        assert!(
            window.is_new(key("1"), &row("b", 90), at(50)),
            "another version, with an earlier Timestamp"
        );
        assert!(
            window.is_new(key("2"), &row("b", 100), at(50)),
            "the same ETag of another row"
        );
        assert!(window.is_new(key("3"), &row("c", 49), at(50)));
        assert_eq!(window.len(), 2, "the third row is before the overlap");
        window.forget_before(at(91));
        assert_eq!(window.len(), 1);
        assert!(!window.is_new(key("2"), &row("b", 100), at(91)));
        window.forget_before(at(101));
        assert_eq!(window.len(), 0);
    }
}
