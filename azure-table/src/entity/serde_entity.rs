//! serde structs as entities.
//!
//! Defines [`SerdeEntity`] and its forms. `write.rs` converts what a value serializes to keys and properties, `read.rs`
//! deserializes a value from the properties of a row. There is no JSON value in between. The handle of a table with
//! exact types is created in `client/serde_handle.rs`.

use std::any::type_name;
use std::ops::{Deref, DerefMut};

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::entity::property_writer::PropertyWriter;
use crate::entity::row::Row;
use crate::entity::schema::EntitySchema;
use crate::entity::table_entity::{AsEntity, ReadEntity, TableEntity};
use crate::key::key_shape::{KeyShape, KeyWriter};

mod entity_serializer;
mod read;
mod value_serializer;
mod write;
mod write_error;

/// A plain serde struct, stored as an entity.
///
/// `T` has two string fields that serde names `PartitionKey` and `RowKey`. No other derive is needed, so the structs of
/// the crate `azure_data_tables` 0.21 work unchanged. It dereferences to `T`; [`into_inner`](Self::into_inner) returns
/// it. `SerdeEntity(&value)` is written to the same table, without a clone.
///
/// ```
/// use azure_table::entity::SerdeEntity;
/// use azure_table::{Emulator, TableServiceClient};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Blog {
///     #[serde(rename = "PartitionKey")]
///     channel: String,
///     #[serde(rename = "RowKey")]
///     id: String,
///     title: String,
///     views: i64,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let service = TableServiceClient::from_transport(Emulator::new());
/// let blogs = service.table::<SerdeEntity<Blog>>("Blogs")?;
/// # blogs.create_table().await?;
/// let blog = Blog { channel: "Channel9".into(), id: "1".into(), title: "Hello".into(), views: 5 };
/// blogs.insert(&SerdeEntity(&blog)).await?;
///
/// let mut blog = blogs.get(("Channel9", "1")).versioned().await?.expect("it was inserted");
/// blog.views += 1;
/// blogs.replace(&blog).await?;
///
/// for SerdeEntity(blog) in blogs.query().partition("Channel9").all().await? {
///     println!("{}: {} views", blog.title, blog.views);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Types
/// By default the request has plain JSON members, as `azure_data_tables` 0.21 sent them. With `TableClient::annotated`
/// each value has its exact type.
///
/// | value in serde | plain | annotated |
/// |---|---|---|
/// | `bool` | Edm.Boolean | Edm.Boolean |
/// | `i8`, `i16`, `i32`, `u8`, `u16` | Edm.Int32 | Edm.Int32 |
/// | `i64`, `u32`, `u64`, `i128`, `u128` | Edm.Int32; an error beyond it | Edm.Int64; an error beyond it |
/// | `f64` | Edm.Double; NaN and infinities are errors | Edm.Double |
/// | `f32` | Edm.Double of the same digits | Edm.Double, widened |
/// | `str`, `char`, a variant without fields | Edm.String | Edm.String |
/// | dates, GUIDs, addresses, and other types that serde writes as text | Edm.String | Edm.String |
/// | bytes, such as with the crate `serde_bytes` | an error | Edm.Binary |
/// | `None`, `()` | not sent | not sent |
/// | newtypes, `Some` | the value inside | the value inside |
/// | lists, maps, nested structs, variants with fields | an error | an error |
///
/// `#[serde(flatten)]` stores a nested struct as properties of the entity.
/// [`json_text`](crate::entity::json_text) stores any other value as JSON text in one property.
///
/// A merge sends all members of the entity too. `Timestamp` and members that begin with `odata.` are never sent.
///
/// # Reading
/// Rows are read with and without annotations, whichever program wrote them:
///
/// * Edm.Int32 and Edm.Int64 are read into any integer type that holds the value, and into floats that hold it exactly.
/// * An integral Edm.Double up to 2^53 is read into integers. The service stored the large integers of
///   `azure_data_tables` 0.21 as Edm.Double.
/// * A text field reads Edm.String, Edm.DateTime, Edm.Guid, the digits of an Edm.Int64 and the base64 of an Edm.Binary.
/// * A date field reads Edm.DateTime and Edm.String. A write stores it as Edm.String.
/// * A struct that has a field `Timestamp` or `odata.etag` receives it as text. The same holds for types that do not
///   declare their fields to serde: structs with `#[serde(flatten)]`, and enums with `#[serde(tag)]`. Their properties
///   arrive by their EDM types: Edm.Int64 as an integer, Edm.Binary as bytes.
///
/// # Limits
/// serde structs have no typed columns. A filter is [`Filter::raw`](crate::Filter::raw), or compares a
/// [`Column::property`](crate::Column::property) by its name and type. The type is the stored one: on a
/// table that is not annotated an `i64` is stored as Edm.Int32, so compare `Column::<_, i32>`. A comparison with an
/// `i64` is sent as `5L` and matches no such row.
///
/// Where the entity type is known, as in a call on its table, `SerdeEntity(value)` is enough. Elsewhere, as in
/// [`TableOperation`](crate::TableOperation) or
/// [`DynamicEntity::from_entity`](crate::DynamicEntity::from_entity), write `SerdeEntity::new(value)`,
/// or `SerdeEntity::new(value).annotated()` for exact types.
///
/// # Errors
/// Writes: `InvalidInput` names the property, its value and the remedy. Reads: `InvalidResponse` names the property,
/// except inside of `#[serde(flatten)]` and `#[serde(tag)]`, where serde does not report it.
///
/// Source: REST "Payload format for Table service operations", "Property types in a JSON feed".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SerdeEntity<T, const ANNOTATED: bool = false>(
    /// The value.
    pub T,
);

/// A [`SerdeEntity`] that is written with exact EDM types.
///
/// Names the table in a signature: `TableClient<AnnotatedEntity<Blog>>` is the type of
/// `service.table::<SerdeEntity<Blog>>("Blogs")?.annotated()`.
pub type AnnotatedEntity<T> = SerdeEntity<T, true>;

impl<T> SerdeEntity<T> {
    /// Returns the value as an entity that is written as plain JSON.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the same value as an entity that is written with exact EDM types.
    ///
    /// ```
    /// use azure_table::entity::SerdeEntity;
    /// use azure_table::{DynamicEntity, EdmValue};
    /// # #[derive(serde::Serialize)]
    /// # #[serde(rename_all = "PascalCase")]
    /// # struct Blog { partition_key: String, row_key: String, views: i64 }
    /// # let blog = Blog { partition_key: "Channel9".into(), row_key: "1".into(), views: 3_000_000_000 };
    /// let stored = DynamicEntity::from_entity(&SerdeEntity::new(&blog).annotated())?;
    /// assert_eq!(stored.get("Views"), Some(&EdmValue::Int64(3_000_000_000)));
    ///
    /// let error = DynamicEntity::from_entity(&SerdeEntity::new(&blog)).unwrap_err();
    /// assert!(error.to_string().contains("property `Views`: 3000000000 is beyond Edm.Int32"));
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    pub fn annotated(self) -> AnnotatedEntity<T> {
        SerdeEntity(self.0)
    }
}

impl<T, const ANNOTATED: bool> SerdeEntity<T, ANNOTATED> {
    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T, const ANNOTATED: bool> From<T> for SerdeEntity<T, ANNOTATED> {
    fn from(value: T) -> Self {
        Self(value)
    }
}

impl<T, const ANNOTATED: bool> Deref for SerdeEntity<T, ANNOTATED> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T, const ANNOTATED: bool> DerefMut for SerdeEntity<T, ANNOTATED> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize, const ANNOTATED: bool> TableEntity for SerdeEntity<T, ANNOTATED> {
    type PartitionFields = (String,);
    type KeyFields = (String, String);
    const SCHEMA: &'static EntitySchema = &EntitySchema::new("SerdeEntity", KeyShape::SIMPLE);

    fn write_key(&self, key: &mut KeyWriter) -> Result<()> {
        write::key(&self.0, key, type_name::<T>())
    }

    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
        write::properties(&self.0, properties, ANNOTATED)
    }
}

/// Writes the value without cloning it.
#[diagnostic::do_not_recommend]
impl<T: Serialize, const ANNOTATED: bool> AsEntity<SerdeEntity<T, ANNOTATED>> for SerdeEntity<&T, ANNOTATED> {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned, const ANNOTATED: bool> ReadEntity for SerdeEntity<T, ANNOTATED> {
    const METADATA: MetadataLevel = MetadataLevel::Minimal;

    fn read(row: &Row<'_>) -> Result<Self> {
        read::row(row).map(Self)
    }
}
