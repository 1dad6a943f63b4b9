//! The types of fields that are stored: as properties, as parts of keys, as JSON, in pieces.
//!
//! Derived code names the type of a field in its schema, where it writes and where it reads. All of these places name
//! one trait as `<Type as Trait>::item`, so that the compiler reports the same error for each, and shows it once. The
//! derive selects the trait by the spelling of the type. Each trait has one impl, for the same types, and its own
//! message for all others.
//!
//! A struct that borrows is written and never read, and a field of a generic type has its bounds in the impl. The code
//! of such a field names [`Property`], [`TableKey`], or functions.

use azure_table_wire::error::{Result, ValueError};
use azure_table_wire::value::edm::{Edm, EdmType};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::__private::value::{json_absent, json_to_edm, read, read_json, required};
use crate::entity::embedded_json as json;
use crate::entity::property::{Property, ReadProperty};
use crate::entity::property_writer::PropertyWriter;
use crate::entity::row::RowProperty;
use crate::entity::row::members::RowMembers;
use crate::key::key_shape::{KeyParts, KeyWriter};
use crate::key::table_key::{ReadTableKey, TableKey};

/// A property of any type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a table",
    label = "no EDM type for this field",
    note = "stored as is: text, bool, integers of up to 64 bits (not usize), f32, f64, DateTime, Guid, bytes (`Vec<u8>`, `[u8; N]`), and \
            Option of them, such as Option<Descending<DateTime>>; `azure_table::Property` lists all types; those of other crates \
            need a feature, such as `chrono-04`, `time-03` or `uuid-1`",
    note = "a collection, an array, a tuple or any serde type, as text: #[table(json)]; an enum or a newtype: #[derive(TableProperty)]; \
            a struct: #[derive(PropertyGroup)] and #[table(flatten)]",
    note = "otherwise: an owned type in place of a reference, #[table(with = \"module\")], `Property` and `ReadProperty` by hand, or #[table(ignore)]"
)]
pub trait PropertyField: Sized {
    /// The type in the service.
    const EDM_TYPE: EdmType;

    /// Writes the value under a checked name: see `PropertyWriter::named`.
    fn write_named(&self, properties: &mut PropertyWriter<'_>, member: &'static str) -> Result<()>;

    /// Writes the value under any name.
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()>;

    /// Reads the value into `place`.
    fn read(members: &mut RowMembers<'_, '_>, place: &mut Option<Self>) -> Result<()>;

    /// Returns the value, the value for an absent property, or an error.
    fn required(value: Option<Self>, prefix: &str, name: &str) -> Result<Self>;
}

#[diagnostic::do_not_recommend]
impl<T: Property + ReadProperty> PropertyField for T {
    const EDM_TYPE: EdmType = <T as Property>::EDM_TYPE;

    #[inline]
    fn write_named(&self, properties: &mut PropertyWriter<'_>, member: &'static str) -> Result<()> {
        properties.named(member, self)
    }

    #[inline]
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
        properties.property(name, self)
    }

    #[inline]
    fn read(members: &mut RowMembers<'_, '_>, place: &mut Option<T>) -> Result<()> {
        read(members, place)
    }

    #[inline]
    fn required(value: Option<T>, prefix: &str, name: &str) -> Result<T> {
        required(value, prefix, name)
    }
}

/// A field of a key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key",
    label = "it has no key text that sorts like its values and can be read back",
    note = "use owned text, bool, integers of 8 to 64 bits (not usize), DateTime, Guid, Year, Month, Week, Day, Descending<_>, Escaped<_>, \
            Bucket<_>, Base64Url<_>, or a tuple of 2 to 4 of them; `azure_table::TableKey` lists all types",
    note = "for an `Option<T>` write `T`, and store for `None` a value that no `Some` has, such as \"\"; otherwise: implement `TableKey` and `ReadTableKey`, or keep the value in a property"
)]
pub trait KeyField: Sized {
    /// The number of digits of the greatest value, if the key text has a width.
    const DIGITS: Option<usize>;

    /// Writes the value into the key.
    fn write(&self, key: &mut KeyWriter) -> Result<()>;

    /// Reads the value from the key.
    fn read(key: &KeyParts<'_>, index: usize) -> Result<Self>;
}

#[diagnostic::do_not_recommend]
impl<T: TableKey + ReadTableKey> KeyField for T {
    const DIGITS: Option<usize> = <T as TableKey>::DIGITS;

    #[inline]
    fn write(&self, key: &mut KeyWriter) -> Result<()> {
        key.field(self)
    }

    #[inline]
    fn read(key: &KeyParts<'_>, index: usize) -> Result<T> {
        key.read(index)
    }
}

/// A field that is stored as JSON.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as JSON",
    label = "it lacks `serde::Serialize` or `serde::Deserialize`",
    note = "add #[derive(serde::Serialize, serde::Deserialize)] to the type, or remove #[table(json)]"
)]
pub trait JsonField: Sized {
    /// Returns the JSON as text that reads back, or `None` for `null`.
    fn to_edm(&self) -> std::result::Result<Option<Edm<'static>>, ValueError>;

    /// Reads the value into `place`.
    fn read(property: &RowProperty<'_>, place: &mut Option<Self>) -> Result<()>;

    /// Returns the value for absent JSON.
    fn absent() -> Option<Self>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> JsonField for T {
    fn to_edm(&self) -> std::result::Result<Option<Edm<'static>>, ValueError> {
        let json = json_to_edm(self)?;
        json::check::<T>(match &json {
            Some(Edm::String(text)) => text,
            _ => "null",
        })?;
        Ok(json)
    }

    fn read(property: &RowProperty<'_>, place: &mut Option<T>) -> Result<()> {
        read_json(property, place)
    }

    fn absent() -> Option<T> {
        json_absent()
    }
}
