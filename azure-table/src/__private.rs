//! All that derived code may name, besides the derive's traits and `Column`. Not part of the public interface.

pub use crate::model::datetime::DateTime;
pub use crate::model::entity::{EntitySchema, MetadataLevel, PropertySchema};
pub use crate::model::error::{Error, Result};
pub use crate::model::etag::{Condition, ETag};
pub use crate::model::key::{ReadTableKey, TableKey};
pub use crate::model::key_shape::{KeyPiece, KeyShape, KeyWriter};
pub use crate::model::property::{Property, ReadProperty};
pub use crate::model::property_writer::PropertyWriter;
pub use crate::model::row::Row;

/// What a write demands of an entity whose ETag is kept in a field.
pub fn condition(etag: &Option<ETag>) -> Condition {
    etag.clone().map_or(Condition::Unread, Condition::Matches)
}

/// The value of a field whose property may not have come.
pub fn required<T: ReadProperty>(value: Option<T>, name: &str) -> Result<T> {
    value
        .or_else(T::absent)
        .ok_or_else(|| Error::invalid_response(format!("property `{name}`: it is missing")))
}
