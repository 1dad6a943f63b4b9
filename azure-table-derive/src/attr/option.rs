//! A parsed option.
//!
//! Owns [`Attr`], and the rule that each option is used once.

use proc_macro2::Ident;

use crate::attr::item::Item;
use crate::ctxt::Ctxt;

/// An option's value, and the option's name for the span of errors.
pub(crate) struct Attr<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
}

/// Stores an option. A duplicate is an error even if its value cannot be parsed.
pub(crate) fn set<T>(ctxt: &Ctxt, cell: &mut Option<Attr<T>>, item: &Item, value: Option<T>) {
    if cell.is_some() {
        ctxt.error(
            &item.name,
            format!("duplicate attribute `{}`: write it once", item.name),
        );
    } else if let Some(value) = value {
        *cell = Some(Attr {
            name: item.name.clone(),
            value,
        });
    }
}

/// Stores an option that may be repeated.
pub(crate) fn add<T>(cell: &mut Vec<Attr<T>>, item: &Item, value: Option<T>) {
    cell.extend(value.map(|value| Attr {
        name: item.name.clone(),
        value,
    }));
}
