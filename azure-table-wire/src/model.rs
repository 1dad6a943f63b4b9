//! The values that users hold: property values, names, keys, entities and errors. No I/O and no JSON.
//!
//! The lowest layer: imports no other layer. `codec` converts its values to bytes, `filter` to filters.

pub mod chunked;
#[doc(hidden)]
pub mod clock;
pub mod datetime;
pub mod diagnostics;
pub mod dynamic;
pub mod edm;
#[cfg(feature = "encryption")]
pub mod encryption;
pub mod entity;
pub mod entity_key;
#[doc(hidden)]
pub mod entity_size;
pub mod error;
#[doc(hidden)]
pub mod error_text;
pub mod etag;
#[doc(hidden)]
pub mod fnv;
pub mod guid;
pub mod key;
pub mod key_shape;
#[doc(hidden)]
pub mod key_split;
#[doc(hidden)]
pub mod key_start;
#[doc(hidden)]
pub mod key_texts;
pub mod location;
pub mod name;
pub mod operand;
pub mod operation_kind;
#[doc(hidden)]
pub mod ordinal;
pub mod partition;
pub mod prefix;
pub mod property;
pub mod property_writer;
#[doc(hidden)]
pub mod response_headers;
pub mod row;
#[cfg(feature = "inbound")]
#[doc(hidden)]
pub mod row_id;
pub mod row_key;
pub mod schema;
pub mod serde_entity;
#[doc(hidden)]
pub mod serde_text;
#[cfg(feature = "inbound")]
#[doc(hidden)]
pub mod timestamp_watch;
#[doc(hidden)]
pub mod unsealed;
pub mod variant;
pub mod variant_mark;
pub mod versioned;
