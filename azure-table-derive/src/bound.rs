//! Trait bounds for generic types.
//!
//! Computes the generics of the impls. A bound is added only if a field's type mentions a parameter. It applies to the
//! field's type, not to the parameter: an ignored `PhantomData<T>` requires nothing of `T`. For all other fields the
//! compiler checks the code of the impl itself.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics, Type, WherePredicate};

use crate::ast::{Form, Role, Struct, Variants};
use crate::attr::Fallback;

/// Returns the generics of an impl that writes the struct, and of its constants.
pub(crate) fn write_generics(base: &Struct<'_>) -> Generics {
    let private = base.paths().private;
    let mut bounds = Bounds::new(&base.input.generics);
    for field in base.fields.iter().filter(|field| !field.doubtful) {
        let bound = match &field.role {
            Role::Key(_) | Role::KeyPart(_) => quote!(#private::TableKey),
            Role::Group(_) => quote!(#private::PropertyGroup),
            Role::Property(_) => match field.form() {
                Form::Plain => quote!(#private::Property),
                Form::Json => quote!(#private::Serialize),
                Form::Chunked => quote!(#private::Chunked),
                // The bounds that a module requires are unknown.
                Form::With(_) | Form::WriteId => continue,
            },
            Role::Timestamp | Role::Etag | Role::Ignored | Role::Extra => continue,
        };
        bounds.require(&field.original.ty, &bound);
    }
    bounds.generics()
}

/// Returns the generics of an impl that reads the struct. An entity is read by its schema, so the bounds of writing
/// apply too.
pub(crate) fn read_generics(base: &Struct<'_>) -> Generics {
    let private = base.paths().private;
    let mut bounds = Bounds::new(&base.input.generics);
    for field in base.fields.iter().filter(|field| !field.doubtful) {
        let bound = match &field.role {
            // Implies `TableKey`.
            Role::Key(_) | Role::KeyPart(_) => quote!(#private::ReadTableKey),
            Role::Group(_) => quote!(#private::PropertyGroup + #private::ReadPropertyGroup),
            Role::Ignored => quote!(::core::default::Default),
            Role::Property(_) => match field.form() {
                Form::Plain => quote!(#private::Property + #private::ReadProperty),
                Form::Json => quote!(#private::Serialize + #private::DeserializeOwned),
                Form::Chunked => quote!(#private::Chunked),
                Form::With(_) | Form::WriteId => TokenStream::new(),
            },
            Role::Timestamp | Role::Etag | Role::Extra => continue,
        };
        let ty = &field.original.ty;
        if !bound.is_empty() {
            bounds.require(ty, &bound);
        }
        if let Some(Fallback::OfType) = field.attrs.default.as_ref().map(|default| &default.value) {
            bounds.require(ty, &quote!(::core::default::Default));
        }
    }
    bounds.generics()
}

/// Collects the bounds of one impl.
pub(crate) struct Bounds<'a> {
    generics: &'a Generics,
    parameters: Vec<String>,
    seen: HashSet<String>,
    predicates: Vec<WherePredicate>,
}

impl<'a> Bounds<'a> {
    pub(crate) fn new(generics: &'a Generics) -> Self {
        Self {
            generics,
            parameters: parameters(generics),
            seen: HashSet::new(),
            predicates: Vec::new(),
        }
    }

    /// Adds `ty: bound`, if the type depends on a parameter.
    pub(crate) fn require(&mut self, ty: &Type, bound: &TokenStream) {
        if !mentions(ty.to_token_stream(), &self.parameters) {
            return;
        }
        let predicate = quote!(#ty: #bound);
        if self.seen.insert(predicate.to_string()) {
            self.predicates.extend(syn::parse2::<WherePredicate>(predicate));
        }
    }

    /// Returns the type's generics with these bounds.
    pub(crate) fn generics(self) -> Generics {
        let mut generics = self.generics.clone();
        if !self.predicates.is_empty() {
            generics.make_where_clause().predicates.extend(self.predicates);
        }
        generics
    }
}

/// Returns the names of the parameters on which a type may depend.
pub(crate) fn parameters(generics: &Generics) -> Vec<String> {
    let parameters = generics.params.iter().filter_map(|parameter| match parameter {
        GenericParam::Type(parameter) => Some(parameter.ident.to_string()),
        // `Text<N>` may be a property for some `N` only.
        GenericParam::Const(parameter) => Some(parameter.ident.to_string()),
        GenericParam::Lifetime(_) => None,
    });
    parameters.collect()
}

/// Returns `true` if one of the parameters occurs in the tokens; `a::T` is not the parameter `T`.
pub(crate) fn mentions(tokens: TokenStream, parameters: &[String]) -> bool {
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Punct(colon) if colon.as_char() == ':' => {
                colons += 1;
                continue;
            }
            TokenTree::Group(group) if mentions(group.stream(), parameters) => return true,
            TokenTree::Ident(ident) if colons != 2 && parameters.contains(&ident.to_string()) => {
                return true;
            }
            _ => {}
        }
        colons = 0;
    }
    false
}

/// Returns the enum's generics. Every variant that depends on a parameter is bounded by the entity traits and `more`.
pub(crate) fn variant_generics(variants: &Variants<'_>, more: &TokenStream) -> Generics {
    let krate = variants.paths().krate;
    let mut bounds = Bounds::new(&variants.input.generics);
    for ty in variants.variants.iter().filter_map(|variant| variant.ty) {
        bounds.require(ty, &quote!(#krate::TableEntity #more));
    }
    bounds.generics()
}

#[cfg(test)]
mod tests {
    fn mentions(ty: &str) -> bool {
        super::mentions(ty.parse().unwrap(), &["T".to_owned(), "N".to_owned()])
    }

    #[test]
    fn parameters_are_found_everywhere_in_a_type() {
        for ty in [
            "T",
            "Option<T>",
            "[T; 3]",
            "(u8, Vec<T>)",
            "T::Item",
            "<T as Trait>::Out",
            "Text<N>",
            "Text<{ N + 1 }>",
        ] {
            assert!(mentions(ty), "{ty}");
        }
        for ty in ["String", "my::T", "Option<other::N>", "Vec<Tea>"] {
            assert!(!mentions(ty), "{ty}");
        }
    }
}
