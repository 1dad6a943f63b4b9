//! Coordination through the rows of Azure Table storage: patterns that many services implement by hand.
//!
//! The crate uses only the public interface of the client, [`azure_table`], so your own patterns can be built the same
//! way.
//!
//! | pattern | promise |
//! |---|---|
//! | [`Fence`] | all batches of a partition in one order, none based on a stale state |
//! | [`Revision`] | snapshots of a partition: rows of several pages from one moment, with or without a fence |
//! | [`Leases`], [`Lease`], [`LeaseEntry`] | at most one holder at a time, with a token that orders their writes |
//! | [`Log`], [`LogReader`], [`LogStream`] | on Table storage: events in one order without gaps, keys applied once |
//! | [`Queue`], [`Item`] | work items, delivered to one worker at a time until one completes them |
//! | [`Sequence`] | numbers that are never returned twice |
//! | [`UniqueInTable`] | at most one entity of a table has a value |
//! | [`Indexed`], [`IndexQuery`] | declared indexes that always agree with their entities; unique values |
//! | [`IndexBuild`], [`IndexFaults`], [`IndexFault`] | the results of building an index and of checking its rows |
//! | [`remove_index`] | deletes the last index of a type |
//! | [`Grouped`], [`GroupedError`] | single writes of many tasks, sent in batches |
//! | [`Changes`], [`ChangeStream`], [`ChangePosition`] | inserted and updated rows, in their last version |
//! | [`ChangeProgress`] | the progress of a [`ChangeStream`] |
//! | [`Expiring`] | no row is read after its deadline; a sweep deletes it |
//! | [`TablePerPeriod`] | a table for each month or day, dropped as a whole |
//!
//! Tests run each pattern in every order of its requests and, unless that takes hours, with a lost request or response
//! too ([`explorations`](azure_table::guide::explorations)). A pattern's page states the requests and entities of each
//! operation, and the effects of a crash.
//!
//! The guide [`patterns`](crate::guide::patterns) helps you choose one. [`indexes`](crate::guide::indexes) shows how to
//! declare, build and change indexes, [`systems`](crate::guide::systems) how known systems are built on tables.
//!
//! ```
//! use azure_table_patterns::Sequence;
//! use azure_table::{Emulator, TableServiceClient};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> azure_table::Result<()> {
//! let service = TableServiceClient::from_transport(Emulator::new());
//! let numbers = service.dynamic_table("Numbers")?;
//! numbers.create_table().await?;
//!
//! let mut invoices = Sequence::new(&numbers, "sequences", "invoice").block(100);
//! assert_eq!((invoices.next().await?, invoices.next().await?), (1, 2));
//! # Ok(())
//! # }
//! ```

mod changes;
mod conflict;
mod expiry;
mod fence;
mod grouped;
pub mod guide;
mod index_build;
mod index_check;
mod index_query;
mod index_removal;
mod index_state;
mod index_where;
mod indexed;
mod lease;
mod log;
mod queue;
mod revision;
mod sequence;
mod term;
#[cfg(test)]
mod tests;
mod unique_in_table;

pub use self::changes::change_stream::{ChangeProgress, ChangeStream};
pub use self::changes::{ChangePosition, Changes};
pub use self::expiry::{Expiring, TablePerPeriod};
pub use self::fence::Fence;
pub use self::grouped::{Grouped, GroupedError};
pub use self::index_build::IndexBuild;
pub use self::index_check::{IndexFault, IndexFaults};
pub use self::index_query::IndexQuery;
pub use self::index_removal::remove_index;
pub use self::indexed::Indexed;
pub use self::lease::lease_entry::LeaseEntry;
pub use self::lease::{Lease, Leases};
pub use self::log::{Log, LogReader, LogStream};
pub use self::queue::{Item, Queue};
pub use self::revision::Revision;
pub use self::sequence::Sequence;
pub use self::unique_in_table::UniqueInTable;
