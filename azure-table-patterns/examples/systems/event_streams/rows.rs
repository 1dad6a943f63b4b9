//! The rows of a stream. `event_streams.rs` has their table.

use std::collections::BTreeMap;

use azure_table::{EdmValue, Guid, PropertyGroup, TableEntity};

/// Named values without a schema, such as those that an application keeps about a stream.
pub type Metadata = BTreeMap<String, EdmValue>;

#[derive(TableEntity, Clone, Debug)]
#[table(row_key = "{prefix}SS-HEAD")]
pub(super) struct Header {
    #[table(partition_key)]
    pub(super) partition: String,
    pub(super) prefix: String,
    #[table(rename = "Version")]
    pub(super) version: i32,
    #[table(write_id, rename = "Write")]
    pub(super) write: Option<Guid>,
    #[table(extra)]
    pub(super) metadata: Metadata,
}

#[derive(TableEntity, Clone, Debug)]
#[table(row_key = "{prefix}SS-SE-{number:010}")]
pub(super) struct EventRow<E: PropertyGroup> {
    #[table(partition_key)]
    pub(super) partition: String,
    pub(super) prefix: String,
    pub(super) number: u32,
    #[table(rename = "Version")]
    pub(super) version: i32,
    #[table(flatten)]
    pub(super) data: E,
}

#[derive(TableEntity, Clone, Debug)]
#[table(row_key = "{prefix}SS-UID-{id}")]
pub(super) struct IdRow {
    #[table(partition_key)]
    pub(super) partition: String,
    pub(super) prefix: String,
    pub(super) id: String,
    #[table(rename = "Version")]
    pub(super) version: i32,
}
