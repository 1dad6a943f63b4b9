//! The vocabulary of OData that client, emulator and test kit share.
//!
//! Owns literals (`literal`), times and ETags as text (`time`), the values of properties with the annotations of their
//! types (`value`), the members of an entity's object with their positions (`member`), and the paths of resources in
//! both directions (`path`). The client reads pages by `json/read.rs`, which is faster. The service's limits are in the
//! emulator.

pub(crate) mod literal;
pub(crate) mod member;
pub(crate) mod path;
pub(crate) mod time;
pub(crate) mod value;
