//! The impls of `TableEntity` and `ReadEntity` for a struct.

use std::collections::HashMap;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Generics;
use syn::ext::IdentExt;

use crate::ast::{Entity, Field, Role, Struct};
use crate::bound::{read_generics, write_generics};
use crate::expand::column::constants;
use crate::expand::field_type::{FieldType, exactly};
use crate::expand::read::{Reading, Rest, built, members, metadata};
use crate::expand::stored::{group_schemas, property_schemas, write_properties};
use crate::expand::{index, table_name};
use crate::key::{KeyName, KeyPiece};
use crate::place::{Paths, Place, implement, local};

/// Generates the impls, the constants, and the assertions.
pub(crate) fn expand(entity: &Entity<'_>) -> TokenStream {
    let base = &entity.base;
    let generics = write_generics(base);
    let table_entity = table_entity(entity, &generics);
    let read_entity = (!base.borrows()).then(|| read_entity(entity));
    let constants = constants(base, &generics);
    let assertions = (!base.is_generic()).then(|| {
        let ident = &base.input.ident;
        let all = width_assertions(entity).chain(name_assertion(base, &quote!(#ident)));
        all.map(|assertion| quote!(const _: () = #assertion;))
            .collect::<TokenStream>()
    });
    let named_table = table_name::expand(&base.attrs, base.input, &generics);
    let indexes = index::expand(entity);
    quote!(#table_entity #read_entity #named_table #constants #assertions #indexes)
}

fn table_entity(entity: &Entity<'_>, generics: &Generics) -> TokenStream {
    let base = &entity.base;
    let Paths { krate, private } = base.paths();

    let [partition_fields, row_fields] = KeyName::BOTH.map(|key| key_types(entity.key_fields(key)));
    let schema = schema(entity);
    let (key, properties) = (local("key"), local("properties"));
    let write_key = key_fields(entity).map(|field| FieldType::of(base, field).write_key(&key));
    let write_properties = write_properties(base, &properties);
    let etag = base.field(&Role::Etag).map(|field| {
        let (member, etag) = (field.ident, local("etag"));
        let item = |name| exactly(base, field, "HeldETag", name);
        let (get, set) = (item("get"), item("set"));
        quote! {
            fn condition(&self) -> #private::Condition {
                #private::condition(#get(&self.#member))
            }
            fn set_etag(&mut self, #etag: &#private::ETag) {
                #set(&mut self.#member, ::core::option::Option::Some(::core::clone::Clone::clone(#etag)))
            }
        }
    });
    // In a generic struct the assertions can be checked only at each use.
    let (widths, names) = if base.is_generic() {
        let widths = width_assertions(entity).map(|assertion| quote!(const { #assertion }));
        let names = name_assertion(base, &quote!(Self)).map(|assertion| quote!(const { #assertion }));
        (widths.collect(), names)
    } else {
        (TokenStream::new(), None)
    };

    let items = quote! {
        type PartitionFields = (#partition_fields);
        type KeyFields = (#partition_fields #row_fields);
        const SCHEMA: &'static #private::EntitySchema = &#schema;
        fn write_key(&self, #key: &mut #private::KeyWriter) -> #private::Result<()> {
            #widths
            #(#write_key)*
            ::core::result::Result::Ok(())
        }
        fn write_properties(&self, #properties: &mut #private::PropertyWriter<'_>) -> #private::Result<()> {
            #names
            #write_properties
            ::core::result::Result::Ok(())
        }
        #etag
    };
    implement(&quote!(#krate::TableEntity), base.input, generics, &items)
}

fn key_fields<'e>(entity: &'e Entity<'_>) -> impl Iterator<Item = &'e Field<'e>> {
    KeyName::BOTH.into_iter().flat_map(|key| entity.key_fields(key))
}

/// Generates the elements of a tuple type. A comma follows each, so that a single type is a tuple too.
pub(crate) fn key_types<'e>(fields: impl Iterator<Item = &'e Field<'e>>) -> TokenStream {
    let types = fields.map(|field| &field.original.ty);
    quote!(#(#types,)*)
}

fn schema(entity: &Entity<'_>) -> TokenStream {
    let base = &entity.base;
    let private = base.paths().private;
    let name = base.input.ident.unraw().to_string();
    let field_name = |index: usize| base.fields.get(index).map(|field| &field.name);
    let [partition_key, row_key] = KeyName::BOTH.map(|key| {
        let pieces = entity.key(key).iter().map(|piece| match piece {
            KeyPiece::Literal(text) => quote!(#private::KeyPiece::Literal(#text)),
            KeyPiece::Field(index) => {
                let name = field_name(*index);
                quote!(#private::KeyPiece::Field(#name))
            }
            KeyPiece::Padded(index, width) => {
                let name = field_name(*index);
                quote!(#private::KeyPiece::Padded(#name, #width))
            }
        });
        quote!(&[#(#pieces),*])
    });
    let (properties, groups) = (property_schemas(base), group_schemas(base));
    quote! {
        #private::EntitySchema {
            name: #name,
            key: #private::KeyShape { partition_key: #partition_key, row_key: #row_key },
            properties: #properties,
            groups: #groups,
        }
    }
}

/// Asserts that a field with a width has digits.
fn width_assertions(entity: &Entity<'_>) -> impl Iterator<Item = TokenStream> {
    let private = entity.base.paths().private;
    let pieces = KeyName::BOTH.into_iter().flat_map(|key| entity.key(key));
    pieces.filter_map(move |piece| {
        let KeyPiece::Padded(index, _) = piece else { return None };
        let field = entity.base.fields.get(*index)?;
        let (digits, place) = (
            FieldType::of(&entity.base, field).digits(),
            Place::of(&field.original.ty),
        );
        Some(place.derived(quote!(#private::assert_digits(#digits))))
    })
}

/// Asserts that flattened properties have distinct names.
fn name_assertion(base: &Struct<'_>, ty: &TokenStream) -> Option<TokenStream> {
    let Paths { krate, private } = base.paths();
    let (field, _) = base.groups().last()?;
    let schema = quote!(<#ty as #krate::TableEntity>::SCHEMA);
    Some(Place::of(&field.original.ty).derived(quote!(#private::assert_distinct(#schema))))
}

fn read_entity(entity: &Entity<'_>) -> TokenStream {
    let base = &entity.base;
    let Paths { krate, private } = base.paths();

    let has = |role| base.field(&role).is_some();
    let minimal = has(Role::Etag) || has(Role::Extra) || base.attrs.upgrade.is_some();
    let metadata = metadata(base, if minimal { "Minimal" } else { "None" });
    let rest = if has(Role::Extra) {
        Rest::Kept
    } else if base.attrs.deny_unknown_properties.is_some() {
        Rest::Rejected
    } else {
        Rest::Ignored
    };
    let (row, key, members) = (local("row"), local("key"), members());
    let reading = Reading {
        base,
        row: row.clone(),
        prefix: None,
        rest,
    };
    let statements = reading.statements();
    let built = read_fields(entity, &reading, &key);
    let built = quote! {
        let #key = #row.key_parts(&<Self as #krate::TableEntity>::SCHEMA.key)?;
        #built
    };
    let read = quote! {
        let #members = &mut #private::RowMembers::of(#row);
        #statements
        #built
    };
    let is_read = quote!(#krate::ReadEntity);
    let reads = match &base.attrs.upgrade {
        None if reading.is_of_members() => quote! {
            const IS_OF_MEMBERS: bool = true;
            fn read(#row: &#private::Row<'_>) -> #private::Result<Self> {
                <Self as #is_read>::read_members(&mut #private::RowMembers::of(#row))
            }
            fn read_members(#members: &mut #private::RowMembers<'_, '_>) -> #private::Result<Self> {
                #statements
                let #row = #members.row();
                #built
            }
        },
        None => quote! {
            fn read(#row: &#private::Row<'_>) -> #private::Result<Self> {
                #read
            }
        },
        Some(upgrade) => {
            let (path, removed) = (&upgrade.value, local("removed"));
            let read = quote!(|#row: &#private::Row<'_>| -> #private::Result<Self> { #read });
            quote! {
                fn read(#row: &#private::Row<'_>) -> #private::Result<Self> {
                    <Self as #is_read>::read_upgraded(#row, &mut #private::Removed::new())
                }
                fn read_upgraded(
                    #row: &#private::Row<'_>,
                    #removed: &mut #private::Removed,
                ) -> #private::Result<Self> {
                    #private::upgraded(#row, #read, #path, #removed)
                }
            }
        }
    };

    let items = quote! {
        const METADATA: #private::MetadataLevel = #metadata;
        #reads
    };
    implement(&is_read, base.input, &read_generics(base), &items)
}

/// Generates the entity, built from the values of its fields.
fn read_fields(entity: &Entity<'_>, reading: &Reading<'_, '_>, key: &Ident) -> TokenStream {
    let key_index: HashMap<&str, usize> = key_fields(entity)
        .enumerate()
        .map(|(index, field)| (field.name.as_str(), index))
        .collect();
    let base = &entity.base;
    built(base, |index, field| match &field.role {
        Role::Key(_) | Role::KeyPart(_) => FieldType::of(base, field).read_key(key, key_index.get(&*field.name)),
        Role::Timestamp => timestamp(base, field, &reading.row),
        Role::Etag => etag(base, field, &reading.row),
        _ => reading.value(index, field),
    })
}

/// Generates the value of a Timestamp field.
pub(crate) fn timestamp(base: &Struct<'_>, field: &Field<'_>, row: &Ident) -> TokenStream {
    let private = base.paths().private;
    let of = Place::of(&field.original.ty).item(&field.original.ty, &quote!(#private::TimestampField), "of");
    quote!(#of(#row.timestamp()?)?)
}

/// Generates the value of an ETag field.
pub(crate) fn etag(base: &Struct<'_>, field: &Field<'_>, row: &Ident) -> TokenStream {
    let of = exactly(base, field, "HeldETag", "of");
    quote!(#of(#row.etag()))
}
