//! The generated code.
//!
//! Owns quoting only: what is wrong was reported before. Emits constants and straight calls; all behaviour stands in
//! `azure_table`. All paths are absolute; field types are written out in the calls, so that the compiler points at them
//! when they do not fit. The constants are `column.rs`, the bounds of generic structs `bound.rs`.

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::DeriveInput;
use syn::ext::IdentExt;

use crate::ast::{Entity, Field, Role};
use crate::bound::{read_generics, table_generics};
use crate::check::check;
use crate::column::constants;
use crate::ctxt::Ctxt;
use crate::fallback;
use crate::key::{KeyName, KeyPiece};
use crate::place::{Paths, Place, local};

/// `#[derive(TableEntity)]`.
pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let ctxt = Ctxt::default();
    let entity = Entity::read(&ctxt, input);
    if let Some(entity) = &entity {
        check(&ctxt, entity);
    }
    match (ctxt.finish(), entity) {
        (None, Some(entity)) => expand(&entity),
        (errors, Some(entity)) => {
            let fallback = fallback::of_entity(&entity);
            quote!(#errors #fallback)
        }
        (errors, None) => {
            let fallback = fallback::of_other(input);
            quote!(#errors #fallback)
        }
    }
}

fn expand(entity: &Entity<'_>) -> TokenStream {
    let table_entity = table_entity(entity);
    let read_entity = (!entity.borrows()).then(|| read_entity(entity));
    let constants = constants(entity);
    quote!(#table_entity #read_entity #constants)
}

fn table_entity(entity: &Entity<'_>) -> TokenStream {
    let Paths { krate, private } = Paths::of(&entity.attrs);
    let ident = &entity.input.ident;
    let generics = table_generics(entity);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();

    let [partition_fields, row_fields] = KeyName::BOTH.map(|key| key_types(entity.key_fields(key)));
    let schema = schema(entity);
    let (key, properties) = (local("key"), local("properties"));
    let write_key = KeyName::BOTH
        .into_iter()
        .flat_map(|key| entity.key_fields(key))
        .map(|field| {
            let (member, ty) = (field.ident, &field.original.ty);
            quote!(#key.field::<#ty>(&self.#member)?;)
        });
    let write_properties = entity.properties().map(|(field, name)| {
        let (member, ty) = (field.ident, &field.original.ty);
        quote!(#properties.property::<#ty>(#name, &self.#member)?;)
    });
    let condition = entity
        .fields
        .iter()
        .find(|field| field.role == Role::Etag)
        .map(|field| {
            let member = field.ident;
            let value = Place::of_type(field).derived(quote!(&self.#member));
            quote! {
                fn condition(&self) -> #private::Condition {
                    #private::condition(#value)
                }
            }
        });

    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #krate::TableEntity for #ident #ty_generics #where_clause {
            type PartitionFields = (#partition_fields);
            type KeyFields = (#partition_fields #row_fields);
            const SCHEMA: &'static #private::EntitySchema = &#schema;
            fn write_key(&self, #key: &mut #private::KeyWriter) -> #private::Result<()> {
                #(#write_key)*
                ::core::result::Result::Ok(())
            }
            fn write_properties(&self, #properties: &mut #private::PropertyWriter<'_>) -> #private::Result<()> {
                #(#write_properties)*
                ::core::result::Result::Ok(())
            }
            #condition
        }
    }
}

/// The inside of a tuple; every type with its comma, since one type alone must be a tuple, too.
pub(crate) fn key_types<'e>(fields: impl Iterator<Item = &'e Field<'e>>) -> TokenStream {
    let types = fields.map(|field| &field.original.ty);
    quote!(#(#types,)*)
}

fn schema(entity: &Entity<'_>) -> TokenStream {
    let private = Paths::of(&entity.attrs).private;
    let name = entity.input.ident.unraw().to_string();
    let [partition_key, row_key] = KeyName::BOTH.map(|key| {
        let pieces = entity.key(key).iter().filter_map(|piece| match piece {
            KeyPiece::Literal(text) => Some(quote!(#private::KeyPiece::Literal(#text))),
            KeyPiece::Field(index) => {
                let name = &entity.fields.get(*index)?.name;
                Some(quote!(#private::KeyPiece::Field(#name)))
            }
        });
        quote!(&[#(#pieces),*])
    });
    let properties = entity.properties().map(|(field, name)| {
        let edm_type = property_item(entity, field, "EDM_TYPE");
        quote!(#private::PropertySchema { name: #name, edm_type: #edm_type, aliases: &[] })
    });
    quote! {
        #private::EntitySchema {
            name: #name,
            key: #private::KeyShape { partition_key: #partition_key, row_key: #row_key },
            properties: &[#(#properties),*],
            groups: &[],
        }
    }
}

/// `<Type as Property>::item`, moved to the field's type.
pub(crate) fn property_item(entity: &Entity<'_>, field: &Field<'_>, item: &str) -> TokenStream {
    let (ty, place) = (&field.original.ty, Place::of_type(field));
    let private = Paths::of(&entity.attrs).private;
    let item = Ident::new(item, Span::call_site());
    let (before, after) = (place.own(quote!(<)), place.own(quote!(as #private::Property>::#item)));
    quote!(#before #ty #after)
}

fn read_entity(entity: &Entity<'_>) -> TokenStream {
    let Paths { krate, private } = Paths::of(&entity.attrs);
    let ident = &entity.input.ident;
    let generics = read_generics(entity);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();

    let has_etag = entity.fields.iter().any(|field| field.role == Role::Etag);
    let metadata = if has_etag { quote!(Minimal) } else { quote!(None) };
    let (row, key) = (local("row"), local("key"));
    let properties = read_properties(entity, &row);
    let fields = read_fields(entity, &row, &key);

    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #krate::ReadEntity for #ident #ty_generics #where_clause {
            const METADATA: #private::MetadataLevel = #private::MetadataLevel::#metadata;
            fn read(#row: &#private::Row<'_>) -> #private::Result<Self> {
                #properties
                let #key = #row.key_parts(&<Self as #krate::TableEntity>::SCHEMA.key)?;
                ::core::result::Result::Ok(Self { #fields })
            }
        }
    }
}

/// The local that holds a property's value while a row is read.
fn found(number: usize) -> Ident {
    local(&format!("f{number}"))
}

/// Goes over the properties of the row once, whatever their order.
fn read_properties(entity: &Entity<'_>, row: &Ident) -> Option<TokenStream> {
    let property = local("property");
    let (types, names): (Vec<_>, Vec<_>) = entity
        .properties()
        .map(|(field, name)| (&field.original.ty, name))
        .unzip();
    let values: Vec<Ident> = (0..names.len()).map(found).collect();
    (!names.is_empty()).then(|| {
        quote! {
            #(let mut #values = ::core::option::Option::None;)*
            for #property in #row.properties() {
                match #property.name() {
                    #(#names => #values = ::core::option::Option::Some(#property.read::<#types>()?),)*
                    _ => {}
                }
            }
        }
    })
}

/// The fields of the struct expression.
fn read_fields(entity: &Entity<'_>, row: &Ident, key: &Ident) -> TokenStream {
    let private = Paths::of(&entity.attrs).private;
    let key_fields = KeyName::BOTH.into_iter().flat_map(|key| entity.key_fields(key));
    let key_index: HashMap<&str, usize> = key_fields
        .enumerate()
        .map(|(index, field)| (field.name.as_str(), index))
        .collect();
    let mut property_index = 0..;
    let fields = entity.fields.iter().map(|field| {
        let (member, ty, place) = (field.ident, &field.original.ty, Place::of_type(field));
        let value = match &field.role {
            Role::Key(_) | Role::KeyPart(_) => {
                let index = key_index.get(&*field.name);
                quote!(#key.read::<#ty>(#index)?)
            }
            Role::Property(name) => {
                let value = property_index.next().map(found);
                quote!(#private::required::<#ty>(#value, #name)?)
            }
            Role::Timestamp => {
                // Compared by reference: about an `Option` itself the compiler would propose to unwrap it.
                let timestamp = local("timestamp");
                let borrowed = place.derived(quote!(&#timestamp));
                quote!({
                    let #timestamp = #row.timestamp()?;
                    let #timestamp: &#ty = #borrowed;
                    *#timestamp
                })
            }
            Role::Etag => place.derived(quote!(#row.etag())),
            Role::Ignored => quote!(<#ty as ::core::default::Default>::default()),
        };
        quote!(#member: #value,)
    });
    quote!(#(#fields)*)
}
