//! The table of options: every option of `#[table(...)]` is one row.
//!
//! A row has the option's name, the field that stores it, the type of its value, the kinds of items that accept it, and
//! the parser of its value. It generates the field, its parsing, and the option's part of the errors for unknown and
//! misplaced names. The rows have the order of the names in errors.

use syn::{Attribute, ExprPath, LitStr, Path, Type};

use crate::attr::index::{Index, index};
use crate::attr::item::{Item, code, items, text};
use crate::attr::option::{Attr, Store};
use crate::attr::placement::{Kind, Placement, Placements, Spot};
use crate::attr::value::{
    Columns, Fallback, columns, default, flatten, krate, own_key, rename_all, table_name, template,
};
use crate::case::Case;
use crate::ctxt::Ctxt;

macro_rules! options {
    ($($(#[$doc:meta])* $options:ident on $spot:ident {
        $($(#[$row:meta])* $name:literal $field:ident: $cell:ident<$value:ty>, $($kind:ident)|+, $parse:expr;)*
    })*) => {
        /// Every row of the table.
        const TABLE: Placements = Placements(&[
            $($(Placement { option: $name, spot: Spot::$spot, kinds: &[$(Kind::$kind),+] },)*)*
        ]);
        $(
            $(#[$doc])*
            #[derive(Default)]
            pub(crate) struct $options {
                $($(#[$row])* pub(crate) $field: $cell<Attr<$value>>,)*
            }

            impl $options {
                /// Reads the attributes at this place.
                pub(crate) fn read(ctxt: &Ctxt, kind: Kind, attributes: &[Attribute]) -> Self {
                    let mut found = Self::default();
                    for item in items(ctxt, attributes, &TABLE.known(kind, Spot::$spot)) {
                        match &*item.name.to_string() {
                            $($name if matches!(kind, $(Kind::$kind)|+) => {
                                found.$field.store(ctxt, &item, $parse(&item, ctxt));
                            })*
                            name => ctxt.error(&item.name, TABLE.misplaced(kind, Spot::$spot, name)),
                        }
                    }
                    found
                }
            }
        )*
    };
}

options! {
    /// The options of a struct or an enum.
    ContainerAttrs on Item {
        /// The name of the table.
        "name" name: Option<LitStr>, Entity | Variants, table_name;
        "tag" tag: Option<LitStr>, Variants, text("Kind");
        "partition_key" partition_key: Option<LitStr>, Entity, template;
        "row_key" row_key: Option<LitStr>, Entity, template;
        "index" index: Vec<Index>, Entity, index;
        "integer" integer: Option<()>, Choice, Item::flag;
        "rename_all" rename_all: Option<Case>, Entity | Group | Variants | Choice, rename_all;
        "columns" columns: Option<Columns>, Entity | Group | Variants, columns;
        "deny_unknown_properties" deny_unknown_properties: Option<()>, Entity, Item::flag;
        "upgrade" upgrade: Option<ExprPath>, Entity,
            code("the path of a function from `&mut DynamicEntity` to `Result<Self>`", "path::to::function");
        "of" of: Option<Type>, Projection, code("the type of an entity", "Entity");
        "key" key: Option<()>, Choice | Newtype, Item::flag;
        "crate" krate: Option<Path>, Entity | Group | Variants | Choice | Newtype | Projection, krate;
    }

    /// The options of a field.
    FieldAttrs on Field {
        "partition_key" partition_key: Option<()>, Entity | Projection, own_key;
        "row_key" row_key: Option<()>, Entity | Projection, own_key;
        "rename" rename: Option<LitStr>, Entity | Group, text("Name");
        "alias" alias: Vec<LitStr>, Entity | Group, text("OldName");
        "default" default: Option<Fallback>, Entity | Group | Projection, default;
        "ignore" ignore: Option<()>, Entity | Group | Projection, Item::flag;
        "with" with: Option<Path>, Entity | Group,
            code("the path of a module with `EDM_TYPE`, `to_edm` and `from_wire`", "path::to::module");
        "json" json: Option<()>, Entity | Group, Item::flag;
        "flatten" flatten: Option<()>, Entity | Group, flatten;
        "prefix" prefix: Option<LitStr>, Entity | Group, text("Home_");
        "chunked" chunked: Option<()>, Entity | Group, Item::flag;
        "timestamp" timestamp: Option<()>, Entity | Projection, Item::flag;
        "etag" etag: Option<()>, Entity | Projection, Item::flag;
        "extra" extra: Option<()>, Entity, Item::flag;
        "write_id" write_id: Option<()>, Entity, Item::flag;
        "column" column: Option<LitStr>, Entity | Group | Projection, text("NAME");
    }

    /// The options of a variant.
    VariantAttrs on Variant {
        "row_key_prefix" row_key_prefix: Option<LitStr>, Variants, text("0001");
        "rename" rename: Option<LitStr>, Variants | Choice, text("name");
        "alias" alias: Vec<LitStr>, Choice, text("old name");
        "other" other: Option<()>, Variants | Choice, Item::flag;
        "column" column: Option<LitStr>, Variants, text("NAME");
    }
}
