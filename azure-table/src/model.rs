//! The values that users hold: property values, names, keys, entities and errors. No I/O and no JSON.
//!
//! The lowest layer: imports nothing of the crate above it. `codec` converts its values to bytes, `filter` to filters.

pub mod chunked;
pub(crate) mod clock;
pub(crate) mod datetime;
pub(crate) mod diagnostics;
pub(crate) mod dynamic;
pub(crate) mod edm;
pub(crate) mod entity;
pub(crate) mod entity_key;
pub(crate) mod entity_size;
pub(crate) mod error;
pub(crate) mod error_text;
pub(crate) mod etag;
pub(crate) mod guid;
pub(crate) mod key;
pub(crate) mod key_shape;
pub(crate) mod key_start;
pub(crate) mod key_texts;
pub(crate) mod location;
pub(crate) mod name;
pub(crate) mod operand;
pub(crate) mod operation_kind;
pub(crate) mod ordinal;
pub(crate) mod partition;
pub(crate) mod prefix;
pub(crate) mod property;
pub(crate) mod property_writer;
pub(crate) mod row;
#[cfg(feature = "inbound")]
pub(crate) mod row_id;
pub(crate) mod row_key;
pub(crate) mod schema;
pub(crate) mod serde_entity;
pub(crate) mod serde_text;
#[cfg(all(feature = "test-util", feature = "emulator"))]
pub(crate) mod timestamp_watch;
pub(crate) mod variant;
pub(crate) mod variant_mark;
pub(crate) mod versioned;
