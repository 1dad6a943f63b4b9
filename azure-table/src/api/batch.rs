//! Entity group transactions: up to 100 operations on one partition, applied together or not at all.
//!
//! A [`TableBatch`](crate::TableBatch) checks every operation that you add, and hands back one that breaks a rule.
//!
//! | item | use |
//! |---|---|
//! | [`RejectedOperation`] | the operation that broke a rule, to put into the next batch |
//! | [`BatchRule`] | the service's rules for a batch |
//! | [`MAX_BATCH_OPERATIONS`] | the maximum number of operations in a batch |
//!
//! # Examples
//!
//! ```
//! use azure_table::batch::BatchRule;
//! use azure_table::{Emulator, TableEntity, TableServiceClient};
//!
//! #[derive(TableEntity)]
//! struct Blog {
//!     #[table(partition_key)]
//!     channel: String,
//!     #[table(row_key)]
//!     id: String,
//! }
//!
//! # fn main() -> azure_table::Result<()> {
//! let blogs = TableServiceClient::from_transport(Emulator::new()).table::<Blog>("Blogs")?;
//! let blog = |channel: &str, id: &str| Blog { channel: channel.into(), id: id.into() };
//! let mut batch = blogs.batch();
//! batch.insert(&blog("Channel9", "1"))?.insert(&blog("Channel9", "2"))?;
//! let rejected = batch.insert(&blog("Channel5", "3")).unwrap_err();
//! assert_eq!(rejected.rule(), BatchRule::OnePartition);
//! # Ok(())
//! # }
//! ```
//!
//! More: [the guide to batches](crate::guide::batches).

pub use crate::write::batch::{BatchRule, MAX_BATCH_OPERATIONS, RejectedOperation};
