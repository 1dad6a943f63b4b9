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
        ctxt.error(&other.name, "a second variant with `other`: mark one, remove this");
    }
    for variant in others {
        let attrs = &variant.attrs;
        let rename = attrs.rename.iter().chain(&attrs.alias);
        for option in rename {
            ctxt.error(
                &option.name,
                format!(
                    "the variant for all other values has no name: remove `{}`, or `other`",
                    option.name
                ),
            );
        }
    }
}

/// Rejects names in an enum that is stored as numbers.
fn check_integer(ctxt: &Ctxt, choice: &Choice<'_>) {
    let refuse = |name: &Ident| {
        ctxt.error(
            name,
            format!("`integer` stores the discriminants and no names: remove `{name}`, or `integer`"),
        );
    };
    choice
        .attrs
        .rename_all
        .iter()
        .for_each(|rename_all| refuse(&rename_all.name));
    for variant in choice.known() {
        variant
            .attrs
            .rename
            .iter()
            .chain(&variant.attrs.alias)
            .for_each(|option| refuse(&option.name));
    }
    if let Some(key) = &choice.attrs.key {
        ctxt.error(
            &key.name,
            "a discriminant has no key text that sorts like it: remove `integer`, so that the key is the name, or `key`",
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
                        "{:?} is read as `{other}` already: remove this alias",
                        alias.value.value()
                    ),
                );
            }
        }
    }
}

/// Rejects a name that no key can have.
fn check_key(ctxt: &Ctxt, choice: &Choice<'_>) {
    for variant in choice.known() {
        if let Some(fault) = key_text_fault(&variant.name) {
            match &variant.attrs.rename {
                Some(rename) => ctxt.error(&rename.value, format!("rename: {fault}")),
                None => ctxt.error(variant.ident, fault),
            }
        }
    }
}
