//! The places at which each option can be used.
//!
//! Owns [`Kind`], the combinations of derives and items, the option names that each kind accepts, and the errors for
//! names at other places.

use proc_macro2::Ident;

use crate::attr::suggestion::unknown;
use crate::ctxt::Ctxt;

/// A derive and the kind of its item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `#[derive(TableEntity)]` on a struct.
    Entity,
    /// `#[derive(TableEntity)]` on an enum of entities.
    Variants,
    /// `#[derive(PropertyGroup)]`.
    Group,
    /// `#[derive(TableProperty)]` on an enum.
    Choice,
    /// `#[derive(TableProperty)]` on a struct.
    Newtype,
    /// `#[derive(Projection)]`.
    Projection,
}

/// The place of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    Item,
    Field,
    Variant,
}

impl Kind {
    /// Returns the derive, as a user writes it.
    pub(crate) const fn derive(self) -> &'static str {
        match self {
            Self::Entity | Self::Variants => "TableEntity",
            Self::Group => "PropertyGroup",
            Self::Choice | Self::Newtype => "TableProperty",
            Self::Projection => "Projection",
        }
    }

    /// Returns the keyword of the item.
    pub(crate) const fn item(self) -> &'static str {
        match self {
            Self::Variants | Self::Choice => "enum",
            Self::Entity | Self::Group | Self::Newtype | Self::Projection => "struct",
        }
    }

    /// Returns the options that are accepted at a place.
    pub(crate) const fn known(self, spot: Spot) -> &'static [&'static str] {
        match (self, spot) {
            (Self::Entity, Spot::Item) => &[
                "name",
                "partition_key",
                "row_key",
                "rename_all",
                "columns",
                "deny_unknown_properties",
                "upgrade",
                "crate",
            ],
            (Self::Entity, Spot::Field) => &[
                "partition_key",
                "row_key",
                "rename",
                "alias",
                "default",
                "ignore",
                "with",
                "json",
                "flatten",
                "prefix",
                "chunked",
                "timestamp",
                "etag",
                "extra",
                "write_id",
                "column",
            ],
            (Self::Group, Spot::Item) => &["rename_all", "columns", "crate"],
            (Self::Group, Spot::Field) => &[
                "rename", "alias", "default", "ignore", "with", "json", "flatten", "prefix", "chunked", "column",
            ],
            (Self::Variants, Spot::Item) => &["name", "tag", "rename_all", "columns", "crate"],
            (Self::Variants, Spot::Variant) => &["row_key_prefix", "rename", "other", "column"],
            (Self::Choice, Spot::Item) => &["integer", "rename_all", "key", "crate"],
            (Self::Choice, Spot::Variant) => &["rename", "alias", "other"],
            (Self::Newtype, Spot::Item) => &["key", "crate"],
            (Self::Projection, Spot::Item) => &["of", "crate"],
            (Self::Projection, Spot::Field) => &[
                "column",
                "partition_key",
                "row_key",
                "timestamp",
                "etag",
                "default",
                "ignore",
            ],
            _ => &[],
        }
    }
}

/// Reports an option that is not accepted here, with its correct place or a similar name.
pub(crate) fn misplaced(ctxt: &Ctxt, kind: Kind, spot: Spot, option: &Ident) {
    let name = &*option.to_string();
    ctxt.error(
        option,
        elsewhere(kind, spot, name).unwrap_or_else(|| nowhere(kind, spot, name)),
    );
}

/// Returns the error for a name that is accepted at another place.
fn elsewhere(kind: Kind, spot: Spot, name: &str) -> Option<String> {
    if spot != Spot::Item && name == "name" {
        // It is meant as the other name of a field or variant, more likely than that of the table.
        return None;
    }
    let item = kind.item();
    if spot == Spot::Item && name == "rename" {
        let of = if item == "struct" { "field" } else { "variant" };
        return Some(format!(
            "`rename` belongs on a {of}: move it there; for all {of}s write `rename_all = \"PascalCase\"`"
        ));
    }
    let stands = |spot: Spot| kind.known(spot).contains(&name);
    if spot != Spot::Item && stands(Spot::Item) {
        return Some(format!("`{name}` belongs on the {item}: move it above `{item}`"));
    }
    if spot != Spot::Field && stands(Spot::Field) {
        return Some(format!(
            "`{name}` belongs on a field: move it to the field that it applies to"
        ));
    }
    if spot != Spot::Variant && stands(Spot::Variant) {
        return Some(format!(
            "`{name}` belongs on a variant: move it to the variant that it applies to"
        ));
    }
    let of_entity = |spot| Kind::Entity.known(spot).contains(&name);
    Some(match (kind, name) {
        (Kind::Group, _) if of_entity(Spot::Field) || of_entity(Spot::Item) => {
            format!("`{name}` belongs to an entity, and a group is only a part of one: move it to the entity")
        }
        (Kind::Variants, _) if of_entity(Spot::Item) || of_entity(Spot::Field) => {
            format!("`{name}` belongs to one entity: put it on the struct of the variant")
        }
        (Kind::Projection, _) if of_entity(Spot::Item) || of_entity(Spot::Field) => {
            format!("`{name}` is set on the entity that the projection reads: remove it here")
        }
        (Kind::Entity, "tag" | "row_key_prefix") => {
            format!("`{name}` distinguishes the variants of an enum of entities: remove it from this struct")
        }
        (_, "tag" | "row_key_prefix") => format!("`{name}` belongs to an enum of entities, #[derive(TableEntity)]"),
        (_, "of") => "`of` belongs to #[derive(Projection)]: derive that, or remove it".to_owned(),
        (_, "key" | "integer") => {
            format!("`{name}` belongs to #[derive(TableProperty)]: put it on the type of the field")
        }
        _ => return None,
    })
}

/// Returns the error for a name that no place accepts.
fn nowhere(kind: Kind, spot: Spot, name: &str) -> String {
    let place = match spot {
        Spot::Item if kind.item() == "enum" => "on an enum",
        Spot::Item => "on a struct",
        Spot::Field => "on a field",
        Spot::Variant => "on a variant",
    };
    let known = kind.known(spot);
    if known.is_empty() {
        return format!(
            "`{name}` cannot be used here: {} has no attributes {place}",
            kind.derive()
        );
    }
    unknown(name, place, known)
}
