//! The rules over a whole struct.
//!
//! Owns one function for each rule; each looks at the finished [`Entity`] and reports what breaks the rule. What can be
//! said about one attribute or one template alone is reported where it is read.

use std::collections::HashMap;

use syn::Meta;

use crate::ast::{Entity, Field, Role};
use crate::attr::{Attr, meant};
use crate::ctxt::Ctxt;
use crate::key::KeyName;

/// The most fields of both keys together: the longest key tuple that `azure_table` takes.
const MAX_KEY_FIELDS: usize = 8;
/// The most properties besides PartitionKey, RowKey and Timestamp.
///
/// Source: REST "Understanding the Table service data model".
const MAX_PROPERTIES: usize = 252;
/// The longest property name, in UTF-16 code units. Source: as above.
const MAX_PROPERTY_NAME: usize = 255;

/// Checks everything.
pub(crate) fn check(ctxt: &Ctxt, entity: &Entity<'_>) {
    for key in KeyName::BOTH {
        check_key_source(ctxt, entity, key);
    }
    check_key_field_count(ctxt, entity);
    for field in &entity.fields {
        check_one_role(ctxt, entity, field);
        check_rename(ctxt, field);
        check_column(ctxt, field);
    }
    check_once(ctxt, entity, "timestamp", |field| field.attrs.timestamp.as_ref());
    check_once(ctxt, entity, "etag", |field| field.attrs.etag.as_ref());
    check_property_names(ctxt, entity);
    check_property_count(ctxt, entity);
}

/// Two fields with `#[table(row_key)]`, a field and a template, or none of both.
fn check_key_source(ctxt: &Ctxt, entity: &Entity<'_>, key: KeyName) {
    let (service, attribute) = (key.service(), key.attribute());
    let marks = entity
        .fields
        .iter()
        .filter_map(|field| Some((field, own_key(field, key)?)));
    if entity.attrs.template(key).is_some() {
        for (field, mark) in marks {
            ctxt.error(
                &mark.name,
                format!(
                    "{service} is made by the template on the struct: name `{{{}}}` there and remove this attribute, or \
                     remove the template",
                    field.name
                ),
            );
        }
        return;
    }
    let mut marks = marks.peekable();
    if marks.peek().is_none() {
        // With unreadable attributes the key may well be there.
        if ctxt.count() == 0 || !says(entity, attribute) {
            ctxt.error(
                &entity.input.ident,
                format!(
                    "no {service}: put #[table({attribute})] on the field that holds it, or \
                     #[table({attribute} = \"{{field}}\")] on the struct"
                ),
            );
        }
        return;
    }
    for (_, mark) in marks.skip(1) {
        ctxt.error(
            &mark.name,
            format!(
                "a second {service}: mark one field, or join both by a template on the struct, \
                 #[table({attribute} = \"{{a}};{{b}}\")]"
            ),
        );
    }
}

fn own_key<'e>(field: &'e Field<'_>, key: KeyName) -> Option<&'e Attr<()>> {
    match key {
        KeyName::Partition => field.attrs.partition_key.as_ref(),
        KeyName::Row => field.attrs.row_key.as_ref(),
    }
}

/// Whether the word, or a slip of it, stands in any `#[table(...)]` of the struct.
fn says(entity: &Entity<'_>, word: &str) -> bool {
    let on_fields = entity.fields.iter().flat_map(|field| &field.original.attrs);
    let mut attributes = entity.input.attrs.iter().chain(on_fields);
    attributes.any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("table") => {
            let mut tokens = list.tokens.clone().into_iter();
            tokens.any(|token| meant(&token.to_string(), &[word]).is_some())
        }
        _ => false,
    })
}

/// `#[table(row_key = "{a};{b};{c};{d};{e};{f};{g};{h}")]` beside a PartitionKey of a field.
fn check_key_field_count(ctxt: &Ctxt, entity: &Entity<'_>) {
    let count = KeyName::BOTH.into_iter().flat_map(|key| entity.key_fields(key)).count();
    if count > MAX_KEY_FIELDS {
        ctxt.error(
            &entity.input.ident,
            format!(
                "the keys have {count} fields, at most {MAX_KEY_FIELDS} are possible: join some in one field of a type \
                 that implements TableKey"
            ),
        );
    }
}

/// `#[table(partition_key, ignore)]`, or a role for a field that a template names.
fn check_one_role(ctxt: &Ctxt, entity: &Entity<'_>, field: &Field<'_>) {
    let attrs = &field.attrs;
    let roles = [
        &attrs.partition_key,
        &attrs.row_key,
        &attrs.timestamp,
        &attrs.etag,
        &attrs.ignore,
    ];
    let mut roles = roles.into_iter().flatten();
    if let Role::KeyPart(key) = field.role {
        for role in roles {
            // A key beside its own template was reported as that.
            let reported = |key: KeyName| role.name == key.attribute() && entity.attrs.template(key).is_some();
            if !KeyName::BOTH.into_iter().any(reported) {
                ctxt.error(
                    &role.name,
                    format!(
                        "`{}` is part of the template of {}: remove `{}`, or take the field out of the template",
                        field.name,
                        key.service(),
                        role.name
                    ),
                );
            }
        }
        return;
    }
    let Some(first) = roles.next() else { return };
    for other in roles {
        ctxt.error(
            &other.name,
            format!("a field has one role: remove `{}` or `{}`", first.name, other.name),
        );
    }
}

/// `#[table(ignore, rename = "x")]`: only properties have a name of their own.
fn check_rename(ctxt: &Ctxt, field: &Field<'_>) {
    let Some(rename) = &field.attrs.rename else {
        return;
    };
    let message = match field.role {
        Role::Property(_) => return,
        Role::Key(key) => format!(
            "the field is stored as {}, under no other name: remove `rename`",
            key.service()
        ),
        Role::KeyPart(key) => format!("the field is stored in {} only: remove `rename`", key.service()),
        Role::Timestamp => "the service calls this one Timestamp: remove `rename`".to_owned(),
        Role::Etag => "an ETag is not a property and has no name: remove `rename`".to_owned(),
        Role::Ignored => "an ignored field is not stored: remove `rename`, or `ignore`".to_owned(),
    };
    ctxt.error(&rename.name, message);
}

/// `#[table(ignore, column = "X")]`: only columns have a constant.
fn check_column(ctxt: &Ctxt, field: &Field<'_>) {
    let Some(column) = &field.attrs.column else {
        return;
    };
    let why = match field.role {
        Role::Property(_) | Role::Key(_) | Role::Timestamp => return,
        Role::KeyPart(_) => "a part of a key",
        Role::Etag => "an ETag",
        Role::Ignored => "an ignored field",
    };
    ctxt.error(
        &column.name,
        format!("{why} is not a column and has no constant: remove `column`"),
    );
}

/// Two fields with `#[table(etag)]`.
fn check_once<'e>(
    ctxt: &Ctxt,
    entity: &'e Entity<'_>,
    name: &str,
    attr: impl Fn(&'e Field<'_>) -> Option<&'e Attr<()>>,
) {
    for second in entity.fields.iter().filter_map(attr).skip(1) {
        ctxt.error(
            &second.name,
            format!("a second field with `{name}`: mark one, remove this"),
        );
    }
}

/// Names that the service refuses, and two fields under the same name.
fn check_property_names(ctxt: &Ctxt, entity: &Entity<'_>) {
    let mut taken: HashMap<&str, &str> = HashMap::new();
    for (field, name) in entity.properties() {
        let report = |message: String| match &field.attrs.rename {
            Some(rename) => ctxt.error(&rename.value, message),
            None => ctxt.error(field.ident, message),
        };
        if let Some(fault) = property_name_fault(name) {
            report(format!(
                "{name:?} cannot be the name of a property, {fault}: write another with #[table(rename = \"Name\")]"
            ));
        } else if let Some(hint) = reserved(name) {
            report(format!(
                "`{name}` is the service's own: {hint}, or write another name with #[table(rename = \"Name\")]"
            ));
        } else if let Some(other) = taken.insert(name, &field.name) {
            report(format!(
                "`{other}` and `{}` are both stored as `{name}`: write another name with #[table(rename = \"Name\")]",
                field.name
            ));
        }
    }
}

/// What to write instead of a property with a name that the service keeps for itself.
fn reserved(name: &str) -> Option<&'static str> {
    match name {
        "PartitionKey" => Some("for the key itself write #[table(partition_key)]"),
        "RowKey" => Some("for the key itself write #[table(row_key)]"),
        "Timestamp" => {
            Some("for the time of the last write put #[table(timestamp)] on a field of type Option<DateTime>")
        }
        _ => None,
    }
}

/// A property's name is a C# identifier; the same rules as `azure_table`'s `model/name.rs`, which no macro crate can
/// import.
fn property_name_fault(name: &str) -> Option<String> {
    let mut chars = name.chars();
    match chars.next() {
        None => return Some("it is empty".to_owned()),
        Some(first) if first != '_' && !first.is_alphabetic() => {
            return Some(format!("it starts with {first:?} and not with a letter or `_`"));
        }
        Some(_) => {}
    }
    if let Some(wrong) = chars.find(|c| *c != '_' && !c.is_alphanumeric()) {
        return Some(format!("it contains {wrong:?} and not letters, digits and `_` only"));
    }
    let units = name.encode_utf16().count();
    (units > MAX_PROPERTY_NAME).then(|| format!("it has {units} UTF-16 units and the limit is {MAX_PROPERTY_NAME}"))
}

/// More properties than an entity can have.
fn check_property_count(ctxt: &Ctxt, entity: &Entity<'_>) {
    if let Some((field, _)) = entity.properties().nth(MAX_PROPERTIES) {
        ctxt.error(
            field.ident,
            format!(
                "an entity has at most {MAX_PROPERTIES} properties and this struct has {}: mark fields with \
                 #[table(ignore)], or split the struct",
                entity.properties().count()
            ),
        );
    }
}
