//! The options of `#[table(...)]` on a variant.

use syn::{Attribute, LitStr};

use crate::attr::item::items;
use crate::attr::option::{Attr, add, set};
use crate::attr::placement::{Kind, Spot, misplaced};
use crate::ctxt::Ctxt;

/// The options of a variant.
#[derive(Default)]
pub(crate) struct VariantAttrs {
    pub(crate) row_key_prefix: Option<Attr<LitStr>>,
    pub(crate) rename: Option<Attr<LitStr>>,
    pub(crate) alias: Vec<Attr<LitStr>>,
    pub(crate) other: Option<Attr<()>>,
    pub(crate) column: Option<Attr<LitStr>>,
}

impl VariantAttrs {
    /// Reads the attributes of a variant.
    pub(crate) fn read(ctxt: &Ctxt, kind: Kind, attributes: &[Attribute]) -> Self {
        let mut found = Self::default();
        for item in items(ctxt, attributes, kind, Spot::Variant) {
            let name = &*item.name.to_string();
            if !kind.known(Spot::Variant).contains(&name) {
                misplaced(ctxt, kind, Spot::Variant, &item.name);
                continue;
            }
            match name {
                "row_key_prefix" => set(ctxt, &mut found.row_key_prefix, &item, item.text(ctxt, "0001")),
                "rename" => set(ctxt, &mut found.rename, &item, item.text(ctxt, "name")),
                "alias" => add(&mut found.alias, &item, item.text(ctxt, "old name")),
                "other" => set(ctxt, &mut found.other, &item, item.flag(ctxt)),
                "column" => set(ctxt, &mut found.column, &item, item.text(ctxt, "NAME")),
                _ => {}
            }
        }
        found
    }
}
