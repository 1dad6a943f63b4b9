//! Tests of entities: the derives, types of properties and keys, samples of the classic posts, properties of any value.

#![expect(clippy::unwrap_used, reason = "a test says what failed by panicking")]

mod derive;
mod properties;
mod samples;
mod types;
