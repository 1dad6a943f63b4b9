//! Bulk writes: any number of operations, not atomic, with an outcome for each.
//!
//! [`TableClient::bulk`](crate::TableClient::bulk) groups operations into batches by partition, sends the batches in
//! parallel and adapts to the service's throttling. [`TableClient::update_where`](crate::TableClient::update_where) and
//! its siblings write the rows of a query the same way.
//!
//! | type | use |
//! |---|---|
//! | [`BulkWrite`], [`BulkOutcomes`] | a running bulk: await the report, or read the outcomes one by one |
//! | [`AppliedOperation`], [`Leftover`], [`LeftoverReason`] | the outcome of one operation |
//! | [`Interrupted`] | the error of a bulk that stopped early, with its report |
//! | [`Report`], [`SourceProgress`], [`QueryProgress`] | the outcome of all writes of a call, and how far it got |
//! | [`UpdateWhere`], [`PatchWhere`], [`DeleteWhere`], [`UpgradeWhere`] | writes by query |
//! | [`Atomic`] | a write by query in one transaction |
//! | [`UpdatableRow`] | the rows that `update_where` changes: entities and projections |
//! | [`BulkEntity`] | the entities that a bulk accepts: plain, versioned, owned or borrowed |
//! | [`WriteReport`], [`WritePosition`] | the report of writes by query, and the position to resume from |
//!
//! # Examples
//!
//! ```
//! use azure_table::{Emulator, TableEntity, TableServiceClient};
//!
//! #[derive(TableEntity)]
//! struct Reading {
//!     #[table(partition_key)]
//!     sensor: String,
//!     #[table(row_key)]
//!     number: u32,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> azure_table::Result<()> {
//! let table = TableServiceClient::from_transport(Emulator::new()).table::<Reading>("Readings")?;
//! table.create_table().await?;
//! let readings = (0..1_000).map(|number| Reading { sensor: format!("s{}", number % 3), number });
//! let report = table.bulk().insert(readings).await?;
//! assert_eq!(report.applied(), 1_000);
//! # Ok(())
//! # }
//! ```
//!
//! More: [the guide to batches](crate::guide::batches).

pub use crate::client::batching::outcome::bulk_report::{AppliedOperation, SourceProgress};
pub use crate::client::batching::outcome::interrupted::Interrupted;
pub use crate::client::batching::outcome::leftover::{Leftover, LeftoverReason};
pub use crate::client::batching::outcome::report::Report;
pub use crate::client::batching::outcome::write_position::WritePosition;
pub use crate::client::batching::outcome::write_report::{QueryProgress, WriteReport};
pub use crate::client::batching::source::atomic::Atomic;
pub use crate::client::batching::source::bulk_entity::BulkEntity;
pub use crate::client::batching::source::bulk_write::{BulkOutcomes, BulkWrite};
pub use crate::client::batching::source::query_write_builders::{DeleteWhere, PatchWhere, UpdateWhere, UpgradeWhere};
pub use crate::filter::projection::UpdatableRow;
