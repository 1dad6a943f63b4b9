//! The impls of `TableEntity` and `ReadEntity` for an enum of entities. `VariantOf` of those entities is in
//! `variant_of.rs`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Type;
use syn::ext::IdentExt;

use crate::ast::{Mark, Variant, Variants, borrows};
use crate::bound::variant_generics;
use crate::expand::column::variant_constants;
use crate::expand::{table_name, variant_of};
use crate::place::{Generated, Paths, Place, local};

/// Generates the impls, the constants, and the assertions.
pub(crate) fn expand(variants: &Variants<'_>) -> TokenStream {
    let table_entity = table_entity(variants);
    let read_entity = (!borrows(variants.input)).then(|| read_entity(variants));
    let constants = variant_constants(variants, &variant_generics(variants, &TokenStream::new()));
    let variant_of = variant_of::expand(variants);
    let assertions = assertions(variants);
    let generics = variant_generics(variants, &TokenStream::new());
    let named_table = table_name::expand(&variants.attrs, &variants.input.ident, &generics, variants.paths());
    quote!(#table_entity #read_entity #named_table #constants #variant_of #assertions)
}

fn table_entity(variants: &Variants<'_>) -> TokenStream {
    let Paths { krate, private } = variants.paths();
    let ident = &variants.input.ident;
    let name = ident.unraw().to_string();
    let generics = variant_generics(variants, &TokenStream::new());
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
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
    let key_shapes = arms(&|_, ty| {
        let key_shape = method(ty, "key_shape");
        quote!(#key_shape(#entity))
    });
    let conditions = arms(&|_, ty| {
        let condition = method(ty, "condition");
        quote!(#condition(#entity))
    });
    let etag = local("etag");
    let etags = arms(&|_, ty| {
        let set_etag = method(ty, "set_etag");
        quote!(#set_etag(#entity, #etag))
    });
    let keys = arms(&|variant, ty| match &variant.attrs.row_key_prefix {
        Some(prefix) => {
            let (prefix, name) = (prefix.value.value(), variant.name());
            quote!(#private::write_prefixed_key::<#ty>(#entity, #key, #prefix, #name))
        }
        None if matches!(variants.mark, Mark::KeyForm) => {
            // A row that fits an earlier variant is read as that variant.
            let earlier = variants
                .named()
                .take_while(|(earlier, _)| earlier.ident != variant.ident);
            let earlier = earlier.map(|(earlier, ty)| {
                let name = earlier.name();
                quote!((#name, &<#ty as #is_entity>::SCHEMA.key))
            });
            quote!(#private::write_key_of_form::<#ty>(#entity, #key, &[#(#earlier),*]))
        }
        None => {
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
            _ => write,
        }
    });

    quote! {
        #Generated
        impl #impl_generics #krate::TableEntity for #ident #ty_generics #where_clause {
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
        }
    }
}

fn read_entity(variants: &Variants<'_>) -> TokenStream {
    let Paths { krate, private } = variants.paths();
    let ident = &variants.input.ident;
    let name = ident.unraw().to_string();
    let generics = variant_generics(variants, &quote!(+ #krate::ReadEntity));
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let (row, mark) = (local("row"), local("mark"));
    let is_read = quote!(#krate::ReadEntity);

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
                return <#ty as #is_read>::read(#read_from).map(Self::#variant_ident);
            }
        }
    });
    let last = match variants.other() {
        Some((other, ty)) => {
            let other = other.ident;
            quote!(<#ty as #is_read>::read(#row).map(Self::#other))
        }
        None => match &variants.mark {
            Mark::Tag(property) => quote!(#private::no_tagged(#name, #property, #mark)),
            Mark::RowKeyPrefix | Mark::KeyForm => quote!(#private::no_variant(#name)),
        },
    };

    quote! {
        #Generated
        impl #impl_generics #krate::ReadEntity for #ident #ty_generics #where_clause {
            const METADATA: #private::MetadataLevel = #private::metadata(&[#(#levels),*]);
            fn read(#row: &#private::Row<'_>) -> #private::Result<Self> {
                #selector
                #(#named)*
                #last
            }
        }
    }
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
            // Otherwise the variants after it would never be tried.
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
