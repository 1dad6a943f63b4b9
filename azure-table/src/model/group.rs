//! Properties that belong together: what a flattened field is.

use crate::model::entity::MetadataLevel;
use crate::model::error::Result;
use crate::model::property_writer::PropertyWriter;
use crate::model::row::Row;
use crate::model::schema::{GroupSchema, PropertySchema};

/// A type that is stored as several properties of the entity it stands in, `#[table(flatten)]`. Usually derived.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be flattened into an entity",
    label = "not a group of properties",
    note = "add #[derive(PropertyGroup)] to `{Self}`; or store it as one property with #[table(json)]",
    note = "an `Option` of a group is not one: make its fields options, or give the field #[table(default)]"
)]
pub trait PropertyGroup {
    /// The properties, without the prefix that the field gives them.
    const PROPERTIES: &'static [PropertySchema];

    /// The groups inside of it.
    const GROUPS: &'static [GroupSchema] = &[];

    /// Writes the properties; the writer puts the field's prefix before their names.
    ///
    /// # Errors
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) — a name or value that the service would refuse.
    fn write_group(&self, properties: &mut PropertyWriter<'_>) -> Result<()>;
}

/// A group of properties that can be read back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from the properties of an entity",
    label = "not a readable group of properties",
    note = "#[derive(PropertyGroup)] makes a struct without lifetime parameters readable"
)]
pub trait ReadPropertyGroup: Sized {
    /// What the service must say beside the values.
    const METADATA: MetadataLevel = MetadataLevel::None;

    /// Reads the properties of `row` whose names begin with `prefix`.
    ///
    /// # Errors
    /// [`InvalidResponse`](crate::ErrorKind::InvalidResponse) — a property is missing or of another type.
    fn read_group(row: &Row<'_>, prefix: &str) -> Result<Self>;

    /// Whether `name`, without the prefix, is a property of this group.
    fn owns(name: &str) -> bool;
}
