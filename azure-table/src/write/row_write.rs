//! A write of one row: the request and the row that it left.
//!
//! Defines [`RowWrite`], the facts that decide whether a write in doubt was applied, and [`WrittenRow`]. The
//! outcome is decided in `pipeline/lost_write`, the writes of a call are in `operation_request.rs`.

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::value::etag::ETag;
use azure_table_wire::value::guid::Guid;
use bytes::Bytes;

use crate::entity::row::context::RowContext;

/// A write of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowWrite<'a> {
    pub kind: OperationKind,
    pub partition_key: &'a str,
    pub row_key: &'a str,
    /// The entity as JSON; empty for a delete.
    pub body: &'a [u8],
    /// The value of the entity's `write_id` field.
    pub write_id: Option<Guid>,
    /// The ETag that the stored row must have, unless any will do.
    pub if_match: Option<&'a ETag>,
    pub facts: WriteFacts,
}

/// The other facts of a write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteFacts {
    /// The response must contain the entity.
    pub is_echoed: bool,
    /// Only its write id can show that it was applied: others may write the same content.
    pub needs_write_id: bool,
    /// No other call has sent its write id. The id therefore shows that its batch was applied.
    pub is_unshared: bool,
}

/// The contents of a lost response to a write of a row; empty for a deleted row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenRow {
    pub etag: Option<String>,
    /// The entity as JSON at minimal metadata, if it was requested.
    pub entity: Option<Bytes>,
    pub context: RowContext,
}

/// Returns `true` if the operation requires a stored entity, and so sends `If-Match`. Without it the service would
/// insert.
pub(crate) const fn is_conditional(kind: OperationKind) -> bool {
    matches!(
        kind,
        OperationKind::Replace | OperationKind::Merge | OperationKind::Delete
    )
}
