//! The vocabulary of OData, as the service speaks it: what client, emulator and test kit read and write alike.
//!
//! Owns literals (`literal`), the paths of resources (`path`) and the members of an entity's object (`member`), each in both
//! directions. What only the service does to them, such as its limits, is the emulator's.

pub(crate) mod literal;
pub(crate) mod member;
pub(crate) mod path;
