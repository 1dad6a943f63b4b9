//! Tables of serde structs.
//!
//! This file has the handle that writes exact types, and lets a bulk write references. `entity/serde_entity.rs` is the
//! entity itself.

use serde::Serialize;

use crate::client::batching::source::bulk_entity::BulkEntity;
use crate::client::table_handle::TableClient;
use crate::entity::serde_entity::{AnnotatedEntity, SerdeEntity};

impl<T: Serialize> TableClient<SerdeEntity<T>> {
    /// Returns a handle to the same table that writes serde structs with exact EDM types.
    ///
    /// It writes `i64`, `u32` and `u64` as Edm.Int64, and bytes as Edm.Binary, each with its type annotation.
    /// [`SerdeEntity`] lists all types.
    ///
    /// Both handles accept `SerdeEntity(value)` and read rows in either form. Each writes its own form.
    ///
    /// Write plain rows if programs with `azure_data_tables` 0.21 read the table. They would receive an Edm.Int64 as
    /// text where they expect a number.
    ///
    /// ```
    /// use azure_table::entity::SerdeEntity;
    /// use azure_table::{Emulator, TableServiceClient};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Video {
    ///     #[serde(rename = "PartitionKey")]
    ///     channel: String,
    ///     #[serde(rename = "RowKey")]
    ///     id: String,
    ///     views: i64,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// let service = TableServiceClient::from_transport(Emulator::new());
    /// let videos = service.table::<SerdeEntity<Video>>("Videos")?.annotated();
    /// # videos.create_table().await?;
    /// videos.insert(&SerdeEntity(Video { channel: "c".into(), id: "1".into(), views: 3_000_000_000 })).await?;
    /// videos.modify(("c", "1"), |video| video.views += 1).await?;
    /// assert_eq!(videos.get(("c", "1")).await?.unwrap().views, 3_000_000_001);
    /// # Ok(())
    /// # }
    /// ```
    pub fn annotated(&self) -> TableClient<AnnotatedEntity<T>> {
        self.typed()
    }
}

/// Writes the value without cloning it.
#[diagnostic::do_not_recommend]
impl<T: Serialize, const ANNOTATED: bool> BulkEntity<SerdeEntity<T, ANNOTATED>> for SerdeEntity<&T, ANNOTATED> {
    type Written = Self;

    fn written(&self) -> &Self {
        self
    }
}
