//! Which Rust types are properties, and as which EDM type.
//!
//! Owns the traits [`Property`] (writing) and [`ReadProperty`] (reading) and their impls for the standard types. They
//! are two traits so that a borrowed field can be written though it cannot be read.

use std::borrow::Cow;

use crate::model::datetime::DateTime;
use crate::model::edm::{Edm, EdmType, WireValue};
use crate::model::error::ValueError;
use crate::model::guid::Guid;

/// A type that a field of an entity can have.
///
/// | Rust | stored as |
/// |---|---|
/// | `String`, `&str` | Edm.String, at most 32,768 UTF-16 units |
/// | `bool` | Edm.Boolean |
/// | `i32` | Edm.Int32 |
/// | `i64` | Edm.Int64 |
/// | `f64` | Edm.Double, bit by bit, NaN and the infinities included |
/// | [`DateTime`] | Edm.DateTime, from the year 1601 on |
/// | [`Guid`] | Edm.Guid |
/// | `Vec<u8>`, `&[u8]` | Edm.Binary, at most 65,536 bytes |
/// | `Option<T>` | `T`; `None` is not sent |
///
/// `None` is the absence of the property: a merge leaves the stored value as it is, a replace removes it. The service
/// has no stored null.
///
/// ```
/// use azure_table::{Edm, EdmType, Property, ReadProperty, ValueError, WireValue};
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Celsius(f64);
///
/// impl Property for Celsius {
///     type Compared = Self;
///     const EDM_TYPE: EdmType = EdmType::Double;
///     fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
///         Ok(Some(Edm::Double(self.0)))
///     }
/// }
///
/// impl ReadProperty for Celsius {
///     fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
///         value.as_f64().map(Celsius)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a table",
    label = "no EDM type for this field",
    note = "stored as is: String, bool, i32, i64, f64, DateTime, Guid, Vec<u8>, and Option of them",
    note = "otherwise: implement `Property` (and `ReadProperty`), or say #[table(ignore)]"
)]
pub trait Property {
    /// What a filter compares a column of this type with: the type itself, and for `Option<T>` its `T`, since absence
    /// cannot be queried.
    type Compared: Property;

    /// The type in the service.
    const EDM_TYPE: EdmType;

    /// The value to send; `None` to leave the property out.
    ///
    /// # Errors
    /// The value has no form in the service.
    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError>;
}

/// A property type that can be read back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a table",
    label = "no way to read this field",
    note = "implement `ReadProperty`, or say #[table(ignore)]"
)]
pub trait ReadProperty: Sized {
    /// Reads the value. A `null` never comes here: it is the absence of the property.
    ///
    /// # Errors
    /// The value has another type, or does not fit.
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError>;

    /// The value of a property that is not there; `None` makes its absence an error.
    fn absent() -> Option<Self> {
        None
    }
}

/// For Copy types: the EDM variant of the same name and the reader.
macro_rules! copied {
    ($($type:ty: $variant:ident, $read:ident;)*) => {$(
        impl Property for $type {
            type Compared = Self;
            const EDM_TYPE: EdmType = EdmType::$variant;
            fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
                Ok(Some(Edm::$variant(*self)))
            }
        }

        impl ReadProperty for $type {
            fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
                value.$read()
            }
        }
    )*};
}
copied! {
    bool: Boolean, as_bool;
    i32: Int32, as_i32;
    i64: Int64, as_i64;
    f64: Double, as_f64;
    DateTime: DateTime, as_datetime;
    Guid: Guid, as_guid;
}

/// For text and bytes: borrowed when written.
macro_rules! borrowed {
    ($($type:ty: $variant:ident;)*) => {$(
        impl Property for $type {
            type Compared = Self;
            const EDM_TYPE: EdmType = EdmType::$variant;
            fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
                Ok(Some(Edm::$variant(Cow::Borrowed(self))))
            }
        }
    )*};
}
borrowed! {
    String: String;
    &str: String;
    Vec<u8>: Binary;
    &[u8]: Binary;
}

impl ReadProperty for String {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        value.as_str().map(str::to_owned)
    }
}

impl ReadProperty for Vec<u8> {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        value.as_binary()
    }
}

impl<T: Property> Property for Option<T> {
    type Compared = T::Compared;
    const EDM_TYPE: EdmType = T::EDM_TYPE;

    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
        self.as_ref().map_or(Ok(None), T::to_edm)
    }
}

impl<T: ReadProperty> ReadProperty for Option<T> {
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
        T::from_wire(value).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}
