//! The types that fields must have because of an attribute.
//!
//! Each is a trait with one impl instead of a type, so that the compiler's message at the field shows what to write.
//! Derived code calls them as `<Type as Trait>::item`, which adds nothing to the message.

use std::collections::BTreeMap;
use std::fmt;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;
use azure_table_wire::value::etag::{Condition, ETag};
use azure_table_wire::value::guid::Guid;

use crate::entity::property_writer::PropertyWriter;

/// The type of a field is `T`, which its attribute requires.
#[diagnostic::on_unimplemented(
    message = "a field with this attribute has the type `{T}`, and not `{Self}`",
    label = "expected `{T}`",
    note = "give the field the type `{T}`, or remove the attribute: `etag`, `extra`, `write_id`, or `other` on a variant"
)]
pub trait Exactly<T> {
    /// Converts a value.
    fn of(value: T) -> Self;

    /// Returns the value.
    fn get(&self) -> &T;

    /// Sets the value.
    fn set(&mut self, value: T);
}

impl<T> Exactly<T> for T {
    fn of(value: T) -> Self {
        value
    }

    fn get(&self) -> &T {
        self
    }

    fn set(&mut self, value: T) {
        *self = value;
    }
}

/// The type of a field that holds the ETag, which not every entity has.
pub type HeldETag = Option<ETag>;

/// The type of a field that holds all other properties.
pub type Extra = BTreeMap<String, EdmValue>;

/// The type of a field that holds the id of the last write, which not every entity has.
pub type HeldWriteId = Option<Guid>;

/// Returns the condition of a write of an entity whose ETag is kept in a field.
pub fn condition(etag: &HeldETag) -> Condition {
    etag.clone().map_or(Condition::MissingETag, Condition::Matches)
}

/// Writes the kept properties. `declared` returns `true` for the names of other fields.
pub fn write_extra(extra: &Extra, properties: &mut PropertyWriter<'_>, declared: impl Fn(&str) -> bool) -> Result<()> {
    extra.iter().try_for_each(|(name, value)| {
        if declared(name) {
            return Err(Error::invalid_input(format!(
                "property `{name}`: it is in the field `extra`, but the entity has a field for it"
            )));
        }
        properties.value(name, value)
    })
}

/// Writes a new id in place of the one that was read.
pub fn write_id(_: &HeldWriteId, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
    properties.write_id(name)
}

/// The type of a field that holds the Timestamp.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a Timestamp, which not every entity has",
    label = "the field with #[table(timestamp)] has the type `Option<azure_table::DateTime>`",
    note = "make the field an `Option<azure_table::DateTime>`, or an `Option` of a `SystemTime` or a time of chrono, jiff or \
            time, with the feature `chrono-04`, `jiff-02` or `time-03`, or of a time of your own with `TryFrom<DateTime>`"
)]
pub trait TimestampField: Sized {
    /// Converts the Timestamp of a row.
    fn of(timestamp: Option<DateTime>) -> Result<Self>;
}

#[diagnostic::do_not_recommend]
impl<T: TryFrom<DateTime, Error: fmt::Display>> TimestampField for Option<T> {
    fn of(timestamp: Option<DateTime>) -> Result<Self> {
        let time = timestamp.map(T::try_from).transpose();
        time.map_err(|e| Error::invalid_response(format!("Timestamp: {e}")))
    }
}
