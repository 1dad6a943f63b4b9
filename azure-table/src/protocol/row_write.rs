//! A write of one row: what was sent, and what it left behind.
//!
//! Owns [`RowWrite`], the facts that decide whether a lost write was applied, and [`WrittenRow`]. The verdict is
//! `read_back.rs`, the writes of a call are `request.rs`.

use bytes::Bytes;

use crate::model::guid::Guid;
use crate::model::operation_kind::OperationKind;

/// What a write does to a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowWrite<'a> {
    pub(crate) kind: OperationKind,
    pub(crate) partition_key: &'a str,
    pub(crate) row_key: &'a str,
    /// The entity as JSON; empty of a delete.
    pub(crate) body: &'a [u8],
    /// What the entity's `write_id` field was given.
    pub(crate) write_id: Option<Guid>,
    pub(crate) facts: WriteFacts,
}

/// The rest of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteFacts {
    /// Whether its answer was to have the entity.
    pub(crate) is_echoed: bool,
    /// Whether it is for one version of the row: a condition on an ETag.
    pub(crate) is_of_one_version: bool,
    /// Whether only its write id can show that it was applied: others may write the same content.
    pub(crate) needs_write_id: bool,
}

/// What the answer to a write would have said of a row; nothing of one that was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenRow {
    pub(crate) etag: Option<String>,
    /// As JSON, at minimal metadata, if it was asked for.
    pub(crate) entity: Option<Bytes>,
}
