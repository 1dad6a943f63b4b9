//! The derive input in structured form.
//!
//! Defines [`Struct`], a struct whose fields have roles, and [`Entity`], a struct with keys. Both borrow the input, so
//! that errors can use its spans. This stage rejects only input of the wrong form; `check.rs` applies the rules.
//!
//! A field is in `ast/field.rs`, the fields of the keys in `ast/key.rs`, the names of the constants in
//! `ast/constant.rs`. Enums of entities are in `ast/variants.rs`, the types of properties in `ast/property.rs`.

mod constant;
mod field;
mod key;
mod property;
mod variants;

use syn::{Data, DeriveInput, Fields, LitStr, Meta};

pub(crate) use self::field::{Field, Form, Role};
use self::key::key_pieces;
pub(crate) use self::property::{Choice, ChoiceVariant, Newtype};
pub(crate) use self::variants::{Mark, Variant, Variants};
use crate::attr::{Attr, ContainerAttrs, Kind, meant};
use crate::ctxt::Ctxt;
use crate::key::{KeyName, KeyPiece};
use crate::place::Paths;

/// A struct with named fields.
pub(crate) struct Struct<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attrs: ContainerAttrs,
    pub(crate) fields: Vec<Field<'a>>,
}

/// A struct with `#[derive(TableEntity)]`.
pub(crate) struct Entity<'a> {
    pub(crate) base: Struct<'a>,
    pub(crate) partition_key: Vec<KeyPiece>,
    pub(crate) row_key: Vec<KeyPiece>,
}

impl ContainerAttrs {
    /// Returns the template of a key.
    pub(crate) fn template(&self, key: KeyName) -> Option<&Attr<LitStr>> {
        match key {
            KeyName::Partition => self.partition_key.as_ref(),
            KeyName::Row => self.row_key.as_ref(),
        }
    }
}

impl<'a> Struct<'a> {
    /// Reads the input. Returns `None` unless it is a struct with named fields.
    fn read(ctxt: &Ctxt, kind: Kind, input: &'a DeriveInput) -> Option<Self> {
        let attrs = ContainerAttrs::read(ctxt, kind, &input.attrs);
        let fields = fields(ctxt, kind, input)?;
        Some(Self { input, attrs, fields })
    }

    /// Reads a `#[derive(PropertyGroup)]`.
    pub(crate) fn group(ctxt: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let mut base = Self::read(ctxt, Kind::Group, input)?;
        base.name();
        constant::name_constants(ctxt, base.attrs.columns.as_ref(), &mut base.fields);
        Some(base)
    }

    /// Reads a `#[derive(Projection)]`.
    pub(crate) fn projection(ctxt: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let mut base = Self::read(ctxt, Kind::Projection, input)?;
        // The constants named here belong to the entity.
        constant::name_sources(ctxt, &mut base.fields);
        Some(base)
    }

    /// Sets the stored name of every property.
    fn name(&mut self) {
        for field in &mut self.fields {
            field.name_property(&self.attrs);
        }
    }

    /// Returns the fields that are one property, with its name.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (&Field<'a>, &str)> {
        self.fields.iter().filter_map(|field| match &field.role {
            Role::Property(name) => Some((field, name.as_str())),
            _ => None,
        })
    }

    /// Returns the flattened fields, with their prefixes.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (&Field<'a>, &str)> {
        self.fields.iter().filter_map(|field| match &field.role {
            Role::Group(prefix) => Some((field, prefix.as_str())),
            _ => None,
        })
    }

    /// Returns the first field of a role.
    pub(crate) fn field(&self, role: &Role) -> Option<&Field<'a>> {
        self.fields.iter().find(|field| field.role == *role)
    }

    /// Returns `true` if the struct borrows: it can be written but not read.
    pub(crate) fn borrows(&self) -> bool {
        borrows(self.input)
    }

    /// Returns `true` if constants of the generated code depend on type parameters.
    pub(crate) fn is_generic(&self) -> bool {
        !self.input.generics.params.is_empty()
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::of(&self.attrs)
    }

    /// Returns `true` if the word, or a misspelling of it, occurs in any `#[table(...)]` of the struct.
    pub(crate) fn says(&self, word: &str) -> bool {
        let on_fields = self.fields.iter().flat_map(|field| &field.original.attrs);
        let mut attributes = self.input.attrs.iter().chain(on_fields);
        attributes.any(|attribute| match &attribute.meta {
            Meta::List(list) if list.path.is_ident("table") => {
                let mut tokens = list.tokens.clone().into_iter();
                tokens.any(|token| meant(&token.to_string(), &[word]).is_some())
            }
            _ => false,
        })
    }
}

impl<'a> Entity<'a> {
    /// Reads the input. Returns `None` unless it is a struct with named fields.
    pub(crate) fn read(ctxt: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let mut base = Struct::read(ctxt, Kind::Entity, input)?;
        let [partition_key, row_key] =
            KeyName::BOTH.map(|key| key_pieces(ctxt, key, base.attrs.template(key), &mut base.fields));
        base.name();
        constant::name_constants(ctxt, base.attrs.columns.as_ref(), &mut base.fields);
        Some(Self {
            base,
            partition_key,
            row_key,
        })
    }

    /// Returns the pieces of a key.
    pub(crate) fn key(&self, key: KeyName) -> &[KeyPiece] {
        match key {
            KeyName::Partition => &self.partition_key,
            KeyName::Row => &self.row_key,
        }
    }

    /// Returns the fields of a key, in the key's order.
    pub(crate) fn key_fields(&self, key: KeyName) -> impl Iterator<Item = &Field<'a>> {
        self.key(key)
            .iter()
            .filter_map(|piece| self.base.fields.get(piece.field()?))
    }
}

/// Returns `true` if a type has a lifetime parameter.
pub(crate) fn borrows(input: &DeriveInput) -> bool {
    input.generics.lifetimes().next().is_some()
}

/// Returns the fields with the roles that their own attributes set.
fn fields<'a>(ctxt: &Ctxt, kind: Kind, input: &'a DeriveInput) -> Option<Vec<Field<'a>>> {
    let needed = format!("{} can only be derived for structs with named fields", kind.derive());
    let ident = &input.ident;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(named) => {
                let fields = named.named.iter();
                return Some(fields.filter_map(|field| Field::read(ctxt, kind, field)).collect());
            }
            Fields::Unnamed(unnamed) => {
                let form = format!("give each field a name, `struct {ident} {{ name: … }}`");
                ctxt.error(unnamed, format!("{needed}: {form}"));
            }
            Fields::Unit => ctxt.error(ident, format!("{needed}: write `struct {ident} {{ … }}`")),
        },
        Data::Enum(data) => {
            let hint = match kind {
                Kind::Group => "make this enum a struct, or derive TableProperty to store it as one property",
                _ => "make this enum a struct",
            };
            ctxt.error(data.enum_token, format!("{needed}: {hint}"));
        }
        Data::Union(data) => ctxt.error(data.union_token, format!("{needed}: make this union a struct")),
    }
    None
}
