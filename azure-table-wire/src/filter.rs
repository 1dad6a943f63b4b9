//! The text of filters: parsed, as an expression, written and evaluated.
//!
//! The client renders the expression tree of a filter, the emulator parses it, and both evaluate it. `codec/url.rs`
//! encodes the text for a URL. Columns and typed filters are in `filter.rs` of azure-table.

#[doc(hidden)]
pub mod evaluate;
#[doc(hidden)]
pub mod expression;
#[doc(hidden)]
pub mod key_range;
#[doc(hidden)]
pub mod literal;
#[doc(hidden)]
pub mod parse;
