//! The rules of an enum of entities.

use std::collections::HashMap;

use syn::LitStr;

use crate::ast::{Mark, Variant, Variants};
use crate::attr::Attr;
use crate::check::name::{is_reserved, property_name_fault};
use crate::ctxt::Ctxt;
use crate::template::key_text_fault;

/// Checks an enum of entities.
pub(crate) fn variants(ctxt: &Ctxt, variants: &Variants<'_>) {
    check_tag(ctxt, variants);
    for variant in &variants.variants {
        check_variant(ctxt, variants, variant);
    }
    check_rename_all(ctxt, variants);
    check_other(ctxt, variants);
    match variants.mark {
        Mark::Tag(_) => check_tags(ctxt, variants),
        Mark::RowKeyPrefix => check_prefixes(ctxt, variants),
        Mark::KeyForm => {}
    }
}

/// Rejects `tag = "a b"`, and a tag with the name of a key.
fn check_tag(ctxt: &Ctxt, variants: &Variants<'_>) {
    let Some(tag) = &variants.attrs.tag else { return };
    let name = tag.value.value();
    if let Some(fault) = property_name_fault(&name) {
        ctxt.error(
            &tag.value,
            format!("{name:?} cannot be the name of a property, {fault}: write another, such as `tag = \"Kind\"`"),
        );
    } else if is_reserved(&name) {
        ctxt.error(
            &tag.value,
            format!("`{name}` is reserved by the service: write another name, such as `tag = \"Kind\"`"),
        );
    }
}

/// Rejects options of a variant that do not fit the mark of the enum.
fn check_variant(ctxt: &Ctxt, variants: &Variants<'_>, variant: &Variant<'_>) {
    let attrs = &variant.attrs;
    if attrs.other.is_some() {
        for option in [&attrs.rename, &attrs.row_key_prefix, &attrs.column]
            .into_iter()
            .flatten()
        {
            ctxt.error(
                &option.name,
                format!(
                    "a variant with `other` reads all remaining rows, so it cannot have `{}`: remove one of the two",
                    option.name
                ),
            );
        }
        return;
    }
    if let (Mark::Tag(tag), Some(prefix)) = (&variants.mark, &attrs.row_key_prefix) {
        ctxt.error(
            &prefix.name,
            format!("the variants are distinguished by the property `{tag}`: remove `row_key_prefix`, or `tag`"),
        );
    }
    if let (Mark::RowKeyPrefix | Mark::KeyForm, Some(rename)) = (&variants.mark, &attrs.rename) {
        ctxt.error(
            &rename.name,
            "`rename` sets the text of the tag, and this enum has no tag: remove it, or write `tag = \"Kind\"` on the \
             enum",
        );
    }
}

/// Rejects `rename_all` without `tag`.
fn check_rename_all(ctxt: &Ctxt, variants: &Variants<'_>) {
    if let (None, Some(rename_all)) = (&variants.attrs.tag, &variants.attrs.rename_all) {
        ctxt.error(
            &rename_all.name,
            "`rename_all` sets the text of the tag, and this enum has no tag: remove it, or write `tag = \"Kind\"`",
        );
    }
}

/// Rejects a second variant for all other rows, and an enum with that variant alone.
fn check_other(ctxt: &Ctxt, variants: &Variants<'_>) {
    let others = variants
        .variants
        .iter()
        .filter_map(|variant| variant.attrs.other.as_ref());
    let mut count = 0;
    for other in others {
        count += 1;
        if count > 1 {
            ctxt.error(&other.name, "only one variant can have `other`: remove this one");
        } else if variants.variants.len() == 1 {
            ctxt.error(
                &other.name,
                "this is the only variant: add variants for the known entities, or use DynamicEntity instead of the \
                 enum",
            );
        }
    }
}

/// Rejects two variants with the same tag.
fn check_tags(ctxt: &Ctxt, variants: &Variants<'_>) {
    let mut taken: HashMap<&str, String> = HashMap::new();
    for (variant, _) in variants.named() {
        if let Some(other) = taken.insert(&variant.tag, variant.name()) {
            let message = format!(
                "`{other}` and `{}` both have the tag {:?}: write another with #[table(rename = \"name\")]",
                variant.name(),
                variant.tag
            );
            match &variant.attrs.rename {
                Some(rename) => ctxt.error(&rename.value, message),
                None => ctxt.error(variant.ident, message),
            }
        }
    }
}

/// Rejects a variant without a prefix, and a prefix that begins with another one.
fn check_prefixes(ctxt: &Ctxt, variants: &Variants<'_>) {
    let mut before: Vec<(String, String)> = Vec::new();
    for (variant, _) in variants.named() {
        let Some(Attr { value, .. }) = &variant.attrs.row_key_prefix else {
            ctxt.error(
                variant.ident,
                format!(
                    "`{}` has no prefix: add #[table(row_key_prefix = \"…\")], as on the other variants",
                    variant.name()
                ),
            );
            continue;
        };
        check_prefix(ctxt, value);
        let prefix = value.value();
        let alike = before
            .iter()
            .find(|(_, other)| other.starts_with(&prefix) || prefix.starts_with(other));
        if let Some((other, text)) = alike {
            ctxt.error(
                value,
                format!(
                    "rows of `{}` and `{other}` are ambiguous, because one of {prefix:?} and {text:?} begins with the \
                     other: write prefixes of which none begins with another",
                    variant.name()
                ),
            );
        }
        before.push((variant.name(), prefix));
    }
}

/// Rejects a prefix that no key can begin with, and the empty one, which matches every key.
fn check_prefix(ctxt: &Ctxt, prefix: &LitStr) {
    let text = prefix.value();
    if text.is_empty() {
        ctxt.error(
            prefix,
            "every RowKey begins with an empty prefix: write the beginning of this variant's RowKeys, or `other` for \
             all remaining rows",
        );
    } else if let Some(fault) = key_text_fault(&text) {
        ctxt.error(prefix, format!("row_key_prefix: {fault}"));
    }
}
