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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowShows {
    pub(super) about_write: AboutWrite,
    /// The row does not have the ETag that the write requires. An ETag never returns, so the write can't be applied
    /// any more.
    pub(super) has_lost_etag: bool,
}

/// What a row shows about the write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AboutWrite {
    /// It has the write's id. `is_unshared`: no other call sent the same id.
    HasWriteId { is_unshared: bool },
    /// It has the ETag that the write requires, and every write changes the ETag.
    HasRequiredETag,
    /// It was last written before the write was sent.
    IsOlder,
    /// It has the written content, and was written while the write may have arrived.
    HasContent,
    /// It is missing, and the write deletes any version of it.
    IsDeleted,
    /// It shows neither that the write was applied, nor that it was not. The text says why.
    Nothing(String),
}

impl AboutWrite {
    /// Returns `true` if the row is as the write leaves it.
    pub(super) fn is_written(&self) -> bool {
        matches!(self, Self::HasWriteId { .. } | Self::HasContent)
    }
}

/// Returns what a row shows about a write to it.
pub(super) fn shows(partition_key: &str, write: &RowParts, row: ReadRow<'_>, sent: &SentTime) -> RowShows {
    let nothing = |why: &str| AboutWrite::Nothing(format!("the row {:?} {why}", (partition_key, &write.row_key)));
    let has_required = |row: &DynamicEntity| is_same_etag(write.if_match.as_ref(), row.etag.as_ref());
    let about_write = match row {
        ReadRow::Unread => nothing("was not read: too many other rows are stored before it"),
        // Of two writers that delete one version, only one succeeds.
        ReadRow::Missing if write.is_delete && write.if_match.is_none() => AboutWrite::IsDeleted,
        ReadRow::Missing => nothing("is missing: another writer may have deleted it, or it was never written"),
        ReadRow::Stored(row) if has_required(row) => AboutWrite::HasRequiredETag,
        ReadRow::Stored(row) => about_other_version(write, row, sent).unwrap_or_else(nothing),
    };
    RowShows {
        has_lost_etag: write.if_match.is_some()
            && !matches!(row, ReadRow::Unread)
            && about_write != AboutWrite::HasRequiredETag,
        about_write,
    }
}

/// Returns what a row shows that does not have the required ETag, if the write requires one; or why it shows nothing.
fn about_other_version(write: &RowParts, row: &DynamicEntity, sent: &SentTime) -> Result<AboutWrite, &'static str> {
    let is_id = |value: &EdmValue| write.write_id.is_some_and(|id| *value == EdmValue::Guid(id));
    if row.properties.values().any(is_id) {
        let is_unshared = write.is_unshared;
        return Ok(AboutWrite::HasWriteId { is_unshared });
    }
    // A merge keeps other properties.
    let has_content = write.hash.is_some() && hash(row, write.merged.as_deref()) == write.hash;
    match row.timestamp.map_or(Age::Unclear, |written| sent.age(written)) {
        Age::Older => Ok(AboutWrite::IsOlder),
        // Two writers that increment the same counter write the same content, and only one of them succeeded.
        Age::Within if has_content && write.write_id.is_none() && !write.needs_write_id => Ok(AboutWrite::HasContent),
        _ if has_content => Err(
            "has the written content, and another write may have left the same; add a `write_id` field to distinguish \
             them",
        ),
        _ if write.write_id.is_some() => Err("has the id of another write, which may have come after this one"),
        Age::Undated => Err(
            "has other content, which may be older or newer: no response showed the service's clock to another process",
        ),
        _ => Err("has other content, which may have been written after this write"),
    }
}

/// Compares two ETags, if there is one. A user may have decoded the colons of a Timestamp in it.
fn is_same_etag(a: Option<&ETag>, b: Option<&ETag>) -> bool {
    let decoded = |etag: Option<&ETag>| Some(etag?.as_str().replace("%3A", ":").replace("%3a", ":"));
    a.is_some() && decoded(a) == decoded(b)
}
