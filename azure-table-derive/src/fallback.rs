//! The impls of a type that has mistakes.
//!
//! Owns what stands beside the compile errors: enough for the rest of the program to be checked, so that the user sees
//! the mistakes and not ten times that a trait is not implemented. None of it ever runs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Generics};

use crate::ast::Entity;
use crate::attr::EntityAttrs;
use crate::bound::{read_generics, table_generics};
use crate::column::constants;
use crate::expand::key_types;
use crate::key::KeyName;
use crate::place::Paths;

/// The impls of a struct, as far as it is understood.
pub(crate) fn of_entity(entity: &Entity<'_>) -> TokenStream {
    let [partition_fields, row_fields] = KeyName::BOTH.map(|key| {
        // Without attributes that can be relied on, a field may yet be ignored or be a key.
        key_types(entity.key_fields(key).filter(|field| !field.doubtful))
    });
    let impls = Impls {
        paths: Paths::of(&entity.attrs),
        partition_fields,
        row_fields,
        table_generics: table_generics(entity),
        read_generics: (!entity.borrows()).then(|| read_generics(entity)),
    };
    let (impls, constants) = (impls.quote(entity.input), constants(entity));
    quote!(#impls #constants)
}

/// The impls of an enum, a union or a tuple struct.
pub(crate) fn of_other(input: &DeriveInput) -> TokenStream {
    let impls = Impls {
        paths: Paths::of(&EntityAttrs::default()),
        partition_fields: TokenStream::new(),
        row_fields: TokenStream::new(),
        table_generics: input.generics.clone(),
        read_generics: input
            .generics
            .lifetimes()
            .next()
            .is_none()
            .then(|| input.generics.clone()),
    };
    impls.quote(input)
}

struct Impls {
    paths: Paths,
    partition_fields: TokenStream,
    row_fields: TokenStream,
    table_generics: Generics,
    /// None where the type borrows.
    read_generics: Option<Generics>,
}

impl Impls {
    fn quote(&self, input: &DeriveInput) -> TokenStream {
        let Self {
            paths: Paths { krate, private },
            partition_fields,
            row_fields,
            ..
        } = self;
        let ident = &input.ident;
        let (impl_generics, ty_generics, where_clause) = self.table_generics.split_for_impl();
        let table_entity = quote! {
            #[automatically_derived]
            impl #impl_generics #krate::TableEntity for #ident #ty_generics #where_clause {
                type PartitionFields = (#partition_fields);
                type KeyFields = (#partition_fields #row_fields);
                const SCHEMA: &'static #private::EntitySchema = &#private::EntitySchema {
                    name: "",
                    key: #private::KeyShape { partition_key: &[], row_key: &[] },
                    properties: &[],
                    groups: &[],
                };
                fn write_key(&self, _: &mut #private::KeyWriter) -> #private::Result<()> {
                    loop {}
                }
                fn write_properties(&self, _: &mut #private::PropertyWriter<'_>) -> #private::Result<()> {
                    loop {}
                }
            }
        };
        let read_entity = self.read_generics.as_ref().map(|generics| {
            let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
            quote! {
                #[automatically_derived]
                impl #impl_generics #krate::ReadEntity for #ident #ty_generics #where_clause {
                    const METADATA: #private::MetadataLevel = #private::MetadataLevel::None;
                    fn read(_: &#private::Row<'_>) -> #private::Result<Self> {
                        loop {}
                    }
                }
            }
        });
        quote!(#table_entity #read_entity)
    }
}
