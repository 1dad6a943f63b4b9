//! A field of a struct, and what it is for.

use proc_macro2::Ident;
use syn::Path;
use syn::ext::IdentExt;

use crate::attr::{ContainerAttrs, FieldAttrs, Kind};
use crate::ctxt::Ctxt;
use crate::key::KeyName;

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
    /// It is stored as several properties, this before their names.
    Group(String),
    /// It holds all properties that no other field holds.
    Extra,
    /// It is stored under this name.
    Property(String),
}

/// How the value of a property is stored.
#[derive(Clone, Copy)]
pub(crate) enum Form<'e> {
    /// As its type says.
    Plain,
    /// As this module says.
    With(&'e Path),
    /// As JSON text.
    Json,
    /// In pieces.
    Chunked,
    /// As a fresh id with every write.
    WriteId,
}

impl<'a> Field<'a> {
    /// Reads a field; `None` where it has no name.
    pub(crate) fn read(ctxt: &Ctxt, kind: Kind, original: &'a syn::Field) -> Option<Self> {
        let ident = original.ident.as_ref()?;
        let mistakes = ctxt.count();
        let attrs = FieldAttrs::read(ctxt, kind, &original.attrs);
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
        } else if attrs.flatten.is_some() || attrs.prefix.is_some() {
            let prefix = attrs.prefix.as_ref();
            Role::Group(prefix.map(|prefix| prefix.value.value()).unwrap_or_default())
        } else if attrs.extra.is_some() {
            Role::Extra
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
    pub(crate) fn name_property(&mut self, container: &ContainerAttrs) {
        if let Role::Property(name) = &mut self.role {
            if let Some(rename) = &self.attrs.rename {
                *name = rename.value.value();
            } else if let Some(rule) = &container.rename_all {
                *name = rule.value.apply(&self.name);
            }
        }
    }

    /// How its value is stored. Which form wins where there are several does not matter: that is a mistake.
    pub(crate) fn form(&self) -> Form<'_> {
        let attrs = &self.attrs;
        if let Some(with) = &attrs.with {
            Form::With(&with.value)
        } else if attrs.json.is_some() {
            Form::Json
        } else if attrs.chunked.is_some() {
            Form::Chunked
        } else if attrs.write_id.is_some() {
            Form::WriteId
        } else {
            Form::Plain
        }
    }

    /// The older names of the property.
    pub(crate) fn aliases(&self) -> Vec<String> {
        self.attrs.alias.iter().map(|alias| alias.value.value()).collect()
    }

    /// Whether it has a constant.
    pub(crate) fn is_column(&self) -> bool {
        match self.role {
            Role::Key(_) | Role::Timestamp | Role::Group(_) => true,
            // Also what the service cannot compare: its constant says so.
            Role::Property(_) => true,
            // A part of a key cannot be compared on its own, an ETag not at all; an ignored field is not stored.
            Role::KeyPart(_) | Role::Etag | Role::Ignored | Role::Extra => false,
        }
    }
}
