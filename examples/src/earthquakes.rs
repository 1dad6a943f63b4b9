//! A week of earthquakes. `data/README.md` describes the fields.

use azure_table::{DateTime, Descending};
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Deserializer};

/// Reads all 1,707 events, newest first.
///
/// # Errors
/// The type of the events does not fit the fields of the file.
pub fn read<Q: DeserializeOwned>() -> serde_json::Result<Vec<Q>> {
    let lines = include_str!("../data/earthquakes.jsonl").lines();
    lines.map(serde_json::from_str).collect()
}

/// Reads the time of an event: a number of milliseconds since 1970.
///
/// # Errors
/// The field is no integer.
pub fn milliseconds<'de, D: Deserializer<'de>>(json: D) -> Result<Descending<DateTime>, D::Error> {
    i64::deserialize(json).map(|millis| Descending(DateTime::from_unix_millis(millis)))
}
