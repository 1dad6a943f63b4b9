//! The text of a position, and its kind.
//!
//! Each position stores its [`PositionKind`], so that a position of another method is recognized, in its text and in
//! any serde format. The types of positions are beside their methods.

use std::fmt;

use azure_table_wire::error::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The kind of a [`Continuation`](crate::Continuation).
pub(crate) const QUERY: u8 = 0;
/// The kind of a `ScanPosition`.
pub(crate) const SCAN: u8 = 1;
/// The kind of a `WritePosition`.
pub(crate) const WRITES: u8 = 2;

/// The stored names of the kinds, in their order, with the names in errors.
const KINDS: [(&str, &str); 3] = [
    ("query", "the continuation of a query"),
    ("scan", "a position of `scan`"),
    ("writes", "a position of a write over a query, such as `delete_where`"),
];

/// The kind of a position. Positions that an earlier version stored have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct PositionKind<const KIND: u8>;

impl<const KIND: u8> PositionKind<KIND> {
    const NAMES: (&'static str, &'static str) = KINDS[KIND as usize];
}

impl<const KIND: u8> Serialize for PositionKind<KIND> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Self::NAMES.0)
    }
}

impl<'de, const KIND: u8> Deserialize<'de> for PositionKind<KIND> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        check::<KIND>(&name).map_err(D::Error::custom)?;
        Ok(Self)
    }
}

/// Returns the reason that a position of `name` is not one of `KIND`.
fn check<const KIND: u8>(name: &str) -> Result<(), String> {
    let (own, expected) = PositionKind::<KIND>::NAMES;
    match KINDS.iter().find(|(known, _)| *known == name) {
        Some((known, _)) if *known == own => Ok(()),
        Some((_, found)) => Err(format!("this is {found}, not {expected}")),
        None => Err(format!("this is not {expected}")),
    }
}

/// Writes a position as letters, digits, `-` and `_`.
pub(crate) fn write(position: &impl Serialize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let json = serde_json::to_vec(position).map_err(|_| fmt::Error)?;
    f.write_str(&URL_SAFE_NO_PAD.encode(json))
}

/// Reads the text of [`write`].
///
/// # Errors
/// - `InvalidInput`: the text is not a position, or one of another kind.
pub(crate) fn parse<T: DeserializeOwned, const KIND: u8>(text: &str) -> Result<T> {
    #[derive(Deserialize)]
    struct Named {
        kind: Option<String>,
    }

    let json = URL_SAFE_NO_PAD.decode(text).map_err(not_one::<KIND>)?;
    if let Ok(Named { kind: Some(name) }) = serde_json::from_slice(&json) {
        check::<KIND>(&name).map_err(Error::invalid_input)?;
    }
    serde_json::from_slice(&json).map_err(not_one::<KIND>)
}

fn not_one<const KIND: u8>(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::invalid_input(format!("the text is not {}", PositionKind::<KIND>::NAMES.1)).with_source(error)
}

/// Implements `Display` and `FromStr` of a position.
macro_rules! position_text {
    ($Position:ident, $KIND:expr) => {
        /// Text of letters, digits, `-` and `_`, which fits into a URL.
        impl std::fmt::Display for $Position {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                crate::request::position::write(self, f)
            }
        }

        impl std::str::FromStr for $Position {
            type Err = azure_table_wire::error::Error;

            /// Parses the text of [`Display`](std::fmt::Display).
            ///
            /// # Errors
            /// - `InvalidInput`: the text is not a position of this type. For one of another type, the error names it.
            fn from_str(text: &str) -> azure_table_wire::error::Result<Self> {
                crate::request::position::parse::<Self, { $KIND }>(text)
            }
        }
    };
}
pub(crate) use position_text;
