//! The result of a write that was read back and found applied: the rows in place of the lost response.

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::value::edm::EdmValue;
use bytes::Bytes;

use crate::entity::dynamic::{DynamicEntity, is_same};
use crate::entity::read_json;
use crate::entity::row::context::RowContext;
use crate::entity::table_entity::ReadEntity;
use crate::pipeline::lost_write::outcome::Resolution;
use crate::pipeline::lost_write::reading::Shown;
use crate::write::row_write::{RowWrite, WrittenRow};

impl Shown<'_> {
    /// Returns the written rows of these writes, in order, if they were applied.
    pub(crate) fn written(&self, writes: &[RowWrite<'_>]) -> Vec<WrittenRow> {
        if self.resolution != Resolution::Applied {
            return Vec::new();
        }
        let rows = writes.iter().zip(&self.applied);
        rows.map(|(write, row)| row.map_or_else(WrittenRow::default, |row| written(write, row)))
            .collect()
    }
}

/// Returns the written row from a stored one that shows that its write was applied.
///
/// Another writer may have patched the row since, which keeps its id and the values of a merge. A later write under its
/// ETag would then undo the patch, so only a row that has nothing else returns its ETag.
fn written(write: &RowWrite<'_>, row: &DynamicEntity) -> WrittenRow {
    let sent = read_json::entity(write.body, MetadataLevel::Minimal, None, DynamicEntity::read);
    let is_unchanged = sent.is_ok_and(|sent| has_same(row, &sent));
    let etag = row.etag.as_ref().filter(|_| is_unchanged);
    WrittenRow {
        etag: etag.map(|etag| etag.as_str().to_owned()),
        entity: write
            .facts
            .is_echoed
            .then(|| Bytes::from(serde_json::to_vec(row).unwrap_or_default())),
        context: RowContext::default(),
    }
}

/// Returns `true` if the row has the properties that were sent, and no others.
fn has_same(row: &DynamicEntity, sent: &DynamicEntity) -> bool {
    let has = |name: &str, value: &EdmValue| row.properties.get(name).is_some_and(|stored| is_same(stored, value));
    row.properties.len() == sent.properties.len() && sent.properties.iter().all(|(name, value)| has(name, value))
}
