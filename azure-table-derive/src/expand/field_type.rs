//! The code that names a field's type together with a trait.
//!
//! The generated code names the type in the schema, where the value is written, and where it is read. In a type that is
//! read, all these places use the same trait, as `<Type as Trait>::item` with the span of the type. So for a type that
//! does not fit, the compiler produces equal errors and shows one.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::Type;

use crate::ast::{Field, Form, Struct};
use crate::bound::{mentions, parameters};
use crate::check::name::is_reserved;
use crate::place::Place;

/// The type of a field that is stored.
pub(crate) struct FieldType<'s> {
    field: &'s Field<'s>,
    private: TokenStream,
    /// The struct is read, and no bound of its impls applies to this type: one trait serves for writing and reading.
    is_read: bool,
}

impl<'s> FieldType<'s> {
    pub(crate) fn of(base: &'s Struct<'_>, field: &'s Field<'s>) -> Self {
        let tokens = field.original.ty.to_token_stream();
        Self {
            field,
            private: base.paths().private,
            is_read: !base.borrows() && !mentions(tokens, &parameters(&base.input.generics)),
        }
    }

    fn ty(&self) -> &'s Type {
        &self.field.original.ty
    }

    /// Generates `<Type as Trait>::item`.
    fn item(&self, of: &str, item: &str) -> TokenStream {
        let (private, of) = (&self.private, Ident::new(of, Span::call_site()));
        Place::of(self.ty()).item(self.ty(), &quote!(#private::#of), item)
    }

    /// Generates `<Type as Trait>::item`, or `function::<Type>` if one trait does not serve for writing and reading.
    fn item_or(&self, of: &str, item: &str, function: TokenStream) -> TokenStream {
        if self.is_read {
            return self.item(of, item);
        }
        let (private, ty) = (&self.private, self.ty());
        quote!(#private::#function::<#ty>)
    }

    /// Returns the trait of a property.
    fn property(&self) -> &'static str {
        if self.is_read { "PropertyField" } else { "Property" }
    }

    /// Returns the trait of a field of a key.
    fn key(&self) -> &'static str {
        if self.is_read { "KeyField" } else { "TableKey" }
    }

    /// Generates the EDM type of a property, or of its pieces.
    pub(crate) fn edm_type(&self) -> TokenStream {
        let of = match self.field.form() {
            Form::Chunked => "Chunked",
            _ => self.property(),
        };
        self.item(of, "EDM_TYPE")
    }

    /// Generates the statement that writes a plain property.
    pub(crate) fn write(&self, properties: &Ident, name: &str) -> TokenStream {
        let (member, ty) = (self.field.ident, self.ty());
        // The name is valid and is used as it is written.
        let is_named = name.is_ascii() && !is_reserved(name);
        let name = if is_named {
            format!("\"{name}\":")
        } else {
            name.to_owned()
        };
        if self.is_read {
            let write = self.item("PropertyField", if is_named { "write_named" } else { "write" });
            return quote!(#write(&self.#member, #properties, #name)?;);
        }
        let write = if is_named { quote!(named) } else { quote!(property) };
        quote!(#properties.#write::<#ty>(#name, &self.#member)?;)
    }

    /// Generates the statement that writes JSON.
    pub(crate) fn write_json(&self, properties: &Ident, name: &str) -> TokenStream {
        let (member, to_edm) = (
            self.field.ident,
            self.item_or("JsonField", "to_edm", quote!(json_to_edm)),
        );
        quote!(#properties.converted(#name, #to_edm(&self.#member))?;)
    }

    /// Generates the statement that writes pieces.
    pub(crate) fn write_chunked(&self, properties: &Ident, name: &str) -> TokenStream {
        let (member, write) = (self.field.ident, self.item("Chunked", "write"));
        quote!(#write(&self.#member, #properties, #name)?;)
    }

    /// Generates the expression that reads a plain property into its local.
    pub(crate) fn read(&self, members: &Ident, found: &Ident) -> TokenStream {
        let read = self.item_or(self.property(), "read", quote!(read));
        quote!(#read(#members, &mut #found)?)
    }

    /// Generates the expression that reads JSON into its local.
    pub(crate) fn read_json(&self, property: &Ident, found: &Ident) -> TokenStream {
        let read = self.item_or("JsonField", "read", quote!(read_json));
        quote!(#read(#property, &mut #found)?)
    }

    /// Generates the value of pieces, which is `None` if no piece exists.
    pub(crate) fn read_chunked(&self, row: &Ident, prefix: &TokenStream, names: &[String]) -> TokenStream {
        let found = self.item("Chunked", "found");
        quote!(#found(#row, #prefix, &[#(#names),*])?)
    }

    /// Generates the value that was found, the default for an absent one, or an error.
    pub(crate) fn required(&self, found: &TokenStream, prefix: &TokenStream, name: &str) -> TokenStream {
        let (private, ty) = (&self.private, self.ty());
        let missing = |absent| quote!(#private::missing::<#ty>(#found.or_else(|| #absent()), #prefix, #name)?);
        let required = match self.field.form() {
            Form::Json => return missing(self.item_or("JsonField", "absent", quote!(json_absent))),
            Form::Chunked => return missing(self.item("Chunked", "absent")),
            Form::Plain => self.item_or(self.property(), "required", quote!(required)),
            Form::WriteId | Form::With(_) => quote!(#private::required::<#ty>),
        };
        quote!(#required(#found, #prefix, #name)?)
    }

    /// Generates the statement that writes a field of a key.
    pub(crate) fn write_key(&self, key: &Ident) -> TokenStream {
        let (member, ty) = (self.field.ident, self.ty());
        if !self.is_read {
            return quote!(#key.field::<#ty>(&self.#member)?;);
        }
        let write = self.item(self.key(), "write");
        quote!(#write(&self.#member, #key)?;)
    }

    /// Generates the value of a field of a key.
    pub(crate) fn read_key(&self, key: &Ident, index: Option<&usize>) -> TokenStream {
        let ty = self.ty();
        if !self.is_read {
            return quote!(#key.read::<#ty>(#index)?);
        }
        let read = self.item(self.key(), "read");
        quote!(#read(&#key, #index)?)
    }

    /// Generates the number of digits of a field of a key.
    pub(crate) fn digits(&self) -> TokenStream {
        self.item(self.key(), "DIGITS")
    }
}

/// Generates the item of a field's type that makes sure that it is this type of the hidden module.
pub(crate) fn exactly(base: &Struct<'_>, field: &Field<'_>, of: &str, item: &str) -> TokenStream {
    let (private, of, ty) = (
        base.paths().private,
        Ident::new(of, Span::call_site()),
        &field.original.ty,
    );
    Place::of(ty).item(ty, &quote!(#private::Exactly<#private::#of>), item)
}
