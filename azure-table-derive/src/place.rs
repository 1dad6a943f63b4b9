//! The spans and the names of generated code.
//!
//! Compiler errors about a field's type should point at that type, so [`Place`] gives some generated tokens its span.
//! This file also defines the names of locals, the paths of `azure_table`, which no name of the user can hide, and the
//! frame of an impl.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{DeriveInput, Generics};

use crate::attr::{Attr, ContainerAttrs};

/// The first and the last token of the user's code, usually a type. No single span covers both on stable Rust, but code
/// whose tokens begin at the first and end at the last does.
pub(crate) struct Place {
    start: Span,
    end: Span,
}

impl Place {
    /// Creates the place of a type, a path or a name.
    pub(crate) fn of(code: impl ToTokens) -> Self {
        let tokens: Vec<TokenTree> = code.to_token_stream().into_iter().collect();
        let at = |token: Option<&TokenTree>| token.map_or_else(Span::call_site, TokenTree::span);
        Self {
            start: at(tokens.first()),
            end: at(tokens.last()),
        }
    }

    /// Gives tokens the span of the type, as if the user had written them. An error in them equals an error about the
    /// type itself, so the compiler reports it once. Lints apply to these tokens too.
    pub(crate) fn own(&self, tokens: TokenStream) -> TokenStream {
        relocated(tokens, self.start, self.end)
    }

    /// Gives the user's code the location of this place. Its names still resolve where the user wrote them.
    pub(crate) fn moved(&self, code: impl ToTokens) -> TokenStream {
        let tokens = code.to_token_stream().into_iter().map(|token| {
            let mut token = match token {
                TokenTree::Group(group) => TokenTree::Group(Group::new(group.delimiter(), self.moved(group.stream()))),
                token => token,
            };
            token.set_span(token.span().located_at(self.end));
            token
        });
        tokens.collect()
    }

    /// Generates `<Type as Trait>::item`, at the type.
    pub(crate) fn item(&self, ty: &impl ToTokens, of: &TokenStream, item: &str) -> TokenStream {
        let item = Ident::new(item, Span::call_site());
        let (before, after) = (self.own(quote!(<)), self.own(quote!(as #of>::#item)));
        quote!(#before #ty #after)
    }

    /// Gives tokens the location of the type, as code of the derive.
    pub(crate) fn derived(&self, tokens: TokenStream) -> TokenStream {
        let derived = |span: Span| span.resolved_at(Span::call_site());
        relocated(tokens, derived(self.start), derived(self.end))
    }
}

fn relocated(tokens: TokenStream, start: Span, end: Span) -> TokenStream {
    let tokens = tokens.into_iter().enumerate().map(|(at, mut token)| {
        token.set_span(if at == 0 { start } else { end });
        token
    });
    tokens.collect()
}

/// Returns the name of a local in the generated code. A `const` or `static` of the user with the same name would take
/// its place; the underscores prevent that.
pub(crate) fn local(name: &str) -> Ident {
    format_ident!("__{name}", span = Span::call_site())
}

/// The path of `azure_table`, and the path of its hidden module for generated code.
pub(crate) struct Paths {
    pub(crate) krate: TokenStream,
    pub(crate) private: TokenStream,
}

impl Paths {
    /// Returns the paths that an item requires.
    pub(crate) fn of(attrs: &ContainerAttrs) -> Self {
        Self::with(attrs.krate.as_ref())
    }

    /// Returns the paths for the option `crate`.
    pub(crate) fn with(krate: Option<&Attr<syn::Path>>) -> Self {
        let krate = krate.map_or_else(|| quote!(::azure_table), |krate| krate.value.to_token_stream());
        Self {
            private: quote!(#krate::__private),
            krate,
        }
    }
}

/// The attributes of an impl that contains code of the user.
pub(crate) struct Generated;

impl ToTokens for Generated {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        // A deprecated field or variant is reported where it is declared. Most impls have none, so `expect` would fail.
        tokens.extend(quote!(#[automatically_derived] #[allow(deprecated)]));
    }
}

/// Generates the impl of a trait for the item.
pub(crate) fn implement(
    of: &TokenStream,
    input: &DeriveInput,
    generics: &Generics,
    items: &TokenStream,
) -> TokenStream {
    let ident = &input.ident;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    quote! {
        #Generated
        impl #impl_generics #of for #ident #ty_generics #where_clause {
            #items
        }
    }
}
