//! The beginning of a key, and the position of the rows under it among all others.
//!
//! Defines [`KeyStart`] and [`Start`], which `key_shape.rs` builds from fields and `prefix.rs` from texts.
//! `client/query/key_condition.rs` builds the condition of a query.

use std::cmp::Ordering;

use azure_table_wire::value::ordinal;

/// The beginning of the keys of rows: fields from the left, or texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyStart {
    pub partition_key: Start,
    /// `None` while the PartitionKey is incomplete.
    pub row_key: Option<Start>,
}

/// The beginning of a key, or a whole key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Whole(String),
    Prefix(String),
}

impl Start {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Prefix(text) => text,
        }
    }

    /// Compares the ends of both. A prefix ends after all texts that begin with it.
    fn end_cmp(&self, other: &Self) -> Ordering {
        let (text, another) = (self.text(), other.text());
        match (self, other) {
            (Self::Prefix(_), Self::Prefix(_)) if text == another => Ordering::Equal,
            (Self::Prefix(_), _) if another.starts_with(text) => Ordering::Greater,
            (_, Self::Prefix(_)) if text.starts_with(another) => Ordering::Less,
            _ => ordinal::compare(text, another),
        }
    }
}

impl KeyStart {
    /// Returns the smallest PartitionKey and RowKey under it.
    pub(crate) fn first(&self) -> (&str, &str) {
        let row_key = self.row_key.as_ref().map_or("", Start::text);
        (self.partition_key.text(), row_key)
    }

    /// Compares the first rows of both.
    pub(crate) fn first_cmp(&self, other: &Self) -> Ordering {
        let ((partition_key, row_key), (other_partition, other_row)) = (self.first(), other.first());
        ordinal::compare(partition_key, other_partition).then_with(|| ordinal::compare(row_key, other_row))
    }

    /// Compares the last rows of both.
    pub(crate) fn end_cmp(&self, other: &Self) -> Ordering {
        let rows = || match (&self.row_key, &other.row_key) {
            (Some(row_key), Some(another)) => row_key.end_cmp(another),
            // Without a RowKey it covers all rows of the partitions.
            (row_key, another) => another.is_some().cmp(&row_key.is_some()),
        };
        self.partition_key.end_cmp(&other.partition_key).then_with(rows)
    }

    /// Returns `true` if all rows under it are before the first one of `other`.
    pub(crate) fn ends_before(&self, other: &Self) -> bool {
        let (partition_key, row_key) = other.first();
        let first = Self {
            partition_key: Start::Whole(partition_key.to_owned()),
            row_key: Some(Start::Whole(row_key.to_owned())),
        };
        self.end_cmp(&first).is_lt()
    }
}

#[cfg(test)]
mod tests {
    use Start::{Prefix, Whole};

    use super::*;

    fn start(partition_key: Start, row_key: Option<Start>) -> KeyStart {
        KeyStart { partition_key, row_key }
    }

    #[test]
    fn end_of_a_prefix_is_after_all_rows_that_begin_with_it() {
        let p = || Whole("p".into());
        for (less, greater) in [
            (Whole("e1".into()), Prefix("e1".into())),
            (Whole("e10".into()), Prefix("e1".into())),
            (Prefix("e1_".into()), Prefix("e1".into())),
            (Prefix("e10".into()), Prefix("e2".into())),
            (Whole("z".into()), Prefix(String::new())),
        ] {
            let (less, greater) = (start(p(), Some(less)), start(p(), Some(greater)));
            assert_eq!(less.end_cmp(&greater), Ordering::Less, "{less:?} {greater:?}");
            assert_eq!(greater.end_cmp(&less), Ordering::Greater, "{less:?} {greater:?}");
            assert_eq!(less.end_cmp(&less), Ordering::Equal);
        }
        let (partition, partitions) = (start(p(), Some(Prefix(String::new()))), start(Prefix("p".into()), None));
        assert_eq!(partition.end_cmp(&partitions), Ordering::Less);
    }

    #[test]
    fn a_range_is_reversed_if_it_ends_before_its_first_row() {
        let p = |row_key| start(Whole("p".into()), Some(row_key));
        assert!(p(Whole("a".into())).ends_before(&p(Whole("b".into()))));
        assert!(!p(Whole("a".into())).ends_before(&p(Whole("a".into()))));
        assert!(!p(Prefix("a".into())).ends_before(&p(Whole("a1".into()))));
        assert!(!p(Prefix(String::new())).ends_before(&p(Whole("z".into()))));
        assert!(start(Prefix("o".into()), None).ends_before(&p(Whole(String::new()))));
    }
}
