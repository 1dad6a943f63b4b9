//! Tests of the whole derive: what it says about mistakes, and what it generates.

mod expansion;
mod mistake;

use proc_macro2::{TokenStream, TokenTree};
use syn::LitStr;

/// Runs the derive on a struct.
fn derive(input: &str) -> TokenStream {
    crate::expand::derive(&syn::parse_str(input).unwrap())
}

/// The generated code, without white space.
fn expansion(input: &str) -> String {
    let tokens = derive(input);
    assert_eq!(messages(tokens.clone()), [""; 0]);
    flat(&tokens.to_string())
}

/// Code whatever its layout.
fn flat(code: &str) -> String {
    code.split_whitespace().collect()
}

/// The compile errors of a struct, in order.
fn mistakes(input: &str) -> Vec<String> {
    messages(derive(input))
}

fn messages(tokens: TokenStream) -> Vec<String> {
    let mut messages = Vec::new();
    let mut invoked = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => invoked = ident == "compile_error",
            TokenTree::Group(group) if invoked => {
                messages.push(syn::parse2::<LitStr>(group.stream()).unwrap().value());
                invoked = false;
            }
            _ => {}
        }
    }
    messages
}

/// A struct with both keys and these attributes and fields.
fn with(attributes: &str, fields: &str) -> String {
    format!("{attributes} struct S {{ #[table(partition_key)] pk: String, #[table(row_key)] rk: String, {fields} }}")
}
