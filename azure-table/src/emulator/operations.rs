//! Operations: what each does to the store, and its answer.
//!
//! One file for each kind of resource. Which operation a request asks for is `dispatch.rs`, what its sender may do `access.rs`.

pub(crate) mod batch;
pub(crate) mod call;
pub(crate) mod cors;
pub(crate) mod documents;
pub(crate) mod entities;
pub(crate) mod query;
mod scan;
pub(crate) mod seed;
pub(crate) mod tables;
