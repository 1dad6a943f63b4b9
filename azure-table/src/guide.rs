//! Pages on one subject each.

#[doc = include_str!("../docs/entities.md")]
pub mod entities {}
