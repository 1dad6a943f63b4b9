//! Trait bounds for generic structs.
//!
//! Owns the generics of the two impls. A bound is added only where a field's type mentions a parameter, and it is on the
//! field's type, not on the parameter: an ignored `PhantomData<T>` asks nothing of `T`. For all other fields the compiler
//! checks the code of the impl itself.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics, Type, WherePredicate};

use crate::ast::{Entity, Role};
use crate::place::Paths;

/// The generics of the `TableEntity` impl, and of the constants.
pub(crate) fn table_generics(entity: &Entity<'_>) -> Generics {
    let private = Paths::of(&entity.attrs).private;
    bounded(entity, &quote!(#private::TableKey), &quote!(#private::Property), None)
}

/// The generics of the `ReadEntity` impl: it goes by the schema, and so asks for what writing asks for, too.
pub(crate) fn read_generics(entity: &Entity<'_>) -> Generics {
    let private = Paths::of(&entity.attrs).private;
    bounded(
        entity,
        // Implies `TableKey`.
        &quote!(#private::ReadTableKey),
        &quote!(#private::Property + #private::ReadProperty),
        Some(&quote!(::core::default::Default)),
    )
}

fn bounded(entity: &Entity<'_>, key: &TokenStream, property: &TokenStream, ignored: Option<&TokenStream>) -> Generics {
    let mut bounds = Bounds::new(&entity.input.generics);
    for field in entity.fields.iter().filter(|field| !field.doubtful) {
        let bound = match &field.role {
            Role::Key(_) | Role::KeyPart(_) => Some(key),
            Role::Property(_) => Some(property),
            Role::Ignored => ignored,
            Role::Timestamp | Role::Etag => None,
        };
        if let Some(bound) = bound {
            bounds.require(&field.original.ty, bound);
        }
    }
    bounds.generics()
}

/// Collects the bounds of one impl.
struct Bounds<'a> {
    generics: &'a Generics,
    parameters: Vec<String>,
    seen: HashSet<String>,
    predicates: Vec<WherePredicate>,
}

impl<'a> Bounds<'a> {
    fn new(generics: &'a Generics) -> Self {
        let parameters = generics.params.iter().filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) => Some(parameter.ident.to_string()),
            // `Text<N>` may be a property for some `N` only.
            GenericParam::Const(parameter) => Some(parameter.ident.to_string()),
            GenericParam::Lifetime(_) => None,
        });
        Self {
            generics,
            parameters: parameters.collect(),
            seen: HashSet::new(),
            predicates: Vec::new(),
        }
    }

    /// Demands `ty: bound`, if the type depends on a parameter.
    fn require(&mut self, ty: &Type, bound: &TokenStream) {
        if !mentions(ty.to_token_stream(), &self.parameters) {
            return;
        }
        let predicate = quote!(#ty: #bound);
        if self.seen.insert(predicate.to_string()) {
            self.predicates.extend(syn::parse2::<WherePredicate>(predicate));
        }
    }

    /// The struct's generics with these bounds.
    fn generics(self) -> Generics {
        let mut generics = self.generics.clone();
        if !self.predicates.is_empty() {
            generics.make_where_clause().predicates.extend(self.predicates);
        }
        generics
    }
}

/// Whether one of the parameters stands in the tokens; `a::T` is not the parameter `T`.
fn mentions(tokens: TokenStream, parameters: &[String]) -> bool {
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

#[cfg(test)]
mod tests {
    fn mentions(ty: &str) -> bool {
        super::mentions(ty.parse().unwrap(), &["T".to_owned(), "N".to_owned()])
    }

    #[test]
    fn parameters_are_found_wherever_they_stand() {
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
