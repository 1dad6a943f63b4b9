//! The rules of an enum that is a property.

use std::collections::HashMap;

use proc_macro2::Ident;

use crate::ast::{Choice, ChoiceVariant};
use crate::ctxt::Ctxt;
use crate::template::key_text_fault;

/// Checks an enum.
pub(crate) fn choice(ctxt: &Ctxt, choice: &Choice<'_>) {
    check_other(ctxt, choice);
    if choice.attrs.integer.is_some() {
        check_integer(ctxt, choice);
        return;
    }
    check_texts(ctxt, choice);
    if choice.attrs.key.is_some() {
        check_key(ctxt, choice);
    }
}

/// Rejects two catch-alls, and options on the catch-all.
fn check_other(ctxt: &Ctxt, choice: &Choice<'_>) {
    let others: Vec<&ChoiceVariant<'_>> = choice
        .variants
        .iter()
        .filter(|variant| variant.attrs.other.is_some())
        .collect();
    for other in others.iter().skip(1).filter_map(|other| other.attrs.other.as_ref()) {
        ctxt.error(&other.name, "only one variant can have `other`: remove this one");
    }
    for variant in others {
        let attrs = &variant.attrs;
        for option in attrs.rename.iter().chain(&attrs.alias) {
            ctxt.error(
                &option.name,
                format!(
                    "a variant with `other` has no text of its own: remove `{}`, or `other`",
                    option.name
                ),
            );
        }
    }
}

/// Rejects names in an enum that is stored as numbers.
fn check_integer(ctxt: &Ctxt, choice: &Choice<'_>) {
    let reject = |name: &Ident| {
        ctxt.error(
            name,
            format!("`integer` stores discriminants, not names: remove `{name}`, or `integer`"),
        );
    };
    if let Some(rename_all) = &choice.attrs.rename_all {
        reject(&rename_all.name);
    }
    for attrs in choice.known().map(|variant| &variant.attrs) {
        let options = attrs.rename.iter().chain(&attrs.alias);
        options.for_each(|option| reject(&option.name));
    }
    if let Some(key) = &choice.attrs.key {
        ctxt.error(
            &key.name,
            "the key text of a discriminant does not sort like the number: remove `key`, or remove `integer` to use \
             the name as the key",
        );
    }
}

/// Rejects two variants with the same text.
fn check_texts(ctxt: &Ctxt, choice: &Choice<'_>) {
    let mut taken: HashMap<String, &Ident> = HashMap::new();
    for variant in choice.known() {
        if let Some(other) = taken.insert(variant.name.clone(), variant.ident) {
            let message = format!(
                "`{other}` and `{}` are both stored as {:?}: write another name with #[table(rename = \"name\")]",
                variant.ident, variant.name
            );
            match &variant.attrs.rename {
                Some(rename) => ctxt.error(&rename.value, message),
                None => ctxt.error(variant.ident, message),
            }
        }
    }
    for variant in choice.known() {
        for alias in &variant.attrs.alias {
            if let Some(other) = taken.insert(alias.value.value(), variant.ident) {
                ctxt.error(
                    &alias.value,
                    format!(
                        "{:?} is already read as `{other}`: remove this alias",
                        alias.value.value()
                    ),
                );
            }
        }
    }
}

/// Rejects a name that no key can have, and a second text: a key with that text is the key of another row.
fn check_key(ctxt: &Ctxt, choice: &Choice<'_>) {
    for variant in choice.known() {
        if let Some(fault) = key_text_fault(&variant.name) {
            match &variant.attrs.rename {
                Some(rename) => ctxt.error(&rename.value, format!("rename: {fault}")),
                None => ctxt.error(variant.ident, fault),
            }
        }
        for alias in &variant.attrs.alias {
            let text = alias.value.value();
            let why = format!(
                "the key of a row has one text: write #[table(rename = {text:?})], which keeps the stored text"
            );
            ctxt.error(&alias.name, why);
        }
    }
}
