//! A received entity before it has a Rust type.
//!
//! Defines [`Row`] and [`RowProperty`]: names, values and annotations, borrowed from the text of the response.
//! `read_json.rs` fills a row and reuses it for the next one; a [`ReadEntity`](crate::ReadEntity) reads it.
//!
//! An entity is read from a row if it needs several members at a time: an annotation may follow its property, a value
//! may need the keys or other properties, an enum selects its variant. In a borrowed row these are lookups, which
//! allocate nothing after the first row of a page. `members.rs` reads all other derived structs, without a row from the
//! second row of a page on.

use std::borrow::Cow;
use std::fmt::Display;

use azure_table_wire::codec::json::token::Scalar;
use azure_table_wire::error::{Error, Result, ValueError};
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};
use azure_table_wire::value::etag::ETag;

use crate::entity::property::ReadProperty;
use crate::entity::row::context::RowContext;
use crate::key::key_shape::{KeyParts, KeyShape};
use crate::key::table_key::ReadTableKey;

pub(crate) mod context;
pub(crate) mod layout;
pub(crate) mod members;

/// One entity of a response: its keys, Timestamp, ETag and properties, borrowed without copies.
///
/// Leaves out properties that are `null`, which the service sends for absent ones.
#[derive(Debug, Default)]
pub struct Row<'a> {
    pub(crate) partition_key: Option<Cow<'a, str>>,
    pub(crate) row_key: Option<Cow<'a, str>>,
    pub(crate) timestamp: Option<Cow<'a, str>>,
    pub(crate) etag: Option<Cow<'a, str>>,
    pub(crate) properties: Vec<RowProperty<'a>>,
    pub(crate) context: Option<&'a RowContext>,
}

/// A property of a [`Row`].
#[derive(Clone, Debug)]
pub struct RowProperty<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) annotation: Option<EdmType>,
    pub(crate) scalar: Scalar<'a>,
}

impl<'a> Row<'a> {
    /// Returns the PartitionKey.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): the response has no PartitionKey.
    pub fn partition_key(&self) -> Result<&str> {
        self.partition_key.as_deref().ok_or_else(|| missing("PartitionKey"))
    }

    /// Returns the RowKey.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): the response has no RowKey.
    pub fn row_key(&self) -> Result<&str> {
        self.row_key.as_deref().ok_or_else(|| missing("RowKey"))
    }

    /// Returns the time at which the service last wrote the entity.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): the Timestamp is not a date.
    pub fn timestamp(&self) -> Result<Option<DateTime>> {
        self.timestamp_text()
            .map(str::parse)
            .transpose()
            .map_err(|e| Error::invalid_response(format!("Timestamp: {e}")))
    }

    /// Returns the text of the Timestamp, and tells an exploration that the program reads it.
    pub(crate) fn timestamp_text(&self) -> Option<&str> {
        let text = self.timestamp.as_deref();
        #[cfg(all(feature = "test-util", feature = "emulator"))]
        if let (Some(_), Some(watch)) = (text, self.context.and_then(|context| context.watch.as_ref())) {
            watch.note(self.partition_key.as_deref(), self.row_key.as_deref());
        }
        text
    }

    /// Returns the ETag. It is always present at metadata level `minimal` and on a read of one entity.
    pub fn etag(&self) -> Option<ETag> {
        self.etag.as_deref().map(ETag::new)
    }

    /// Returns the properties, in the order of the response, without PartitionKey, RowKey and Timestamp.
    pub fn properties(&self) -> &[RowProperty<'a>] {
        &self.properties
    }

    /// Returns the property with this name.
    pub fn get(&self, name: &str) -> Option<&RowProperty<'a>> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// Returns the value of a property as a Rust type. Use `Option<T>` for one that may be missing.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): the property is missing, or its type does not widen to
    ///   `T` without loss.
    pub fn property<T: ReadProperty>(&self, name: &str) -> Result<T> {
        required(self.get(name).map(RowProperty::read).transpose()?, name)
    }

    /// Returns the texts of the key fields.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): the keys do not have this shape.
    pub fn key_parts<'r>(&'r self, shape: &'r KeyShape) -> Result<KeyParts<'r>> {
        KeyParts::split(shape, self.partition_key()?, self.row_key()?)
    }

    /// Returns the value of a property or of the Timestamp, or `None` if it is absent.
    pub(crate) fn found<T: ReadProperty>(&self, name: &str) -> Result<Option<T>> {
        if name != "Timestamp" {
            return self.get(name).map(RowProperty::read).transpose();
        }
        let timestamp = self.timestamp_text().map(|text| RowProperty {
            name: Cow::Borrowed("Timestamp"),
            annotation: Some(EdmType::DateTime),
            scalar: Scalar::Text(Cow::Borrowed(text)),
        });
        timestamp.map(|timestamp| timestamp.read()).transpose()
    }

    /// Returns the value of a key with a single field.
    pub(crate) fn key<T: ReadTableKey>(&self, name: &str) -> Result<T> {
        let text = match name {
            "PartitionKey" => self.partition_key()?,
            _ => self.row_key()?,
        };
        T::read_key(text).map_err(|e| Error::invalid_response(format!("{name}: {e}")))
    }

    /// Returns the row with the properties that `is_kept` selects.
    pub(crate) fn borrowed(&self, is_kept: impl Fn(&RowProperty<'_>) -> bool) -> Row<'_> {
        fn text<'t>(text: &'t Option<Cow<'_, str>>) -> Option<Cow<'t, str>> {
            text.as_deref().map(Cow::Borrowed)
        }
        let properties = self.properties.iter().filter(|property| is_kept(property));
        Row {
            partition_key: text(&self.partition_key),
            row_key: text(&self.row_key),
            timestamp: text(&self.timestamp),
            etag: text(&self.etag),
            properties: properties
                .map(|property| RowProperty::of(&property.name, property.value()))
                .collect(),
            context: self.context,
        }
    }

    /// Clears all but the properties.
    pub(crate) fn clear_system_properties(&mut self) {
        (self.partition_key, self.row_key) = (None, None);
        (self.timestamp, self.etag) = (None, None);
    }
}

/// Adds the keys of this entity to `error`, if the response has them.
pub(crate) fn locate(row: &Row<'_>, error: Error) -> Error {
    match (&row.partition_key, &row.row_key) {
        (Some(partition_key), Some(row_key)) => error.at_entity(partition_key, row_key),
        _ => error,
    }
}

/// Returns the value, the value for an absent property, or an error.
pub(crate) fn required<T: ReadProperty>(value: Option<T>, name: impl Display) -> Result<T> {
    let value = value.or_else(T::absent);
    value.ok_or_else(|| Error::invalid_response(format!("property `{name}`: it is missing")))
}

/// Returns the error of a value that does not fit its type.
fn rejected(name: &str, error: &ValueError) -> Error {
    Error::invalid_response(format!("property `{name}`: {error}"))
}

fn missing(name: &str) -> Error {
    Error::invalid_response(format!(
        "the entity has no {name}, or one with half of a surrogate pair"
    ))
}

impl<'a> RowProperty<'a> {
    pub(crate) fn of(name: &'a str, value: WireValue<'a>) -> Self {
        Self {
            name: Cow::Borrowed(name),
            annotation: value.annotation,
            scalar: value.token.into(),
        }
    }

    /// Returns the name, as stored.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value, not yet converted to a Rust type.
    pub fn value(&self) -> WireValue<'_> {
        WireValue {
            annotation: self.annotation,
            token: self.scalar.token(),
        }
    }

    /// Returns the value as this EDM type.
    pub(crate) fn read_as(&self, edm_type: EdmType) -> Result<Edm<'_>> {
        let WireValue { annotation, token } = self.value();
        WireValue {
            annotation: annotation.or(Some(edm_type)),
            token,
        }
        .to_edm()
        .map_err(|e| self.rejected(&e))
    }

    fn rejected(&self, error: &ValueError) -> Error {
        rejected(&self.name, error)
    }

    /// Returns the value converted by `convert`, for `#[table(with = …)]`.
    #[inline]
    pub(crate) fn convert<T>(&self, convert: impl FnOnce(WireValue<'_>) -> Result<T, ValueError>) -> Result<T> {
        convert(self.value()).map_err(|e| self.rejected(&e))
    }

    /// Returns the value as a `T`.
    ///
    /// # Errors
    /// - [`InvalidResponse`](crate::ErrorKind::InvalidResponse): the value has another type. The error
    ///   names the property, the expected and the found type.
    pub fn read<T: ReadProperty>(&self) -> Result<T> {
        self.convert(T::from_wire)
    }
}
