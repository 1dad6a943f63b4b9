//! The impls of `TableEntity` and `ReadEntity` for an enum of entities. `VariantOf` of those entities is in
//! `variant_of.rs`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Generics, Type};

use crate::ast::{Mark, Variant, Variants, borrows};
use crate::bound::variant_generics;
use crate::expand::column::variant_constants;
use crate::expand::table_name;
use crate::expand::variant_of::{self, mark};
use crate::place::{Paths, Place, implement, local};

/// Generates the impls, the constants, and the assertions.
pub(crate) fn expand(variants: &Variants<'_>) -> TokenStream {
    let generics = variant_generics(variants, &TokenStream::new());
    let table_entity = table_entity(variants, &generics);
    let read_entity = (!borrows(variants.input)).then(|| read_entity(variants));
    let constants = variant_constants(variants, &generics);
    let variant_of = variant_of::expand(variants);
    let assertions = assertions(variants);
    let named_table = table_name::expand(&variants.attrs, variants.input, &generics);
    quote!(#table_entity #read_entity #named_table #constants #variant_of #assertions)
}

fn table_entity(variants: &Variants<'_>, generics: &Generics) -> TokenStream {
    let Paths { krate, private } = variants.paths();
    let name = variants.input.ident.unraw().to_string();
    let held = variants.named().map(|(_, ty)| ty);
    let first = variants.named().map(|(_, ty)| ty).next();
    let (key, properties, entity) = (local("key"), local("properties"), local("entity"));
    let is_entity = quote!(#krate::TableEntity);

    let arms = |body: &dyn Fn(&Variant<'_>, &Type) -> TokenStream| -> TokenStream {
        let arms = variants.variants.iter().filter_map(|variant| {
            let (variant_ident, body) = (variant.ident, body(variant, variant.ty?));
            Some(quote!(Self::#variant_ident(#entity) => #body,))
        });
        arms.collect()
    };
    // The error for a type that is not an entity points at the type.
    let method = |ty: &Type, name| Place::of(ty).item(ty, &is_entity, name);
    let call = |name, arguments: TokenStream| {
        arms(&|_, ty| {
            let method = method(ty, name);
            quote!(#method(#arguments))
        })
    };
    let etag = local("etag");
    let (key_shapes, conditions) = (call("key_shape", quote!(#entity)), call("condition", quote!(#entity)));
    let etags = call("set_etag", quote!(#entity, #etag));
    let keys = arms(&|variant, ty| match (&variants.mark, &variant.attrs.other) {
        (Mark::RowKeyPrefix, None) | (Mark::KeyForm, _) => {
            let (mark, name) = (mark(variants, variant, ty), variant.name());
            quote!(#private::write_marked_key::<#ty>(#entity, #key, const { #mark }, #name))
        }
        (Mark::RowKeyPrefix, Some(_)) => {
            let marks = variants.named().map(|(variant, _)| {
                let prefix = variant.attrs.row_key_prefix.as_ref().map(|prefix| prefix.value.value());
                let (name, prefix) = (variant.name(), prefix.unwrap_or_default());
                quote!((#name, #prefix))
            });
            quote!(#private::write_key_of_other::<#ty>(#entity, #key, &[#(#marks),*]))
        }
        (Mark::Tag(_), _) => {
            let write_key = method(ty, "write_key");
            quote!(#write_key(#entity, #key))
        }
    });
    let written = arms(&|variant, ty| {
        let write_properties = method(ty, "write_properties");
        let write = quote!(#write_properties(#entity, #properties));
        match (&variants.mark, &variant.attrs.other) {
            (Mark::Tag(property), None) => {
                let tag = &variant.tag;
                quote!({
                    #properties.tag(#property, #tag)?;
                    #write
                })
            }
            (Mark::Tag(property), Some(_)) => {
                let marks = variants.named().map(|(variant, _)| {
                    let (name, tag) = (variant.name(), &variant.tag);
                    quote!((#name, #tag))
                });
                quote!({
                    #private::check_tag_of_other::<#ty>(#entity, #property, &[#(#marks),*])?;
                    #write
                })
            }
            _ => write,
        }
    });

    let items = quote! {
        type PartitionFields = <#first as #is_entity>::PartitionFields;
        type KeyFields = #private::KeysDifferByVariant;
        const SCHEMA: &'static #private::EntitySchema = &#private::EntitySchema {
            name: #name,
            key: #private::KeyShape {
                partition_key: <#first as #is_entity>::SCHEMA.key.partition_key,
                row_key: #private::KeyShape::SIMPLE.row_key,
            },
            properties: &[],
            groups: &[],
        };
        const VARIANTS: &'static [&'static #private::EntitySchema] = &[#(<#held as #is_entity>::SCHEMA),*];
        fn key_shape(&self) -> &'static #private::KeyShape {
            match self { #key_shapes }
        }
        fn write_key(&self, #key: &mut #private::KeyWriter) -> #private::Result<()> {
            match self { #keys }
        }
        fn write_properties(&self, #properties: &mut #private::PropertyWriter<'_>) -> #private::Result<()> {
            match self { #written }
        }
        fn condition(&self) -> #private::Condition {
            match self { #conditions }
        }
        fn set_etag(&mut self, #etag: &#private::ETag) {
            match self { #etags }
        }
    };
    implement(&quote!(#krate::TableEntity), variants.input, generics, &items)
}

fn read_entity(variants: &Variants<'_>) -> TokenStream {
    let Paths { krate, private } = variants.paths();
    let name = variants.input.ident.unraw().to_string();
    let is_read = quote!(#krate::ReadEntity);
    let generics = variant_generics(variants, &quote!(+ #is_read));
    let (row, mark, removed) = (local("row"), local("mark"), local("removed"));

    let levels: Vec<TokenStream> = variants
        .variants
        .iter()
        .filter_map(|variant| variant.ty)
        .map(|ty| Place::of(ty).item(ty, &is_read, "METADATA"))
        .collect();
    // The value that decides between the variants.
    let selector = match &variants.mark {
        Mark::Tag(property) => Some(quote!(let #mark = #row.get(#property);)),
        Mark::RowKeyPrefix => Some(quote!(let #mark = #row.row_key()?;)),
        Mark::KeyForm => None,
    };
    let named = variants.named().map(|(variant, ty)| {
        let variant_ident = variant.ident;
        let condition = match &variants.mark {
            Mark::Tag(_) => {
                let tag = &variant.tag;
                quote!(#private::is_tag(#mark, #tag))
            }
            Mark::RowKeyPrefix => {
                let prefix = variant.attrs.row_key_prefix.as_ref().map(|prefix| prefix.value.value());
                quote!(#mark.starts_with(#prefix))
            }
            Mark::KeyForm => quote!(#private::has_form(#row, &<#ty as #krate::TableEntity>::SCHEMA.key)),
        };
        let read_from = match &variants.mark {
            // The entity does not see the tag as a property.
            Mark::Tag(property) => quote!(&#private::untagged(#row, #property)),
            Mark::RowKeyPrefix | Mark::KeyForm => quote!(#row),
        };
        quote! {
            if #condition {
                return <#ty as #is_read>::read_upgraded(#read_from, #removed).map(Self::#variant_ident);
            }
        }
    });
    let last = match variants.other() {
        Some((other, ty)) => {
            let other = other.ident;
            quote!(<#ty as #is_read>::read_upgraded(#row, #removed).map(Self::#other))
        }
        None => match &variants.mark {
            Mark::Tag(property) => quote!(#private::no_tagged(#name, #property, #mark)),
            Mark::RowKeyPrefix | Mark::KeyForm => quote!(#private::no_variant(#name)),
        },
    };

    let items = quote! {
        const METADATA: #private::MetadataLevel = #private::metadata(&[#(#levels),*]);
        fn read(#row: &#private::Row<'_>) -> #private::Result<Self> {
            <Self as #is_read>::read_upgraded(#row, &mut #private::Removed::new())
        }
        fn read_upgraded(#row: &#private::Row<'_>, #removed: &mut #private::Removed) -> #private::Result<Self> {
            #selector
            #(#named)*
            #last
        }
    };
    implement(&is_read, variants.input, &generics, &items)
}

/// Generates assertions that the variants fit together, which the macro cannot check. Generic enums have none.
fn assertions(variants: &Variants<'_>) -> Option<TokenStream> {
    if !variants.input.generics.params.is_empty() {
        return None;
    }
    let private = variants.paths().private;
    let first = variants.named().map(|(_, ty)| ty).next();
    // The variant that may take all remaining rows.
    let last = match variants.other() {
        Some(_) => None,
        None => variants.named().last().map(|(variant, _)| variant.ident),
    };
    let named = variants.named().enumerate().map(|(index, (variant, ty))| {
        let place = Place::of(ty);
        let assertion = |call: TokenStream| {
            let call = place.derived(call);
            quote!(const _: () = #call;)
        };
        let partition = (index > 0).then(|| assertion(quote!(#private::assert_partition::<#first, #ty>())));
        let mark = match &variants.mark {
            Mark::Tag(property) => Some(assertion(quote!(#private::assert_untagged::<#ty>(#property)))),
            // A variant whose form matches every row would hide all later variants.
            Mark::KeyForm if last != Some(variant.ident) => Some(assertion(quote!(#private::assert_form::<#ty>()))),
            Mark::KeyForm | Mark::RowKeyPrefix => None,
        };
        quote!(#partition #mark)
    });
    let other = variants.other().map(|(_, ty)| {
        let call = Place::of(ty).derived(quote!(#private::assert_catch_all::<#ty>()));
        quote!(const _: () = #call;)
    });
    Some(quote!(#(#named)* #other))
}
