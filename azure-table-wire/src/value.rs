//! The values of the wire: property values, names, the text of keys, times.

#[doc(hidden)]
pub mod clock;
pub mod datetime;
pub mod edm;
#[doc(hidden)]
pub mod entity_size;
pub mod etag;
#[doc(hidden)]
pub mod fnv;
pub mod guid;
pub mod key_text;
pub mod location;
pub mod name;
#[doc(hidden)]
pub mod ordinal;
#[cfg(feature = "inbound")]
#[doc(hidden)]
pub mod row_id;
#[doc(hidden)]
pub mod serde_text;
