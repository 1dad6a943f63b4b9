//! The impl of `NamedTable` for an entity with `#[table(name = "…")]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Generics};

use crate::attr::ContainerAttrs;
use crate::place::{Paths, implement};

/// Generates the impl, if the table is named.
pub(crate) fn expand(attrs: &ContainerAttrs, input: &DeriveInput, generics: &Generics) -> Option<TokenStream> {
    let name = &attrs.name.as_ref()?.value;
    let krate = Paths::of(attrs).krate;
    let items = quote!(const TABLE: &'static str = #name;);
    Some(implement(&quote!(#krate::entity::NamedTable), input, generics, &items))
}
