//! The types of fields that are no properties, and what functions that the user names give and take.
//!
//! Each is a trait with one impl, where a type would do: so the compiler says by the trait what to write, at the field or
//! at the attribute. Derived code calls them as `<Type as Trait>::item`, which adds nothing to what is said.

use std::collections::BTreeMap;

use crate::model::datetime::DateTime;
use crate::model::dynamic::DynamicEntity;
use crate::model::edm::EdmValue;
use crate::model::entity::ReadEntity;
use crate::model::error::{Error, Result};
use crate::model::etag::{Condition, ETag};
use crate::model::guid::Guid;
use crate::model::property_writer::PropertyWriter;
use crate::model::row::Row;

/// The type of a field that holds the ETag.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold an ETag, which not every entity has",
    label = "the field with #[table(etag)] has the type `Option<azure_table::ETag>`",
    note = "make the field an `Option<azure_table::ETag>`; for a property of another meaning remove `etag`"
)]
pub trait EtagField {
    /// From a row.
    fn of(etag: Option<ETag>) -> Self;

    /// What a write demands of an entity whose ETag is kept in a field.
    fn condition(&self) -> Condition;
}

impl EtagField for Option<ETag> {
    fn of(etag: Self) -> Self {
        etag
    }

    fn condition(&self) -> Condition {
        self.clone().map_or(Condition::Unread, Condition::Matches)
    }
}

/// The type of a field that holds the Timestamp.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a Timestamp, which not every entity has",
    label = "the field with #[table(timestamp)] has the type `Option<azure_table::DateTime>`",
    note = "make the field an `Option<azure_table::DateTime>`; for a time of your own remove `timestamp`"
)]
pub trait TimestampField {
    /// From a row.
    fn of(timestamp: Option<DateTime>) -> Self;
}

impl TimestampField for Option<DateTime> {
    fn of(timestamp: Self) -> Self {
        timestamp
    }
}

/// The type of a field that holds all other properties.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold all other properties",
    label = "the field with #[table(extra)] has the type `BTreeMap<String, azure_table::EdmValue>`",
    note = "make the field a `BTreeMap<String, azure_table::EdmValue>`, or remove `extra`"
)]
pub trait ExtraField {
    /// From a row.
    fn of(extra: BTreeMap<String, EdmValue>) -> Self;

    /// Writes the properties that were kept; `declared` says which names are those of other fields.
    fn write(&self, properties: &mut PropertyWriter<'_>, declared: impl Fn(&str) -> bool) -> Result<()>;
}

impl ExtraField for BTreeMap<String, EdmValue> {
    fn of(extra: Self) -> Self {
        extra
    }

    fn write(&self, properties: &mut PropertyWriter<'_>, declared: impl Fn(&str) -> bool) -> Result<()> {
        self.iter().try_for_each(|(name, value)| {
            if declared(name) {
                return Err(Error::invalid_input(format!(
                    "property `{name}`: it is among the extra ones, and the entity has a field for it"
                )));
            }
            properties.value(name, value)
        })
    }
}

/// The type of a field that holds the id of the last write.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the id of the last write, which not every entity has",
    label = "the field with #[table(write_id)] has the type `Option<azure_table::Guid>`",
    note = "make the field an `Option<azure_table::Guid>`; for an id of your own remove `write_id`"
)]
pub trait WriteIdField {
    /// Writes a fresh id in place of the one that was read.
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()>;
}

impl WriteIdField for Option<Guid> {
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
        properties.write_id(name)
    }
}

/// The type of a field whose default is given as a `G`.
#[diagnostic::on_unimplemented(
    message = "the `default` of a field of type `{Self}` gives `{G}`",
    label = "expected a function that gives `{Self}`",
    note = "write `default = \"name\"` with a `fn name() -> {Self}`, or `default` alone for the type's own"
)]
pub trait DefaultGivenAs<G> {
    /// From what the function gave.
    fn of(given: G) -> Self;
}

impl<T> DefaultGivenAs<T> for T {
    fn of(given: T) -> T {
        given
    }
}

/// A function that makes a `T` of an older row.
#[diagnostic::on_unimplemented(
    message = "this `upgrade` does not make `{T}` of an older row",
    label = "the function is `{Self}`",
    note = "write `fn name(old: azure_table::DynamicEntity) -> azure_table::Result<{T}>`"
)]
pub trait Upgrade<T> {
    /// Makes it.
    fn upgrade(self, old: DynamicEntity) -> Result<T>;
}

#[diagnostic::do_not_recommend]
impl<T, F: FnOnce(DynamicEntity) -> Result<T>> Upgrade<T> for F {
    fn upgrade(self, old: DynamicEntity) -> Result<T> {
        self(old)
    }
}

/// A row that does not read as the present struct goes to the upgrade of older rows.
pub fn upgrade<T>(row: &Row<'_>, read: impl FnOnce(&Row<'_>) -> Result<T>, upgrade: impl Upgrade<T>) -> Result<T> {
    match read(row) {
        Ok(read) => Ok(read),
        Err(first) => upgrade
            .upgrade(DynamicEntity::read(row)?)
            .map_err(|e| Error::invalid_response(format!("{first}; as an older row: {e}"))),
    }
}
