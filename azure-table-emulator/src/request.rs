//! The contents of a request: its options, its body, and the position at which a page begins.
//!
//! `protocol/inbound.rs` parses the method and the resource.

pub(crate) mod body;
pub(crate) mod continuation;
pub(crate) mod options;
