//! Filters: typed columns, expressions, their text and their meaning.
//!
//! Owns the expression tree that the client renders, the emulator parses and both evaluate. Does not own the way of
//! the text into a URL (`codec/url.rs`).

pub(crate) mod column;
#[cfg(feature = "emulator")]
pub(crate) mod evaluate;
pub(crate) mod expression;
pub(crate) mod literal;
#[cfg(feature = "emulator")]
pub(crate) mod parse;
pub(crate) mod typed;
