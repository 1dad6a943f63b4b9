//! The types that fields must have because of an attribute.
//!
//! Each is a trait with one impl instead of a type, so that the compiler's message at the field shows what to write.
//! Derived code calls them as `<Type as Trait>::item`, which adds nothing to the message.

use std::collections::BTreeMap;
use std::time::SystemTime;

use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;
use azure_table_wire::value::etag::{Condition, ETag};
use azure_table_wire::value::guid::Guid;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entity::property_writer::PropertyWriter;

/// The type of a field that holds the ETag.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold an ETag, which not every entity has",
    label = "the field with #[table(etag)] has the type `Option<azure_table::ETag>`",
    note = "make the field an `Option<azure_table::ETag>`; for a property of another meaning remove `etag`"
)]
pub trait EtagField {
    /// Converts the ETag of a row.
    fn of(etag: Option<ETag>) -> Self;

    /// Returns the condition of a write of an entity whose ETag is kept in a field.
    fn condition(&self) -> Condition;

    /// Sets the ETag.
    fn set(&mut self, etag: &ETag);
}

impl EtagField for Option<ETag> {
    fn of(etag: Self) -> Self {
        etag
    }

    fn condition(&self) -> Condition {
        self.clone().map_or(Condition::MissingETag, Condition::Matches)
    }

    fn set(&mut self, etag: &ETag) {
        *self = Some(etag.clone());
    }
}

/// The type of a field that holds the Timestamp.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold a Timestamp, which not every entity has",
    label = "the field with #[table(timestamp)] has the type `Option<azure_table::DateTime>`",
    note = "make the field an `Option<azure_table::DateTime>`, or an `Option` of a `SystemTime` or a time of chrono, jiff or \
            time, with the feature `chrono-04`, `jiff-02` or `time-03`; for a time of your own remove `timestamp`"
)]
pub trait TimestampField: Sized {
    /// Converts the Timestamp of a row.
    fn of(timestamp: Option<DateTime>) -> Result<Self>;
}

impl TimestampField for Option<DateTime> {
    fn of(timestamp: Self) -> Result<Self> {
        Ok(timestamp)
    }
}

/// Implements the trait for times that convert from a [`DateTime`].
macro_rules! timestamps {
    ($($(#[$feature:meta])? $type:ty;)*) => {$(
        $(#[$feature])?
        #[diagnostic::do_not_recommend]
        impl TimestampField for Option<$type> {
            fn of(timestamp: Option<DateTime>) -> Result<Self> {
                let time = timestamp.map(<$type>::try_from).transpose();
                time.map_err(|e| Error::invalid_response(format!("Timestamp: {e}")))
            }
        }
    )*};
}
timestamps! {
    SystemTime;
    #[cfg(feature = "chrono-04")]
    chrono::DateTime<chrono::Utc>;
    #[cfg(feature = "jiff-02")]
    jiff::Timestamp;
    #[cfg(feature = "time-03")]
    time::OffsetDateTime;
}

/// The type of a field that holds all other properties.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold all other properties",
    label = "the field with #[table(extra)] has the type `BTreeMap<String, azure_table::EdmValue>`",
    note = "make the field a `BTreeMap<String, azure_table::EdmValue>`, or remove `extra`"
)]
pub trait ExtraField {
    /// Converts the remaining properties of a row.
    fn of(extra: BTreeMap<String, EdmValue>) -> Self;

    /// Writes the kept properties. `declared` returns `true` for the names of other fields.
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
                    "property `{name}`: it is in the field `extra`, but the entity has a field for it"
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
    /// Writes a new id in place of the one that was read.
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()>;
}

impl WriteIdField for Option<Guid> {
    fn write(&self, properties: &mut PropertyWriter<'_>, name: &str) -> Result<()> {
        properties.write_id(name)
    }
}

/// The type of a field that is written as JSON.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written as JSON",
    label = "the field with #[table(json)] has a type that implements `serde::Serialize`",
    note = "add #[derive(serde::Serialize, serde::Deserialize)] to the type, or remove `json`"
)]
pub trait ToJson: Serialize {}

#[diagnostic::do_not_recommend]
impl<T: Serialize> ToJson for T {}

/// The type of a field that is read from JSON.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from JSON",
    label = "the field with #[table(json)] has a type that implements `serde::Deserialize`",
    note = "add #[derive(serde::Serialize, serde::Deserialize)] to the type, or remove `json`"
)]
pub trait FromJson: DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> FromJson for T {}

/// The type of a field that has a default.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no default",
    label = "a field with #[table(default)] or #[table(ignore)] has a type that implements `Default`",
    note = "implement `Default` for the type; or write `default = \"name\"` with a `fn name() -> {Self}`"
)]
pub trait OfDefault: Sized {
    /// Returns the default.
    fn of_default() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> OfDefault for T {
    fn of_default() -> T {
        T::default()
    }
}
