//! The keys of a stored entity, in the order of the service.

use std::cmp::Ordering;

use crate::value::ordinal;

/// The keys of a row; ordered as the service orders rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowId {
    pub partition_key: Box<str>,
    pub row_key: Box<str>,
}

impl RowId {
    pub fn new(partition_key: impl Into<Box<str>>, row_key: impl Into<Box<str>>) -> Self {
        Self {
            partition_key: partition_key.into(),
            row_key: row_key.into(),
        }
    }
}

impl Ord for RowId {
    fn cmp(&self, other: &Self) -> Ordering {
        ordinal::compare(&self.partition_key, &other.partition_key)
            .then_with(|| ordinal::compare(&self.row_key, &other.row_key))
    }
}

impl PartialOrd for RowId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
