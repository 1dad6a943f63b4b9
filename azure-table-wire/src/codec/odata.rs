//! The vocabulary of OData that client, emulator and test kit share.
//!
//! Contains these files:
//! - `literal`: literals;
//! - `time`: times and ETags as text;
//! - `value`: the values of properties, and the names of annotations;
//! - `member`: the members of an entity's object with their positions;
//! - `path`: the paths of resources.
//!
//! The client reads pages by `json/read.rs`, which is faster. The service's limits are in the emulator.

pub mod literal;
#[cfg(feature = "inbound")]
pub mod member;
pub mod path;
pub mod time;
pub mod value;
