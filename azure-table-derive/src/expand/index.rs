//! The code of declared indexes: an entity for the rows of each, and the impls that connect both.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::{GenericArgument, PathArguments, Type};

use crate::ast::{Entity, Field, Role};
use crate::attr::Index;
use crate::case::{Case, screaming_snake};
use crate::key::KeyName;
use crate::place::Paths;

/// The beginning of the RowKeys of all index rows, as `azure_table::index::INDEX_PREFIX`.
const PREFIX: &str = "$ix;";

/// Generates the rows, the constants and the impls, if the entity declares an index.
pub(crate) fn expand(entity: &Entity<'_>) -> Option<TokenStream> {
    let base = &entity.base;
    let indexes: Vec<&Index> = base.attrs.index.iter().map(|attr| &attr.value).collect();
    if indexes.is_empty() {
        return None;
    }
    let (ident, vis, Paths { krate, private }) = (&base.input.ident, &base.input.vis, base.paths());
    let rows = indexes.iter().map(|index| row(entity, index));
    let types: Vec<Ident> = indexes.iter().map(|index| row_type(entity, index)).collect();
    let constants = indexes.iter().zip(&types).map(|(index, row)| {
        let name = Ident::new(&screaming_snake(&index.name.unraw().to_string()), index.name.span());
        let doc = format!("The index `{}`.", index.name);
        quote! {
            #[doc = #doc]
            #vis const #name: #krate::index::Index<#row> = #krate::index::Index::NEW;
        }
    });
    Some(quote! {
        #(#rows)*
        // Few programs use all constants. Most trigger none of these lints, so `expect` would fail.
        #[allow(dead_code, deprecated, missing_docs, private_interfaces, unreachable_pub)]
        impl #ident {
            #(#constants)*
        }
        #[automatically_derived]
        impl #krate::index::IndexedEntity for #ident {
            const INDEXES: &'static [#krate::index::IndexSchema] =
                &[#(<#types as #krate::index::IndexRow>::INDEX),*];
            fn index_rows(&self) -> ::std::vec::Vec<#private::Result<#krate::index::IndexWrite>> {
                let mut __rows = ::std::vec::Vec::new();
                #(::core::iter::Extend::extend(&mut __rows, #krate::index::IndexWrite::of::<#types>(self).transpose());)*
                __rows
            }
        }
    })
}

/// Returns the name of the type of an index's rows.
fn row_type(entity: &Entity<'_>, index: &Index) -> Ident {
    let name = Case::Pascal.apply(&index.name.unraw().to_string());
    format_ident!("{}{name}", entity.base.input.ident, span = Span::call_site())
}

fn row(entity: &Entity<'_>, index: &Index) -> TokenStream {
    let base = &entity.base;
    let (ident, vis, Paths { krate, .. }) = (&base.input.ident, &base.input.vis, base.paths());
    let (row, name) = (row_type(entity, index), index.name.unraw().to_string());
    let indexed: Vec<&Field<'_>> = index
        .fields
        .iter()
        .filter_map(|name| base.fields.iter().find(|field| field.ident == name))
        .collect();
    let is_kept = |field: &&Field<'_>| match field.role {
        Role::Key(KeyName::Partition) | Role::KeyPart(KeyName::Partition) => true,
        Role::Key(KeyName::Row) | Role::KeyPart(KeyName::Row) => !index.unique,
        _ => index.covers && !indexed.iter().any(|own| own.ident == field.ident),
    };
    let kept: Vec<&Field<'_>> = base.fields.iter().filter(is_kept).collect();

    let key = indexed
        .iter()
        .map(|field| format!("{{{}}}", field.name))
        .collect::<Vec<_>>()
        .join(" ");
    let key = if index.unique {
        format!("{PREFIX}{name} {key}")
    } else {
        format!("{PREFIX}{name} {key} {}", template(entity, KeyName::Row))
    };
    let partition_key = base.attrs.template(KeyName::Partition).map(|template| {
        let template = &template.value;
        quote!(partition_key = #template,)
    });
    let rename_all = base.attrs.rename_all.as_ref().and_then(|rule| {
        let (name, _) = Case::ALL.into_iter().find(|(_, case)| *case == rule.value)?;
        Some(quote!(rename_all = #name,))
    });
    let path = krate.to_string().replace(' ', "");

    let kept_fields = kept.iter().map(|field| {
        let (ident, ty, vis) = (field.ident, &field.original.ty, &field.original.vis);
        // The RowKey of the entity is part of the RowKey's template here.
        let is_row_key = field.role == Role::Key(KeyName::Row);
        let attributes = field
            .original
            .attrs
            .iter()
            .filter(|it| it.path().is_ident("table") && !is_row_key);
        quote!(#(#attributes)* #vis #ident: #ty,)
    });
    let indexed_fields = indexed.iter().map(|field| {
        let (ident, vis, ty) = (
            field.ident,
            &field.original.vis,
            inner(&field.original.ty).unwrap_or(&field.original.ty),
        );
        quote!(#vis #ident: #krate::key::Escaped<#ty>,)
    });
    let of_row = index
        .unique
        .then(|| quote!(#[table(rename = "IndexedRow")] __row: ::std::string::String,));

    let cloned = kept.iter().map(|field| {
        let ident = field.ident;
        quote!(#ident: ::core::clone::Clone::clone(&__entity.#ident),)
    });
    let escaped = indexed.iter().map(|field| {
        let ident = field.ident;
        let value = match inner(&field.original.ty) {
            Some(_) => quote!(::core::clone::Clone::clone(__entity.#ident.as_ref()?)),
            None => quote!(::core::clone::Clone::clone(&__entity.#ident)),
        };
        quote!(#ident: #krate::key::Escaped(#value),)
    });
    let row_value = index
        .unique
        .then(|| quote!(__row: ::std::borrow::ToOwned::to_owned(#krate::Key::of(__entity).ok()?.row_key()),));
    let row_key = if index.unique {
        quote!(&self.__row)
    } else {
        quote!(<Self as #krate::index::IndexRow>::INDEX.entity_row_key(__key.row_key()))
    };
    let entity_value = if index.covers {
        let kept = kept.iter().map(|field| {
            let ident = field.ident;
            quote!(#ident: self.#ident,)
        });
        let indexed = indexed.iter().map(|field| {
            let ident = field.ident;
            match inner(&field.original.ty) {
                Some(_) => quote!(#ident: ::core::option::Option::Some(self.#ident.0),),
                None => quote!(#ident: self.#ident.0,),
            }
        });
        quote!(::core::option::Option::Some(#ident { #(#kept)* #(#indexed)* }))
    } else {
        quote!(::core::option::Option::None)
    };
    let fields = indexed.iter().map(|field| {
        let ty = field.original.ty.to_token_stream().to_string();
        let name = match &field.role {
            Role::Property(name) => name,
            _ => &field.name,
        };
        quote!((#name, #ty))
    });
    let (unique, covers) = (index.unique, index.covers);
    let doc = format!("The rows of the index `{name}` of [`{ident}`].");
    quote! {
        #[doc = #doc]
        // The user's fields are reported where the user wrote them. Most trigger no lint, so `expect` would fail.
        #[derive(::core::clone::Clone, #krate::TableEntity)]
        #[table(#partition_key row_key = #key, #rename_all crate = #path)]
        #[allow(dead_code, deprecated, missing_docs, non_snake_case, private_interfaces, unreachable_pub)]
        #vis struct #row {
            #(#kept_fields)*
            #(#indexed_fields)*
            #of_row
        }
        #[automatically_derived]
        impl #krate::index::IndexRow for #row {
            type Entity = #ident;
            const INDEX: #krate::index::IndexSchema = #krate::index::IndexSchema {
                name: #name,
                fields: &[#(#fields),*],
                is_unique: #unique,
                covers: #covers,
            };
            fn of(__entity: &#ident) -> ::core::option::Option<Self> {
                ::core::option::Option::Some(Self { #(#cloned)* #(#escaped)* #row_value })
            }
            fn entity_row_key<'r>(&'r self, __key: &'r #krate::Key<Self>) -> &'r str {
                #row_key
            }
            fn into_entity(self) -> ::core::option::Option<#ident> {
                #entity_value
            }
        }
    }
}

/// Returns the template of a key: its own, or that of its field.
fn template(entity: &Entity<'_>, key: KeyName) -> String {
    match entity.base.attrs.template(key) {
        Some(template) => template.value.value(),
        None => {
            let field = entity.key_fields(key).next();
            field.map_or_else(String::new, |field| format!("{{{}}}", field.name))
        }
    }
}

/// Returns `T` of an `Option<T>`.
fn inner(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}
