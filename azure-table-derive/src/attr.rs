//! The tokens of `#[table(...)]` as options.
//!
//! Owns the options of a struct ([`EntityAttrs`]) and of a field ([`FieldAttrs`]), and which names there are. How one
//! option is read is `attr/item.rs`; rules over several options are `check.rs`.

mod item;
mod suggest;

use proc_macro2::Ident;
use syn::{Attribute, LitStr, Path};

use self::item::{Item, items};
use self::suggest::{list, unknown};
pub(crate) use self::suggest::{meant, similar};
use crate::case::Case;
use crate::ctxt::Ctxt;

/// The options of a field.
const ON_FIELDS: &[&str] = &[
    "partition_key",
    "row_key",
    "rename",
    "ignore",
    "timestamp",
    "etag",
    "column",
];

/// The options of a struct.
const ON_STRUCTS: &[&str] = &["partition_key", "row_key", "rename_all", "columns", "crate"];

/// An option's value, and the option's name as the place of messages about it.
pub(crate) struct Attr<T> {
    pub(crate) name: Ident,
    pub(crate) value: T,
}

/// What `#[table(...)]` says on a field.
#[derive(Default)]
pub(crate) struct FieldAttrs {
    pub(crate) partition_key: Option<Attr<()>>,
    pub(crate) row_key: Option<Attr<()>>,
    pub(crate) timestamp: Option<Attr<()>>,
    pub(crate) etag: Option<Attr<()>>,
    pub(crate) ignore: Option<Attr<()>>,
    pub(crate) rename: Option<Attr<LitStr>>,
    pub(crate) column: Option<Attr<LitStr>>,
}

/// What `#[table(...)]` says on a struct.
#[derive(Default)]
pub(crate) struct EntityAttrs {
    pub(crate) partition_key: Option<Attr<LitStr>>,
    pub(crate) row_key: Option<Attr<LitStr>>,
    pub(crate) rename_all: Option<Attr<Case>>,
    pub(crate) columns: Option<Attr<Columns>>,
    pub(crate) krate: Option<Attr<Path>>,
}

/// What becomes of the constants.
pub(crate) enum Columns {
    Off,
    Prefix(LitStr),
}

impl FieldAttrs {
    /// Reads the attributes of a field.
    pub(crate) fn read(ctxt: &Ctxt, attributes: &[Attribute]) -> Self {
        let mut found = Self::default();
        for item in items(ctxt, attributes, ON_FIELDS) {
            match &*item.name.to_string() {
                "partition_key" => set(ctxt, &mut found.partition_key, &item, field_key(ctxt, &item)),
                "row_key" => set(ctxt, &mut found.row_key, &item, field_key(ctxt, &item)),
                "timestamp" => set(ctxt, &mut found.timestamp, &item, item.flag(ctxt)),
                "etag" => set(ctxt, &mut found.etag, &item, item.flag(ctxt)),
                "ignore" => set(ctxt, &mut found.ignore, &item, item.flag(ctxt)),
                "rename" => set(ctxt, &mut found.rename, &item, item.text(ctxt, "Name")),
                "column" => set(ctxt, &mut found.column, &item, item.text(ctxt, "NAME")),
                name if ON_STRUCTS.contains(&name) => {
                    ctxt.error(
                        &item.name,
                        format!("`{name}` stands on the struct: move it above `struct`"),
                    );
                }
                name => ctxt.error(&item.name, unknown(name, "on a field", ON_FIELDS)),
            }
        }
        found
    }
}

impl EntityAttrs {
    /// Reads the attributes of a struct.
    pub(crate) fn read(ctxt: &Ctxt, attributes: &[Attribute]) -> Self {
        let mut found = Self::default();
        for item in items(ctxt, attributes, ON_STRUCTS) {
            match &*item.name.to_string() {
                "partition_key" => set(ctxt, &mut found.partition_key, &item, entity_key(ctxt, &item)),
                "row_key" => set(ctxt, &mut found.row_key, &item, entity_key(ctxt, &item)),
                "rename_all" => set(ctxt, &mut found.rename_all, &item, rename_all(ctxt, &item)),
                "columns" => set(ctxt, &mut found.columns, &item, columns(ctxt, &item)),
                "crate" => set(ctxt, &mut found.krate, &item, krate(ctxt, &item)),
                "rename" => {
                    ctxt.error(
                        &item.name,
                        "`rename` stands on a field; for all fields write `rename_all = \"PascalCase\"`",
                    );
                }
                name if ON_FIELDS.contains(&name) => {
                    ctxt.error(
                        &item.name,
                        format!("`{name}` stands on a field: move it to the field that it is about"),
                    );
                }
                name => ctxt.error(&item.name, unknown(name, "on a struct", ON_STRUCTS)),
            }
        }
        found
    }
}

/// Keeps an option. One that is there twice is a mistake even where its value is not readable.
fn set<T>(ctxt: &Ctxt, cell: &mut Option<Attr<T>>, item: &Item, value: Option<T>) {
    if cell.is_some() {
        ctxt.error(&item.name, format!("duplicate attribute `{}`: say it once", item.name));
    } else if let Some(value) = value {
        *cell = Some(Attr {
            name: item.name.clone(),
            value,
        });
    }
}

/// `partition_key` or `row_key` on a field, where a template is a likely mistake.
fn field_key(ctxt: &Ctxt, item: &Item) -> Option<()> {
    if item.has_value() {
        let name = &item.name;
        ctxt.error(
            item.place(),
            format!("on a field write #[table({name})]; a template, `{name} = \"{{field}}\"`, stands on the struct"),
        );
        return None;
    }
    Some(())
}

/// `partition_key = "…"` or `row_key = "…"` on a struct, where a missing template is a likely mistake.
fn entity_key(ctxt: &Ctxt, item: &Item) -> Option<LitStr> {
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
    // `"off"` would be taken for a prefix, and give `offTEXT`.
    if prefix.value() == "off" {
        ctxt.error(
            &prefix,
            "to have no constants write `columns = off`, without the quotes",
        );
        return None;
    }
    if syn::parse_str::<syn::Ident>(&format!("{}X", prefix.value())).is_err() {
        ctxt.error(
            &prefix,
            format!(
                "{:?} cannot begin the name of a constant: use capitals, digits and `_`",
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
