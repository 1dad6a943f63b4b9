//! Writes to one partition in batches, for a bulk.
//!
//! `partition_queue.rs` puts waiting operations into batches. `partition_write.rs` sends them, and `failed_batch.rs`
//! decides the next step if a batch fails. `held_operations.rs` has the operations meanwhile, `outcomes.rs` receives
//! their outcomes.

pub(crate) mod failed_batch;
pub(crate) mod held_operations;
pub(crate) mod outcomes;
pub(crate) mod partition_queue;
pub(crate) mod partition_write;
