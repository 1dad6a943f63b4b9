//! Entities by hand: reading and writing properties, types of your own, schemas.
//!
//! Most programs need only the derives. This module is for types that no derive fits.
//!
//! | item | use |
//! |---|---|
//! | [`PropertyWriter`], [`Row`], [`RowProperty`] | properties of a handwritten [`TableEntity`](crate::TableEntity) |
//! | [`ReadProperty`], [`WireValue`] | read a [`Property`](crate::Property) type of your own |
//! | [`ReadPropertyGroup`] | read a flattened group |
//! | [`VariantOf`], [`MarkedVariantOf`], [`VariantMark`] | the variants of an enum of entities |
//! | [`AsEntity`] | an entity or a versioned one |
//! | [`NamedTable`] | an entity type that names its table |
//! | [`EntitySchema`], [`PropertySchema`], [`GroupSchema`] | stored names and types, known at compile time |
//! | [`assert_reads`] | check that an old row still reads |
//! | [`SerdeEntity`], [`AnnotatedEntity`] | a serde struct as an entity |
//! | [`json_text`] | a field of a serde struct as JSON text |
//! | [`Chunked`] | text or bytes beyond the limit of one property |
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

#[doc(inline)]
pub use azure_table_wire::codec::json::json_text;
#[doc(inline)]
pub use azure_table_wire::model::chunked::Chunked;
#[doc(inline)]
pub use azure_table_wire::model::edm::WireValue;
#[doc(inline)]
pub use azure_table_wire::model::entity::{AsEntity, MetadataLevel, NamedTable, ReadPropertyGroup, assert_reads};
#[doc(inline)]
pub use azure_table_wire::model::etag::Condition;
#[doc(inline)]
pub use azure_table_wire::model::property::ReadProperty;
#[doc(inline)]
pub use azure_table_wire::model::property_writer::{
    MAX_BINARY_BYTES, MAX_ENTITY_BYTES, MAX_PROPERTIES, MAX_STRING_UNITS, PropertyWriter,
};
#[doc(inline)]
pub use azure_table_wire::model::row::{Row, RowProperty};
#[doc(inline)]
pub use azure_table_wire::model::schema::{EntitySchema, GroupSchema, PropertySchema};
#[doc(inline)]
pub use azure_table_wire::model::serde_entity::{AnnotatedEntity, SerdeEntity};
#[doc(inline)]
pub use azure_table_wire::model::variant::{MarkedVariantOf, VariantOf};
#[doc(inline)]
pub use azure_table_wire::model::variant_mark::VariantMark;
