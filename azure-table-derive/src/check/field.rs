//! The rules for one field: its role, and the options that go with it.

use proc_macro2::Ident;

use crate::ast::{Field, Role};
use crate::attr::{ContainerAttrs, FieldAttrs};
use crate::ctxt::Ctxt;
use crate::identifier::{begins_name, continues_name};
use crate::key::KeyName;

/// Checks a field of an entity or a group.
pub(crate) fn check(ctxt: &Ctxt, container: &ContainerAttrs, field: &Field<'_>) {
    check_one_role(ctxt, container, field);
    check_one_form(ctxt, field);
    check_rename(ctxt, field);
    check_options(ctxt, field);
    check_prefix(ctxt, field);
    check_column(ctxt, field);
}

/// Rejects `#[table(partition_key, ignore)]`, or a role for a field that a template names.
pub(crate) fn check_one_role(ctxt: &Ctxt, container: &ContainerAttrs, field: &Field<'_>) {
    let attrs = &field.attrs;
    let roles = [
        &attrs.partition_key,
        &attrs.row_key,
        &attrs.timestamp,
        &attrs.etag,
        &attrs.ignore,
        &attrs.flatten,
        &attrs.extra,
    ];
    let mut roles = roles.into_iter().flatten();
    if let Role::KeyPart(key) = field.role {
        for role in roles {
            // A key next to its own template was reported as such.
            let reported = |key: KeyName| role.name == key.attribute() && container.template(key).is_some();
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

/// Rejects `#[table(json, chunked)]`.
fn check_one_form(ctxt: &Ctxt, field: &Field<'_>) {
    if !matches!(field.role, Role::Property(_)) {
        return;
    }
    let forms = forms(&field.attrs);
    let Some((first, others)) = forms.split_first() else {
        return;
    };
    for other in others {
        ctxt.error(
            other,
            format!("a property has one stored form: remove `{first}` or `{other}`"),
        );
    }
}

/// Returns the options that set the stored form of a property.
fn forms(attrs: &FieldAttrs) -> Vec<&Ident> {
    let with = attrs.with.iter().map(|with| &with.name);
    let flags = [&attrs.json, &attrs.chunked, &attrs.write_id];
    with.chain(flags.into_iter().flatten().map(|flag| &flag.name)).collect()
}

/// Rejects `#[table(ignore, rename = "x")]`: only properties can be renamed.
fn check_rename(ctxt: &Ctxt, field: &Field<'_>) {
    let Some(rename) = &field.attrs.rename else {
        return;
    };
    let message = match field.role {
        Role::Property(_) => return,
        Role::Key(key) => format!("the field is stored as {}: remove `rename`", key.service()),
        Role::KeyPart(key) => format!("the field is stored in {} only: remove `rename`", key.service()),
        Role::Timestamp => "the service names this property Timestamp: remove `rename`".to_owned(),
        Role::Etag => "an ETag is not a property and has no name: remove `rename`".to_owned(),
        Role::Ignored => "an ignored field is not stored: remove `rename`, or `ignore`".to_owned(),
        Role::Group(_) => {
            "a flattened field has no name of its own: write `prefix = \"…\"` in place of `rename`".to_owned()
        }
        Role::Extra => "the properties in `extra` have their own names: remove `rename`".to_owned(),
    };
    ctxt.error(&rename.name, message);
}

/// Rejects `#[table(row_key, json)]`: options that only properties have.
pub(crate) fn check_options(ctxt: &Ctxt, field: &Field<'_>) {
    let attrs = &field.attrs;
    let aliases = attrs.alias.iter().map(|alias| &alias.name);
    let default = attrs.default.iter().map(|default| &default.name);
    for option in aliases.chain(default).chain(forms(attrs)) {
        if let Some(message) = rejection(field, &option.to_string()) {
            ctxt.error(option, message);
        }
    }
}

/// Returns why a field does not accept `alias`, `default` or a stored form, and what to write instead.
fn rejection(field: &Field<'_>, option: &str) -> Option<String> {
    let reason = match (&field.role, option) {
        (Role::Property(_), "default") if field.attrs.write_id.is_some() => "an absent write id is `None`",
        (Role::Property(_), _) | (Role::Group(_), "default") => return None,
        (Role::Key(_) | Role::KeyPart(_), "alias") => "a key has no older name",
        (Role::Key(_) | Role::KeyPart(_), "default") => "a row always has its keys",
        (Role::Key(_) | Role::KeyPart(_), "write_id") => "a key is the same with every write",
        (Role::Key(_) | Role::KeyPart(_), _) => {
            "the key text comes from the type of the field, which implements TableKey"
        }
        (Role::Timestamp, _) => "the service sets the Timestamp",
        (Role::Etag, _) => "an ETag is not a property",
        (Role::Extra, _) => "`extra` holds the properties unchanged",
        (Role::Group(_), "alias") => "a flattened field has no name of its own",
        (Role::Group(_), _) => {
            return Some(format!(
                "a flattened field is stored as several properties: remove `{option}` or `flatten`"
            ));
        }
        (Role::Ignored, "default") => "an ignored field is `Default::default()` when it is read",
        (Role::Ignored, _) => {
            return Some(format!(
                "an ignored field is not stored: remove `{option}`, or `ignore`"
            ));
        }
    };
    Some(format!("{reason}: remove `{option}`"))
}

/// Rejects `prefix` without `flatten`, and a prefix that no property name can begin with.
fn check_prefix(ctxt: &Ctxt, field: &Field<'_>) {
    let Some(prefix) = &field.attrs.prefix else { return };
    if field.attrs.flatten.is_none() {
        ctxt.error(
            &prefix.name,
            "`prefix` requires `flatten`: write `flatten, prefix = \"…\"`; for a prefix of all constants write \
             `columns = \"…\"` on the struct",
        );
        return;
    }
    let text = prefix.value.value();
    if !text.starts_with(begins_name) || !text.chars().all(continues_name) {
        ctxt.error(
            &prefix.value,
            format!(
                "{text:?} cannot begin the name of a property: use letters, digits and `_`, such as `prefix = {:?}`",
                format!("{}_", crate::case::Case::Pascal.apply(&field.name))
            ),
        );
    }
}

/// Rejects `#[table(ignore, column = "X")]`: only columns have a constant.
fn check_column(ctxt: &Ctxt, field: &Field<'_>) {
    let Some(column) = &field.attrs.column else {
        return;
    };
    if field.is_column() {
        return;
    }
    let why = match field.role {
        Role::KeyPart(_) => "a part of a key",
        Role::Etag => "an ETag",
        Role::Ignored => "an ignored field",
        _ => "`extra`",
    };
    ctxt.error(
        &column.name,
        format!("{why} is not a column and has no constant: remove `column`"),
    );
}
