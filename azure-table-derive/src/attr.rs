//! The tokens of `#[table(...)]` as options.
//!
//! The known options are in `attr/placement.rs`, their parsing in `attr/item.rs`, their storage in `attr/option.rs`.
//! The options of a struct or an enum are in `attr/container.rs`, those of a field in `attr/field.rs`, those of a
//! variant in `attr/variant.rs`. Rules over several options are in `check.rs`.

mod container;
mod field;
mod item;
mod option;
mod placement;
pub(crate) mod suggestion;
mod variant;

pub(crate) use self::container::{Columns, ContainerAttrs};
pub(crate) use self::field::{Fallback, FieldAttrs};
pub(crate) use self::option::Attr;
pub(crate) use self::placement::Kind;
pub(crate) use self::suggestion::{meant, similar};
pub(crate) use self::variant::VariantAttrs;
