//! Every type of a field of an entity: as a property, as a key, and as an operand of a filter.
//! `tests/foreign` has the types of other crates.

mod borrowed;
mod dotnet_members;
mod flags;
mod keys;
mod mismatches;
mod operands;
mod property;
mod values;
