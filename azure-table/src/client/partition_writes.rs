//! Writes to one partition in batches, for a bulk and for a group.
//!
//! `partition_queue.rs` puts waiting operations into batches, and `partition_write.rs` sends one with the search for the
//! operation that fails. `held_operations.rs` has the operations meanwhile, `outcomes.rs` receives their outcomes.

pub(crate) mod held_operations;
pub(crate) mod outcomes;
pub(crate) mod partition_queue;
pub(crate) mod partition_write;
