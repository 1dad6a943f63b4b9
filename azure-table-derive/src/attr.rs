//! The tokens of `#[table(...)]` as options.
//!
//! The options are in `attr/table.rs`. The parsers of their values are in `attr/value.rs` and `attr/item.rs`, their
//! storage is in `attr/option.rs`, the errors for wrong places in `attr/placement.rs`. Rules over several options are
//! in `check.rs`.

mod item;
mod option;
mod placement;
pub(crate) mod suggestion;
mod table;
mod value;

pub(crate) use self::item::Item;
pub(crate) use self::option::{Attr, Store};
pub(crate) use self::placement::Kind;
pub(crate) use self::suggestion::{meant, similar};
pub(crate) use self::table::{ContainerAttrs, FieldAttrs, VariantAttrs};
pub(crate) use self::value::{Columns, Fallback, krate};
