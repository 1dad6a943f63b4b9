//! The stored form of a struct: its schema, the code that writes its properties, and its property names.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::Path;

use crate::ast::{Field, Form, Role, Struct};
use crate::expand::field_type::{FieldType, exactly};
use crate::place::{Place, local};

/// Generates the properties of the schema.
pub(crate) fn property_schemas(base: &Struct<'_>) -> TokenStream {
    let private = base.paths().private;
    let properties = base.properties().map(|(field, name)| {
        let edm_type = edm_type(base, field);
        let aliases = field.aliases();
        let form = field.form();
        let is_chunked = matches!(form, Form::Chunked);
        let is_json = matches!(form, Form::Json);
        quote! {
            #private::PropertySchema {
                name: #name,
                edm_type: #edm_type,
                aliases: &[#(#aliases),*],
                is_chunked: #is_chunked,
                is_json: #is_json
            }
        }
    });
    quote!(&[#(#properties),*])
}

/// Generates the groups of the schema.
pub(crate) fn group_schemas(base: &Struct<'_>) -> TokenStream {
    let private = base.paths().private;
    let groups = base.groups().map(|(field, prefix)| {
        let ty = &field.original.ty;
        let item = |name| Place::of(&field.original.ty).item(ty, &quote!(#private::PropertyGroup), name);
        let (properties, groups) = (item("PROPERTIES"), item("GROUPS"));
        quote!(#private::GroupSchema { prefix: #prefix, properties: #properties, groups: #groups })
    });
    quote!(&[#(#groups),*])
}

fn edm_type(base: &Struct<'_>, field: &Field<'_>) -> TokenStream {
    let (private, ty) = (base.paths().private, &field.original.ty);
    match field.form() {
        Form::Plain | Form::Chunked => FieldType::of(base, field).edm_type(),
        Form::With(module) => item_of(base, module, "EDM_TYPE", &|item| {
            let call = Place::of(module).derived(quote!(.edm_type()));
            quote!(#private::Named::<_, #ty>::new(#item) #call)
        }),
        Form::Json => quote!(#private::json::EDM_TYPE),
        Form::WriteId => quote!(#private::EdmType::Guid),
    }
}

/// Generates the statements that write all properties, in the order of the fields.
pub(crate) fn write_properties(base: &Struct<'_>, properties: &Ident) -> TokenStream {
    base.fields
        .iter()
        .map(|field| write_property(base, field, properties))
        .collect()
}

fn write_property(base: &Struct<'_>, field: &Field<'_>, properties: &Ident) -> TokenStream {
    let private = base.paths().private;
    let (member, ty) = (field.ident, &field.original.ty);
    match &field.role {
        Role::Property(name) => match field.form() {
            Form::Plain => FieldType::of(base, field).write(properties, name),
            Form::Json => FieldType::of(base, field).write_json(properties, name),
            Form::Chunked => FieldType::of(base, field).write_chunked(properties, name),
            Form::With(module) => {
                let call = Place::of(module).derived(quote!(.call_to_edm()));
                let converted = item_of(
                    base,
                    module,
                    "to_edm",
                    &|to_edm| quote!(#private::lend::<_, #ty>(#to_edm, &self.#member) #call),
                );
                quote!(#private::Converted::write(#converted, #properties, #name)?;)
            }
            Form::WriteId => {
                let get = exactly(base, field, "HeldWriteId", "get");
                quote!(#private::write_id(#get(&self.#member), #properties, #name)?;)
            }
        },
        Role::Group(prefix) => quote!(#properties.group::<#ty>(#prefix, &self.#member)?;),
        Role::Extra => {
            let (get, name) = (exactly(base, field, "Extra", "get"), local("name"));
            let owned = owned(base, &name);
            quote! {
                #private::write_extra(#get(&self.#member), #properties, |#name| match #name { #owned _ => false })?;
            }
        }
        Role::Key(_) | Role::KeyPart(_) | Role::Timestamp | Role::Etag | Role::Ignored => TokenStream::new(),
    }
}

/// Generates code that uses an item of the module in `with`, or its replacement if the module lacks the item.
pub(crate) fn item_of(
    base: &Struct<'_>,
    module: &Path,
    name: &str,
    of: &dyn Fn(TokenStream) -> TokenStream,
) -> TokenStream {
    let (private, place) = (base.paths().private, Place::of(module));
    let name = Ident::new(name, Span::call_site());
    let last = module.segments.last().map(|last| last.ident.to_string());
    let inner = if last.is_some_and(|last| last.starts_with(char::is_uppercase)) {
        // The items of a type cannot be imported, so they are named by their path.
        let item = place.derived(quote!(::#name));
        of(quote!(#module #item))
    } else {
        let item = of(place.derived(quote!(#name)));
        // The inner import hides the outer one. Not every module uses it, so `expect` would fail.
        place.derived(quote!({
            #[allow(unused_imports)]
            use #module::*;
            #item
        }))
    };
    // Used only if the item is missing, so `expect` would fail.
    place.derived(quote!({
        #[allow(unused_imports)]
        use #private::lacking::*;
        #inner
    }))
}

/// Generates the match arms over a property's name that report the names of fields.
pub(crate) fn owned(base: &Struct<'_>, name: &Ident) -> TokenStream {
    let plain: Vec<String> = base
        .properties()
        .flat_map(|(field, name)| [name.to_owned()].into_iter().chain(field.aliases()))
        .collect();
    let plain = (!plain.is_empty()).then(|| quote!(#(#plain)|* => true,));
    let others = owned_by_fields(base, name);
    quote!(#plain #(#name if #others => true,)*)
}

/// Generates conditions on a name. One of them is true for the name of a chunked or flattened field.
pub(crate) fn owned_by_fields(base: &Struct<'_>, name: &Ident) -> Vec<TokenStream> {
    let private = base.paths().private;
    let chunked = base
        .properties()
        .filter(|(field, _)| matches!(field.form(), Form::Chunked));
    let chunked = chunked.flat_map(|(field, whole)| {
        let names = [whole.to_owned()].into_iter().chain(field.aliases());
        names
            .map(|whole| quote!(#private::chunked::owns(#whole, #name)))
            .collect::<Vec<_>>()
    });
    let groups = base.groups().map(|(field, prefix)| {
        let ty = &field.original.ty;
        quote!(#private::in_group::<#ty>(#prefix, #name))
    });
    chunked.chain(groups).collect()
}
