//! The types of fields that are stored: as properties, as parts of keys, as JSON, in pieces.
//!
//! Derived code names the type of a field in its schema, where it writes and where it reads. All of these places name
//! one trait as `<Type as Trait>::item`, so that the compiler reports the same error for each, and shows it once. The
//! derive selects the trait by the spelling of the type. Each trait has one impl, for the same types, and its own
//! message for all others.
//!
//! A struct that borrows is written and never read, and a field of a generic type has its bounds in the impl. The code
//! of such a field names [`WrittenField`] and [`WrittenKeyField`].

use azure_table_wire::error::{Result, ValueError};
use azure_table_wire::value::edm::{Edm, EdmType};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::__private::value::{json_absent, json_to_edm, pieces, read, read_json, required, required_pieces};
use crate::entity::chunked::{self, Chunked};
use crate::entity::embedded_json as json;
use crate::entity::property::{Property, ReadProperty};
use crate::entity::property_writer::PropertyWriter;
use crate::entity::row::{Row, RowProperty};
use crate::key::key_shape::{KeyParts, KeyWriter};
use crate::key::table_key::{ReadTableKey, TableKey};

macro_rules! property_fields {
    ($($(#[$attribute:meta])* $name:ident;)*) => {$(
        $(#[$attribute])*
        pub trait $name: Sized {
            /// The type in the service.
            const EDM_TYPE: EdmType;

            /// Writes the value under a checked name: see `PropertyWriter::named`.
            fn write_named(&self, properties: &mut PropertyWriter<'_>, member: &'static str) -> Result<()>;

            /// Writes the value under any name.
            fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()>;

            /// Reads the value into `place`.
            fn read(property: &RowProperty<'_>, place: &mut Option<Self>) -> Result<()>;

            /// Returns the value, the value for an absent property, or an error.
            fn required(value: Option<Self>, prefix: &str, name: &str) -> Result<Self>;
        }

        #[diagnostic::do_not_recommend]
        impl<T: Property + ReadProperty> $name for T {
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
            fn read(property: &RowProperty<'_>, place: &mut Option<T>) -> Result<()> {
                read(property, place)
            }

            #[inline]
            fn required(value: Option<T>, prefix: &str, name: &str) -> Result<T> {
                required(value, prefix, name)
            }
        }
    )*};
}

property_fields! {
    /// A property of any type.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be stored in a table",
        label = "no EDM type for this field",
        note = "stored as is: text, bool, integers of up to 64 bits, f32, f64, DateTime, Guid, bytes, and Option of them; `azure_table::Property` \
                lists all types; those of other crates need a feature, such as `chrono-04`, `time-03` or `uuid-1`",
        note = "an enum or a newtype: #[derive(TableProperty)]; a struct: #[derive(PropertyGroup)] and #[table(flatten)]; \
                any serde type, as text: #[table(json)]",
        note = "otherwise: #[table(with = \"module\")], `Property` and `ReadProperty` by hand, or #[table(ignore)]"
    )]
    PropertyField;

    /// A property that is written as a `usize` or an `isize`.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be stored in a table: its width depends on the machine",
        label = "use `u64` or `u32`, `i64` or `i32`",
        note = "`i64`, `u64` and `u32` are stored as Edm.Int64, `i32`, `u16` and narrower integers as Edm.Int32",
        note = "a `u64` above 9,223,372,036,854,775,807, the greatest Edm.Int64, is an error when it is written"
    )]
    PointerSizedField;

    /// A property that is written as an integer of 128 bits.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be stored in a table: the widest integer of the service has 64 bits",
        label = "use `i64` or `u64`",
        note = "`i64` and `u64` are stored as Edm.Int64, at most 9,223,372,036,854,775,807",
        note = "to keep all 128 bits store text or bytes: #[table(with = \"module\")], `String`, `[u8; 16]` or `Guid`"
    )]
    WideIntegerField;

    /// A property that is written as a collection, an array or a tuple.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be stored in a table: a property is a single value",
        label = "add #[table(json)] to this field",
        note = "#[table(json)] stores any serde type as text in one property; bytes (`Vec<u8>`, `[u8; N]`) need no attribute",
        note = "elements that are queried or changed one by one are entities of their own"
    )]
    CollectionField;

    /// A property that is written as a reference.
    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be read from a table: a row is read into owned values",
        label = "use an owned type, such as `String` or `Vec<u8>`",
        note = "a struct that is written and never read may borrow: give it a lifetime parameter, and the field `&'a str`"
    )]
    BorrowedField;
}

/// A property whose field is written here, and read elsewhere or never.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a table",
    label = "no EDM type for this field",
    note = "stored as is: text, bool, integers of up to 64 bits, f32, f64, DateTime, Guid, bytes, and Option, & and Box of them; \
            `azure_table::Property` lists all types; those of other crates need a feature, such as `chrono-04`, `time-03` or `uuid-1`",
    note = "an enum or a newtype: #[derive(TableProperty)]; a struct: #[derive(PropertyGroup)] and #[table(flatten)]; \
            any serde type, as text: #[table(json)]",
    note = "otherwise: #[table(with = \"module\")], `Property` by hand, or #[table(ignore)]"
)]
pub trait WrittenField {
    /// The type in the service.
    const EDM_TYPE: EdmType;

    /// Writes the value under a checked name: see `PropertyWriter::named`.
    fn write_named(&self, properties: &mut PropertyWriter<'_>, member: &'static str) -> Result<()>;

    /// Writes the value under any name.
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()>;
}

#[diagnostic::do_not_recommend]
impl<T: Property + ?Sized> WrittenField for T {
    const EDM_TYPE: EdmType = <T as Property>::EDM_TYPE;

    #[inline]
    fn write_named(&self, properties: &mut PropertyWriter<'_>, member: &'static str) -> Result<()> {
        properties.named(member, self)
    }

    #[inline]
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
        properties.property(name, self)
    }
}

/// A field that is encrypted.
#[cfg_attr(
    feature = "encryption",
    diagnostic::on_unimplemented(
        message = "`{Self}` cannot be encrypted",
        label = "#[table(encrypted)] is for text and bytes",
        note = "use `String`, `Vec<u8>` or another type that is stored as text or bytes, or an `Option` of it"
    )
)]
#[cfg_attr(
    not(feature = "encryption"),
    diagnostic::on_unimplemented(
        message = "#[table(encrypted)] needs the feature `encryption` of the crate azure-table",
        label = "this field is to be encrypted",
        note = "in Cargo.toml: azure-table = {{ version = \"0.1\", features = [\"encryption\"] }}"
    )
)]
pub trait EncryptedField: Sized {
    /// The type of the plaintext.
    const EDM_TYPE: EdmType;

    /// Writes the value.
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()>;

    /// Reads the value into `place`.
    fn read(row: &Row<'_>, property: &RowProperty<'_>, place: &mut Option<Self>) -> Result<()>;

    /// Returns the value, the value for an absent property, or an error.
    fn required(value: Option<Self>, prefix: &str, name: &str) -> Result<Self>;
}

#[cfg(feature = "encryption")]
#[diagnostic::do_not_recommend]
impl<T: Property + ReadProperty> EncryptedField for T {
    const EDM_TYPE: EdmType = <T as Property>::EDM_TYPE;

    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
        properties.encrypted(name, self)
    }

    fn read(row: &Row<'_>, property: &RowProperty<'_>, place: &mut Option<T>) -> Result<()> {
        *place = Some(row.decrypt(property)?);
        Ok(())
    }

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

/// A field of a key that is written here, and read elsewhere or never.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of a key",
    label = "it has no key text that sorts like its values",
    note = "use text, bool, integers of 8 to 64 bits (not usize), DateTime, Guid, Year, Month, Week, Day, Descending<_>, Escaped<_>, Bucket<_>, \
            Base64Url<_>, or a tuple of 2 to 4 of them; `azure_table::TableKey` lists all types",
    note = "for an `Option<T>` write `T`, and store for `None` a value that no `Some` has, such as \"\"; otherwise: implement `TableKey`, or keep the value in a property"
)]
pub trait WrittenKeyField {
    /// The number of digits of the greatest value, if the key text has a width.
    const DIGITS: Option<usize>;

    /// Writes the value into the key.
    fn write(&self, key: &mut KeyWriter) -> Result<()>;
}

#[diagnostic::do_not_recommend]
impl<T: TableKey + ?Sized> WrittenKeyField for T {
    const DIGITS: Option<usize> = <T as TableKey>::DIGITS;

    #[inline]
    fn write(&self, key: &mut KeyWriter) -> Result<()> {
        key.field(self)
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

/// A field that is stored in pieces.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in pieces",
    label = "#[table(chunked)] is for `String` and `Vec<u8>`, and `Option` of them",
    note = "remove `chunked`, or store it as JSON in one property with #[table(json)]"
)]
pub trait ChunkedField: Sized {
    /// The type of each piece.
    const EDM_TYPE: EdmType;

    /// Writes the pieces.
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()>;

    /// Reads the pieces under the first of these names that the row has.
    fn pieces(row: &Row<'_>, prefix: &str, names: &[&str]) -> Result<Option<Self>>;

    /// Returns the value, the value for an absent property, or an error.
    fn required(value: Option<Self>, prefix: &str, name: &str) -> Result<Self>;
}

#[diagnostic::do_not_recommend]
impl<T: Chunked> ChunkedField for T {
    const EDM_TYPE: EdmType = <T as Chunked>::EDM_TYPE;

    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
        chunked::write(properties, name, self)
    }

    fn pieces(row: &Row<'_>, prefix: &str, names: &[&str]) -> Result<Option<T>> {
        pieces(row, prefix, names)
    }

    fn required(value: Option<T>, prefix: &str, name: &str) -> Result<T> {
        required_pieces(value, prefix, name)
    }
}
