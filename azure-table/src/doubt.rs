//! Writes in doubt: the evidence that rows show, and the judgement.
//!
//! The value that a user stores is in `error/doubt.rs` of azure-table-wire. `facts` collects it from a failed call,
//! and `judge` decides by the stored rows: for `read_back` during the call, or about a stored doubt. `pipeline` reads
//! rows back.

pub(crate) mod facts;
pub(crate) mod judge;
pub(crate) mod read_back;
