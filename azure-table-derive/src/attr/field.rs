//! The options of `#[table(...)]` on a field.

use syn::{Attribute, ExprPath, LitStr, Path};

use crate::attr::item::{Item, items};
use crate::attr::option::{Attr, add, set};
use crate::attr::placement::{Kind, Spot, misplaced};
use crate::ctxt::Ctxt;

/// The options of a field.
#[derive(Default)]
pub(crate) struct FieldAttrs {
    pub(crate) partition_key: Option<Attr<()>>,
    pub(crate) row_key: Option<Attr<()>>,
    pub(crate) timestamp: Option<Attr<()>>,
    pub(crate) etag: Option<Attr<()>>,
    pub(crate) ignore: Option<Attr<()>>,
    pub(crate) flatten: Option<Attr<()>>,
    pub(crate) extra: Option<Attr<()>>,
    pub(crate) rename: Option<Attr<LitStr>>,
    pub(crate) alias: Vec<Attr<LitStr>>,
    pub(crate) default: Option<Attr<Fallback>>,
    pub(crate) with: Option<Attr<Path>>,
    pub(crate) json: Option<Attr<()>>,
    pub(crate) chunked: Option<Attr<()>>,
    pub(crate) write_id: Option<Attr<()>>,
    pub(crate) prefix: Option<Attr<LitStr>>,
    pub(crate) column: Option<Attr<LitStr>>,
}

/// The value of a field whose property is absent.
pub(crate) enum Fallback {
    /// `Default::default()`.
    OfType,
    /// The return value of this function.
    Function(ExprPath),
}

impl FieldAttrs {
    /// Reads the attributes of a field.
    pub(crate) fn read(ctxt: &Ctxt, kind: Kind, attributes: &[Attribute]) -> Self {
        let mut found = Self::default();
        for item in items(ctxt, attributes, kind, Spot::Field) {
            let name = &*item.name.to_string();
            if !kind.known(Spot::Field).contains(&name) {
                misplaced(ctxt, kind, Spot::Field, &item.name);
                continue;
            }
            match name {
                "partition_key" => set(ctxt, &mut found.partition_key, &item, key(ctxt, &item)),
                "row_key" => set(ctxt, &mut found.row_key, &item, key(ctxt, &item)),
                "timestamp" => set(ctxt, &mut found.timestamp, &item, item.flag(ctxt)),
                "etag" => set(ctxt, &mut found.etag, &item, item.flag(ctxt)),
                "ignore" => set(ctxt, &mut found.ignore, &item, item.flag(ctxt)),
                "flatten" => set(ctxt, &mut found.flatten, &item, flatten(ctxt, &item)),
                "extra" => set(ctxt, &mut found.extra, &item, item.flag(ctxt)),
                "json" => set(ctxt, &mut found.json, &item, item.flag(ctxt)),
                "chunked" => set(ctxt, &mut found.chunked, &item, item.flag(ctxt)),
                "write_id" => set(ctxt, &mut found.write_id, &item, item.flag(ctxt)),
                "rename" => set(ctxt, &mut found.rename, &item, item.text(ctxt, "Name")),
                "alias" => add(&mut found.alias, &item, item.text(ctxt, "OldName")),
                "prefix" => set(ctxt, &mut found.prefix, &item, item.text(ctxt, "Home_")),
                "column" => set(ctxt, &mut found.column, &item, item.text(ctxt, "NAME")),
                "default" => set(ctxt, &mut found.default, &item, default(ctxt, &item)),
                "with" => set(ctxt, &mut found.with, &item, with(ctxt, &item)),
                _ => {}
            }
        }
        found
    }
}

/// Reads `partition_key` or `row_key` on a field. A template is a likely mistake.
fn key(ctxt: &Ctxt, item: &Item) -> Option<()> {
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
fn flatten(ctxt: &Ctxt, item: &Item) -> Option<()> {
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

fn default(ctxt: &Ctxt, item: &Item) -> Option<Fallback> {
    if !item.has_value() {
        return Some(Fallback::OfType);
    }
    item.code(ctxt, "the path of a function", "path::to::function")
        .map(Fallback::Function)
}

fn with(ctxt: &Ctxt, item: &Item) -> Option<Path> {
    item.code(
        ctxt,
        "the path of a module with `EDM_TYPE`, `to_edm` and `from_wire`",
        "path::to::module",
    )
}
