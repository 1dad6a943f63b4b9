//! An option that was read.
//!
//! Owns [`Attr`], and the rule that each option stands once.

use proc_macro2::Ident;

use crate::attr::item::Item;
use crate::ctxt::Ctxt;

/// An option's value, and the option's name as the place of messages about it.
pub(crate) struct Attr<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
}

/// Keeps an option. One that is there twice is a mistake even where its value is not readable.
pub(crate) fn set<T>(ctxt: &Ctxt, cell: &mut Option<Attr<T>>, item: &Item, value: Option<T>) {
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
pub(crate) fn add<T>(cell: &mut Vec<Attr<T>>, item: &Item, value: Option<T>) {
    cell.extend(value.map(|value| Attr {
        name: item.name.clone(),
        value,
    }));
}
