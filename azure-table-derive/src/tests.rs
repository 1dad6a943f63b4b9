//! Tests of the whole derives: their errors, and the generated code.

mod expansion;
mod expansion_of_forms;
mod mistake;
mod mistake_of_field;
mod mistake_of_group;
mod mistake_of_index;
mod mistake_of_projection;
mod mistake_of_property;
mod mistake_of_template;
mod mistake_of_variant;
mod test_attribute;

use proc_macro2::{TokenStream, TokenTree};
use syn::LitStr;

/// Runs a derive.
fn derived(derive: Derive, input: &str) -> TokenStream {
    derive(&syn::parse_str(input).unwrap())
}

type Derive = fn(&syn::DeriveInput) -> TokenStream;

/// Runs `TableEntity` on an item.
fn derive(input: &str) -> TokenStream {
    derived(crate::derive::table_entity, input)
}

/// Returns the only error of a derive for an item.
#[track_caller]
fn only(derive: Derive, input: &str) -> String {
    let mut found = messages(derived(derive, input));
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

/// Returns the only error of `TableEntity` for an item.
#[track_caller]
fn one(input: &str) -> String {
    only(crate::derive::table_entity, input)
}

/// Returns the generated code, without white space.
fn expansion(input: &str) -> String {
    let tokens = derive(input);
    assert_eq!(messages(tokens.clone()), [""; 0]);
    flat(&tokens.to_string())
}

/// Returns code without its layout.
fn flat(code: &str) -> String {
    code.split_whitespace().collect()
}

/// Asserts that the code is part of the expansion.
#[track_caller]
fn has(expansion: &str, code: &str) {
    let code = flat(code);
    assert!(expansion.contains(&code), "no\n{code}\nin\n{expansion}");
}

/// Returns the compile errors of a struct, in order.
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

/// Returns a struct with both keys and these attributes and fields.
fn with(attributes: &str, fields: &str) -> String {
    format!("{attributes} struct S {{ #[table(partition_key)] pk: String, #[table(row_key)] rk: String, {fields} }}")
}
