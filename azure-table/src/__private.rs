//! The items that generated code may name, besides the derive's traits and `Column`. Not part of the public interface.
//!
//! This file has the functions that the impls of `#[derive(TableEntity)]` on a struct call. Other files of the folder
//! have the items for enums of entities (`variant.rs`), projections (`projection.rs`), types of properties
//! (`property.rs`) and absent values (`value.rs`). `assert.rs` has compile-time assertions. Three files check what an
//! attribute requires: the types of stored fields (`stored_field.rs`), the types of other fields (`field.rs`), and
//! functions (`function.rs`). `test.rs` supports tests with `#[azure_table::test]`.

mod assert;
mod field;
mod function;
mod projection;
mod property;
mod stored_field;
#[cfg(all(feature = "derive", feature = "test-util", feature = "emulator"))]
pub mod test;
mod value;
mod variant;

use std::collections::BTreeMap;

pub use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
pub use azure_table_wire::error::{Error, Result, ValueError};
pub use azure_table_wire::value::datetime::DateTime;
pub use azure_table_wire::value::edm::{Edm, EdmType, EdmValue, WireValue};
pub use azure_table_wire::value::etag::{Condition, ETag};
pub use azure_table_wire::value::guid::Guid;
pub use serde::Serialize;
pub use serde::de::DeserializeOwned;

pub use self::assert::{assert_digits, assert_distinct, assert_entity, assert_form, assert_partition, assert_untagged};
pub use self::field::{Exactly, Extra, HeldETag, HeldWriteId, TimestampField, condition, write_extra, write_id};
pub use self::function::{Converted, Converts, Named, Nothing, Removed, WhenAbsent, lacking, lend, upgraded};
pub use self::projection::{
    Absent, ColumnOf, ColumnOfName, Distinct, Selection, SoleRowField, partition_field, row_field, select, select_found,
};
pub use self::property::{int32, number, text, truncated, unknown_number, unknown_text};
pub use self::stored_field::{JsonField, KeyField, PropertyField};
pub use self::value::{json_absent, json_to_edm, missing, put, read, read_json, required};
pub use self::variant::{
    CatchAll, KeysDifferByVariant, assert_catch_all, check_tag_of_other, no_tagged, no_variant, write_key_of_other,
};
pub use crate::entity::chunked::{Chunked, within};
pub use crate::entity::dynamic::DynamicEntity;
pub use crate::entity::embedded_json as json;
pub use crate::entity::property::{Property, ReadProperty};
pub use crate::entity::property_writer::PropertyWriter;
pub use crate::entity::row::members::RowMembers;
pub use crate::entity::row::{Row, RowProperty};
pub use crate::entity::schema::{EntitySchema, GroupSchema, PropertySchema};
pub use crate::entity::table_entity::{PropertyGroup, ReadEntity, ReadPropertyGroup, TableEntity};
pub use crate::entity::variant_mark::{VariantMark, has_form, is_tag, untagged, write_marked_key};
use crate::filter::column::Column;
pub use crate::filter::column::InKey;
use crate::filter::column_name::ColumnName;
pub use crate::filter::nested::{Nested, Variant};
pub use crate::filter::projection::{ProjectedValues, Projection, UpdatableRow, Updated};
pub use crate::filter::rejected::{Known, Listed, Opaque, OtherRows, Single, Whole};
pub use crate::key::key_shape::{KeyPiece, KeyShape, KeyWriter};
pub use crate::key::table_key::{ReadTableKey, TableKey};

/// The functions for fields that are stored in pieces.
pub mod chunked {
    pub use crate::entity::chunked::{read, write};
    pub use crate::entity::schema::owns;
}

/// Returns the column of a field. The field's own code checks that its type can be stored.
pub const fn column<E, T, R>(name: &'static str) -> Column<E, T, R> {
    Column::of(ColumnName::new(name))
}

/// Returns the members from the property on that has the first of its older names, unless it was found under its
/// current one.
pub fn aliased<'r, 'a>(found: bool, row: &'r Row<'a>, prefix: &str, aliases: &[&str]) -> Option<RowMembers<'r, 'a>> {
    let named = |name: &str| row.properties().iter().position(|property| property.name() == name);
    let aliases = if found { &[] } else { aliases };
    let index = aliases.iter().find_map(|alias| named(&within(prefix, alias)));
    index.map(|index| RowMembers::at(row, index))
}

/// Returns `true` if a property belongs to a group whose names begin with `prefix`.
pub fn in_group<G: ReadPropertyGroup>(prefix: &str, name: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(G::owns)
}

/// Returns `true` if the row has any property of a group.
pub fn has_group<G: ReadPropertyGroup>(row: &Row<'_>, prefix: &str) -> bool {
    row.properties()
        .iter()
        .any(|property| in_group::<G>(prefix, property.name()))
}

/// Returns the minimum metadata level with which all of these can be read.
pub const fn metadata(levels: &[MetadataLevel]) -> MetadataLevel {
    let mut at = 0;
    while at < levels.len() {
        if matches!(levels[at], MetadataLevel::Minimal) {
            return MetadataLevel::Minimal;
        }
        at += 1;
    }
    MetadataLevel::None
}

/// Returns the error for a property that the entity does not declare.
pub fn unknown(property: &RowProperty<'_>) -> Error {
    Error::invalid_response(format!(
        "property `{}`: the entity does not declare it",
        property.name()
    ))
}

/// Keeps a property that the entity does not declare.
pub fn keep(extra: &mut BTreeMap<String, EdmValue>, property: &RowProperty<'_>) -> Result<()> {
    let value = property.convert(|value| value.to_edm().map(azure_table_wire::value::edm::Edm::into_owned))?;
    extra.insert(property.name().to_owned(), value);
    Ok(())
}
