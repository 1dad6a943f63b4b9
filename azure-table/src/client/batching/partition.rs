//! Writes to one partition in batches.
//!
//! `partition_queue.rs` puts waiting operations into batches. `partition_write.rs` sends them at the rate of
//! `sending_rate.rs`, and `failed_batch.rs` decides the next step if a batch fails. `held_operations.rs` has the
//! operations meanwhile.

pub(crate) mod failed_batch;
pub(crate) mod held_operations;
pub(crate) mod partition_queue;
pub(crate) mod partition_write;
pub(crate) mod sending_rate;
