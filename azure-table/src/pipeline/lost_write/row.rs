//! What one stored row shows about a write to it.

use azure_table_wire::error::in_doubt_write::parts::RowParts;
use azure_table_wire::value::edm::EdmValue;
use azure_table_wire::value::etag::ETag;

use crate::entity::dynamic::DynamicEntity;
use crate::pipeline::lost_write::facts::hash;
use crate::pipeline::lost_write::sent_time::{Age, SentTime};

/// A row as it was read.
#[derive(Clone, Copy, Debug)]
pub(super) enum ReadRow<'a> {
    Stored(&'a DynamicEntity),
    Missing,
    /// It is behind too many other rows.
    Unread,
}

/// What a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowShows {
    pub(super) about_write: AboutWrite,
    /// The row does not have the ETag that the write requires. An ETag never returns, so the write can't be applied
    /// any more.
    pub(super) has_lost_etag: bool,
}

/// What a row shows about the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AboutWrite {
    /// It has the write's id. `is_unshared`: no other call sent the same id.
    HasWriteId { is_unshared: bool },
    /// It has the ETag that the write requires, and every write changes the ETag.
    HasRequiredETag,
    /// It was last written before the write was sent.
    IsOlder,
    /// It has the written content, and was written while the write may have arrived.
    HasContent,
    /// It is missing, and the write deletes it.
    IsDeleted,
    /// It shows neither that the write was applied, nor that it was not.
    Nothing(Why),
}

/// Why a row shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Missing,
    Unread,
    SameContent,
    OtherWriteId,
    Undated,
    OtherContent,
}

impl AboutWrite {
    /// Returns `true` if the row is as the write leaves it.
    pub(super) fn is_written(self) -> bool {
        matches!(self, Self::HasWriteId { .. } | Self::HasContent)
    }
}

/// Returns what a row shows about a write to it.
pub(super) fn shows(write: &RowParts, row: ReadRow<'_>, sent: &SentTime) -> RowShows {
    let has_required = |row: &DynamicEntity| match (&write.if_match, &row.etag) {
        (Some(required), Some(stored)) => is_same_etag(required, stored),
        _ => false,
    };
    let about_write = match row {
        ReadRow::Unread => AboutWrite::Nothing(Why::Unread),
        ReadRow::Missing if write.is_delete => AboutWrite::IsDeleted,
        ReadRow::Missing => AboutWrite::Nothing(Why::Missing),
        ReadRow::Stored(row) if has_required(row) => AboutWrite::HasRequiredETag,
        ReadRow::Stored(row) => about_other_version(write, row, sent),
    };
    RowShows {
        about_write,
        has_lost_etag: write.if_match.is_some()
            && !matches!(row, ReadRow::Unread)
            && about_write != AboutWrite::HasRequiredETag,
    }
}

/// Returns what a row shows that does not have the required ETag, if the write requires one.
fn about_other_version(write: &RowParts, row: &DynamicEntity, sent: &SentTime) -> AboutWrite {
    let is_id = |value: &EdmValue| write.write_id.is_some_and(|id| *value == EdmValue::Guid(id));
    if row.properties.values().any(is_id) {
        let is_unshared = write.is_unshared;
        return AboutWrite::HasWriteId { is_unshared };
    }
    let age = row.timestamp.map_or(Age::Unclear, |written| sent.age(written));
    // Two writers that increment the same counter write the same content, and only one of them succeeded.
    let shows_content = write.write_id.is_none() && !write.needs_write_id;
    match age {
        Age::Older => AboutWrite::IsOlder,
        Age::Within if shows_content && has_content(write, row) => AboutWrite::HasContent,
        _ if has_content(write, row) => AboutWrite::Nothing(Why::SameContent),
        _ if write.write_id.is_some() => AboutWrite::Nothing(Why::OtherWriteId),
        _ if sent.is_undated() => AboutWrite::Nothing(Why::Undated),
        _ => AboutWrite::Nothing(Why::OtherContent),
    }
}

/// Returns `true` if the row has the content that a write leaves: a merge keeps other properties.
fn has_content(write: &RowParts, row: &DynamicEntity) -> bool {
    write.hash.is_some() && hash(row, write.merged.as_deref()) == write.hash
}

/// Compares two ETags. A user may have decoded the colons of a Timestamp in it.
fn is_same_etag(a: &ETag, b: &ETag) -> bool {
    let decoded = |etag: &ETag| etag.as_str().replace("%3A", ":").replace("%3a", ":");
    a == b || decoded(a) == decoded(b)
}

impl Why {
    /// Returns the reason in a sentence about the row with this key.
    pub(super) fn describe(self, key: (&str, &str)) -> String {
        let why = match self {
            Self::Missing => "is missing: it was never written, or it was deleted since",
            Self::Unread => "was not read: too many other rows are stored before it",
            Self::SameContent => {
                "has the written content, and another write may have left the same; add a `write_id` field to \
                 distinguish them"
            }
            Self::OtherWriteId => "has the id of another write, which may have come after this one",
            Self::Undated => {
                "has other content, which may be older or newer: no response showed the service's clock to another \
                 process"
            }
            Self::OtherContent => "has other content, which may have been written after this write",
        };
        format!("the row {key:?} {why}")
    }
}
