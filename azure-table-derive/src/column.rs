//! The generated constants.
//!
//! Owns which fields have a constant, what it is called, that no two have the same name, and its code. A constant is as
//! visible as its field.

use std::collections::HashMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::ast::{Entity, Field, Role};
use crate::attr::{Attr, Columns};
use crate::bound::table_generics;
use crate::case::screaming_snake;
use crate::ctxt::Ctxt;
use crate::key::KeyName;
use crate::place::{Paths, Place};

/// Names the constants of all fields that are columns.
pub(crate) fn name_constants(ctxt: &Ctxt, columns: Option<&Attr<Columns>>, fields: &mut [Field<'_>]) {
    let prefix = match columns.map(|columns| &columns.value) {
        Some(Columns::Off) => return refuse_names(ctxt, fields),
        Some(Columns::Prefix(prefix)) => prefix.value(),
        None => String::new(),
    };
    let mut taken: HashMap<String, String> = HashMap::new();
    for field in fields {
        // A part of a key cannot be compared on its own, an ETag not at all; an ignored field is not stored.
        if matches!(field.role, Role::KeyPart(_) | Role::Etag | Role::Ignored) {
            continue;
        }
        let constant = match &field.attrs.column {
            Some(column) => match identifier(&column.value.value()) {
                Some(ident) => ident,
                None => {
                    ctxt.error(
                        &column.value,
                        format!(
                            "{:?} cannot be the name of a constant: use capitals, digits and `_`, such as {:?}",
                            column.value.value(),
                            screaming_snake(&field.name)
                        ),
                    );
                    continue;
                }
            },
            None => match identifier(&format!("{prefix}{}", screaming_snake(&field.name))) {
                Some(ident) => ident,
                None => {
                    ctxt.error(
                        field.ident,
                        "no constant can be called like this field: name it with #[table(column = \"NAME\")]",
                    );
                    continue;
                }
            },
        };
        if let Some(other) = taken.get(&constant.to_string()) {
            let message = format!(
                "the constant `{constant}` is there twice, for `{other}` and `{}`: name one of them with \
                 #[table(column = \"NAME\")]",
                field.name
            );
            match &field.attrs.column {
                Some(column) => ctxt.error(&column.value, message),
                None => ctxt.error(field.ident, message),
            }
            continue;
        }
        taken.insert(constant.to_string(), field.name.clone());
        // The place of the field, so that tools lead there, but names of the derive are not mixed up with names of a
        // macro that the struct may come from.
        let span = field.ident.span().resolved_at(Span::call_site());
        field.constant = Some(Ident::new(&constant.to_string(), span));
    }
}

/// With `columns = off` a name for a constant contradicts.
fn refuse_names(ctxt: &Ctxt, fields: &[Field<'_>]) {
    for column in fields.iter().filter_map(|field| field.attrs.column.as_ref()) {
        ctxt.error(
            &column.name,
            "`columns = off` on the struct leaves out this constant: remove `column`, or `columns = off`",
        );
    }
}

fn identifier(name: &str) -> Option<Ident> {
    syn::parse_str(name).ok()
}

/// The constants as code.
pub(crate) fn constants(entity: &Entity<'_>) -> Option<TokenStream> {
    let constants: Vec<_> = entity
        .fields
        .iter()
        .filter_map(|field| constant(entity, field))
        .collect();
    let (ident, generics) = (&entity.input.ident, table_generics(entity));
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    (!constants.is_empty()).then(|| {
        quote! {
            // Nobody uses all of them, and what is unusual about a field was said about the field.
            #[allow(dead_code, deprecated, non_upper_case_globals, private_interfaces, unreachable_pub)]
            impl #impl_generics #ident #ty_generics #where_clause {
                #(#constants)*
            }
        }
    })
}

fn constant(entity: &Entity<'_>, field: &Field<'_>) -> Option<TokenStream> {
    // A field with unreadable attributes may not be a column at all; the compiler should not go on about its type.
    let constant = field.constant.as_ref().filter(|_| !field.doubtful)?;
    let Paths { krate, private } = Paths::of(&entity.attrs);
    let (vis, ty, name) = (&field.original.vis, &field.original.ty, &field.name);
    let (doc, ty, value) = match &field.role {
        Role::Property(stored) => (
            format!("The column `{stored}`: the field [`{name}`](field@Self::{name})."),
            quote!(#ty),
            quote!(property(#stored)),
        ),
        Role::Key(KeyName::Partition) => (
            format!("The PartitionKey: the field [`{name}`](field@Self::{name})."),
            quote!(#ty, #private::InKey),
            quote!(partition_key()),
        ),
        Role::Key(KeyName::Row) => (
            format!("The RowKey: the field [`{name}`](field@Self::{name})."),
            quote!(#ty, #private::InKey),
            quote!(row_key()),
        ),
        Role::Timestamp => (
            format!("The Timestamp: the field [`{name}`](field@Self::{name})."),
            quote!(#private::DateTime),
            quote!(timestamp()),
        ),
        Role::KeyPart(_) | Role::Etag | Role::Ignored => return None,
    };
    let value = Place::of_type(field).own(quote!(#krate::Column::#value));
    Some(quote! {
        #[doc = #doc]
        #vis const #constant: #krate::Column<Self, #ty> = #value;
    })
}
