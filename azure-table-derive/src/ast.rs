//! The struct as the derive sees it.
//!
//! Owns [`Entity`] and [`Field`]: every field with its one role, and the pieces of the two keys. Borrows the input, for
//! spans. Reports what keeps it from being built: no struct, bad attributes, templates that do not fit; rules over the
//! result are `check.rs`.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Fields, LitStr};

use crate::attr::{Attr, EntityAttrs, FieldAttrs, similar};
use crate::column;
use crate::ctxt::Ctxt;
use crate::template::{Piece, Template};

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

/// A piece of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPiece {
    /// The field of this index.
    Field(usize),
    Literal(String),
}

/// One of the two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyName {
    Partition,
    Row,
}

impl KeyName {
    /// Both, in the order of the key tuple.
    pub(crate) const BOTH: [Self; 2] = [Self::Partition, Self::Row];

    /// The name in the service.
    pub(crate) const fn service(self) -> &'static str {
        match self {
            Self::Partition => "PartitionKey",
            Self::Row => "RowKey",
        }
    }

    /// The name of the attribute.
    pub(crate) const fn attribute(self) -> &'static str {
        match self {
            Self::Partition => "partition_key",
            Self::Row => "row_key",
        }
    }
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
        let mut key = |name| match attrs.template(name) {
            Some(template) => template_pieces(ctxt, name, &template.value, &mut fields),
            None => field_pieces(name, &fields),
        };
        let (partition_key, row_key) = (key(KeyName::Partition), key(KeyName::Row));
        for field in &mut fields {
            field.name_property(&attrs);
        }
        column::name_constants(ctxt, attrs.columns.as_ref(), &mut fields);
        Some(Self { input, attrs, fields, partition_key, row_key })
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
                return Some(named.named.iter().filter_map(|field| Field::read(ctxt, field)).collect());
            }
            Fields::Unnamed(unnamed) => {
                ctxt.error(unnamed, format!("{NEEDED}: give each field a name, `struct {} {{ name: … }}`", input.ident));
            }
            Fields::Unit => {
                ctxt.error(&input.ident, format!("{NEEDED}: write `struct {} {{ … }}`", input.ident));
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
        Some(Self { original, ident, name, attrs, role, constant: None, doubtful: ctxt.count() > mistakes })
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

/// The pieces of a key that is a field of its own.
fn field_pieces(key: KeyName, fields: &[Field<'_>]) -> Vec<KeyPiece> {
    let own = fields.iter().position(|field| field.role == Role::Key(key));
    own.map(KeyPiece::Field).into_iter().collect()
}

/// The pieces of a template; its fields become parts of the key.
fn template_pieces(ctxt: &Ctxt, key: KeyName, text: &LitStr, fields: &mut [Field<'_>]) -> Vec<KeyPiece> {
    let template = Template::parse(&text.value());
    for fault in &template.faults {
        ctxt.error(text, format!("{}: {fault}", key.attribute()));
    }
    let mut pieces = Vec::new();
    for piece in template.pieces {
        match piece {
            Piece::Literal(literal) => pieces.push(KeyPiece::Literal(literal)),
            Piece::Field(name) => {
                let Some(index) = fields.iter().position(|field| field.name == name) else {
                    let names = fields.iter().map(|field| &*field.name);
                    let hint = match similar(&name, names) {
                        Some(meant) => format!("did you mean `{{{meant}}}`?"),
                        None => "name a field of the struct, or write `{{` for a brace".to_owned(),
                    };
                    ctxt.error(text, format!("{}: there is no field `{name}`: {hint}", key.attribute()));
                    continue;
                };
                if let Role::KeyPart(before) = fields[index].role {
                    let where_else = if before == key { "twice" } else { "in both keys" };
                    ctxt.error(
                        text,
                        format!("{}: `{{{name}}}` stands {where_else}: a field has one place, name it once", key.attribute()),
                    );
                    continue;
                }
                fields[index].role = Role::KeyPart(key);
                pieces.push(KeyPiece::Field(index));
            }
        }
    }
    pieces
}
