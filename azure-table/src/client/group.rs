//! Group commit: the single writes of many callers, sent in batches.
//!
//! A write is sent immediately if no batch of its partition is in flight. Writes that arrive meanwhile form the next
//! batch.
//!
//! | file | owns |
//! |---|---|
//! | `group_options.rs` | the settings |
//! | `committer.rs` | the group of a handle, with a task for each busy partition |
//! | `lanes.rs` | the waiting writes by partition, and their limits |
//! | `callers.rs` | the callers of a batch, which receive its outcomes |
//! | `slot.rs` | one write between its caller and its batch |
//! | `ticket.rs` | the acceptance of a write, and the future of its caller |
//! | `epoch.rs` | the writes that a flush waits for |
//!
//! A batch is written as in a bulk (`client/partition_writes`), which finds the row that makes a batch fail, adapts the
//! sending rate and keeps the order of rows. A handle's pipeline refers to its group by `pipeline/write_group.rs`.

mod callers;
pub(crate) mod committer;
mod epoch;
pub(crate) mod group_options;
mod lanes;
mod slot;
mod ticket;
