//! The items that generated code may name, besides the derive's traits and `Column`. Not part of the public interface.
//!
//! Most come from the core. The rest needs both the client and the emulator: `__private/test.rs` supports tests with
//! `#[azure_table::test]`, and `__private/explore.rs` supports explorations.

#[cfg(all(feature = "test-util", feature = "emulator"))]
pub mod explore;
#[cfg(all(feature = "derive", feature = "test-util", feature = "emulator"))]
pub mod test;

pub use azure_table_wire::__private::*;
