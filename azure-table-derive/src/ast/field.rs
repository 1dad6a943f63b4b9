//! A field of a struct, and its role.

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
    /// The name of the constant, if any.
    pub(crate) constant: Option<Ident>,
    /// Its attributes have errors, so its role is a guess.
    pub(crate) doubtful: bool,
}

/// The role of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A key.
    Key(KeyName),
    /// Part of the template of a key.
    KeyPart(KeyName),
    Timestamp,
    Etag,
    Ignored,
    /// Several properties, with this prefix before their names.
    Group(String),
    /// All properties that no other field holds.
    Extra,
    /// A property with this stored name.
    Property(String),
}

/// The stored form of a property's value.
#[derive(Clone, Copy)]
pub(crate) enum Form<'e> {
    /// The form of its type.
    Plain,
    /// The form that this module defines.
    With(&'e Path),
    /// JSON text.
    Json,
    /// Several pieces.
    Chunked,
    /// A new id with every write.
    WriteId,
}

impl<'a> Field<'a> {
    /// Reads a field. Returns `None` if it has no name.
    pub(crate) fn read(ctxt: &Ctxt, kind: Kind, original: &'a syn::Field) -> Option<Self> {
        let ident = original.ident.as_ref()?;
        let mistakes = ctxt.count();
        let attrs = FieldAttrs::read(ctxt, kind, &original.attrs);
        let name = ident.unraw().to_string();
        // Several roles are an error, so their precedence does not matter.
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

    /// Sets the stored name of a property: an explicit one takes precedence over the rule of the struct.
    pub(crate) fn name_property(&mut self, container: &ContainerAttrs) {
        if let Role::Property(name) = &mut self.role {
            if let Some(rename) = &self.attrs.rename {
                *name = rename.value.value();
            } else if let Some(rule) = &container.rename_all {
                *name = rule.value.apply(&self.name);
            }
        }
    }

    /// Returns the stored form of the value. Several forms are an error, so their precedence does not matter.
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

    /// Returns the older names of the property.
    pub(crate) fn aliases(&self) -> Vec<String> {
        self.attrs.alias.iter().map(|alias| alias.value.value()).collect()
    }

    /// Returns `true` if the field has a constant.
    pub(crate) fn is_column(&self) -> bool {
        match self.role {
            Role::Key(_) | Role::Timestamp | Role::Group(_) => true,
            // Includes properties that the service cannot compare: their constant produces the compile error.
            Role::Property(_) => true,
            // The service can compare neither a part of a key on its own nor an ETag. An ignored field is not stored.
            Role::KeyPart(_) | Role::Etag | Role::Ignored | Role::Extra => false,
        }
    }
}
