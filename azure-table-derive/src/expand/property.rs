//! The impls of `Property`, `ReadProperty` and, on request, `TableKey` and `ReadTableKey` for an enum or a newtype.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::ast::{Choice, ChoiceVariant, Newtype, borrows};
use crate::bound::Bounds;
use crate::place::{Paths, Place, implement, local};

/// Generates the impls of an enum.
pub(crate) fn choice(choice: &Choice<'_>) -> TokenStream {
    let Paths { private, .. } = Paths::of(&choice.attrs);
    let integer = choice.attrs.integer.is_some();
    let (input, generics) = (choice.input, &choice.input.generics);
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
        let items = quote! {
            fn from_wire(#value: #private::WireValue<'_>) -> ::core::result::Result<Self, #private::ValueError> {
                #body
            }
        };
        implement(&quote!(#private::ReadProperty), input, generics, &items)
    });
    let key = choice.attrs.key.is_some().then(|| choice_key(choice));
    let items = quote! {
        type Compared = Self;
        const EDM_TYPE: #private::EdmType = #private::EdmType::#edm_type;
        // Names do not sort as variants do.
        const SORTED: bool = #integer;
        fn to_edm(&self) -> ::core::result::Result<::core::option::Option<#private::Edm<'_>>, #private::ValueError> {
            #written
        }
    };
    let property = implement(&quote!(#private::Property), input, generics, &items);
    quote!(#property #read #key)
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
        let place = Place::of(ty);
        if choice.attrs.integer.is_some() {
            let get = place.item(ty, &quote!(#private::Exactly<i32>), "get");
            return quote!(Self::#ident(#other) => *#get(#other),);
        }
        let text = place.item(ty, &quote!(::core::convert::AsRef<str>), "as_ref");
        quote!(Self::#ident(#other) => #text(#other),)
    });
    quote!(match self { #(#arms)* })
}

fn text(choice: &Choice<'_>) -> TokenStream {
    stored(choice, &|_, variant| {
        let name = &variant.name;
        quote!(#name)
    })
}

/// Generates the expression that converts a text to its variant.
fn read_text(choice: &Choice<'_>, text: &TokenStream) -> TokenStream {
    let Paths { private, .. } = Paths::of(&choice.attrs);
    let found = local("text");
    let known = choice.known().map(|variant| {
        let (ident, name) = (variant.ident, &variant.name);
        let aliases = variant.attrs.alias.iter().map(|alias| alias.value.value());
        quote!(#name #(| #aliases)* => ::core::result::Result::Ok(Self::#ident),)
    });
    let names = choice.known().map(|variant| &variant.name);
    let unknown = quote!(#private::unknown_text(#found, &[#(#names),*]));
    let owned = quote!(<::std::string::String as ::core::convert::From<&str>>::from(#found));
    let kept = (quote!(::core::convert::From<::std::string::String>), "from", owned);
    let rest = rest(choice, kept, &unknown);
    quote! {
        match #text {
            #(#known)*
            #found => #rest,
        }
    }
}

/// Generates the result for an unknown value: the catch-all variant with that value, or an error.
fn rest(
    choice: &Choice<'_>,
    (of, item, found): (TokenStream, &str, TokenStream),
    unknown: &TokenStream,
) -> TokenStream {
    let Some((variant, ty)) = choice.other() else {
        return quote!(::core::result::Result::Err(#unknown));
    };
    let (ident, keep) = (variant.ident, Place::of(ty).item(ty, &of, item));
    quote!(::core::result::Result::Ok(Self::#ident(#keep(#found))))
}

/// Returns the name of the constant with the discriminant of a variant.
fn number(index: usize) -> Ident {
    Ident::new(&format!("__D{index}"), proc_macro2::Span::call_site())
}

/// Generates the discriminants as constants. The compiler provides them for an enum of unit variants; the discriminants
/// of an enum with a catch-all are counted here. `convert` converts them to the stored value.
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

/// Generates the expression that converts a discriminant to its variant.
fn read_number(choice: &Choice<'_>, value: &Ident) -> TokenStream {
    let Paths { private, .. } = Paths::of(&choice.attrs);
    // The code for writing has checked the numbers.
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
    let unknown = quote!(#private::unknown_number(#found, &[#(#constants),*]));
    let kept = (quote!(#private::Exactly<i32>), "of", quote!(#found));
    let rest = rest(choice, kept, &unknown);
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
    let (input, generics) = (choice.input, &choice.input.generics);
    let (text, value) = (local("text"), text(choice));
    let read = (!borrows(choice.input)).then(|| {
        let body = read_text(choice, &quote!(#text));
        let items = quote! {
            fn read_key(#text: &str) -> ::core::result::Result<Self, #private::ValueError> {
                #body
            }
        };
        implement(&quote!(#private::ReadTableKey), input, generics, &items)
    });
    let items = quote! {
        const SORTED: bool = false;
        fn write_key(&self, #text: &mut ::std::string::String) -> ::core::result::Result<(), #private::ValueError> {
            #text.push_str(#value);
            ::core::result::Result::Ok(())
        }
    };
    let write = implement(&quote!(#private::TableKey), input, generics, &items);
    quote!(#write #read)
}

/// Generates the impls of a newtype, which use its field's impls.
pub(crate) fn newtype(newtype: &Newtype<'_>) -> TokenStream {
    let Paths { private, .. } = Paths::of(&newtype.attrs);
    let (member, ty) = (&newtype.member, newtype.ty);
    let (value, text) = (local("value"), local("text"));
    let item = |of: &TokenStream, name| Place::of(ty).item(ty, of, name);
    let implemented = |of: &TokenStream, bound: &TokenStream, items: &TokenStream| {
        let mut bounds = Bounds::new(&newtype.input.generics);
        bounds.require(ty, bound);
        implement(of, newtype.input, &bounds.generics(), items)
    };
    let reads = !borrows(newtype.input);
    let made = quote!(|#value| Self { #member: #value });

    let property = quote!(#private::Property);
    let [edm_type, sorted, to_edm, is_rounded] =
        ["EDM_TYPE", "SORTED", "to_edm", "is_rounded"].map(|name| item(&property, name));
    let items = quote! {
        type Compared = Self;
        const EDM_TYPE: #private::EdmType = #edm_type;
        const SORTED: bool = #sorted;
        fn to_edm(&self) -> ::core::result::Result<::core::option::Option<#private::Edm<'_>>, #private::ValueError> {
            #to_edm(&self.#member)
        }
        fn is_rounded(&self) -> bool {
            #is_rounded(&self.#member)
        }
    };
    let write_property = implemented(&property, &property, &items);
    let read_property = reads.then(|| {
        let read = quote!(#private::ReadProperty);
        let (from_wire, absent) = (item(&read, "from_wire"), item(&read, "absent"));
        let items = quote! {
            fn from_wire(#value: #private::WireValue<'_>) -> ::core::result::Result<Self, #private::ValueError> {
                #from_wire(#value).map(#made)
            }
            fn absent() -> ::core::option::Option<Self> {
                #absent().map(#made)
            }
        };
        implemented(&read, &quote!(#property + #read), &items)
    });
    let key = newtype.attrs.key.is_some().then(|| {
        let key = quote!(#private::TableKey);
        let [reversed, digits, sorted, write_key, write_nearest] =
            ["REVERSED", "DIGITS", "SORTED", "write_key", "write_nearest"].map(|name| item(&key, name));
        let items = quote! {
            const REVERSED: bool = #reversed;
            const DIGITS: ::core::option::Option<usize> = #digits;
            const SORTED: bool = #sorted;
            fn write_key(&self, #text: &mut ::std::string::String) -> ::core::result::Result<(), #private::ValueError> {
                #write_key(&self.#member, #text)
            }
            fn write_nearest(&self, #text: &mut ::std::string::String) -> ::core::result::Result<::core::cmp::Ordering, #private::ValueError> {
                #write_nearest(&self.#member, #text)
            }
        };
        let write = implemented(&key, &key, &items);
        let read = reads.then(|| {
            let read = quote!(#private::ReadTableKey);
            let read_key = item(&read, "read_key");
            let items = quote! {
                fn read_key(#text: &str) -> ::core::result::Result<Self, #private::ValueError> {
                    #read_key(#text).map(#made)
                }
            };
            implemented(&read, &read, &items)
        });
        quote!(#write #read)
    });
    quote!(#write_property #read_property #key)
}
