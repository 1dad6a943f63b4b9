//! The impls of `VariantOf` for the entities of an enum, and the marks of its variants.
//!
//! Decides which types have an impl: the types that occur in exactly one variant. An impl for another type would
//! conflict with a second one, or with a type that a parameter of the enum may stand for.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Generics, PathSegment, Type, TypePath};

use crate::ast::{Mark, Variant, Variants, borrows};
use crate::bound::{mentions, parameters};
use crate::place::{Generated, Paths, Place, local};

/// Generates the impls. Types that borrow are not read, so they have none.
pub(crate) fn expand(variants: &Variants<'_>) -> TokenStream {
    if borrows(variants.input) {
        return TokenStream::new();
    }
    let all = variants.variants.iter();
    let held: Vec<_> = all.filter_map(|one| Some((one, one.ty?))).collect();
    let generics = &variants.input.generics;
    let alone = held.iter().enumerate().filter(|(at, (_, ty))| {
        let mut others = held.iter().enumerate().filter(|(other, _)| other != at);
        others.all(|(_, (_, other))| are_apart(ty, other, generics)) && !is_parameter(ty, generics)
    });

    let Paths { krate, private } = variants.paths();
    let ident = &variants.input.ident;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let entity = local("entity");
    let impls = alone.map(|(_, (variant, ty))| {
        let (variant_ident, name) = (variant.ident, variant.name());
        // A form of keys is no condition that the service could check.
        let has_mark = variant.attrs.other.is_none() && !matches!(variants.mark, Mark::KeyForm);
        let mark = has_mark.then(|| mark(variants, variant, ty)).into_iter();
        let rest = (variants.variants.len() > 1).then(|| quote!(#entity => ::core::result::Result::Err(#entity),));
        let body = quote! {{
            const VARIANT: &'static str = #name;
            #(const MARK: ::core::option::Option<#private::VariantMark> = ::core::option::Option::Some(#mark);)*
            fn of(#entity: #ident #ty_generics) -> ::core::result::Result<Self, #ident #ty_generics> {
                match #entity {
                    #ident::#variant_ident(#entity) => ::core::result::Result::Ok(#entity),
                    #rest
                }
            }
        }};
        // If the derive mistook two names of one type for two types, the compiler points at them.
        let place = Place::of(*ty);
        let (begin, body) = (place.derived(quote!(impl)), place.derived(body));
        quote! {
            #Generated
            #begin #impl_generics #krate::entity::VariantOf<#ident #ty_generics> for #ty #where_clause #body
        }
    });
    impls.collect()
}

/// Generates the mark of the rows of a variant that holds a `ty`.
pub(crate) fn mark(variants: &Variants<'_>, variant: &Variant<'_>, ty: &Type) -> TokenStream {
    let Paths { krate, private } = variants.paths();
    let form = |ty: &Type| quote!(&<#ty as #krate::TableEntity>::SCHEMA.key);
    let mark = match &variants.mark {
        Mark::Tag(property) => {
            let tag = &variant.tag;
            quote!(Tag { property: #property, tag: #tag })
        }
        Mark::RowKeyPrefix => {
            let prefix = variant.attrs.row_key_prefix.as_ref().map(|prefix| prefix.value.value());
            let prefix = prefix.unwrap_or_default();
            quote!(RowKeyPrefix(#prefix))
        }
        Mark::KeyForm => {
            // A row that fits an earlier variant is read as that variant.
            let earlier = variants
                .named()
                .take_while(|(earlier, _)| earlier.ident != variant.ident);
            let earlier = earlier.map(|(earlier, ty)| {
                let (name, form) = (earlier.name(), form(ty));
                quote!((#name, #form))
            });
            let form = form(ty);
            quote!(KeyForm { form: #form, earlier: &[#(#earlier),*] })
        }
    };
    quote!(#private::VariantMark::#mark)
}

/// Returns `true` if two types are different for all parameters, judged by their names.
fn are_apart(one: &Type, other: &Type, generics: &Generics) -> bool {
    let (one, other) = (bare(one), bare(other));
    if !depends(one, generics) && !depends(other, generics) {
        return one.to_token_stream().to_string() != other.to_token_stream().to_string();
    }
    match (head(one), head(other)) {
        (Some(head), Some(other_head)) => {
            !is_parameter(one, generics) && !is_parameter(other, generics) && head.ident != other_head.ident
        }
        _ => false,
    }
}

/// Returns `true` if a type is a parameter or an associated type of one, so that it may be any type.
fn is_parameter(ty: &Type, generics: &Generics) -> bool {
    if !depends(ty, generics) {
        return false;
    }
    let Type::Path(TypePath { qself: None, path, .. }) = bare(ty) else {
        return true;
    };
    let first = path.segments.first().map(|segment| segment.ident.to_token_stream());
    path.leading_colon.is_none() && first.is_some_and(|first| mentions(first, &parameters(generics)))
}

/// Returns the name of a type, without its path.
fn head(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(TypePath { qself: None, path, .. }) => path.segments.last(),
        _ => None,
    }
}

fn depends(ty: &Type, generics: &Generics) -> bool {
    mentions(ty.to_token_stream(), &parameters(generics))
}

/// Returns the type without parentheses, and without the invisible ones that a macro added.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        _ => ty,
    }
}
