//! One option of `#[table(...)]`: a name, and an optional value.
//!
//! Splits an attribute into options. The tokens are split at the commas before anything is parsed, so that an error in
//! one option does not hide errors in the next. The known options are in `attr/table.rs`.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, LitStr, Meta, Token};

use crate::attr::suggestion::list;
use crate::ctxt::Ctxt;

/// An option.
pub(crate) struct Item {
    pub(crate) name: Ident,
    /// The tokens after the name: none, or `= value`, or malformed ones.
    rest: TokenStream,
}

impl Parse for Item {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        // `crate` is a keyword.
        Ok(Self {
            name: input.call(Ident::parse_any)?,
            rest: input.parse()?,
        })
    }
}

/// Returns the options of all `#[table(...)]` among the attributes of an item, field or variant. The errors list the
/// `known` ones.
pub(crate) fn items(ctxt: &Ctxt, attributes: &[Attribute], known: &[&str]) -> Vec<Item> {
    let inside = || match known {
        [] => "nothing".to_owned(),
        known => list(known, "or"),
    };
    let mut items = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("table")) {
        let Meta::List(meta) = &attribute.meta else {
            ctxt.error(&attribute.meta, format!("write #[table(…)] with {} inside", inside()));
            continue;
        };
        for tokens in split(meta.tokens.clone()) {
            match syn::parse2(tokens.clone()) {
                Ok(item) => items.push(item),
                Err(_) => ctxt.error(tokens, format!("expected the name of an attribute: {}", inside())),
            }
        }
    }
    items
}

/// Returns the tokens between the commas. A trailing comma is allowed.
fn split(tokens: TokenStream) -> Vec<TokenStream> {
    let mut parts = vec![TokenStream::new()];
    for token in tokens {
        match token {
            TokenTree::Punct(comma) if comma.as_char() == ',' => parts.push(TokenStream::new()),
            token => {
                if let Some(part) = parts.last_mut() {
                    part.extend([token]);
                }
            }
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

impl Item {
    /// Reads an option without a value.
    pub(crate) fn flag(&self, ctxt: &Ctxt) -> Option<()> {
        if self.has_value() {
            ctxt.error(self.place(), format!("`{0}` takes no value: write `{0}`", self.name));
            return None;
        }
        Some(())
    }

    /// Reads the text after the equals sign. The error for a missing text shows `example`.
    pub(crate) fn text(&self, ctxt: &Ctxt, example: &str) -> Option<LitStr> {
        let text = self.value();
        if text.is_none() {
            ctxt.error(
                self.place(),
                format!("`{0}` takes a string: write `{0} = \"{example}\"`", self.name),
            );
        }
        text
    }

    /// Reads the code after the equals sign, or text that contains code. The error for a missing value shows `example`.
    pub(crate) fn code<T: Parse>(&self, ctxt: &Ctxt, what: &str, example: &str) -> Option<T> {
        let form = || format!("write `{} = \"{example}\"`", self.name);
        if let Some(text) = self.value::<LitStr>() {
            // Its tokens have the span of the text, so that the compiler points at it.
            let code = text.parse().ok();
            if code.is_none() {
                ctxt.error(&text, format!("{:?} is not {what}: {}", text.value(), form()));
            }
            return code;
        }
        let code = self.value();
        if code.is_none() {
            ctxt.error(self.place(), format!("`{}` takes {what}: {}", self.name, form()));
        }
        code
    }

    /// Returns `true` if tokens follow the name.
    pub(crate) fn has_value(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Returns the value after the equals sign, if it is exactly a `T`.
    pub(crate) fn value<T: Parse>(&self) -> Option<T> {
        syn::parse2::<Value<T>>(self.rest.clone()).ok().map(|value| value.0)
    }

    /// Returns what follows the name, if it is exactly a `T`.
    pub(crate) fn list<T: Parse>(&self) -> Option<T> {
        syn::parse2(self.rest.clone()).ok()
    }

    /// Returns the place at which a malformed value is reported: the whole option.
    pub(crate) fn place(&self) -> impl ToTokens {
        let mut tokens = self.name.to_token_stream();
        tokens.extend(self.rest.clone());
        tokens
    }
}

/// Returns the parser of a text.
pub(crate) fn text(example: &str) -> impl Fn(&Item, &Ctxt) -> Option<LitStr> {
    move |item, ctxt| item.text(ctxt, example)
}

/// Returns the parser of code.
pub(crate) fn code<T: Parse>(what: &str, example: &str) -> impl Fn(&Item, &Ctxt) -> Option<T> {
    move |item, ctxt| item.code(ctxt, what, example)
}

/// `= value`.
struct Value<T>(T);

impl<T: Parse> Parse for Value<T> {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.parse::<Token![=]>()?;
        input.parse().map(Self)
    }
}
