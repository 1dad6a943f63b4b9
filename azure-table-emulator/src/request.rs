//! The contents of a request: its options, its body, and the position at which a page begins.
//!
//! `request/inbound.rs` parses the method and the resource.

pub(crate) mod body;
pub(crate) mod continuation;
pub(crate) mod member;
pub(crate) mod options;
