//! The impl of `NamedTable` for an entity with `#[table(name = "…")]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Generics, Ident};

use crate::attr::ContainerAttrs;
use crate::place::{Generated, Paths};

/// Generates the impl, if the table is named.
pub(crate) fn expand(attrs: &ContainerAttrs, ident: &Ident, generics: &Generics, paths: Paths) -> Option<TokenStream> {
    let name = &attrs.name.as_ref()?.value;
    let krate = paths.krate;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    Some(quote! {
        #Generated
        impl #impl_generics #krate::entity::NamedTable for #ident #ty_generics #where_clause {
            const TABLE: &'static str = #name;
        }
    })
}
