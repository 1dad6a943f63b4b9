//! The options of `#[table(...)]` on a struct or an enum.

use syn::{Attribute, ExprPath, LitStr, Path, Type};

use crate::attr::item::{Item, items};
use crate::attr::option::{Attr, set};
use crate::attr::placement::{Kind, Spot, misplaced};
use crate::attr::suggestion::list;
use crate::case::Case;
use crate::ctxt::Ctxt;

/// The options of a struct or an enum.
#[derive(Default)]
pub(crate) struct ContainerAttrs {
    /// The name of the table.
    pub(crate) name: Option<Attr<LitStr>>,
    pub(crate) partition_key: Option<Attr<LitStr>>,
    pub(crate) row_key: Option<Attr<LitStr>>,
    pub(crate) rename_all: Option<Attr<Case>>,
    pub(crate) columns: Option<Attr<Columns>>,
    pub(crate) deny_unknown_properties: Option<Attr<()>>,
    pub(crate) upgrade: Option<Attr<ExprPath>>,
    pub(crate) tag: Option<Attr<LitStr>>,
    pub(crate) of: Option<Attr<Type>>,
    pub(crate) integer: Option<Attr<()>>,
    pub(crate) key: Option<Attr<()>>,
    pub(crate) krate: Option<Attr<Path>>,
}

/// The setting for the generated constants.
pub(crate) enum Columns {
    Off,
    Prefix(LitStr),
}

impl ContainerAttrs {
    /// Reads the attributes of a struct or an enum.
    pub(crate) fn read(ctxt: &Ctxt, kind: Kind, attributes: &[Attribute]) -> Self {
        let mut found = Self::default();
        for item in items(ctxt, attributes, kind, Spot::Item) {
            let name = &*item.name.to_string();
            if !kind.known(Spot::Item).contains(&name) {
                misplaced(ctxt, kind, Spot::Item, &item.name);
                continue;
            }
            match name {
                "name" => set(ctxt, &mut found.name, &item, table_name(ctxt, &item)),
                "partition_key" => set(ctxt, &mut found.partition_key, &item, key(ctxt, &item)),
                "row_key" => set(ctxt, &mut found.row_key, &item, key(ctxt, &item)),
                "rename_all" => set(ctxt, &mut found.rename_all, &item, rename_all(ctxt, &item)),
                "columns" => set(ctxt, &mut found.columns, &item, columns(ctxt, &item)),
                "deny_unknown_properties" => {
                    set(ctxt, &mut found.deny_unknown_properties, &item, item.flag(ctxt));
                }
                "upgrade" => set(ctxt, &mut found.upgrade, &item, upgrade(ctxt, &item)),
                "tag" => set(ctxt, &mut found.tag, &item, item.text(ctxt, "Kind")),
                "of" => set(
                    ctxt,
                    &mut found.of,
                    &item,
                    item.code(ctxt, "the type of an entity", "Entity"),
                ),
                "integer" => set(ctxt, &mut found.integer, &item, item.flag(ctxt)),
                "key" => set(ctxt, &mut found.key, &item, item.flag(ctxt)),
                "crate" => set(ctxt, &mut found.krate, &item, krate(ctxt, &item)),
                _ => {}
            }
        }
        found
    }
}

/// Reads `name = "…"` and checks it by the rules of `azure_table`'s `model/name.rs`, which no macro crate can import.
fn table_name(ctxt: &Ctxt, item: &Item) -> Option<LitStr> {
    let text = item.text(ctxt, "Blogs")?;
    let name = text.value();
    let fault = match name.chars().count() {
        length if !(3..=63).contains(&length) => format!("it has {length} characters"),
        _ if name.eq_ignore_ascii_case("tables") => "the service reserves it".to_owned(),
        _ => match name.chars().find(|c| !c.is_ascii_alphanumeric()) {
            Some(wrong) => format!("it contains {wrong:?}"),
            None if name.starts_with(|c: char| c.is_ascii_digit()) => "it starts with a digit".to_owned(),
            None => return Some(text),
        },
    };
    // The name is kept, so that the type still names a table and the error is reported once.
    ctxt.error(
        &text,
        format!(
            "{name:?} cannot be the name of a table, {fault}: write 3 to 63 ASCII letters and digits, a letter first, \
             such as `name = \"Blogs\"`"
        ),
    );
    Some(text)
}

/// Reads `partition_key = "…"` or `row_key = "…"` on a struct. A missing template is a likely mistake.
fn key(ctxt: &Ctxt, item: &Item) -> Option<LitStr> {
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

fn rename_all(ctxt: &Ctxt, item: &Item) -> Option<Case> {
    let rule = item.text(ctxt, "PascalCase")?;
    let case = Case::from_name(&rule.value());
    if case.is_none() {
        ctxt.error(
            &rule,
            format!("unknown case {:?}: write {}", rule.value(), list(&Case::NAMES, "or")),
        );
    }
    case
}

fn upgrade(ctxt: &Ctxt, item: &Item) -> Option<ExprPath> {
    item.code(
        ctxt,
        "the path of a function from `DynamicEntity` to `Result<Self>`",
        "path::to::function",
    )
}

fn columns(ctxt: &Ctxt, item: &Item) -> Option<Columns> {
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

fn krate(ctxt: &Ctxt, item: &Item) -> Option<Path> {
    let text = item.text(ctxt, "path::to::azure_table")?;
    match text.parse_with(Path::parse_mod_style) {
        Ok(path) => Some(path),
        Err(_) => {
            ctxt.error(
                &text,
                format!(
                    "{:?} is not a path: write the one of azure-table, such as `crate = \"::azure_table\"`",
                    text.value()
                ),
            );
            None
        }
    }
}
