//! A parsed option.
//!
//! Defines [`Attr`], and the rule that an option is used at most once. A row of `attr/table.rs` can allow repetition.

use proc_macro2::Ident;

use crate::attr::item::Item;
use crate::ctxt::Ctxt;

/// An option's value, and the option's name for the span of errors.
pub(crate) struct Attr<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
}

impl<T> Attr<T> {
    fn new(item: &Item, value: T) -> Self {
        let name = item.name.clone();
        Self { name, value }
    }
}

/// The place of an option's value.
pub(crate) trait Store<T> {
    fn store(&mut self, ctxt: &Ctxt, item: &Item, value: Option<T>);
}

impl<T> Store<T> for Option<Attr<T>> {
    /// Stores an option. A duplicate is an error even if its value cannot be parsed.
    fn store(&mut self, ctxt: &Ctxt, item: &Item, value: Option<T>) {
        if self.is_some() {
            ctxt.error(
                &item.name,
                format!("duplicate attribute `{}`: write it once", item.name),
            );
        } else {
            *self = value.map(|value| Attr::new(item, value));
        }
    }
}

impl<T> Store<T> for Vec<Attr<T>> {
    /// Stores an option that may be repeated.
    fn store(&mut self, _: &Ctxt, item: &Item, value: Option<T>) {
        self.extend(value.map(|value| Attr::new(item, value)));
    }
}
