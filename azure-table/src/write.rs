//! Writes as values: encoded operations, batches, their requests and results.
//!
//! An entity is encoded once, by `encoded_operation`. `operation` and `batch` build requests of it, and
//! `operation_request` adds the facts for the pipeline, which sends it. `table_result` and `batch_response` read the
//! responses; `pipeline/lost_write` decides what became of a write whose
//! response was lost.

pub(crate) mod batch;
pub(crate) mod batch_body;
pub(crate) mod batch_request;
pub(crate) mod batch_response;
pub(crate) mod encoded_operation;
pub(crate) mod entity_limits;
pub(crate) mod index;
pub(crate) mod operation;
pub(crate) mod operation_request;
pub(crate) mod path;
pub(crate) mod requested_key;
pub(crate) mod row_hash;
pub(crate) mod row_write;
pub(crate) mod sent_batch;
pub(crate) mod table_result;
pub(crate) mod via_batch;
