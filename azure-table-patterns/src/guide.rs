//! Guides: which pattern to choose, and known systems rebuilt on tables.
//!
//! | guide | questions it answers |
//! |---|---|
//! | [`patterns`] | Which pattern fits my problem? How do I query my entities beside a pattern's rows? |
//! | [`indexes`] | How do I find entities by fields other than their keys, and keep a field unique? |
//! | [`systems`] | How do I build event streams, a catalogue, cluster membership or durable execution on tables? |
//!
//! All other guides are [part of the client](azure_table::guide).

#[doc = include_str!("guide/patterns.md")]
pub mod patterns {}

#[doc = include_str!("guide/indexes.md")]
pub mod indexes {}

#[doc = include_str!("guide/systems.md")]
pub mod systems {}
