//! The generated code.
//!
//! Owns the way of each derive: read, check, write the code, or what stands in its place where there are mistakes. The
//! folder owns quoting only: what is wrong was reported before. It emits constants and straight calls; all behaviour
//! stands in `azure_table`. All paths are absolute; field types are written out in the calls, so that the compiler
//! points at them when they do not fit. The constants are `column.rs`, the bounds of generic types `bound.rs`.

mod entity;
mod group;
mod projection;
mod property;
mod read;
mod stored;
mod variant_of;
mod variants;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput};

pub(crate) use self::entity::key_types;
pub(crate) use self::variant_of::expand as variant_of;
pub(crate) use self::variants::generics as variant_generics;

use crate::ast::{Choice, Entity, Newtype, Struct, Variants};
use crate::attr::Kind;
use crate::check;
use crate::ctxt::Ctxt;
use crate::fallback;

/// What stands before an impl of which the user's code is a part.
struct Generated;

impl ToTokens for Generated {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        // A deprecated field or variant was said where it is declared. Most have none: `expect` would fail there.
        tokens.extend(quote!(#[automatically_derived] #[allow(deprecated)]));
    }
}

/// `#[derive(TableEntity)]`.
pub(crate) fn table_entity(input: &DeriveInput) -> TokenStream {
    if let Data::Enum(_) = input.data {
        return derive(
            input,
            Kind::Variants,
            Variants::read,
            check::variants,
            variants::expand,
            fallback::of_variants,
        );
    }
    derive(
        input,
        Kind::Entity,
        Entity::read,
        check::entity,
        entity::expand,
        fallback::of_entity,
    )
}

/// `#[derive(PropertyGroup)]`.
pub(crate) fn property_group(input: &DeriveInput) -> TokenStream {
    derive(
        input,
        Kind::Group,
        Struct::group,
        check::group,
        group::expand,
        fallback::of_group,
    )
}

/// `#[derive(TableProperty)]`.
pub(crate) fn table_property(input: &DeriveInput) -> TokenStream {
    if let Data::Enum(_) = input.data {
        return derive(
            input,
            Kind::Choice,
            Choice::read,
            check::choice,
            property::choice,
            fallback::of_choice,
        );
    }
    derive(
        input,
        Kind::Newtype,
        Newtype::read,
        |_, _| {},
        property::newtype,
        fallback::of_newtype,
    )
}

/// `#[derive(Projection)]`.
pub(crate) fn projection(input: &DeriveInput) -> TokenStream {
    derive(
        input,
        Kind::Projection,
        Struct::projection,
        check::projection,
        projection::expand,
        fallback::of_projection,
    )
}

/// One derive, whatever it is for.
fn derive<'a, T>(
    input: &'a DeriveInput,
    kind: Kind,
    read: fn(&Ctxt, &'a DeriveInput) -> Option<T>,
    check: fn(&Ctxt, &T),
    expand: fn(&T) -> TokenStream,
    fallback: fn(&T) -> TokenStream,
) -> TokenStream {
    let ctxt = Ctxt::default();
    let item = read(&ctxt, input);
    if let Some(item) = &item {
        check(&ctxt, item);
    }
    match (ctxt.finish(), item) {
        (None, Some(item)) => expand(&item),
        (errors, Some(item)) => {
            let fallback = fallback(&item);
            quote!(#errors #fallback)
        }
        (errors, None) => {
            let fallback = fallback::of_unread(kind, input);
            quote!(#errors #fallback)
        }
    }
}
