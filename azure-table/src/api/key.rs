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
//! | [`IntoKey`], [`IntoPartitionKey`], [`IntoRowKey`] | the forms in which calls accept keys |
//! | [`KeyFieldsFrom`], [`KeyPrefixFrom`] | the forms in which calls accept key fields and prefixes |
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

#[doc(inline)]
pub use azure_table_wire::model::entity_key::{IntoKey, KeyFieldsFrom};
#[doc(inline)]
pub use azure_table_wire::model::key::base64url::Base64Url;
#[doc(inline)]
pub use azure_table_wire::model::key::bucket::Bucket;
#[doc(inline)]
pub use azure_table_wire::model::key::calendar::{Day, Month, Week, Year};
#[doc(inline)]
pub use azure_table_wire::model::key::descending::DescendingKey;
#[doc(inline)]
pub use azure_table_wire::model::key::escaped::{Escaped, PercentEscaped};
#[doc(inline)]
pub use azure_table_wire::model::key::{MAX_KEY_UNITS, ReadTableKey, prefix_range};
#[doc(inline)]
pub use azure_table_wire::model::key_shape::{KeyParts, KeyPiece, KeyShape, KeyWriter, MAX_KEY_FIELDS};
#[doc(inline)]
pub use azure_table_wire::model::partition::IntoPartitionKey;
#[doc(inline)]
pub use azure_table_wire::model::prefix::KeyPrefixFrom;
#[doc(inline)]
pub use azure_table_wire::model::row_key::IntoRowKey;
