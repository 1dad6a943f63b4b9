//! Handwritten entities: reading and writing properties, custom types, schemas.
//!
//! Most programs need only the derives. Use this module for types that the derives cannot express.
//!
//! | item | use |
//! |---|---|
//! | [`PropertyWriter`], [`Row`], [`RowProperty`] | properties of a handwritten [`TableEntity`](crate::TableEntity) |
//! | [`ReadProperty`], [`WireValue`] | read a [`Property`](crate::Property) type of your own |
//! | [`ReadPropertyGroup`] | read a flattened group |
//! | [`VariantOf`] | the variants of an enum of entities |
//! | [`AsEntity`] | an entity, versioned or not |
//! | [`NamedTable`] | an entity type that names its table |
//! | [`EntitySchema`], [`PropertySchema`], [`GroupSchema`] | stored names and types, known at compile time |
//! | [`assert_reads`] | check that an old row still reads |
//! | [`SerdeEntity`], [`AnnotatedEntity`] | a serde struct as an entity |
//! | [`json_text`] | a field of a serde struct as JSON text |
//! | [`Chunked`] | text or bytes that are too long for one property |
//! | [`Condition`], [`MetadataLevel`] | the condition of a write, the metadata of a read |
//! | [`MAX_PROPERTIES`], [`MAX_STRING_UNITS`], [`MAX_BINARY_BYTES`], [`MAX_ENTITY_BYTES`] | limits |
//!
//! # Examples
//!
//! A property type of your own:
//!
//! ```
//! use azure_table::entity::{ReadProperty, WireValue};
//! use azure_table::{Edm, EdmType, Property, ValueError};
//!
//! #[derive(Clone, Copy)]
//! struct Celsius(f64);
//!
//! impl Property for Celsius {
//!     type Compared = Self;
//!     const EDM_TYPE: EdmType = EdmType::Double;
//!
//!     fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
//!         Ok(Some(Edm::Double(self.0)))
//!     }
//! }
//!
//! impl ReadProperty for Celsius {
//!     fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
//!         value.as_f64().map(Self)
//!     }
//! }
//! ```
//!
//! First steps with the derives: [the guide to entities](crate::guide::entities).

pub(crate) mod chunked;
pub(crate) mod dynamic;
#[doc(hidden)]
pub mod embedded_json;
#[cfg(feature = "test-util")]
pub(crate) mod entity_response;
pub mod json_text;
pub(crate) mod property;
pub(crate) mod property_writer;
pub(crate) mod read_json;
pub(crate) mod row;
pub(crate) mod schema;
#[cfg(feature = "emulator")]
pub(crate) mod seed_entities;
pub(crate) mod serde_entity;
pub(crate) mod table_entity;
pub(crate) mod variant;
pub(crate) mod variant_mark;
pub(crate) mod versioned;
pub(crate) mod write_json;

#[doc(inline)]
pub use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
#[doc(inline)]
pub use azure_table_wire::value::edm::WireValue;
#[doc(inline)]
pub use azure_table_wire::value::etag::Condition;

pub use self::chunked::Chunked;
pub use self::property::ReadProperty;
pub use self::property_writer::{MAX_BINARY_BYTES, MAX_ENTITY_BYTES, MAX_PROPERTIES, MAX_STRING_UNITS, PropertyWriter};
pub use self::row::{Row, RowProperty};
pub use self::schema::{EntitySchema, GroupSchema, PropertySchema};
pub use self::serde_entity::{AnnotatedEntity, SerdeEntity};
pub use self::table_entity::{AsEntity, NamedTable, ReadPropertyGroup, assert_reads};
pub use self::variant::VariantOf;
