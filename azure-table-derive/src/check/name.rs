//! The rules for the names of properties.

use std::collections::HashMap;

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::LitStr;

use crate::ast::{Field, Form, Struct};
use crate::ctxt::Ctxt;
use crate::identifier::{begins_name, continues_name};

/// The maximum number of properties besides PartitionKey, RowKey and Timestamp.
///
/// Source: REST "Understanding the Table service data model".
const MAX_PROPERTIES: usize = 252;
/// The maximum length of a property name, in UTF-16 code units. Source: as above.
const MAX_PROPERTY_NAME: usize = 255;

/// Rejects names that the service does not accept, and two fields with the same name. In a group the names are not
/// `whole`: a prefix may precede them.
pub(crate) fn check_names(ctxt: &Ctxt, base: &Struct<'_>, whole: bool) {
    let mut taken: HashMap<String, &str> = HashMap::new();
    for (field, name) in base.properties() {
        let report = |message: String| ctxt.error(place(field), message);
        if is_rejected(name, whole, &report) {
            continue;
        }
        if let Some(other) = taken.insert(name.to_owned(), &field.name) {
            report(format!(
                "`{other}` and `{}` are both stored as `{name}`: write another name with #[table(rename = \"Name\")]",
                field.name
            ));
        }
    }
    check_aliases(ctxt, base, whole, &mut taken);
    check_pieces(ctxt, base);
}

/// Returns the place at which a name is reported.
fn place(field: &Field<'_>) -> TokenStream {
    let rename: Option<&LitStr> = field.attrs.rename.as_ref().map(|rename| &rename.value);
    let ident: &Ident = field.ident;
    rename.map_or_else(|| ident.to_token_stream(), ToTokens::to_token_stream)
}

/// Reports a name that no property can have. Returns `true` for such a name.
fn is_rejected(name: &str, whole: bool, report: &impl Fn(String)) -> bool {
    if let Some(fault) = property_name_fault(name) {
        report(format!(
            "{name:?} cannot be the name of a property, {fault}: write another with #[table(rename = \"Name\")]"
        ));
        return true;
    }
    if let Some(hint) = reserved(name).filter(|_| whole) {
        report(format!(
            "`{name}` is reserved by the service: {hint}, or write another name with #[table(rename = \"Name\")]"
        ));
        return true;
    }
    false
}

/// Rejects `#[table(alias = "x")]` if `x` is the name of a property.
fn check_aliases<'e>(ctxt: &Ctxt, base: &'e Struct<'_>, whole: bool, taken: &mut HashMap<String, &'e str>) {
    for (field, _) in base.properties() {
        for alias in &field.attrs.alias {
            let name = alias.value.value();
            if let Some(fault) = property_name_fault(&name) {
                ctxt.error(
                    &alias.value,
                    format!("{name:?} was never the name of a property, {fault}: remove this alias"),
                );
                continue;
            }
            match taken.insert(name.clone(), &field.name) {
                None if !whole || reserved(&name).is_none() => {}
                None => ctxt.error(
                    &alias.value,
                    format!("`{name}` is reserved by the service and was never a property: remove this alias"),
                ),
                Some(other) if other == field.name => ctxt.error(
                    &alias.value,
                    format!("the property is already read from `{name}`: remove this alias"),
                ),
                Some(other) => ctxt.error(
                    &alias.value,
                    format!("`{other}` is already read from `{name}`: remove this alias, or rename that field"),
                ),
            }
        }
    }
}

/// Rejects a property `Text_1` next to a chunked `Text`. Both are also read from their aliases.
fn check_pieces(ctxt: &Ctxt, base: &Struct<'_>) {
    let names = || {
        base.properties().flat_map(|(field, name)| {
            let aliases = field.attrs.alias.iter().map(|alias| &alias.value);
            let aliases = aliases.map(move |alias| (field, alias.value(), Some(alias)));
            std::iter::once((field, name.to_owned(), None)).chain(aliases)
        })
    };
    for (chunked, whole, older) in names().filter(|(field, ..)| matches!(field.form(), Form::Chunked)) {
        for (field, name, alias) in names().filter(|(_, name, _)| is_piece(&whole, name)) {
            let remedy = match alias {
                Some(_) => "remove this alias",
                None => "write another name with #[table(rename = \"Name\")]",
            };
            let older = older.map_or(String::new(), |_| format!(", also read from `{whole}`"));
            ctxt.error(
                alias.map_or_else(|| place(field), ToTokens::to_token_stream),
                format!(
                    "`{name}` is the name of a piece of the chunked field `{}`{older}: {remedy}",
                    chunked.name
                ),
            );
        }
    }
}

/// Matches the same names as `owns` in `entity/schema.rs` of azure-table.
fn is_piece(whole: &str, name: &str) -> bool {
    let index = name.strip_prefix(whole).and_then(|rest| rest.strip_prefix('_'));
    index.is_some_and(|index| !index.is_empty() && index.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Returns the alternative to a property with a reserved name.
fn reserved(name: &str) -> Option<&'static str> {
    match name {
        "PartitionKey" => Some("for the key itself write #[table(partition_key)]"),
        "RowKey" => Some("for the key itself write #[table(row_key)]"),
        "Timestamp" => {
            Some("for the time of the last write put #[table(timestamp)] on a field of type Option<DateTime>")
        }
        _ => None,
    }
}

/// Checks that a property's name is a C# identifier, by the same rules as the client.
pub(crate) fn property_name_fault(name: &str) -> Option<String> {
    let mut chars = name.chars();
    match chars.next() {
        None => return Some("it is empty".to_owned()),
        Some(first) if !begins_name(first) => {
            return Some(format!("it starts with {first:?}, not with a letter or `_`"));
        }
        Some(_) => {}
    }
    if let Some(wrong) = chars.find(|c| !continues_name(*c)) {
        return Some(format!("it contains {wrong:?}, which is not a letter, digit or `_`"));
    }
    let units = name.encode_utf16().count();
    (units > MAX_PROPERTY_NAME)
        .then(|| format!("it has {units} UTF-16 units, more than the limit of {MAX_PROPERTY_NAME}"))
}

/// Returns `true` for a name that the service reserves.
pub(crate) fn is_reserved(name: &str) -> bool {
    reserved(name).is_some()
}

/// Rejects more properties than an entity can have.
pub(crate) fn check_count(ctxt: &Ctxt, base: &Struct<'_>) {
    if let Some((field, _)) = base.properties().nth(MAX_PROPERTIES) {
        ctxt.error(
            field.ident,
            format!(
                "an entity has at most {MAX_PROPERTIES} properties and this struct has {}: mark fields with \
                 #[table(ignore)], or split the struct",
                base.properties().count()
            ),
        );
    }
}
