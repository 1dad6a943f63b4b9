//! An enum of entities as derive input.
//!
//! Defines [`Variants`] and the mark that distinguishes the variants.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Fields, Type};

use crate::ast::constant;
use crate::attr::{ContainerAttrs, Kind, VariantAttrs};
use crate::case::Case;
use crate::ctxt::Ctxt;
use crate::place::Paths;

/// An enum with `#[derive(TableEntity)]`.
pub(crate) struct Variants<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attrs: ContainerAttrs,
    pub(crate) variants: Vec<Variant<'a>>,
    pub(crate) mark: Mark,
}

/// A variant: an entity.
pub(crate) struct Variant<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) attrs: VariantAttrs,
    /// The type of the entity; `None` if it is invalid, which was reported.
    pub(crate) ty: Option<&'a Type>,
    /// The value of the tag.
    pub(crate) tag: String,
    /// The name of the constant, if any.
    pub(crate) constant: Option<Ident>,
}

/// The mark that distinguishes the variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The text of this property.
    Tag(String),
    /// The beginning of the RowKey.
    RowKeyPrefix,
    /// The form of the keys.
    KeyForm,
}

impl<'a> Variants<'a> {
    /// Reads the input. Returns `None` unless it is an enum with variants.
    pub(crate) fn read(ctxt: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let Data::Enum(data) = &input.data else { return None };
        let attrs = ContainerAttrs::read(ctxt, Kind::Variants, &input.attrs);
        if data.variants.is_empty() {
            ctxt.error(
                &input.ident,
                "an enum of entities needs a variant: write `Name(Entity)` for each kind of row",
            );
            return None;
        }
        let rule = attrs.rename_all.as_ref().map(|rule| rule.value);
        let mut variants: Vec<_> = data
            .variants
            .iter()
            .map(|variant| Variant::read(ctxt, rule, variant))
            .collect();
        constant::name_variants(ctxt, attrs.columns.as_ref(), &mut variants);
        let mark = if let Some(tag) = &attrs.tag {
            Mark::Tag(tag.value.value())
        } else if variants.iter().any(|variant| variant.attrs.row_key_prefix.is_some()) {
            Mark::RowKeyPrefix
        } else {
            Mark::KeyForm
        };
        Some(Self {
            input,
            attrs,
            variants,
            mark,
        })
    }

    /// Returns the variants with an entity type of their own: all except the one for all other rows.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&Variant<'a>, &'a Type)> {
        let named = self.variants.iter().filter(|variant| variant.attrs.other.is_none());
        named.filter_map(|variant| Some((variant, variant.ty?)))
    }

    /// Returns the variant for all other rows.
    pub(crate) fn other(&self) -> Option<(&Variant<'a>, &'a Type)> {
        let other = self.variants.iter().find(|variant| variant.attrs.other.is_some())?;
        Some((other, other.ty?))
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::of(&self.attrs)
    }
}

impl<'a> Variant<'a> {
    fn read(ctxt: &Ctxt, rule: Option<Case>, original: &'a syn::Variant) -> Self {
        let attrs = VariantAttrs::read(ctxt, Kind::Variants, &original.attrs);
        let ident = &original.ident;
        let name = ident.unraw().to_string();
        let tag = match (&attrs.rename, rule) {
            (Some(rename), _) => rename.value.value(),
            (None, Some(rule)) => rule.apply(&name),
            (None, None) => name,
        };
        let ty = match &original.fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => fields.unnamed.first().map(|field| &field.ty),
            _ => {
                ctxt.error(
                    ident,
                    format!(
                        "a variant of an enum of entities holds one entity: write `{ident}(Entity)`; for an enum that \
                         is a property derive TableProperty"
                    ),
                );
                None
            }
        };
        Self {
            ident,
            attrs,
            ty,
            tag,
            constant: None,
        }
    }

    /// Returns the name without `r#`.
    pub(crate) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }
}
