//! The places at which each option can be used.
//!
//! Defines [`Kind`], the combinations of derives and items, and the errors for names at other places. The options
//! themselves are in `attr/table.rs`.

use crate::attr::suggestion::unknown;

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
}

/// An option and one of its places.
pub(crate) struct Placement {
    pub(crate) option: &'static str,
    pub(crate) spot: Spot,
    pub(crate) kinds: &'static [Kind],
}

/// The placements of all options.
pub(crate) struct Placements(pub(crate) &'static [Placement]);

impl Placements {
    /// Returns the options that are accepted at a place.
    pub(crate) fn known(&self, kind: Kind, spot: Spot) -> Vec<&'static str> {
        let here = self
            .0
            .iter()
            .filter(|row| row.spot == spot && row.kinds.contains(&kind));
        here.map(|row| row.option).collect()
    }

    /// Returns the error for an option that is not accepted here, with its correct place or a similar name.
    pub(crate) fn misplaced(&self, kind: Kind, spot: Spot, name: &str) -> String {
        self.elsewhere(kind, spot, name)
            .unwrap_or_else(|| self.nowhere(kind, spot, name))
    }

    /// Returns the error for a name that is accepted at another place.
    fn elsewhere(&self, kind: Kind, spot: Spot, name: &str) -> Option<String> {
        if spot != Spot::Item && name == "name" {
            // The user more likely meant `rename` than the name of the table.
            return None;
        }
        let item = kind.item();
        if spot == Spot::Item && name == "rename" {
            let of = if item == "struct" { "field" } else { "variant" };
            return Some(format!(
                "`rename` belongs on a {of}: move it there; for all {of}s write `rename_all = \"PascalCase\"`"
            ));
        }
        let rows = self.0.iter().filter(|row| row.option == name);
        if let Some(row) = rows.clone().find(|row| row.kinds.contains(&kind)) {
            return Some(match row.spot {
                Spot::Item => format!("`{name}` belongs on the {item}: move it above `{item}`"),
                Spot::Field => format!("`{name}` belongs on a field: move it to the field that it applies to"),
                Spot::Variant => format!("`{name}` belongs on a variant: move it to the variant that it applies to"),
            });
        }
        let kinds: Vec<Kind> = rows.flat_map(|row| row.kinds).copied().collect();
        match kinds.first()? {
            _ if kinds.contains(&Kind::Entity) => of_entity(kind, name),
            // An option of several derives has no single correct place.
            owner if kinds.iter().any(|kind| kind.derive() != owner.derive()) => None,
            owner => of_derive(*owner, kind, name),
        }
    }

    /// Returns the error for a name that no place accepts.
    fn nowhere(&self, kind: Kind, spot: Spot, name: &str) -> String {
        let place = match spot {
            Spot::Item if kind.item() == "enum" => "on an enum",
            Spot::Item => "on a struct",
            Spot::Field => "on a field",
            Spot::Variant => "on a variant",
        };
        let known = self.known(kind, spot);
        if known.is_empty() {
            return format!(
                "`{name}` cannot be used here: {} has no attributes {place}",
                kind.derive()
            );
        }
        unknown(name, place, &known)
    }
}

/// Returns the error for an option of an entity on another kind.
fn of_entity(kind: Kind, name: &str) -> Option<String> {
    match kind {
        Kind::Group => Some(format!(
            "`{name}` belongs to an entity, and a group is only a part of one: move it to the entity"
        )),
        Kind::Variants => Some(format!(
            "`{name}` belongs to one entity: put it on the struct of the variant"
        )),
        Kind::Projection => Some(format!(
            "`{name}` is set on the entity that the projection reads: remove it here"
        )),
        Kind::Entity | Kind::Choice | Kind::Newtype => None,
    }
}

/// Returns the error for an option that only the `owner`'s derive has.
fn of_derive(owner: Kind, kind: Kind, name: &str) -> Option<String> {
    match owner {
        Kind::Variants if kind == Kind::Entity => Some(format!(
            "`{name}` distinguishes the variants of an enum of entities: remove it from this struct"
        )),
        Kind::Variants => Some(format!(
            "`{name}` belongs to an enum of entities, #[derive(TableEntity)]"
        )),
        Kind::Projection => Some(format!(
            "`{name}` belongs to #[derive(Projection)]: derive that, or remove it"
        )),
        Kind::Choice | Kind::Newtype => Some(format!(
            "`{name}` belongs to #[derive(TableProperty)]: put it on the type of the field"
        )),
        Kind::Entity | Kind::Group => None,
    }
}
