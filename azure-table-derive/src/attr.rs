//! Parses the tokens of `#[table(...)]` into options.
//!
//! `attr/table.rs` lists the options. `attr/item.rs` and `attr/value.rs` parse their values, `attr/option.rs` stores
//! them, and `attr/placement.rs` has the errors for misplaced ones. Rules over several options are in `check.rs`.

mod index;
mod item;
mod option;
mod placement;
pub(crate) mod suggestion;
mod table;
mod value;

pub(crate) use self::index::Index;
pub(crate) use self::item::Item;
pub(crate) use self::option::{Attr, Store};
pub(crate) use self::placement::Kind;
pub(crate) use self::suggestion::{meant, similar};
pub(crate) use self::table::{ContainerAttrs, FieldAttrs, VariantAttrs};
pub(crate) use self::value::{Columns, Fallback, krate};
