//! `VariantOf` of the entities that an enum is made of.
//!
//! Owns for which types it is: those that one variant alone holds. An impl for another would clash with its like, or
//! with nothing but what the enum's parameters may be.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Generics, PathSegment, Type, TypePath};

use crate::ast::{Mark, Variant, Variants, borrows};
use crate::bound::{mentions, parameters, variant_generics};
use crate::place::{Generated, Paths, Place, local};

/// The impls. What borrows is not read, and so not sorted out.
pub(crate) fn expand(variants: &Variants<'_>) -> TokenStream {
    if borrows(variants.input) {
        return TokenStream::new();
    }
    let held: Vec<_> = variants
        .variants
        .iter()
        .filter_map(|variant| Some((variant, variant.ty?)))
        .collect();
    let generics = &variants.input.generics;
    let alone = held.iter().enumerate().filter(|(at, (_, ty))| {
        let mut others = held.iter().enumerate().filter(|(other, _)| other != at);
        others.all(|(_, (_, other))| are_apart(ty, other, generics)) && !is_parameter(ty, generics)
    });

    let Paths { krate, .. } = variants.paths();
    let ident = &variants.input.ident;
    // The forms of keys are those of entities.
    let bounded = matches!(variants.mark, Mark::KeyForm).then(|| variant_generics(variants, &TokenStream::new()));
    let (impl_generics, ty_generics, where_clause) = bounded.as_ref().unwrap_or(generics).split_for_impl();
    let entity = local("entity");
    let impls = alone.map(|(_, (variant, ty))| {
        let (variant_ident, name) = (variant.ident, variant.name());
        let mark = mark(variants, variant);
        let rest = (variants.variants.len() > 1).then(|| quote!(#entity => ::core::result::Result::Err(#entity),));
        let body = quote! {{
            const VARIANT: &'static str = #name;
            #mark
            fn of(#entity: #ident #ty_generics) -> ::core::result::Result<Self, #ident #ty_generics> {
                match #entity {
                    #ident::#variant_ident(#entity) => ::core::result::Result::Ok(#entity),
                    #rest
                }
            }
        }};
        // Where two names of one type were taken for two types, the compiler points at them.
        let place = Place::of(*ty);
        let (begin, body) = (place.derived(quote!(impl)), place.derived(body));
        quote! {
            #Generated
            #begin #impl_generics #krate::entity::VariantOf<#ident #ty_generics> for #ty #where_clause #body
        }
    });
    impls.collect()
}

/// What tells the rows of a variant; nothing tells those of the one for all other rows.
fn mark(variants: &Variants<'_>, variant: &Variant<'_>) -> Option<TokenStream> {
    let Paths { krate, private } = variants.paths();
    if variant.attrs.other.is_some() {
        return None;
    }
    let form = |ty: &Type| quote!(&<#ty as #krate::TableEntity>::SCHEMA.key);
    let mark = match &variants.mark {
        Mark::Tag(property) => {
            let tag = &variant.tag;
            quote!(Tag { property: #property, tag: #tag })
        }
        Mark::RowKeyPrefix => {
            let prefix = variant.attrs.row_key_prefix.as_ref()?.value.value();
            quote!(RowKeyPrefix(#prefix))
        }
        Mark::KeyForm => {
            let earlier = variants
                .named()
                .take_while(|(earlier, _)| earlier.ident != variant.ident);
            let earlier = earlier.map(|(earlier, ty)| {
                let (name, form) = (earlier.name(), form(ty));
                quote!((#name, #form))
            });
            let form = form(variant.ty?);
            quote!(KeyForm { form: #form, earlier: &[#(#earlier),*] })
        }
    };
    Some(quote! {
        const MARK: ::core::option::Option<#private::VariantMark> =
            ::core::option::Option::Some(#private::VariantMark::#mark);
    })
}

/// Whether two types are never the same, as far as their names tell: whatever the parameters are.
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

/// Whether a type is a parameter itself, or what belongs to one: it may be any type.
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

/// The name of a type, without what is before it.
fn head(ty: &Type) -> Option<&PathSegment> {
    match ty {
        Type::Path(TypePath { qself: None, path, .. }) => path.segments.last(),
        _ => None,
    }
}

fn depends(ty: &Type, generics: &Generics) -> bool {
    mentions(ty.to_token_stream(), &parameters(generics))
}

/// The type without parentheses, and without those that a macro left unseen.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        _ => ty,
    }
}
