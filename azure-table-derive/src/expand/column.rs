//! The code of the generated constants.
//!
//! A constant has the visibility of its field; for a variant, the visibility of its enum. Their names are in
//! `ast/constant.rs`.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Generics;

use crate::ast::{Field, Form, Role, Struct, Variants};
use crate::expand::variant_of::mark;
use crate::place::Paths;

/// Generates the constants of a struct.
pub(crate) fn constants(base: &Struct<'_>, generics: &Generics) -> Option<TokenStream> {
    let paths = base.paths();
    let constants = base.fields.iter().filter_map(|field| constant(&paths, field));
    block(&base.input.ident, generics, constants.collect())
}

/// Generates the constants of an enum of entities.
pub(crate) fn variant_constants(variants: &Variants<'_>, generics: &Generics) -> Option<TokenStream> {
    let constants = variants.named().filter_map(|(variant, ty)| {
        let constant = variant.constant.as_ref()?;
        let private = variants.paths().private;
        let (vis, name, mark) = (&variants.input.vis, variant.name(), mark(variants, variant, ty));
        let doc = format!("The rows that are [`{name}`](variant@Self::{name}).");
        Some(quote! {
            #[doc = #doc]
            #vis const #constant: #private::Variant<Self, #ty> = #private::Variant::new(const { #mark });
        })
    });
    let other = variants.other().and_then(|(variant, _)| {
        let (constant, private) = (variant.constant.as_ref()?, variants.paths().private);
        let vis = &variants.input.vis;
        Some(quote! {
            #[doc(hidden)]
            #vis const #constant: #private::OtherRows<Self> = #private::OtherRows::NEW;
        })
    });
    block(&variants.input.ident, generics, constants.chain(other).collect())
}

fn block(ident: &Ident, generics: &Generics, constants: Vec<TokenStream>) -> Option<TokenStream> {
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    (!constants.is_empty()).then(|| {
        quote! {
            // Few programs use all constants, and the compiler reports lints about a field at the field itself. Most
            // constants trigger neither lint, so `expect` would fail.
            #[allow(dead_code, deprecated, non_upper_case_globals, private_interfaces, unreachable_pub)]
            impl #impl_generics #ident #ty_generics #where_clause {
                #(#constants)*
            }
        }
    })
}

fn constant(paths: &Paths, field: &Field<'_>) -> Option<TokenStream> {
    // A field with invalid attributes may not be a column at all; the compiler should report nothing more about its
    // type.
    let constant = field.constant.as_ref().filter(|_| !field.doubtful)?;
    let Paths { krate, private } = paths;
    let (vis, ty, name) = (&field.original.vis, &field.original.ty, &field.name);
    if let Role::Group(prefix) = &field.role {
        let doc = format!("The flattened field [`{name}`](field@Self::{name}).");
        return Some(quote! {
            #[doc = #doc]
            #vis const #constant: #private::Nested<Self, #ty> = #private::Nested::new(#prefix);
        });
    }
    if let (Role::Property(_), Form::Json | Form::With(_) | Form::Chunked) = (&field.role, field.form()) {
        return Some(quote! {
            #[doc(hidden)]
            #vis const #constant: #private::Opaque<Self, #ty> = #private::Opaque::NEW;
        });
    }
    let (what, ty, stored) = match &field.role {
        Role::Property(stored) => (format!("column `{stored}`"), quote!(#ty), stored.as_str()),
        Role::Key(key) => (key.service().to_owned(), quote!(#ty, #private::InKey), key.service()),
        Role::Timestamp => ("Timestamp".to_owned(), quote!(#private::DateTime), "Timestamp"),
        Role::KeyPart(_) | Role::Etag | Role::Ignored | Role::Extra | Role::Group(_) => return None,
    };
    let doc = format!("The {what}: the field [`{name}`](field@Self::{name}).");
    Some(quote! {
        #[doc = #doc]
        #vis const #constant: #krate::Column<Self, #ty> = #private::column(#stored);
    })
}
