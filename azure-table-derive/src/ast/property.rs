//! The type of a property as derive input: an enum of unit variants, or a struct around one value.

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Expr, Fields, Member, Type};

use crate::attr::{ContainerAttrs, FieldAttrs, Kind, VariantAttrs};
use crate::ctxt::Ctxt;

const NEEDED: &str = "TableProperty can only be derived for enums of unit variants and structs of one field";

/// An enum with `#[derive(TableProperty)]`.
pub(crate) struct Choice<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attrs: ContainerAttrs,
    pub(crate) variants: Vec<ChoiceVariant<'a>>,
}

/// A variant of such an enum.
pub(crate) struct ChoiceVariant<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) attrs: VariantAttrs,
    /// The stored text, if the variant is stored as text.
    pub(crate) name: String,
    /// The discriminant, as in `= 3`.
    pub(crate) discriminant: Option<&'a Expr>,
    /// The type of the value in the catch-all variant.
    pub(crate) other: Option<&'a Type>,
}

/// A struct with `#[derive(TableProperty)]`.
pub(crate) struct Newtype<'a> {
    pub(crate) input: &'a DeriveInput,
    pub(crate) attrs: ContainerAttrs,
    pub(crate) member: Member,
    pub(crate) ty: &'a Type,
}

impl<'a> Choice<'a> {
    /// Reads an enum. Returns `None` if it has no variants.
    pub(crate) fn read(ctxt: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let Data::Enum(data) = &input.data else { return None };
        let attrs = ContainerAttrs::read(ctxt, Kind::Choice, &input.attrs);
        if data.variants.is_empty() {
            ctxt.error(
                &input.ident,
                format!("{NEEDED}: this enum has no variants, write at least one"),
            );
            return None;
        }
        let variants = data.variants.iter();
        let variants = variants
            .map(|variant| ChoiceVariant::read(ctxt, &attrs, variant))
            .collect();
        Some(Self { input, attrs, variants })
    }

    /// Returns the variants with one value each.
    pub(crate) fn known(&self) -> impl Iterator<Item = &ChoiceVariant<'a>> {
        self.variants.iter().filter(|variant| variant.attrs.other.is_none())
    }

    /// Returns the variant for all other values.
    pub(crate) fn other(&self) -> Option<(&ChoiceVariant<'a>, &'a Type)> {
        self.variants.iter().find_map(|variant| Some((variant, variant.other?)))
    }
}

impl<'a> ChoiceVariant<'a> {
    fn read(ctxt: &Ctxt, container: &ContainerAttrs, original: &'a syn::Variant) -> Self {
        let attrs = VariantAttrs::read(ctxt, Kind::Choice, &original.attrs);
        let ident = &original.ident;
        let name = match (&attrs.rename, &container.rename_all) {
            (Some(rename), _) => rename.value.value(),
            (None, Some(rule)) => rule.value.apply(&ident.unraw().to_string()),
            (None, None) => ident.unraw().to_string(),
        };
        let held = if container.integer.is_some() { "i32" } else { "String" };
        let other = match (&original.fields, &attrs.other) {
            (Fields::Unit, None) => None,
            (Fields::Unnamed(fields), Some(_)) if fields.unnamed.len() == 1 => {
                fields.unnamed.first().map(|field| &field.ty)
            }
            (_, Some(_)) => {
                ctxt.error(
                    ident,
                    format!(
                        "a variant with `other` holds the value that no other variant has: write `{ident}({held})`"
                    ),
                );
                None
            }
            (_, None) => {
                ctxt.error(
                    ident,
                    format!(
                        "{NEEDED}: remove the fields of `{ident}`; or write `{ident}({held})` and mark it with \
                         #[table(other)], to hold all other values"
                    ),
                );
                None
            }
        };
        let discriminant = original.discriminant.as_ref().map(|(_, value)| value);
        Self {
            ident,
            attrs,
            name,
            discriminant,
            other,
        }
    }
}

impl<'a> Newtype<'a> {
    /// Reads a struct. Returns `None` unless it has exactly one field.
    pub(crate) fn read(ctxt: &Ctxt, input: &'a DeriveInput) -> Option<Self> {
        let data = match &input.data {
            Data::Struct(data) => data,
            Data::Union(data) => {
                ctxt.error(data.union_token, format!("{NEEDED}: make this union a struct"));
                return None;
            }
            Data::Enum(_) => return None,
        };
        let attrs = ContainerAttrs::read(ctxt, Kind::Newtype, &input.attrs);
        for field in &data.fields {
            FieldAttrs::read(ctxt, Kind::Newtype, &field.attrs);
        }
        let mut members = data.fields.members();
        let (Some(member), Some(field), 1) = (members.next(), data.fields.iter().next(), data.fields.len()) else {
            ctxt.error(
                &input.ident,
                format!(
                    "{NEEDED}: this one has {}; to store several values derive PropertyGroup, or put #[table(json)] on \
                     the field of this type",
                    data.fields.len()
                ),
            );
            return None;
        };
        Some(Self {
            input,
            attrs,
            member,
            ty: &field.ty,
        })
    }
}
