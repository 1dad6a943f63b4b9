//! Code that reads a struct's properties from a row.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};

use crate::ast::{Field, Form, Role, Struct};
use crate::attr::Fallback;
use crate::expand::field_type::{FieldType, exactly};
use crate::expand::stored::{item_of, owned_by_fields};
use crate::place::{Place, local};

/// The code that reads one struct.
pub(crate) struct Reading<'s, 'a> {
    pub(crate) base: &'s Struct<'a>,
    /// The row.
    pub(crate) row: Ident,
    /// The prefix of all names, in a group; an entity has none.
    pub(crate) prefix: Option<Ident>,
    pub(crate) rest: Rest,
}

/// The handling of a property that belongs to no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is ignored.
    Ignored,
    /// It is an error.
    Rejected,
    /// The field `extra` keeps it.
    Kept,
}

/// Returns the local that holds the value of a field while a row is read.
fn found(index: usize) -> Ident {
    local(&format!("f{index}"))
}

/// Returns the local that has the members of the row.
pub(crate) fn members() -> Ident {
    local("members")
}

/// Returns the local that holds the properties that belong to no field.
fn extra() -> Ident {
    local("extra")
}

impl Reading<'_, '_> {
    /// Returns the fields that are read in one pass over the row, whatever the order of its properties.
    fn passed(&self) -> impl Iterator<Item = (usize, &Field<'_>, &str)> {
        let fields = self.base.fields.iter().enumerate();
        fields.filter_map(|(index, field)| match &field.role {
            Role::Property(name) if !matches!(field.form(), Form::Chunked) => Some((index, field, name.as_str())),
            _ => None,
        })
    }

    /// Returns `true` if the values may come straight from the text of a response: no field needs the whole row.
    pub(crate) fn is_of_members(&self) -> bool {
        let is_of_member = |field: &Field<'_>| match &field.role {
            Role::Property(_) => field.attrs.alias.is_empty() && !matches!(field.form(), Form::Chunked),
            Role::Group(_) | Role::Extra => false,
            Role::Key(_) | Role::KeyPart(_) | Role::Timestamp | Role::Etag | Role::Ignored => true,
        };
        self.rest == Rest::Ignored && self.base.attrs.upgrade.is_none() && self.base.fields.iter().all(is_of_member)
    }

    /// Generates the statements before the values of the fields, without those that name the members and the row.
    pub(crate) fn statements(&self) -> TokenStream {
        let found = self.passed().map(|(index, ..)| found(index));
        let extra = (self.rest == Rest::Kept).then(|| {
            let extra = extra();
            quote!(let mut #extra = ::std::collections::BTreeMap::new();)
        });
        let pass = self.pass();
        let aliases = self.aliases();
        quote! {
            #(let mut #found = ::core::option::Option::None;)*
            #extra
            #pass
            #aliases
        }
    }

    /// Generates the pass over the members.
    fn pass(&self) -> TokenStream {
        let (members, field) = (members(), local("field"));
        let names = self.passed().map(|(.., stored)| stored);
        let arms = self.passed().enumerate().map(|(number, (index, field, _))| {
            let read = self.read(index, field, &members);
            quote!(#number => { #read })
        });
        let rest = self.rest(&members);
        quote! {
            while let ::core::option::Option::Some(#field) = #members.next(&[#(#names),*])? {
                match #field {
                    #(#arms)*
                    _ => { #rest }
                }
            }
        }
    }

    /// Generates the statement for all other properties.
    fn rest(&self, members: &Ident) -> Option<TokenStream> {
        let private = self.base.paths().private;
        let (property, name) = (local("property"), local("name"));
        let last = match self.rest {
            Rest::Ignored => return None,
            Rest::Rejected => quote!(return ::core::result::Result::Err(#private::unknown(&#property))),
            Rest::Kept => {
                let extra = extra();
                quote!(#private::keep(&mut #extra, &#property)?)
            }
        };
        let aliases = self.passed().flat_map(|(_, field, _)| field.aliases());
        let owned = owned_by_fields(self.base, &name);
        Some(quote! {
            if let ::core::option::Option::Some(#property) = #members.property()? {
                let #name = #property.name();
                match #name {
                    #(#aliases => {})*
                    #(#name if #owned => {})*
                    _ => #last,
                }
            }
        })
    }

    /// Generates the code that falls back to a property's older names if the current one is absent.
    fn aliases(&self) -> TokenStream {
        let private = self.base.paths().private;
        let (row, prefix, members) = (&self.row, self.prefix(), members());
        let aliased = self.passed().filter(|(_, field, _)| !field.attrs.alias.is_empty());
        let statements = aliased.map(|(index, field, _)| {
            let (found, aliases) = (found(index), field.aliases());
            let read = self.read(index, field, &members);
            quote! {
                if let ::core::option::Option::Some(#members) =
                    &mut #private::aliased(#found.is_some(), #row, #prefix, &[#(#aliases),*])
                {
                    #read
                }
            }
        });
        statements.collect()
    }

    /// Generates the statement that reads the current member into the local of its field.
    fn read(&self, index: usize, field: &Field<'_>, members: &Ident) -> TokenStream {
        let (found, property) = (found(index), local("property"));
        let (private, ty) = (self.base.paths().private, &field.original.ty);
        let read = match field.form() {
            Form::Plain => {
                let read = FieldType::of(self.base, field).read(members, &found);
                return quote!(#read;);
            }
            Form::WriteId | Form::Chunked => return quote!(#private::read::<#ty>(#members, &mut #found)?;),
            Form::With(module) => {
                let call = Place::of(module).derived(quote!(.call_from_wire(#property)));
                let read = item_of(
                    self.base,
                    module,
                    "from_wire",
                    &|from_wire| quote!(#private::Named::<_, #ty>::new(#from_wire) #call),
                );
                quote!(#private::put(&mut #found, #read?))
            }
            Form::Json => FieldType::of(self.base, field).read_json(&property, &found),
        };
        quote! {
            if let ::core::option::Option::Some(#property) = &#members.property()? {
                #read;
            }
        }
    }

    /// Generates the value of a field other than a key, Timestamp or ETag.
    pub(crate) fn value(&self, index: usize, field: &Field<'_>) -> TokenStream {
        let private = self.base.paths().private;
        let ty = &field.original.ty;
        let (row, prefix) = (&self.row, self.prefix());
        match &field.role {
            Role::Property(name) => {
                let (found, stored) = (found(index), FieldType::of(self.base, field));
                let found = quote!(#found.take());
                let or_default = default(field).map(|default| quote!(.unwrap_or_else(|| #default)));
                match (field.form(), or_default) {
                    (Form::Chunked, or_default) => {
                        let names: Vec<_> = [name.clone()].into_iter().chain(field.aliases()).collect();
                        let pieces = stored.read_chunked(row, &prefix, &names);
                        or_default.map_or_else(
                            || stored.required(&pieces, &prefix, name),
                            |or_default| quote!(#pieces #or_default),
                        )
                    }
                    (_, Some(or_default)) => quote!(#found #or_default),
                    (Form::Plain | Form::WriteId | Form::Json, None) => stored.required(&quote!(#found), &prefix, name),
                    (Form::With(_), None) => {
                        let found = quote!(#found.or_else(|| #private::WhenAbsent::<#ty>::NEW.value()));
                        quote!(#private::missing::<#ty>(#found, #prefix, #name)?)
                    }
                }
            }
            Role::Group(inner) => {
                let whole = match &self.prefix {
                    None => quote!(#inner),
                    Some(prefix) => quote!(&#private::within(#prefix, #inner)),
                };
                let read = quote!(<#ty as #private::ReadPropertyGroup>::read_group(#row, #whole)?);
                match default(field) {
                    None => read,
                    Some(default) => quote! {
                        if #private::has_group::<#ty>(#row, #whole) { #read } else { #default }
                    },
                }
            }
            Role::Ignored => of_default(field),
            Role::Extra => {
                let extra = extra();
                let of = exactly(self.base, field, "Extra", "of");
                quote!(#of(#extra))
            }
            Role::Key(_) | Role::KeyPart(_) | Role::Timestamp | Role::Etag => TokenStream::new(),
        }
    }

    fn prefix(&self) -> TokenStream {
        self.prefix
            .as_ref()
            .map_or_else(|| quote!(""), ToTokens::to_token_stream)
    }
}

/// Generates the statements that compute the values of all fields, and the struct of these values.
///
/// Each value has a statement. A value computed inside a struct expression would be dropped by separate code at each
/// `?` after it, and that code grows with the square of the number of fields.
pub(crate) fn built(base: &Struct<'_>, value: impl Fn(usize, &Field<'_>) -> TokenStream) -> TokenStream {
    let values = base.fields.iter().enumerate().map(|(index, field)| {
        let (found, value) = (found(index), value(index, field));
        quote!(let #found = #value;)
    });
    let fields = base.fields.iter().enumerate().map(|(index, field)| {
        let (member, found) = (field.ident, found(index));
        quote!(#member: #found)
    });
    quote! {
        #(#values)*
        ::core::result::Result::Ok(Self { #(#fields),* })
    }
}

/// Generates the default of a field's type.
pub(crate) fn of_default(field: &Field<'_>) -> TokenStream {
    let place = Place::of(&field.original.ty);
    // The whole call has the span of the type, so that the compiler points there.
    let (function, call) = (
        place.item(&field.original.ty, &quote!(::core::default::Default), "default"),
        place.derived(quote!(())),
    );
    quote!(#function #call)
}

/// Generates the value of a field whose property is absent, if it has a default.
pub(crate) fn default(field: &Field<'_>) -> Option<TokenStream> {
    let default = field.attrs.default.as_ref()?;
    Some(match &default.value {
        Fallback::OfType => of_default(field),
        Fallback::Function(path) => {
            let call = Place::of(path).derived(quote!(()));
            quote!(#path #call)
        }
    })
}

/// Generates the metadata level that the values of the groups require, at least `least`.
pub(crate) fn metadata(base: &Struct<'_>, least: &str) -> TokenStream {
    let private = base.paths().private;
    let least = Ident::new(least, proc_macro2::Span::call_site());
    let groups: Vec<TokenStream> = base
        .groups()
        .map(|(field, _)| {
            let ty = &field.original.ty;
            Place::of(&field.original.ty).item(ty, &quote!(#private::ReadPropertyGroup), "METADATA")
        })
        .collect();
    if groups.is_empty() {
        return quote!(#private::MetadataLevel::#least);
    }
    quote!(#private::metadata(&[#private::MetadataLevel::#least, #(#groups),*]))
}
