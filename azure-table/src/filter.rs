//! Filters: typed columns, expressions, their text and their meaning.
//!
//! Owns the expression tree that the client renders, the emulator parses and both evaluate. Does not own the way of
//! the text into a URL (`codec/url.rs`).

pub(crate) mod access;
pub(crate) mod assignment;
pub(crate) mod column;
pub(crate) mod column_name;
pub(crate) mod evaluate;
pub(crate) mod expression;
pub(crate) mod key_range;
pub(crate) mod literal;
pub(crate) mod nested;
#[cfg(feature = "emulator")]
pub(crate) mod parse;
pub(crate) mod refused;
pub(crate) mod select;
pub(crate) mod split;
pub(crate) mod typed;
