//! Key types, their text, and the forms in which calls accept keys.
//!
//! A key is text, and the service sorts rows by it. The types here write text that sorts as their values do.
//!
//! | item | use |
//! |---|---|
//! | [`Day`], [`Week`], [`Month`], [`Year`] | times as calendar periods: a partition for each |
//! | [`Bucket`] | a hash that spreads a hot partition |
//! | [`Escaped`], [`PercentEscaped`], [`Base64Url`] | text and bytes with characters that keys forbid |
//! | [`DescendingKey`] | key types for [`Descending`](crate::Descending) |
//! | [`ReadTableKey`] | key types that read back from their text |
//! | [`IntoKey`], [`IntoFields`], [`KeyPrefixFrom`] | the forms in which calls accept keys, key fields and prefixes |
//! | [`KeyShape`], [`KeyPiece`], [`KeyParts`], [`KeyWriter`] | keys of several fields, for handwritten entities |
//! | [`prefix_range`] | the range of keys that begin with a text |
//! | [`MAX_KEY_UNITS`], [`MAX_KEY_FIELDS`] | limits |
//!
//! [`Key::from_text`](crate::Key::from_text) creates a key from two texts. [`Key::prefix`](crate::Key::prefix) creates
//! a key prefix from fields, and [`KeyPrefix::from_text`](crate::KeyPrefix::from_text) from texts. Both `from_text`
//! functions work for any `E`, including a type parameter.
//!
//! # Examples
//!
//! A partition for each sensor and day, newest reading first:
//!
//! ```
//! use azure_table::key::Day;
//! use azure_table::{DateTime, Descending, TableEntity};
//!
//! #[derive(TableEntity)]
//! #[table(partition_key = "{sensor}_{day}")]
//! struct Reading {
//!     sensor: u32,
//!     day: Day,
//!     #[table(row_key)]
//!     at: Descending<DateTime>,
//!     value: f64,
//! }
//! ```
//!
//! More: [the guide to entities](crate::guide::entities#keys).

pub(crate) mod base64url;
pub(crate) mod bucket;
pub(crate) mod calendar;
pub(crate) mod descending;
pub(crate) mod digits;
pub(crate) mod entity_key;
pub(crate) mod escaped;
pub(crate) mod fields;
pub(crate) mod key_shape;
pub(crate) mod key_start;
pub(crate) mod key_texts;
pub(crate) mod operand;
pub(crate) mod prefix;
pub(crate) mod string;
pub(crate) mod table_key;
pub(crate) mod tuple;

#[doc(inline)]
pub use azure_table_wire::value::key_text::MAX_KEY_UNITS;

pub use self::base64url::Base64Url;
pub use self::bucket::Bucket;
pub use self::calendar::{Day, Month, Week, Year};
pub use self::descending::DescendingKey;
pub use self::entity_key::IntoKey;
pub use self::escaped::{Escaped, PercentEscaped};
pub use self::fields::IntoFields;
pub use self::key_shape::{KeyParts, KeyPiece, KeyShape, KeyWriter, MAX_KEY_FIELDS};
pub use self::prefix::KeyPrefixFrom;
pub use self::table_key::{ReadTableKey, prefix_range};
