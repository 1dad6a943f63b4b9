//! The struct as the derive sees it.
//!
//! Owns [`Entity`] and [`Field`]: every field with its one role. Borrows the input, for spans. Reports only that the input
//! is no struct; the pieces of the keys are `key.rs`, the names of the constants `column.rs`, rules over the result
//! `check.rs`.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Fields, LitStr};

use crate::attr::{Attr, EntityAttrs, FieldAttrs};
use crate::column;
use crate::ctxt::Ctxt;
use crate::key::{KeyName, KeyPiece, key_pieces};

/// A struct with `#[derive(TableEntity)]`.
pub(crate) struct Entity<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attrs: EntityAttrs,
    pub(crate) fields: Vec<Field<'a>>,
    pub(crate) partition_key: Vec<KeyPiece>,
    pub(crate) row_key: Vec<KeyPiece>,
}

/// A field.
pub(crate) struct Field<'a> {
    pub(crate) original: &'a syn::Field,
    pub(crate) ident: &'a Ident,
    /// The name without `r#`.
    pub(crate) name: String,
    pub(crate) attrs: FieldAttrs,
    pub(crate) role: Role,
    /// The name of the constant, where there is one.
    pub(crate) constant: Option<Ident>,
    /// Its attributes have mistakes, so its role is a guess.
    pub(crate) doubtful: bool,
}

/// What a field is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is this key.
    Key(KeyName),
    /// It is part of this key's template.
    KeyPart(KeyName),
    Timestamp,
    Etag,
    Ignored,
    /// It is stored under this name.
    Property(String),
}

impl EntityAttrs {
    /// The template of a key.
    pub(crate) fn template(&self, key: KeyName) -> Option<&Attr<LitStr>> {
        match key {
            KeyName::Partition => self.partition_key.as_ref(),
            KeyName::Row => self.row_key.as_ref(),
        }
    }
}

impl<'a> Entity<'a> {
    /// Reads the input; `None` where it is no struct with named fields.
    pub(crate) fn read(ctxt: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let attrs = EntityAttrs::read(ctxt, &input.attrs);
        let mut fields = fields(ctxt, input)?;
        let [partition_key, row_key] = KeyName::BOTH.map(|key| key_pieces(ctxt, key, attrs.template(key), &mut fields));
        for field in &mut fields {
            field.name_property(&attrs);
        }
        column::name_constants(ctxt, attrs.columns.as_ref(), &mut fields);
        Some(Self {
            input,
            attrs,
            fields,
            partition_key,
            row_key,
        })
    }

    /// The pieces of a key.
    pub(crate) fn key(&self, key: KeyName) -> &[KeyPiece] {
        match key {
            KeyName::Partition => &self.partition_key,
            KeyName::Row => &self.row_key,
        }
    }

    /// The fields of a key, in the key's order.
    pub(crate) fn key_fields(&self, key: KeyName) -> impl Iterator<Item = &Field<'a>> {
        self.key(key).iter().filter_map(|piece| match piece {
            KeyPiece::Field(index) => self.fields.get(*index),
            KeyPiece::Literal(_) => None,
        })
    }

    /// The stored fields with their names.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (&Field<'a>, &str)> {
        self.fields.iter().filter_map(|field| match &field.role {
            Role::Property(name) => Some((field, name.as_str())),
            _ => None,
        })
    }

    /// Whether it borrows, and so can be written only.
    pub(crate) fn borrows(&self) -> bool {
        self.input.generics.lifetimes().next().is_some()
    }
}

/// The fields with the roles that their own attributes give them.
fn fields<'a>(ctxt: &Ctxt, input: &'a DeriveInput) -> Option<Vec<Field<'a>>> {
    const NEEDED: &str = "TableEntity is derived for structs with named fields";
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(named) => {
                return Some(
                    named
                        .named
                        .iter()
                        .filter_map(|field| Field::read(ctxt, field))
                        .collect(),
                );
            }
            Fields::Unnamed(unnamed) => {
                ctxt.error(
                    unnamed,
                    format!(
                        "{NEEDED}: give each field a name, `struct {} {{ name: … }}`",
                        input.ident
                    ),
                );
            }
            Fields::Unit => {
                ctxt.error(
                    &input.ident,
                    format!("{NEEDED}: write `struct {} {{ … }}`", input.ident),
                );
            }
        },
        Data::Enum(data) => ctxt.error(data.enum_token, format!("{NEEDED}: make this enum a struct")),
        Data::Union(data) => ctxt.error(data.union_token, format!("{NEEDED}: make this union a struct")),
    }
    None
}

impl<'a> Field<'a> {
    fn read(ctxt: &Ctxt, original: &'a syn::Field) -> Option<Self> {
        let ident = original.ident.as_ref()?;
        let mistakes = ctxt.count();
        let attrs = FieldAttrs::read(ctxt, &original.attrs);
        let name = ident.unraw().to_string();
        // Which role wins where there are several does not matter: that is a mistake.
        let role = if attrs.partition_key.is_some() {
            Role::Key(KeyName::Partition)
        } else if attrs.row_key.is_some() {
            Role::Key(KeyName::Row)
        } else if attrs.timestamp.is_some() {
            Role::Timestamp
        } else if attrs.etag.is_some() {
            Role::Etag
        } else if attrs.ignore.is_some() {
            Role::Ignored
        } else {
            Role::Property(name.clone())
        };
        Some(Self {
            original,
            ident,
            name,
            attrs,
            role,
            constant: None,
            doubtful: ctxt.count() > mistakes,
        })
    }

    /// Gives a property its stored name: an explicit one wins over the rule of the struct.
    fn name_property(&mut self, entity: &EntityAttrs) {
        if let Role::Property(name) = &mut self.role {
            if let Some(rename) = &self.attrs.rename {
                *name = rename.value.value();
            } else if let Some(rule) = &entity.rename_all {
                *name = rule.value.apply(&self.name);
            }
        }
    }
}
