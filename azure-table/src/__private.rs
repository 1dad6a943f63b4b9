//! The items that generated code may name, besides the derive's traits and `Column`. Not part of the public interface.
//!
//! Most come from the core. Contains what needs client and emulator at once: the items for a test of
//! `#[azure_table::test]` are in `__private/test.rs`, and for an exploration in `__private/explore.rs`.

#[cfg(all(feature = "test-util", feature = "emulator"))]
pub mod explore;
#[cfg(all(feature = "derive", feature = "test-util", feature = "emulator"))]
pub mod test;

pub use azure_table_core::__private::*;
