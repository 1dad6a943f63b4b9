//! The declaration of an index: `index(by_mail = (mail), unique)`.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Token, parenthesized};

use crate::attr::item::Item;
use crate::ctxt::Ctxt;

/// A declared index.
pub(crate) struct Index {
    pub(crate) name: Ident,
    /// The fields of its key, in order.
    pub(crate) fields: Vec<Ident>,
    /// At most one entity of a partition has a value.
    pub(crate) unique: bool,
    /// Its rows have all properties of their entities.
    pub(crate) covers: bool,
}

impl Parse for Index {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (inside, list);
        parenthesized!(inside in input);
        let name = inside.call(Ident::parse_any)?;
        inside.parse::<Token![=]>()?;
        parenthesized!(list in inside);
        let fields = Punctuated::<Ident, Token![,]>::parse_terminated(&list)?;
        let mut index = Self {
            name,
            fields: fields.into_iter().collect(),
            unique: false,
            covers: false,
        };
        while !inside.is_empty() {
            inside.parse::<Token![,]>()?;
            if inside.is_empty() {
                break;
            }
            let flag: Ident = inside.parse()?;
            match &*flag.to_string() {
                "unique" => index.unique = true,
                "covers" => index.covers = true,
                other => return Err(syn::Error::new(flag.span(), format!("unknown flag `{other}`"))),
            }
        }
        // Nothing follows the parentheses.
        let rest: TokenStream = input.parse()?;
        if rest.is_empty() {
            Ok(index)
        } else {
            Err(input.error("unexpected"))
        }
    }
}

/// Reads `index(name = (field, …), unique, covers)`.
pub(crate) fn index(item: &Item, ctxt: &Ctxt) -> Option<Index> {
    let index = item.list::<Index>().filter(|index| !index.fields.is_empty());
    if index.is_none() {
        ctxt.error(
            item.place(),
            "`index` takes a name and fields, then `unique` or `covers`: write `index(by_mail = (mail), unique)`",
        );
    }
    index
}
