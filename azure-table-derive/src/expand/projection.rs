//! The impls of `ReadEntity`, `UpdatableRow` and `Projection` for a struct with some columns of an entity.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::ast::{Field, Role, Struct};
use crate::bound::Bounds;
use crate::expand::entity::{etag, timestamp};
use crate::expand::read::{built, default, of_default};
use crate::key::KeyName;
use crate::place::{Paths, Place, implement, local};

/// Generates the impls.
pub(crate) fn expand(base: &Struct<'_>) -> TokenStream {
    let Paths { krate, private } = base.paths();
    let Some(of) = base.attrs.of.as_ref().map(|of| &of.value) else {
        return TokenStream::new();
    };
    let mut bounds = Bounds::new(&base.input.generics);
    bounds.require(of, &quote!(#krate::TableEntity));
    for field in &base.fields {
        let ty = &field.original.ty;
        match field.role {
            Role::Key(_) => bounds.require(ty, &quote!(#private::ReadTableKey)),
            Role::Ignored => bounds.require(ty, &quote!(::core::default::Default)),
            Role::Property(_) => bounds.require(ty, &quote!(#private::Property + #private::ReadProperty)),
            _ => {}
        }
    }
    let generics = bounds.generics();

    let row = local("row");
    // The keys are selected too, so that an error can name the row.
    let always = [quote!("PartitionKey"), quote!("RowKey")].into_iter();
    let timestamp = base.field(&Role::Timestamp).map(|_| quote!("Timestamp"));
    let columns = base.properties().map(|(field, _)| {
        let column = column(base, field);
        quote!(#column.selected())
    });
    let names: Vec<TokenStream> = always.chain(timestamp).chain(columns).collect();
    let count = names.len();
    let metadata = match base.field(&Role::Etag) {
        Some(_) => quote!(Minimal),
        None => quote!(None),
    };
    // In a generic projection a bound takes the place of the assertion.
    let assertion = (!base.is_generic()).then(|| {
        let assertion = Place::of(of).derived(quote!(#private::assert_entity::<#of>()));
        quote!(const _: () = #assertion;)
    });
    let built = built(base, |_, field| value(base, field));
    let absent = absent(base);
    let names = quote! {
        const NAMES: &'static #private::Distinct<#count> = &#private::Distinct::of([#(#names),*]);
    };
    let read = quote! {
        const METADATA: #private::MetadataLevel = #private::MetadataLevel::#metadata;
        const SELECT: ::core::option::Option<&'static [&'static str]> =
            ::core::option::Option::Some(<Self as #private::Selection<#count>>::NAMES.names());
        fn read(#row: &#private::Row<'_>) -> #private::Result<Self> {
            #built
        }
    };
    let values = local("values");
    let written = base.fields.iter().filter_map(|field| written(base, field, &values));
    let updated = quote! {
        fn updated(&self) -> #private::Updated<'_, #of> {
            let mut #values = #private::ProjectedValues::<#of>::new();
            #(#written)*
            #private::Updated::Projection(#values)
        }
    };
    let impls = [
        (quote!(#private::Selection<#count>), names),
        (quote!(#krate::ReadEntity), read),
        (quote!(#private::UpdatableRow<#of>), updated),
        (quote!(#private::Projection<#of>), TokenStream::new()),
    ]
    .map(|(of, items)| implement(&of, base.input, &generics, &items));
    quote! {
        const _: () = {
        #absent
        #(#impls)*
        #assertion
        };
    }
}

/// Generates the type of the entity at the given place, not where the user wrote it.
fn of(base: &Struct<'_>, place: &Place) -> Option<TokenStream> {
    base.attrs.of.as_ref().map(|of| place.moved(&of.value))
}

/// Returns the place that determines the constant of a field.
fn source(field: &Field<'_>) -> Place {
    match &field.attrs.column {
        Some(column) => Place::of(&column.value),
        None => Place::of(field.ident),
    }
}

/// Generates fallbacks for the constants that the entity does not have: its own constants hide a trait's constants.
fn absent(base: &Struct<'_>) -> TokenStream {
    let private = base.paths().private;
    let constants = base.fields.iter().filter_map(|field| field.constant.as_ref());
    let constants: BTreeSet<&Ident> = constants.collect();
    quote! {
        // None of them is used in valid code, so `expect` would fail.
        #[allow(dead_code, non_upper_case_globals)]
        trait __Absent: ::core::marker::Sized {
            #(const #constants: #private::Absent<Self> = #private::Absent::NEW;)*
        }
        impl<__E> __Absent for __E {}
    }
}

/// Generates the constant of the entity that a field reads. Errors point at the field.
fn column(base: &Struct<'_>, field: &Field<'_>) -> TokenStream {
    let (place, constant) = (source(field), &field.constant);
    let of = of(base, &place);
    let (open, close) = (place.derived(quote!(<)), place.derived(quote!(>::)));
    quote!(#open #of #close #constant)
}

fn value(base: &Struct<'_>, field: &Field<'_>) -> TokenStream {
    let private = base.paths().private;
    let (row, ty) = (local("row"), &field.original.ty);
    match &field.role {
        Role::Key(key) => {
            let read = match key {
                KeyName::Partition => quote!(partition_field),
                KeyName::Row => quote!(row_field),
            };
            let of = of(base, &Place::of(&field.original.ty));
            quote!(#private::#read::<#of, #ty>(#row)?)
        }
        Role::Timestamp => timestamp(base, field, &row),
        Role::Etag => etag(base, field, &row),
        Role::Ignored => of_default(field),
        _ => {
            let (column, place) = (column(base, field), source(field));
            let (of, of_column) = (of(base, &place), place.derived(quote!(_)));
            match default(field) {
                None => quote!(#private::select::<#of, #ty, #of_column>(#column, #row)?),
                Some(default) => quote! {
                    #private::select_found::<#of, #ty, #of_column>(#column, #row)?.unwrap_or_else(|| #default)
                },
            }
        }
    }
}

/// Generates the statement that adds a field to the values that the projection writes.
fn written(base: &Struct<'_>, field: &Field<'_>, values: &Ident) -> Option<TokenStream> {
    let member = field.ident;
    match &field.role {
        Role::Key(_) => Some(quote!(#values.key(&self.#member);)),
        Role::Timestamp | Role::Etag | Role::Ignored => None,
        _ => {
            let column = column(base, field);
            let call = source(field).derived(quote!(.write));
            Some(quote!(#column #call(&self.#member, &mut #values);))
        }
    }
}
