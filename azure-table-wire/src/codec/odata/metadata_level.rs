//! The amount of metadata in a response, and the header that requests it.

/// The amount of metadata that the service sends with values.
///
/// Source: REST "Payload format for Table service operations".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MetadataLevel {
    /// Values only: the fewest bytes; Int64, DateTime, Guid and Binary arrive as text.
    None,
    /// ETags of the rows of a query, and the types that JSON does not show.
    Minimal,
}

/// Returns the `Accept` header that requests a level.
#[doc(hidden)]
pub const fn accept(level: MetadataLevel) -> &'static str {
    match level {
        MetadataLevel::None => "application/json;odata=nometadata",
        MetadataLevel::Minimal => "application/json;odata=minimalmetadata",
    }
}
