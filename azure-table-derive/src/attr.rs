//! The tokens of `#[table(...)]` as options.
//!
//! Owns [`Attr`], an option that was read, and the rule that each stands once. Which options there are is
//! `attr/known.rs`, how one is read `attr/item.rs`; what stands on a struct or an enum is `attr/container.rs`, on a field
//! `attr/field.rs`, on a variant `attr/variant.rs`. Rules over several options are `check.rs`.

mod container;
mod field;
mod item;
mod known;
pub(crate) mod suggest;
mod variant;

use proc_macro2::Ident;

pub(crate) use self::container::{Columns, ContainerAttrs};
pub(crate) use self::field::{Fallback, FieldAttrs};
use self::item::{Item, items};
pub(crate) use self::known::Kind;
use self::known::{Spot, misplaced};
pub(crate) use self::suggest::{list, meant, similar};
pub(crate) use self::variant::VariantAttrs;
use crate::ctxt::Ctxt;

/// An option's value, and the option's name as the place of messages about it.
pub(crate) struct Attr<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
}

/// Keeps an option. One that is there twice is a mistake even where its value is not readable.
fn set<T>(ctxt: &Ctxt, cell: &mut Option<Attr<T>>, item: &Item, value: Option<T>) {
    if cell.is_some() {
        ctxt.error(&item.name, format!("duplicate attribute `{}`: say it once", item.name));
    } else if let Some(value) = value {
        *cell = Some(Attr {
            name: item.name.clone(),
            value,
        });
    }
}

/// Keeps an option that may stand several times.
fn add<T>(cell: &mut Vec<Attr<T>>, item: &Item, value: Option<T>) {
    cell.extend(value.map(|value| Attr {
        name: item.name.clone(),
        value,
    }));
}
