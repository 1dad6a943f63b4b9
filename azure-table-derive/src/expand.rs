//! The generated code.
//!
//! This stage only generates code: the earlier ones have reported all errors. The code consists of constants and direct
//! calls; all behaviour is in `azure_table`. All paths are absolute. Field types are written out in the calls, so that
//! the compiler points at them when they do not fit. The bounds of generic types are in `bound.rs`.

pub(crate) mod column;
pub(crate) mod entity;
mod field_type;
pub(crate) mod group;
mod index;
pub(crate) mod projection;
pub(crate) mod property;
mod read;
mod stored;
pub(crate) mod table_name;
pub(crate) mod variant_of;
pub(crate) mod variants;
