//! The impls of `PropertyGroup` and `ReadPropertyGroup` for a struct.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Generics;

use crate::ast::Struct;
use crate::bound::{read_generics, write_generics};
use crate::expand::column::constants;
use crate::expand::read::{Reading, Rest, built, members, metadata};
use crate::expand::stored::{group_schemas, owned, property_schemas, write_properties};
use crate::place::{Paths, implement, local};

/// Generates the impls and the constants.
pub(crate) fn expand(base: &Struct<'_>) -> TokenStream {
    let generics = write_generics(base);
    let (write, read) = (
        write_group(base, &generics),
        (!base.borrows()).then(|| read_group(base)),
    );
    let constants = constants(base, &generics);
    quote!(#write #read #constants)
}

fn write_group(base: &Struct<'_>, generics: &Generics) -> TokenStream {
    let private = base.paths().private;
    let (properties, groups) = (property_schemas(base), group_schemas(base));
    let writer = local("properties");
    let write = write_properties(base, &writer);
    let items = quote! {
        const PROPERTIES: &'static [#private::PropertySchema] = #properties;
        const GROUPS: &'static [#private::GroupSchema] = #groups;
        fn write_group(&self, #writer: &mut #private::PropertyWriter<'_>) -> #private::Result<()> {
            #write
            ::core::result::Result::Ok(())
        }
    };
    implement(&quote!(#private::PropertyGroup), base.input, generics, &items)
}

fn read_group(base: &Struct<'_>) -> TokenStream {
    let Paths { private, .. } = base.paths();
    let (row, prefix, name, members) = (local("row"), local("prefix"), local("name"), members());
    let metadata = metadata(base, "None");
    let reading = Reading {
        base,
        row: row.clone(),
        prefix: Some(prefix.clone()),
        rest: Rest::Ignored,
    };
    let statements = reading.statements();
    let built = built(base, |index, field| reading.value(index, field));
    let owned = owned(base, &name);
    let items = quote! {
        const METADATA: #private::MetadataLevel = #metadata;
        fn read_group(#row: &#private::Row<'_>, #prefix: &str) -> #private::Result<Self> {
            let #members = &mut #private::RowMembers::of_group(#row, #prefix);
            #statements
            #built
        }
        fn owns(#name: &str) -> bool {
            match #name { #owned _ => false }
        }
    };
    implement(
        &quote!(#private::ReadPropertyGroup),
        base.input,
        &read_generics(base),
        &items,
    )
}
