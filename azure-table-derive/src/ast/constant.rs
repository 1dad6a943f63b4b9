//! The names of the generated constants.
//!
//! Decides which fields and variants have a constant, names it, and rejects duplicate names. `expand/column.rs`
//! generates the constants.

use std::collections::HashMap;

use proc_macro2::{Ident, Span};
use syn::LitStr;

use crate::ast::field::{Field, Role};
use crate::ast::variants::Variant;
use crate::attr::{Attr, Columns};
use crate::case::screaming_snake;
use crate::ctxt::Ctxt;

/// The field or variant that a constant is generated for.
struct Source<'s> {
    ident: &'s Ident,
    name: String,
    column: Option<&'s Attr<LitStr>>,
    constant: &'s mut Option<Ident>,
}

/// Sets the names of the constants of all fields that are columns.
pub(crate) fn name_constants(ctxt: &Ctxt, columns: Option<&Attr<Columns>>, fields: &mut [Field<'_>]) {
    let sources = fields.iter_mut().filter(|field| field.is_column()).map(source);
    name(ctxt, columns, "field", sources.collect());
}

/// Sets the names of the constants of all variants with an entity type of their own.
pub(crate) fn name_variants(ctxt: &Ctxt, columns: Option<&Attr<Columns>>, variants: &mut [Variant<'_>]) {
    let names: Vec<String> = variants.iter().map(Variant::name).collect();
    let named = variants.iter_mut().filter(|variant| variant.attrs.other.is_none());
    let sources = named.map(|variant| Source {
        ident: variant.ident,
        name: variant.name(),
        column: variant.attrs.column.as_ref(),
        constant: &mut variant.constant,
    });
    name(ctxt, columns, "variant", sources.collect());
    for variant in variants.iter_mut() {
        // The name would refer to the variant, so no code could use the constant.
        let hidden = |constant: &Ident| names.iter().any(|name| constant == name);
        if let Some(constant) = variant.constant.take_if(|constant| hidden(constant)) {
            ctxt.error(
                variant
                    .attrs
                    .column
                    .as_ref()
                    .map_or(variant.ident, |column| &column.name),
                format!(
                    "the constant `{constant}` has the name of a variant: rename it with #[table(column = \"NAME\")]"
                ),
            );
        }
    }
    name_other(columns, variants, names);
}

/// Names the constant of the variant for all other rows, which exists only for its compiler message. Any existing name
/// takes precedence.
fn name_other(columns: Option<&Attr<Columns>>, variants: &mut [Variant<'_>], mut taken: Vec<String>) {
    let Some(prefix) = prefix(columns) else { return };
    let constants = variants.iter().filter_map(|variant| variant.constant.as_ref());
    taken.extend(constants.map(Ident::to_string));
    for variant in variants.iter_mut().filter(|variant| variant.attrs.other.is_some()) {
        let constant = identifier(&format!("{prefix}{}", screaming_snake(&variant.name())));
        let free = constant.filter(|constant| !taken.iter().any(|name| constant == name));
        variant.constant = free.map(|constant| at(&constant, variant.ident));
    }
}

/// Returns the prefix of all constants, or `None` if there are no constants.
fn prefix(columns: Option<&Attr<Columns>>) -> Option<String> {
    match columns.map(|columns| &columns.value) {
        Some(Columns::Off) => None,
        Some(Columns::Prefix(prefix)) => Some(prefix.value()),
        None => Some(String::new()),
    }
}

/// Sets the names of the entity's constants that a projection reads. Two fields may read the same constant.
pub(crate) fn name_sources(ctxt: &Ctxt, fields: &mut [Field<'_>]) {
    let columns = fields
        .iter_mut()
        .filter(|field| matches!(field.role, Role::Property(_)));
    for source in columns.map(source) {
        *source.constant = called(ctxt, &source, "", "field").map(|constant| at(&constant, source.ident));
    }
}

fn source<'s>(field: &'s mut Field<'_>) -> Source<'s> {
    Source {
        ident: field.ident,
        name: field.name.clone(),
        column: field.attrs.column.as_ref(),
        constant: &mut field.constant,
    }
}

fn name(ctxt: &Ctxt, columns: Option<&Attr<Columns>>, kind: &str, sources: Vec<Source<'_>>) {
    let Some(prefix) = prefix(columns) else {
        return reject_names(ctxt, &sources);
    };
    let mut taken: HashMap<String, String> = HashMap::new();
    for source in sources {
        let Some(constant) = called(ctxt, &source, &prefix, kind) else {
            continue;
        };
        if let Some(other) = taken.get(&constant.to_string()) {
            let message = format!(
                "`{other}` and `{}` both have the constant `{constant}`: rename one with #[table(column = \"NAME\")]",
                source.name
            );
            match source.column {
                Some(column) => ctxt.error(&column.value, message),
                None => ctxt.error(source.ident, message),
            }
            continue;
        }
        taken.insert(constant.to_string(), source.name.clone());
        *source.constant = Some(at(&constant, source.ident));
    }
}

/// Returns the name of a constant.
fn called(ctxt: &Ctxt, source: &Source<'_>, prefix: &str, kind: &str) -> Option<Ident> {
    let found = match source.column {
        Some(column) => identifier(&column.value.value()),
        None => identifier(&format!("{prefix}{}", screaming_snake(&source.name))),
    };
    match (&found, source.column) {
        (Some(_), _) => {}
        (None, Some(column)) => ctxt.error(
            &column.value,
            format!(
                "{:?} cannot be the name of a constant: use capitals, digits and `_`, such as `column = {:?}`",
                column.value.value(),
                screaming_snake(&source.name)
            ),
        ),
        (None, None) => ctxt.error(
            source.ident,
            format!(
                "the name of this {kind} cannot be the name of a constant: set another with #[table(column = \"NAME\")]"
            ),
        ),
    }
    found
}

/// Rejects a name for a constant if `columns = off` is set.
fn reject_names(ctxt: &Ctxt, sources: &[Source<'_>]) {
    for column in sources.iter().filter_map(|source| source.column) {
        ctxt.error(
            &column.name,
            "`columns = off` omits this constant: remove `column`, or `columns = off`",
        );
    }
}

fn identifier(name: &str) -> Option<Ident> {
    syn::parse_str(name).ok()
}

/// Returns the constant's name with the location of the field, so that tools navigate there. It resolves as a name of
/// the derive, even if the struct comes from another macro.
fn at(constant: &Ident, ident: &Ident) -> Ident {
    Ident::new(&constant.to_string(), ident.span().resolved_at(Span::call_site()))
}
