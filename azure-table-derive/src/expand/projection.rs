//! `ReadEntity` and `Projection` of a struct that has some columns of an entity.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ast::{Field, Role, Struct};
use crate::attr::Fallback;
use crate::bound::Bounds;
use crate::expand::entity::{etag, timestamp};
use crate::key::KeyName;
use crate::place::{Paths, Place, local};

/// The impls.
pub(crate) fn expand(base: &Struct<'_>) -> TokenStream {
    let Paths { krate, private } = base.paths();
    let ident = &base.input.ident;
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
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();

    let row = local("row");
    // The keys come along so that an error can name the row.
    let always = [quote!("PartitionKey"), quote!("RowKey")].into_iter();
    let timestamp = base.field(&Role::Timestamp).map(|_| quote!("Timestamp"));
    let columns = base.properties().map(|(field, _)| {
        let column = column(base, field);
        quote!(#private::column_name(&#column))
    });
    let names: Vec<TokenStream> = always.chain(timestamp).chain(columns).collect();
    let count = names.len();
    let metadata = match base.field(&Role::Etag) {
        Some(_) => quote!(Minimal),
        None => quote!(None),
    };
    let fields = base.fields.iter().map(|field| {
        let (member, value) = (field.ident, value(base, field));
        quote!(#member: #value)
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics #private::Selection<#count> for #ident #ty_generics #where_clause {
            const NAMES: &'static #private::Distinct<#count> = &#private::Distinct::of([#(#names),*]);
        }
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #krate::ReadEntity for #ident #ty_generics #where_clause {
            const METADATA: #private::MetadataLevel = #private::MetadataLevel::#metadata;
            const SELECT: ::core::option::Option<&'static [&'static str]> =
                ::core::option::Option::Some(<Self as #private::Selection<#count>>::NAMES.names());
            fn read(#row: &#private::Row<'_>) -> #private::Result<Self> {
                ::core::result::Result::Ok(Self { #(#fields),* })
            }
        }
        #[automatically_derived]
        impl #impl_generics #private::Projection<#of> for #ident #ty_generics #where_clause {}
    }
}

/// The constant of the entity that a field reads. What is wrong with its name is said at the field, with its type at the
/// field's type.
fn column(base: &Struct<'_>, field: &Field<'_>) -> TokenStream {
    let of = base.attrs.of.as_ref().map(|of| &of.value);
    let constant = &field.constant;
    let of = Place::of_type(field).derived(quote!(<#of>::));
    quote!(#of #constant)
}

fn value(base: &Struct<'_>, field: &Field<'_>) -> TokenStream {
    let private = base.paths().private;
    let of = base.attrs.of.as_ref().map(|of| &of.value);
    let (row, ty) = (local("row"), &field.original.ty);
    match &field.role {
        Role::Key(KeyName::Partition) => quote!(#private::partition_field::<#of, #ty>(#row)?),
        Role::Key(KeyName::Row) => quote!(#private::row_field::<#of, #ty>(#row)?),
        Role::Timestamp => timestamp(field, &row),
        Role::Etag => etag(field, &row),
        Role::Ignored => quote!(<#ty as ::core::default::Default>::default()),
        _ => {
            let column = column(base, field);
            match field.attrs.default.as_ref().map(|default| &default.value) {
                None => quote!(#private::select::<#of, #ty, _>(#column, #row)?),
                Some(default) => {
                    let default = match default {
                        Fallback::OfType => {
                            let default = quote!(::core::default::Default);
                            Place::of_type(field).item(ty, &default, "default")
                        }
                        Fallback::Function(path) => quote!(#path),
                    };
                    quote!(#private::select_found::<#of, #ty, _>(#column, #row)?.unwrap_or_else(#default))
                }
            }
        }
    }
}
