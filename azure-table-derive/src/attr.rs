//! The tokens of `#[table(...)]` as options.
//!
//! Which options there are is `attr/placement.rs`, how one is read `attr/item.rs`, how it is kept `attr/option.rs`;
//! what stands on a struct or an enum is `attr/container.rs`, on a field `attr/field.rs`, on a variant
//! `attr/variant.rs`. Rules over several options are `check.rs`.

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
