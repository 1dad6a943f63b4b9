//! Filters: typed columns, comparisons, and the values of a patch.
//!
//! The client renders the expression tree of a filter, the emulator parses it, and both evaluate it. `codec/url.rs`
//! encodes the text for a URL. The page of the public module is `azure-table/src/api/filter.rs`.

pub mod access;
pub mod assignment;
pub mod column;
#[doc(hidden)]
pub mod column_name;
pub mod encrypted_column;
#[doc(hidden)]
pub mod evaluate;
#[doc(hidden)]
pub mod exclusion;
#[doc(hidden)]
pub mod expression;
#[doc(hidden)]
pub mod key_range;
#[doc(hidden)]
pub mod literal;
pub mod named_column;
pub mod nested;
#[doc(hidden)]
pub mod parameters;
#[doc(hidden)]
pub mod parse;
pub mod projection;
#[doc(hidden)]
pub mod rejected;
pub mod select;
#[doc(hidden)]
pub mod split;
pub mod typed;
mod unsupported;
