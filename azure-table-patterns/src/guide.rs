//! Guides: which pattern to choose, and known systems that are rebuilt with the patterns.
//!
//! | guide | questions it answers |
//! |---|---|
//! | [`patterns`] | Which pattern fits which need? How do I query the entities beside its rows? |
//! | [`indexes`] | How do I find entities by other fields than their keys, and keep a field unique? |
//! | [`membership`] | How do I keep the members of a cluster, or a state with prepared versions? |
//! | [`durable_execution`] | How do I run histories and queues? |
//!
//! The last two say which claims of a known system hold under faults and in all orders of requests. All others are
//! [guides of the client](azure_table::guide).

#[doc = include_str!("guide/patterns.md")]
pub mod patterns {}

#[doc = include_str!("guide/indexes.md")]
pub mod indexes {}

#[doc = include_str!("guide/membership.md")]
pub mod membership {}

#[doc = include_str!("guide/durable_execution.md")]
pub mod durable_execution {}
