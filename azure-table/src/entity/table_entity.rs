//! Entities: the traits that the derive implements for a struct, in terms of its stored form.
//!
//! Defines [`TableEntity`] (writing) and [`ReadEntity`] (reading). Both traits are easy to write by hand; see their
//! examples. Also defines [`PropertyGroup`] and [`ReadPropertyGroup`], the properties of a flattened
//! field, and [`assert_reads`].
//!
//! Writing and reading are separate traits (as for properties and keys), because borrowed fields can be written but not
//! read. There is no version property: the user's `upgrade` reads a row that the current struct cannot read.

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Result;
use azure_table_wire::value::etag::{Condition, ETag};

use crate::entity::property_writer::PropertyWriter;
use crate::entity::row::members::RowMembers;
use crate::entity::row::{Row, RowProperty};
use crate::entity::schema::{EntitySchema, GroupSchema, PropertySchema, unreadable};
use crate::key::key_shape::{KeyShape, KeyWriter};

/// A type that can be written to a table. Usually derived.
///
/// A handwritten impl has five items:
/// ```
/// use azure_table::{Result, TableEntity};
/// use azure_table::entity::{EntitySchema, PropertyWriter};
/// use azure_table::key::{KeyShape, KeyWriter};
///
/// struct Counter { name: String, value: i64 }
///
/// impl TableEntity for Counter {
///     type PartitionFields = (String,);
///     type KeyFields = (String, String);
///     const SCHEMA: &'static EntitySchema = &EntitySchema::new("Counter", KeyShape::SIMPLE);
///
///     fn write_key(&self, key: &mut KeyWriter) -> Result<()> {
///         key.field("counter")?;
///         key.field(&self.name)
///     }
///
///     fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
///         properties.property("Value", &self.value)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a table entity",
    label = "not a table entity",
    note = "add #[derive(TableEntity)]; for rows without a struct use DynamicEntity"
)]
#[doc(alias = "ITableEntity")]
pub trait TableEntity {
    /// The types of the PartitionKey's fields as a tuple.
    type PartitionFields;

    /// The types of all key fields as one tuple: PartitionKey first, then RowKey.
    type KeyFields;

    /// The stored form.
    const SCHEMA: &'static EntitySchema;

    /// The stored forms of the variants of an enum of entities; empty for any other type.
    const VARIANTS: &'static [&'static EntitySchema] = &[];

    /// Returns the shape of this value's keys: the schema's shape, except in an enum, whose variants differ.
    fn key_shape(&self) -> &'static KeyShape {
        &Self::SCHEMA.key
    }

    /// Writes the key fields, in the order of [`Self::KeyFields`].
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): a field has no key text.
    fn write_key(&self, key: &mut KeyWriter) -> Result<()>;

    /// Writes all properties except PartitionKey, RowKey and Timestamp.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the service would reject a name or value.
    fn write_properties(&self, properties: &mut PropertyWriter<'_>) -> Result<()>;

    /// Returns the condition for a replace, merge or delete of this value: the ETag that it holds must match; without
    /// one, the entity must exist.
    fn condition(&self) -> Condition {
        Condition::Exists
    }

    /// Sets the field that holds the entity's ETag, after a write of this value.
    ///
    /// Does nothing if the entity has no such field.
    fn set_etag(&mut self, etag: &ETag) {
        let _ = etag;
    }
}

/// An entity type that names its table: `#[table(name = "Blogs")]` on a struct or an enum of entities.
///
/// `TableServiceClient::table_of` returns the client of the table.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name its table",
    label = "no table name on this type",
    note = "add #[table(name = \"…\")] to `{Self}`, or name the table in the call: `service.table::<{Self}>(\"…\")?`"
)]
pub trait NamedTable: TableEntity {
    /// The name of the table.
    const TABLE: &'static str;
}

/// A type that can be read from a table: an entity, a projection, or another view of a row.
///
/// ```
/// use azure_table::{ReadEntity, Result};
/// use azure_table::entity::{MetadataLevel, Row};
///
/// /// Only the names of the stored properties.
/// struct Names(Vec<String>);
///
/// impl ReadEntity for Names {
///     const METADATA: MetadataLevel = MetadataLevel::None;
///
///     fn read(row: &Row<'_>) -> Result<Self> {
///         Ok(Names(row.properties().iter().map(|p| p.name().to_owned()).collect()))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a table",
    label = "not readable from a row",
    note = "#[derive(TableEntity)] makes a struct without lifetime parameters readable"
)]
pub trait ReadEntity: Sized {
    /// The metadata level that [`read`](Self::read) needs.
    const METADATA: MetadataLevel;

    /// The properties to request. `None` requests the whole entity.
    const SELECT: Option<&'static [&'static str]> = None;

    /// Reads a row.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): a property is missing or has another
    ///   type, or the keys do not have the entity's form.
    fn read(row: &Row<'_>) -> Result<Self>;

    /// [`read_members`](Self::read_members) needs no row.
    #[doc(hidden)]
    const IS_OF_MEMBERS: bool = false;

    /// Reads a row whose members may come straight from a text.
    #[doc(hidden)]
    fn read_members(members: &mut RowMembers<'_, '_>) -> Result<Self> {
        Self::read(members.row())
    }

    /// Reads a row, and adds the names of the properties that its `upgrade` removed.
    #[doc(hidden)]
    fn read_upgraded(row: &Row<'_>, removed: &mut Vec<String>) -> Result<Self> {
        let _ = removed;
        Self::read(row)
    }
}

/// A type whose value is written as an entity `E`: `E` itself, and
/// [`Versioned<E>`](crate::Versioned).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entity that a table of `{E}` stores",
    label = "expected an entity: `{E}` or `Versioned<{E}>`",
    note = "#[derive(TableEntity)] makes a struct an entity",
    note = "where `{E}` is an enum of entities: write `{E}::Variant(entity)`",
    note = "elsewhere `table.typed::<{Self}>()` is the same table with this entity type"
)]
pub trait AsEntity<E>: TableEntity {}

impl<E: TableEntity> AsEntity<E> for E {}

/// A type that is stored as several properties of its entity, `#[table(flatten)]`. Usually derived.
///
/// An `Option` of a group is a group, too. `None` writes none of its properties. A row with none of them reads as
/// `None`, a row with some of them as the group.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be flattened into an entity",
    label = "not a group of properties",
    note = "add #[derive(PropertyGroup)] to `{Self}`; or store it as one property with #[table(json)]"
)]
pub trait PropertyGroup {
    /// The properties, without the prefix of the field.
    const PROPERTIES: &'static [PropertySchema];

    /// The groups inside it.
    const GROUPS: &'static [GroupSchema] = &[];

    /// Writes the properties. The writer adds the field's prefix to their names.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the service would reject a name or value.
    fn write_group(&self, properties: &mut PropertyWriter<'_>) -> Result<()>;
}

/// A group of properties that can be read back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from the properties of an entity",
    label = "not a readable group of properties",
    note = "#[derive(PropertyGroup)] makes a struct without lifetime parameters readable"
)]
pub trait ReadPropertyGroup: Sized {
    /// The metadata level that reading needs.
    const METADATA: MetadataLevel = MetadataLevel::None;

    /// Reads the properties of `row` whose names begin with `prefix`.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): a property is missing or has another
    ///   type.
    fn read_group(row: &Row<'_>, prefix: &str) -> Result<Self>;

    /// Returns `true` if `name`, without the prefix, is a property of this group.
    fn owns(name: &str) -> bool;
}

/// `None` writes nothing.
impl<G: PropertyGroup> PropertyGroup for Option<G> {
    const PROPERTIES: &'static [PropertySchema] = G::PROPERTIES;
    const GROUPS: &'static [GroupSchema] = G::GROUPS;

    fn write_group(&self, properties: &mut PropertyWriter<'_>) -> Result<()> {
        self.as_ref().map_or(Ok(()), |group| group.write_group(properties))
    }
}

/// Reads `None` if the row has no property of the group.
impl<G: ReadPropertyGroup> ReadPropertyGroup for Option<G> {
    const METADATA: MetadataLevel = G::METADATA;

    fn read_group(row: &Row<'_>, prefix: &str) -> Result<Self> {
        let is_owned = |property: &RowProperty<'_>| property.name().strip_prefix(prefix).is_some_and(G::owns);
        if row.properties().iter().any(is_owned) {
            G::read_group(row, prefix).map(Some)
        } else {
            Ok(None)
        }
    }

    fn owns(name: &str) -> bool {
        G::owns(name)
    }
}

/// Asserts that `E` still reads rows that were written under the `old` schema, the earlier text of `E::SCHEMA`.
///
/// Use it in a test: it fails if a stored name vanished without an alias, a type was narrowed, or the keys changed
/// their form.
///
/// It compares names, EDM types, key templates, and the attributes `chunked` and `json`. It does not
/// detect:
/// - a new field that is neither optional nor has a `default`;
/// - another type behind the same key field;
/// - another Rust type of the same EDM type: an `i32` that becomes a `u8`, a `String` that becomes a `char` or an enum;
/// - another type behind `json`, or another conversion behind `with`;
/// - changes of the variants of an enum.
///
/// ```
/// use azure_table::TableEntity;
/// use azure_table::entity::assert_reads;
/// #[derive(TableEntity)]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     id: String,
///     #[table(alias = "rtg")]
///     rating: i64,
/// }
/// // In a test: assert_reads::<Blog>(include_str!("blog.v1.schema"));
/// assert_reads::<Blog>("Blog\nPartitionKey {channel}\nRowKey {id}\nrtg Edm.Int32\n");
/// ```
///
/// # Panics
/// Panics if a row can no longer be read. The message lists each such line of the schema, with the remedy.
#[expect(clippy::panic, reason = "a test asserts with it")]
#[track_caller]
pub fn assert_reads<E: TableEntity>(old: &str) {
    let faults = unreadable(E::SCHEMA, old);
    if !faults.is_empty() {
        panic!(
            "{} does not read rows of the old schema:\n- {}",
            E::SCHEMA.name,
            faults.join("\n- ")
        );
    }
}
