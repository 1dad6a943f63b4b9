//! The impls of `Property`, `ReadProperty` and, on request, `TableKey` and `ReadTableKey` for an enum or a newtype.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::ast::{Choice, ChoiceVariant, Newtype, borrows};
use crate::bound::Bounds;
use crate::place::{Generated, Paths, Place, local};

/// Generates the impls of an enum.
pub(crate) fn choice(choice: &Choice<'_>) -> TokenStream {
    let Paths { private, .. } = Paths::of(&choice.attrs);
    let integer = choice.attrs.integer.is_some();
    let (ident, generics) = (&choice.input.ident, &choice.input.generics);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let (edm_type, written) = if integer {
        let numbers = numbers(choice, "int32");
        let value = stored(choice, &|index, _| {
            let number = number(index);
            quote!(#number)
        });
        (quote!(Int32), quote!(#numbers #private::number(#value)))
    } else {
        let value = text(choice);
        (quote!(String), quote!(#private::text(#value)))
    };
    let read = (!borrows(choice.input)).then(|| {
        let value = local("value");
        let body = if integer {
            read_number(choice, &value)
        } else {
            read_text(choice, &quote!(#value.as_str()?))
        };
        quote! {
            #Generated
            impl #impl_generics #private::ReadProperty for #ident #ty_generics #where_clause {
                fn from_wire(#value: #private::WireValue<'_>) -> ::core::result::Result<Self, #private::ValueError> {
                    #body
                }
            }
        }
    });
    let key = choice.attrs.key.is_some().then(|| choice_key(choice));
    quote! {
        #Generated
        impl #impl_generics #private::Property for #ident #ty_generics #where_clause {
            type Compared = Self;
            const EDM_TYPE: #private::EdmType = #private::EdmType::#edm_type;
            fn to_edm(
                &self,
            ) -> ::core::result::Result<::core::option::Option<#private::Edm<'_>>, #private::ValueError> {
                #written
            }
        }
        #read
        #key
    }
}

/// Generates the stored value of each variant, as a match.
fn stored(choice: &Choice<'_>, of: &dyn Fn(usize, &ChoiceVariant<'_>) -> TokenStream) -> TokenStream {
    let (private, other) = (Paths::of(&choice.attrs).private, local("other"));
    let arms = choice.variants.iter().enumerate().map(|(index, variant)| {
        let ident = variant.ident;
        let Some(ty) = variant.other else {
            let value = of(index, variant);
            return quote!(Self::#ident => #value,);
        };
        let kept = if choice.attrs.integer.is_some() {
            quote!(#private::KeptNumber)
        } else {
            quote!(#private::KeptText)
        };
        let value = Place::of(ty).item(ty, &kept, "kept");
        quote!(Self::#ident(#other) => #value(#other),)
    });
    quote!(match self { #(#arms)* })
}

fn text(choice: &Choice<'_>) -> TokenStream {
    stored(choice, &|_, variant| {
        let name = &variant.name;
        quote!(#name)
    })
}

/// Generates the variant of a text.
fn read_text(choice: &Choice<'_>, text: &TokenStream) -> TokenStream {
    let Paths { private, .. } = Paths::of(&choice.attrs);
    let found = local("text");
    let known = choice.known().map(|variant| {
        let (ident, name) = (variant.ident, &variant.name);
        let aliases = variant.attrs.alias.iter().map(|alias| alias.value.value());
        quote!(#name #(| #aliases)* => ::core::result::Result::Ok(Self::#ident),)
    });
    let names = choice.known().map(|variant| &variant.name);
    let rest = match choice.other() {
        Some((variant, ty)) => {
            let (ident, keep) = (
                variant.ident,
                Place::of(ty).item(ty, &quote!(#private::KeepText), "keep"),
            );
            quote!(::core::result::Result::Ok(Self::#ident(#keep(#found))))
        }
        None => quote!(::core::result::Result::Err(#private::unknown_text(#found, &[#(#names),*]))),
    };
    quote! {
        match #text {
            #(#known)*
            #found => #rest,
        }
    }
}

/// Returns the name of the constant with the discriminant of a variant.
fn number(index: usize) -> Ident {
    Ident::new(&format!("__D{index}"), proc_macro2::Span::call_site())
}

/// Generates the discriminants as constants. The compiler provides those of an enum of unit variants; those of an enum
/// with a catch-all are counted here. `convert` converts them to the stored value.
fn numbers(choice: &Choice<'_>, convert: &str) -> TokenStream {
    let Paths { private, .. } = Paths::of(&choice.attrs);
    let (ident, convert) = (&choice.input.ident, Ident::new(convert, proc_macro2::Span::call_site()));
    let mut last: Option<(&syn::Expr, usize)> = None;
    let mut from_start = 0_usize;
    let constants = choice.variants.iter().enumerate().map(|(index, variant)| {
        last = match (variant.discriminant, last) {
            (Some(value), _) => Some((value, 0)),
            (None, Some((value, offset))) => Some((value, offset + 1)),
            (None, None) => None,
        };
        let before = from_start;
        from_start += 1;
        if variant.other.is_some() {
            return TokenStream::new();
        }
        let (constant, variant_ident) = (number(index), variant.ident);
        let value = match (choice.other(), last) {
            (None, _) => quote!(#ident::#variant_ident as i128),
            (Some(_), None) => quote!(#before as i128),
            (Some(_), Some((value, offset))) => quote!((#value) as i128 + #offset as i128),
        };
        // An error about the range points at the variant.
        let convert = Place::of(variant_ident).derived(quote!(#private::#convert));
        let value = Place::of(variant_ident).derived(quote!((#value)));
        quote!(const #constant: i32 = #convert #value;)
    });
    constants.collect()
}

/// Generates the variant of a discriminant.
fn read_number(choice: &Choice<'_>, value: &Ident) -> TokenStream {
    let Paths { private, .. } = Paths::of(&choice.attrs);
    // The code for writing has checked them.
    let (found, numbers) = (local("number"), numbers(choice, "truncated"));
    let variants = choice.variants.iter().enumerate();
    let known: Vec<(Ident, &Ident)> = variants
        .filter(|(_, variant)| variant.attrs.other.is_none())
        .map(|(index, variant)| (number(index), variant.ident))
        .collect();
    let constants = known.iter().map(|(constant, _)| constant);
    let arms = known
        .iter()
        .map(|(constant, ident)| quote!(#constant => ::core::result::Result::Ok(Self::#ident),));
    let rest = match choice.other() {
        Some((variant, ty)) => {
            let (ident, keep) = (
                variant.ident,
                Place::of(ty).item(ty, &quote!(#private::KeptNumber), "keep"),
            );
            quote!(::core::result::Result::Ok(Self::#ident(#keep(#found))))
        }
        None => quote!(::core::result::Result::Err(#private::unknown_number(#found, &[#(#constants),*]))),
    };
    quote! {
        #numbers
        match #value.as_i32()? {
            #(#arms)*
            #found => #rest,
        }
    }
}

fn choice_key(choice: &Choice<'_>) -> TokenStream {
    let Paths { private, .. } = Paths::of(&choice.attrs);
    let ident = &choice.input.ident;
    let (impl_generics, ty_generics, where_clause) = choice.input.generics.split_for_impl();
    let (text, value) = (local("text"), text(choice));
    let read = (!borrows(choice.input)).then(|| {
        let body = read_text(choice, &quote!(#text));
        quote! {
            #Generated
            impl #impl_generics #private::ReadTableKey for #ident #ty_generics #where_clause {
                fn read_key(#text: &str) -> ::core::result::Result<Self, #private::ValueError> {
                    #body
                }
            }
        }
    });
    quote! {
        #Generated
        impl #impl_generics #private::TableKey for #ident #ty_generics #where_clause {
            fn write_key(
                &self,
                #text: &mut ::std::string::String,
            ) -> ::core::result::Result<(), #private::ValueError> {
                #text.push_str(#value);
                ::core::result::Result::Ok(())
            }
        }
        #read
    }
}

/// Generates the impls of a newtype: those of its field.
pub(crate) fn newtype(newtype: &Newtype<'_>) -> TokenStream {
    let Paths { private, .. } = Paths::of(&newtype.attrs);
    let (ident, member, ty) = (&newtype.input.ident, &newtype.member, newtype.ty);
    let bounded = |bound: TokenStream| {
        let mut bounds = Bounds::new(&newtype.input.generics);
        bounds.require(ty, &bound);
        bounds.generics()
    };
    let (value, text) = (local("value"), local("text"));
    let item = |of: &TokenStream, name| Place::of(ty).item(ty, of, name);
    let implement = |of: &TokenStream, bound: TokenStream, body: TokenStream| {
        let generics = bounded(bound);
        let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
        quote! {
            #Generated
            impl #impl_generics #of for #ident #ty_generics #where_clause {
                #body
            }
        }
    };
    let reads = !borrows(newtype.input);
    let made = quote!(|#value| Self { #member: #value });

    let property = quote!(#private::Property);
    let [edm_type, sorted, to_edm] = ["EDM_TYPE", "SORTED", "to_edm"].map(|name| item(&property, name));
    let property = implement(
        &property,
        property.clone(),
        quote! {
            type Compared = Self;
            const EDM_TYPE: #private::EdmType = #edm_type;
            const SORTED: bool = #sorted;
            fn to_edm(
                &self,
            ) -> ::core::result::Result<::core::option::Option<#private::Edm<'_>>, #private::ValueError> {
                #to_edm(&self.#member)
            }
        },
    );
    let read = reads.then(|| {
        let read = quote!(#private::ReadProperty);
        let (from_wire, absent) = (item(&read, "from_wire"), item(&read, "absent"));
        implement(
            &read,
            quote!(#private::Property + #read),
            quote! {
                fn from_wire(#value: #private::WireValue<'_>) -> ::core::result::Result<Self, #private::ValueError> {
                    #from_wire(#value).map(#made)
                }
                fn absent() -> ::core::option::Option<Self> {
                    #absent().map(#made)
                }
            },
        )
    });
    let key = newtype.attrs.key.is_some().then(|| {
        let key = quote!(#private::TableKey);
        let [reversed, digits, write_key] = ["REVERSED", "DIGITS", "write_key"].map(|name| item(&key, name));
        let write = implement(
            &key,
            key.clone(),
            quote! {
                const REVERSED: bool = #reversed;
                const DIGITS: ::core::option::Option<usize> = #digits;
                fn write_key(
                    &self,
                    #text: &mut ::std::string::String,
                ) -> ::core::result::Result<(), #private::ValueError> {
                    #write_key(&self.#member, #text)
                }
            },
        );
        let read = reads.then(|| {
            let read = quote!(#private::ReadTableKey);
            let read_key = item(&read, "read_key");
            implement(
                &read,
                read.clone(),
                quote! {
                    fn read_key(#text: &str) -> ::core::result::Result<Self, #private::ValueError> {
                        #read_key(#text).map(#made)
                    }
                },
            )
        });
        quote!(#write #read)
    });
    quote!(#property #read #key)
}
