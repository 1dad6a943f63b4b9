//! The parsers for the values of options, with the errors for malformed values.
//!
//! Only options with a syntax of their own are parsed here; `attr/item.rs` parses flags, texts and code.

use syn::{ExprPath, LitStr, Path};

use crate::attr::item::Item;
use crate::attr::suggestion::list;
use crate::case::Case;
use crate::ctxt::Ctxt;

/// The setting for the generated constants.
pub(crate) enum Columns {
    Off,
    Prefix(LitStr),
}

/// The value of a field whose property is absent.
pub(crate) enum Fallback {
    /// `Default::default()`.
    OfType,
    /// The return value of this function.
    Function(ExprPath),
}

/// Reads `name = "…"` and checks it by the rules of azure-table-wire (`value/name.rs`), which no macro crate
/// can import.
pub(crate) fn table_name(item: &Item, ctxt: &Ctxt) -> Option<LitStr> {
    let text = item.text(ctxt, "Blogs")?;
    let name = text.value();
    let is_wrong = |c: &char| matches!(c, '/' | '\\' | '#' | '?') || c.is_control();
    let fault = match name.chars().count() {
        length if !(1..=254).contains(&length) => format!("it has {length} characters"),
        _ if ["Tables", "$batch", ".", ".."].contains(&&*name) => "the service reserves it".to_owned(),
        _ if name.ends_with(' ') => "it ends with a space".to_owned(),
        _ => match name.chars().find(is_wrong) {
            Some(wrong) => format!("it contains {wrong:?}"),
            None => return Some(text),
        },
    };
    // The name is kept, so that the type still names a table and the error is reported once.
    ctxt.error(
        &text,
        format!(
            "{name:?} cannot be the name of a table, {fault}: write 3 to 63 ASCII letters and digits, a letter first, \
             such as `name = \"Blogs\"`; on Cosmos DB up to 254 characters without `/ \\ # ?`"
        ),
    );
    Some(text)
}

/// Reads `partition_key = "…"` or `row_key = "…"` on a struct. A missing template is a likely mistake.
pub(crate) fn template(item: &Item, ctxt: &Ctxt) -> Option<LitStr> {
    if !item.has_value() {
        let name = &item.name;
        ctxt.error(
            name,
            format!(
                "on a struct write `{name} = \"{{field}}\"`; for a single field put #[table({name})] on that field"
            ),
        );
        return None;
    }
    item.text(ctxt, "{field}")
}

/// Reads `rename_all = "case"`.
pub(crate) fn rename_all(item: &Item, ctxt: &Ctxt) -> Option<Case> {
    let rule = item.text(ctxt, "PascalCase")?;
    let case = Case::from_name(&rule.value());
    if case.is_none() {
        let names = list(&Case::ALL.map(|(name, _)| name), "or");
        ctxt.error(&rule, format!("unknown case {:?}: write {names}", rule.value()));
    }
    case
}

/// Reads `columns = off` or `columns = "PREFIX_"`.
pub(crate) fn columns(item: &Item, ctxt: &Ctxt) -> Option<Columns> {
    const FORM: &str = "write `columns = off`, or `columns = \"PREFIX_\"` to put a prefix before the constants' names";
    match item.value::<syn::Ident>() {
        Some(word) if word == "off" => return Some(Columns::Off),
        _ => {}
    }
    let Some(prefix) = item.value::<LitStr>() else {
        ctxt.error(item.place(), FORM);
        return None;
    };
    // `"off"` would be treated as a prefix and produce `offTEXT`.
    if prefix.value() == "off" {
        ctxt.error(&prefix, "for no constants write `columns = off`, without the quotes");
        return None;
    }
    if syn::parse_str::<syn::Ident>(&format!("{}X", prefix.value())).is_err() {
        ctxt.error(
            &prefix,
            format!(
                "{:?} cannot begin the name of a constant: use capitals, digits and `_`, such as `columns = \"COL_\"`",
                prefix.value()
            ),
        );
        return None;
    }
    Some(Columns::Prefix(prefix))
}

/// Reads `crate = "path"`.
pub(crate) fn krate(item: &Item, ctxt: &Ctxt) -> Option<Path> {
    let text = item.text(ctxt, "path::to::azure_table")?;
    let path = text.parse_with(Path::parse_mod_style).ok();
    if path.is_none() {
        ctxt.error(
            &text,
            format!(
                "{:?} is not a path: write the one of azure-table, such as `crate = \"::azure_table\"`",
                text.value()
            ),
        );
    }
    path
}

/// Reads `partition_key` or `row_key` on a field. A template is a likely mistake.
pub(crate) fn own_key(item: &Item, ctxt: &Ctxt) -> Option<()> {
    if item.has_value() {
        let name = &item.name;
        ctxt.error(
            item.place(),
            format!("on a field write #[table({name})]; a template, `{name} = \"{{field}}\"`, belongs on the struct"),
        );
        return None;
    }
    Some(())
}

/// Reads `flatten`. A prefix as its value is a likely mistake.
pub(crate) fn flatten(item: &Item, ctxt: &Ctxt) -> Option<()> {
    if let Some(prefix) = item.value::<LitStr>() {
        ctxt.error(
            item.place(),
            format!(
                "`flatten` takes no value: write `flatten, prefix = {:?}`",
                prefix.value()
            ),
        );
        return None;
    }
    item.flag(ctxt)
}

/// Reads `default` or `default = "path"`.
pub(crate) fn default(item: &Item, ctxt: &Ctxt) -> Option<Fallback> {
    if !item.has_value() {
        return Some(Fallback::OfType);
    }
    item.code(ctxt, "the path of a function", "path::to::function")
        .map(Fallback::Function)
}
