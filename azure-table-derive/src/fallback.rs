//! The impls of a type that has errors.
//!
//! Generates impls next to the compile errors. With them the compiler checks the rest of the program and reports no
//! further errors about missing traits. The impls never run.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Generics};

use crate::ast::{Choice, Entity, Newtype, Struct, Variants, borrows};
use crate::attr::{ContainerAttrs, Kind};
use crate::bound::{read_generics, variant_generics, write_generics};
use crate::expand::column::{constants, variant_constants};
use crate::expand::entity::key_types;
use crate::expand::{table_name, variant_of};
use crate::key::KeyName;
use crate::place::{Paths, implement};

/// Generates the impls of an entity, as far as it was parsed.
pub(crate) fn for_entity(entity: &Entity<'_>) -> TokenStream {
    let base = &entity.base;
    let [partition_fields, row_fields] = KeyName::BOTH.map(|key| {
        // A field with invalid attributes may not belong to the key at all.
        key_types(entity.key_fields(key).filter(|field| !field.doubtful))
    });
    let (write, read) = (write_generics(base), read_generics(base));
    let impls = Impls::new(base.input, &base.attrs, &write, &read);
    let (entity, constants) = (
        impls.entity(&quote!((#partition_fields)), &quote!((#partition_fields #row_fields))),
        constants(base, &write),
    );
    let named_table = table_name::expand(&base.attrs, base.input, &write);
    quote!(#entity #named_table #constants)
}

/// Generates the impls of an enum of entities.
pub(crate) fn for_variants(variants: &Variants<'_>) -> TokenStream {
    let Paths { krate, private } = variants.paths();
    let generics = variant_generics(variants, &TokenStream::new());
    let impls = Impls::new(variants.input, &variants.attrs, &generics, &generics);
    let partition_fields = match variants.named().next() {
        Some((_, first)) => quote!(<#first as #krate::TableEntity>::PartitionFields),
        None => quote!(()),
    };
    let entity = impls.entity(&partition_fields, &quote!(#private::KeysDifferByVariant));
    let constants = variant_constants(variants, &generics);
    let variant_of = variant_of::expand(variants);
    let named_table = table_name::expand(&variants.attrs, variants.input, &generics);
    quote!(#entity #named_table #constants #variant_of)
}

/// Generates the impls of a group of properties.
pub(crate) fn for_group(base: &Struct<'_>) -> TokenStream {
    let (write, read) = (write_generics(base), read_generics(base));
    let impls = Impls::new(base.input, &base.attrs, &write, &read);
    let (group, constants) = (impls.group(), constants(base, &write));
    quote!(#group #constants)
}

/// Generates the impls of an enum that is a property.
pub(crate) fn for_choice(choice: &Choice<'_>) -> TokenStream {
    for_property(choice.input, &choice.attrs)
}

/// Generates the impls of a newtype.
pub(crate) fn for_newtype(newtype: &Newtype<'_>) -> TokenStream {
    for_property(newtype.input, &newtype.attrs)
}

fn for_property(input: &DeriveInput, attrs: &ContainerAttrs) -> TokenStream {
    Impls::new(input, attrs, &input.generics, &input.generics).property(attrs.key.is_some())
}

/// Generates the impls of a projection.
pub(crate) fn for_projection(base: &Struct<'_>) -> TokenStream {
    let generics = &base.input.generics;
    let impls = Impls::new(base.input, &base.attrs, generics, generics);
    let read = impls.read_entity();
    let projection = base.attrs.of.as_ref().map(|of| impls.projection(&of.value));
    quote!(#read #projection)
}

/// Generates the impls of an item of the wrong kind.
pub(crate) fn for_unread(kind: Kind, input: &DeriveInput) -> TokenStream {
    let impls = Impls::new(input, &ContainerAttrs::default(), &input.generics, &input.generics);
    match kind {
        Kind::Entity | Kind::Variants => impls.entity(&quote!(()), &quote!(())),
        Kind::Group => impls.group(),
        Kind::Choice | Kind::Newtype => impls.property(false),
        Kind::Projection => impls.read_entity().unwrap_or_default(),
    }
}

/// The impls of one type.
struct Impls<'a> {
    input: &'a DeriveInput,
    paths: Paths,
    write: &'a Generics,
    read: &'a Generics,
}

impl<'a> Impls<'a> {
    fn new(input: &'a DeriveInput, attrs: &ContainerAttrs, write: &'a Generics, read: &'a Generics) -> Self {
        let paths = Paths::of(attrs);
        Self {
            input,
            paths,
            write,
            read,
        }
    }

    fn write(&self, of: &TokenStream, items: &TokenStream) -> TokenStream {
        implement(of, self.input, self.write, items)
    }

    /// Generates an impl for reading, unless the type borrows.
    fn read(&self, of: &TokenStream, items: &TokenStream) -> Option<TokenStream> {
        (!borrows(self.input)).then(|| implement(of, self.input, self.read, items))
    }

    fn entity(&self, partition_fields: &TokenStream, key_fields: &TokenStream) -> TokenStream {
        let Paths { krate, private } = &self.paths;
        let items = quote! {
            type PartitionFields = #partition_fields;
            type KeyFields = #key_fields;
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
        };
        let write = self.write(&quote!(#krate::TableEntity), &items);
        let read = self.read_entity();
        quote!(#write #read)
    }

    fn read_entity(&self) -> Option<TokenStream> {
        let Paths { krate, private } = &self.paths;
        let items = quote! {
            const METADATA: #private::MetadataLevel = #private::MetadataLevel::None;
            fn read(_: &#private::Row<'_>) -> #private::Result<Self> {
                loop {}
            }
        };
        self.read(&quote!(#krate::ReadEntity), &items)
    }

    fn projection(&self, of: &syn::Type) -> Option<TokenStream> {
        let private = &self.paths.private;
        let updated = quote! {
            fn updated(&self) -> #private::Updated<'_, #of> {
                loop {}
            }
        };
        let row = self.read(&quote!(#private::UpdatableRow<#of>), &updated);
        let projection = self.read(&quote!(#private::Projection<#of>), &TokenStream::new());
        Some(quote!(#row #projection))
    }

    fn group(&self) -> TokenStream {
        let private = &self.paths.private;
        let items = quote! {
            const PROPERTIES: &'static [#private::PropertySchema] = &[];
            fn write_group(&self, _: &mut #private::PropertyWriter<'_>) -> #private::Result<()> {
                loop {}
            }
        };
        let write = self.write(&quote!(#private::PropertyGroup), &items);
        let items = quote! {
            fn read_group(_: &#private::Row<'_>, _: &str) -> #private::Result<Self> {
                loop {}
            }
            fn owns(_: &str) -> bool {
                loop {}
            }
        };
        let read = self.read(&quote!(#private::ReadPropertyGroup), &items);
        quote!(#write #read)
    }

    fn property(&self, key: bool) -> TokenStream {
        let private = &self.paths.private;
        let failed = quote!(#private::ValueError);
        let items = quote! {
            type Compared = Self;
            const EDM_TYPE: #private::EdmType = #private::EdmType::String;
            fn to_edm(&self) -> ::core::result::Result<::core::option::Option<#private::Edm<'_>>, #failed> {
                loop {}
            }
        };
        let write = self.write(&quote!(#private::Property), &items);
        let items = quote! {
            fn from_wire(_: #private::WireValue<'_>) -> ::core::result::Result<Self, #failed> {
                loop {}
            }
        };
        let read = self.read(&quote!(#private::ReadProperty), &items);
        let key = key.then(|| {
            let items = quote! {
                fn write_key(&self, _: &mut ::std::string::String) -> ::core::result::Result<(), #failed> {
                    loop {}
                }
            };
            let write = self.write(&quote!(#private::TableKey), &items);
            let items = quote! {
                fn read_key(_: &str) -> ::core::result::Result<Self, #failed> {
                    loop {}
                }
            };
            let read = self.read(&quote!(#private::ReadTableKey), &items);
            quote!(#write #read)
        });
        quote!(#write #read #key)
    }
}
