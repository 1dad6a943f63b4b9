//! JSON, in a single pass.
//!
//! `token` reads any JSON text piece by piece and borrows from it, with `scan`. `write` writes objects of property
//! values. Numbers keep their digits until they have a type, so nothing is rounded twice. The rows of pages are read by
//! `entity/read_json.rs` of azure-table.

#[doc(hidden)]
pub mod scan;
#[doc(hidden)]
pub mod token;
#[doc(hidden)]
pub mod write;
