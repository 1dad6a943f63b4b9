//! What a single operation does.

/// The kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
// A word wide: an operation is handed on in whole words then, which is faster than to copy a byte and what is around it.
#[repr(usize)]
pub enum OperationKind {
    /// Make a new entity; fails if it exists.
    Insert,
    /// Put the entity in the place of the stored one; fails if there is none.
    Replace,
    /// Write the entity's properties into the stored one; fails if there is none.
    Merge,
    /// Make the entity or put it in the place of the stored one.
    InsertOrReplace,
    /// Make the entity or write its properties into the stored one.
    InsertOrMerge,
    /// Remove the entity; fails if there is none.
    Delete,
    /// Read the entity.
    Retrieve,
}

impl OperationKind {
    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Replace => "replace",
            Self::Merge => "merge",
            Self::InsertOrReplace => "insert or replace",
            Self::InsertOrMerge => "insert or merge",
            Self::Delete => "delete",
            Self::Retrieve => "retrieve",
        }
    }

    /// Whether it demands something of a stored entity, and so sends `If-Match`. Without it the service would insert.
    pub(crate) const fn is_conditional(self) -> bool {
        matches!(self, Self::Replace | Self::Merge | Self::Delete)
    }
}
