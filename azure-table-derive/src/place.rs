//! Where generated code points, and by which names.
//!
//! Owns the spans. What the compiler says about a field's type should point at that type, so some generated tokens are
//! moved there. Owns also the names of locals, the paths of `azure_table`, which no name of the user can hide, and the
//! attributes of an impl.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};

use crate::attr::ContainerAttrs;

/// Code of the user, usually a type: its first token and its last. No single span covers both on stable Rust, but code
/// whose tokens begin at the one and end at the other does.
pub(crate) struct Place {
    start: Span,
    end: Span,
}

impl Place {
    /// A type, a path, a name.
    pub(crate) fn of(code: impl ToTokens) -> Self {
        let tokens: Vec<TokenTree> = code.to_token_stream().into_iter().collect();
        let at = |token: Option<&TokenTree>| token.map_or_else(Span::call_site, TokenTree::span);
        Self {
            start: at(tokens.first()),
            end: at(tokens.last()),
        }
    }

    /// Moves tokens to the type, as code of the user: an error there is the same as one about the type itself, and the
    /// compiler says it once. Lints see this code, too.
    pub(crate) fn own(&self, tokens: TokenStream) -> TokenStream {
        relocated(tokens, self.start, self.end)
    }

    /// Shows code of the user at this place, too. What its names mean stays as it is.
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

    /// `<Type as Trait>::item`, at the type.
    pub(crate) fn item(&self, ty: &impl ToTokens, of: &TokenStream, item: &str) -> TokenStream {
        let item = Ident::new(item, Span::call_site());
        let (before, after) = (self.own(quote!(<)), self.own(quote!(as #of>::#item)));
        quote!(#before #ty #after)
    }

    /// Moves tokens to the type, as code of the derive.
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

/// A local of the generated code. The underscores keep it apart from a `const` or `static` of the user, which would
/// take its place.
pub(crate) fn local(name: &str) -> Ident {
    format_ident!("__{name}", span = Span::call_site())
}

/// The path of `azure_table`, and that of its hidden module for derived code.
pub(crate) struct Paths {
    pub(crate) krate: TokenStream,
    pub(crate) private: TokenStream,
}

impl Paths {
    /// The paths that an item asks for.
    pub(crate) fn of(attrs: &ContainerAttrs) -> Self {
        let krate = attrs
            .krate
            .as_ref()
            .map_or_else(|| quote!(::azure_table), |krate| krate.value.to_token_stream());
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
        // A deprecated field or variant was said where it is declared. Most have none: `expect` would fail there.
        tokens.extend(quote!(#[automatically_derived] #[allow(deprecated)]));
    }
}
