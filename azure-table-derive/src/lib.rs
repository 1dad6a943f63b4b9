//! The macros of [azure-table](https://docs.rs/azure-table). Depend on that crate and derive
//! `azure_table::TableEntity`. [`TableEntity`](macro@TableEntity), [`PropertyGroup`](macro@PropertyGroup),
//! [`TableProperty`](macro@TableProperty) and [`Projection`](macro@Projection) document the attributes.
//! [`test`](macro@test) gives each test its own service.
//!
//! A derive runs in stages: `attr` parses the attributes, `ast` assigns each field its role, `check` applies the rules
//! that span the whole item, and `expand` generates the code, or `fallback` a replacement if there are errors. `derive`
//! runs them in order. `test_attribute` is `#[azure_table::test]`. One `ctxt` collects all errors to report them
//! together. The generated code calls `azure_table::__private`.

// The examples are tests of azure-table: for tests of this crate, Cargo would build azure-table a second time.

mod ast;
mod attr;
mod bound;
mod case;
mod check;
mod ctxt;
mod derive;
mod expand;
mod fallback;
mod identifier;
mod key;
mod place;
mod template;
mod test_attribute;
#[cfg(test)]
mod tests;

#[cfg_attr(not(doctest), doc = include_str!("../docs/table_entity.md"))]
#[proc_macro_derive(TableEntity, attributes(table))]
pub fn derive_table_entity(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    derive::table_entity(&input).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/property_group.md"))]
#[proc_macro_derive(PropertyGroup, attributes(table))]
pub fn derive_property_group(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    derive::property_group(&input).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/table_property.md"))]
#[proc_macro_derive(TableProperty, attributes(table))]
pub fn derive_table_property(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    derive::table_property(&input).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/projection.md"))]
#[proc_macro_derive(Projection, attributes(table))]
pub fn derive_projection(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    derive::projection(&input).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/test.md"))]
#[proc_macro_attribute]
pub fn test(options: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    test_attribute::expand(options.into(), item.into()).into()
}
