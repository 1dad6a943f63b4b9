//! The vocabulary of OData.
//!
//! Contains these files:
//! - `literal`: literals;
//! - `metadata_level`: the amount of metadata in a response;
//! - `time`: times and ETags as text;
//! - `value`: the values of properties, and the names of annotations.
//!
//! The client reads pages by `entity/read_json.rs`, the emulator bodies by its `request/member.rs`. The service's
//! limits are in the emulator.

#[doc(hidden)]
pub mod literal;
pub mod metadata_level;
#[doc(hidden)]
pub mod time;
#[doc(hidden)]
pub mod value;
