//! The Rust types that are properties, and their EDM types.
//!
//! Contains the traits [`Property`] (writing) and [`ReadProperty`] (reading), and their impls for the types that are an
//! EDM value without conversion. They are two traits because a borrowed field can be written but not read. All other
//! types are in the files of `property/`: `moment.rs` has points in time, `date.rs` dates without a time, and each
//! foreign crate has its own file.

mod binary;
#[cfg(feature = "chrono-04")]
mod chrono;
mod date;
mod descending;
pub(crate) mod duration;
mod float;
mod integer;
mod ip;
#[cfg(feature = "jiff-02")]
mod jiff;
mod moment;
mod pointer;
#[cfg(feature = "rust-decimal-1")]
mod rust_decimal;
#[cfg(test)]
mod tests;
mod text;
#[cfg(feature = "time-03")]
mod time;
#[cfg(feature = "ulid-3")]
mod ulid;
#[cfg(feature = "url-2")]
mod url;
#[cfg(feature = "uuid-1")]
mod uuid;

use azure_table_wire::error::ValueError;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::{Edm, EdmType, WireValue};
use azure_table_wire::value::guid::Guid;

pub(crate) use crate::entity::property::text::one_character;

/// A type that is stored as one property of an entity.
///
/// | Rust | stored as |
/// |---|---|
/// | `String`, `&str`, `Cow<str>`, `Box<str>`, `Arc<str>` | Edm.String, at most 32,768 UTF-16 units |
/// | `char` | Edm.String of one character |
/// | `bool` | Edm.Boolean |
/// | `i32`; `i8`, `i16`, `u8`, `u16` | Edm.Int32 |
/// | `i64`; `u32` | Edm.Int64 |
/// | `u64` | Edm.Int64; a value above 9,223,372,036,854,775,807 is an error when it is written |
/// | `f64` | Edm.Double, bit by bit, NaN and the infinities included |
/// | `f32` | Edm.Double, widened; reading fails unless the value is exactly an `f32`, or NaN |
/// | [`DateTime`] | Edm.DateTime, from the year 1601 on |
/// | [`SystemTime`](std::time::SystemTime) | Edm.DateTime, rounded down to 100 ns |
/// | [`Day`](crate::key::Day) | Edm.DateTime, midnight in UTC; reading any other time of day fails |
/// | [`Duration`](std::time::Duration) | Edm.Int64: ticks of 100 ns as in .NET, rounded down; at most 2^63 - 1 |
/// | [`Guid`] | Edm.Guid |
/// | [`IpAddr`](std::net::IpAddr), `Ipv4Addr`, `Ipv6Addr` | Edm.String; compared by `eq`, `ne` and `is_in` only |
/// | `Vec<u8>`, `&[u8]`, [`Bytes`](bytes::Bytes) | Edm.Binary, at most 65,536 bytes |
/// | `[u8; N]` | Edm.Binary of exactly `N` bytes |
/// | `Option<T>` | `T`; `None` is not sent |
/// | `&T`, `Box<T>` | `T` |
/// | [`Descending<T>`](crate::Descending) | `T`; only the key text of an index row is reversed |
///
/// These types need the feature that is named after their crate:
///
/// | Rust | stored as |
/// |---|---|
/// | `chrono::DateTime<chrono::Utc>` | Edm.DateTime, rounded down to 100 ns |
/// | `chrono::NaiveDate`, `jiff::civil::Date`, `time::Date` | Edm.DateTime, midnight in UTC; years 1601 to 9999 |
/// | `jiff::Timestamp` | Edm.DateTime, rounded down to 100 ns; ends at 9999-12-30T22:00:00Z |
/// | `rust_decimal::Decimal` | Edm.String with its scale, such as `12.50`; compared by `eq`, `ne` and `is_in` only |
/// | `time::OffsetDateTime` | Edm.DateTime in UTC, rounded down to 100 ns |
/// | `ulid::Ulid` | Edm.String of 26 characters |
/// | `url::Url` | Edm.String |
/// | `uuid::Uuid` | Edm.Guid |
///
/// `From` or `TryFrom` converts times, dates and GUIDs from and to [`DateTime`],
/// [`Day`](crate::key::Day) and [`Guid`].
///
/// **Times and durations of other types silently lose digits below 100 ns**: a stored `Utc::now()` does not read back
/// exactly. Round it beforehand with [`DateTime::truncate`], or use [`DateTime`] in the entity.
///
/// The text of a `Decimal` or an `IpAddr` does not sort like its value (`10` before `9`), nor do the names of an enum's
/// variants. Order comparisons such as `ge` do not compile on these columns: see [`SORTED`](Self::SORTED). Equality
/// compares the text: `1.5` and `1.50` differ, unless `Decimal::normalize` is called before the write.
///
/// Only the text counts for a value that the service sends as text, not its EDM type: `2026-01-02T03:04:05Z` in an
/// Edm.String reads into a [`DateTime`], and an Edm.Guid into a `String`. A plain `get` or query receives no types, so
/// all other reads do the same. Only filters tell the types apart. `upgrade_where` rewrites such a value in the type of
/// its field.
///
/// No other type loses information. An integer that is stored in a wider type is checked when it is read: 300 in a `u8`
/// field fails with `300 is above the greatest u8 255`. A field stored as Int32 or Double does not read an Int64. A
/// field stored as Int64 or Double reads an Int32.
///
/// `None` means that the property is absent: a merge keeps the stored value, a replace removes it. The service stores
/// no null.
///
/// A type of your own:
///
/// ```
/// use azure_table::{Edm, EdmType, Property, ValueError};
/// use azure_table::entity::{ReadProperty, WireValue};
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
///
/// Source: REST "Understanding the Table service data model", property types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored in a table",
    label = "no EDM type for this field",
    note = "stored as is: text (String, &str, Cow, Arc<str>, Box<str>, char), bool, i8 to i64, u8 to u64, f32, f64, DateTime, SystemTime, Guid, Duration, Day, IpAddr, bytes (Vec<u8>, &[u8], Bytes, [u8; N]), and Option, Descending, & and Box of them",
    note = "with a feature: types of chrono (`chrono-04`), jiff (`jiff-02`), rust_decimal (`rust-decimal-1`), time (`time-03`), \
            ulid (`ulid-3`), url (`url-2`) and uuid (`uuid-1`)",
    note = "an enum or a newtype of yours: #[derive(TableProperty)]; a struct: #[derive(PropertyGroup)] and #[table(flatten)]; \
            any serde type, as text: #[table(json)]",
    note = "otherwise: #[table(with = \"module\")], implement `Property` (and `ReadProperty`), or use #[table(ignore)]"
)]
pub trait Property {
    /// The type of the values that a filter compares this column with.
    ///
    /// An owned type that can be read: usually the type itself, `String` for all text, `Vec<u8>` for bytes. An
    /// `Option<T>` compares like a `T`, because a filter cannot test for absence.
    type Compared: Property;

    /// The type in the service.
    const EDM_TYPE: EdmType;

    /// `true` if the stored values sort as the values do.
    ///
    /// If `false`, its columns have only `eq`, `ne` and `is_in`. An order comparison such as `ge` then fails in
    /// `cargo build`, but `cargo check` and editors do not report it.
    const SORTED: bool = true;

    /// Returns the value to send. `None` leaves the property out.
    ///
    /// # Errors
    /// The service cannot represent the value.
    fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError>;

    /// Returns `true` if [`to_edm`](Self::to_edm) rounds this value down.
    #[doc(hidden)]
    fn is_rounded(&self) -> bool {
        false
    }
}

/// A property type that can be read back.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a table",
    label = "this field cannot be read",
    note = "derive it, convert it by #[table(json)] or #[table(with = \"module\")], implement `ReadProperty`, or use \
            #[table(ignore)]"
)]
pub trait ReadProperty: Sized {
    /// Reads the value. It is never `null`, because a null property counts as absent.
    ///
    /// # Errors
    /// The value has another type, or does not fit.
    fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError>;

    /// Returns the value for an absent property, or `None` if its absence is an error.
    fn absent() -> Option<Self> {
        None
    }
}

/// Implements both traits for the types that are an EDM value without conversion, by the variant and the reader of that
/// name.
macro_rules! values {
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
values! {
    bool: Boolean, as_bool;
    i32: Int32, as_i32;
    i64: Int64, as_i64;
    f64: Double, as_f64;
    DateTime: DateTime, as_datetime;
    Guid: Guid, as_guid;
}

/// Implements both traits for types that are stored as their text. `sorted` says whether it sorts as the values do, and
/// the function reads it.
macro_rules! as_text {
    ($($(#[$doc:meta])* $type:ty, sorted: $sorted:literal, $read:expr;)*) => {$(
        impl Property for $type {
            type Compared = Self;
            const EDM_TYPE: EdmType = EdmType::String;
            const SORTED: bool = $sorted;

            fn to_edm(&self) -> Result<Option<Edm<'_>>, ValueError> {
                Ok(Some(Edm::String(self.to_string().into())))
            }
        }

        impl ReadProperty for $type {
            $(#[$doc])*
            fn from_wire(value: WireValue<'_>) -> Result<Self, ValueError> {
                value.as_str().and_then($read)
            }
        }
    )*};
}
use as_text;

impl<T: Property> Property for Option<T> {
    type Compared = T::Compared;
    const EDM_TYPE: EdmType = T::EDM_TYPE;
    const SORTED: bool = T::SORTED;

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
