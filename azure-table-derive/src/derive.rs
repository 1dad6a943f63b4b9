//! Runs each derive, from its input to its code.
//!
//! Each derive parses the input, checks it, and generates the code, or the fallback if there are errors.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput};

use crate::ast::{Choice, Entity, Newtype, Struct, Variants};
use crate::attr::Kind;
use crate::ctxt::Ctxt;
use crate::expand::{entity, group, projection, property, variants};
use crate::{check, fallback};

/// Expands `#[derive(TableEntity)]`.
pub(crate) fn table_entity(input: &DeriveInput) -> TokenStream {
    if let Data::Enum(_) = input.data {
        return derive(
            input,
            Kind::Variants,
            Variants::read,
            check::variants,
            variants::expand,
            fallback::for_variants,
        );
    }
    derive(
        input,
        Kind::Entity,
        Entity::read,
        check::entity,
        entity::expand,
        fallback::for_entity,
    )
}

/// Expands `#[derive(PropertyGroup)]`.
pub(crate) fn property_group(input: &DeriveInput) -> TokenStream {
    derive(
        input,
        Kind::Group,
        Struct::group,
        check::group,
        group::expand,
        fallback::for_group,
    )
}

/// Expands `#[derive(TableProperty)]`.
pub(crate) fn table_property(input: &DeriveInput) -> TokenStream {
    if let Data::Enum(_) = input.data {
        return derive(
            input,
            Kind::Choice,
            Choice::read,
            check::choice,
            property::choice,
            fallback::for_choice,
        );
    }
    derive(
        input,
        Kind::Newtype,
        Newtype::read,
        |_, _| {},
        property::newtype,
        fallback::for_newtype,
    )
}

/// Expands `#[derive(Projection)]`.
pub(crate) fn projection(input: &DeriveInput) -> TokenStream {
    derive(
        input,
        Kind::Projection,
        Struct::projection,
        check::projection,
        projection::expand,
        fallback::for_projection,
    )
}

/// Runs one derive of any kind.
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
            let fallback = fallback::for_unread(kind, input);
            quote!(#errors #fallback)
        }
    }
}
