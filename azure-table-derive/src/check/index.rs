//! The rules for declared indexes.

use crate::ast::{Entity, Field, Form, Role};
use syn::ext::IdentExt;

use crate::attr::similar;
use crate::case::screaming_snake;
use crate::ctxt::Ctxt;

/// Checks the indexes of an entity.
pub(crate) fn check(ctxt: &Ctxt, entity: &Entity<'_>) {
    let base = &entity.base;
    for (number, attr) in base.attrs.index.iter().enumerate() {
        let index = &attr.value;
        if base.is_generic() || base.borrows() {
            ctxt.error(
                &attr.name,
                "a struct with an index has no parameters: remove them, or the index",
            );
        }
        if base.attrs.index[..number]
            .iter()
            .any(|other| other.value.name == index.name)
        {
            ctxt.error(
                &index.name,
                format!("another index has the name `{}`: choose another", index.name),
            );
        }
        for (at, name) in index.fields.iter().enumerate() {
            if index.fields[..at].contains(name) {
                ctxt.error(
                    name,
                    format!("`{name}` occurs twice in the index: name a field only once"),
                );
                continue;
            }
            match base.fields.iter().find(|field| field.ident == name) {
                None => {
                    let names = base.fields.iter().map(|field| field.name.as_str());
                    let hint = match similar(&name.to_string(), names) {
                        Some(meant) => format!("did you mean `{meant}`?"),
                        None => "name a field of the struct".to_owned(),
                    };
                    ctxt.error(name, format!("no field is named `{name}`: {hint}"));
                }
                Some(field) if !is_indexable(field) => ctxt.error(
                    name,
                    format!("`{name}` cannot be part of an index: name a property that is stored as its plain value"),
                ),
                Some(_) => {}
            }
        }
        let constant = screaming_snake(&index.name.unraw().to_string());
        let is_taken = |field: &&Field<'_>| field.constant.as_ref().is_some_and(|own| *own == constant);
        if let Some(field) = base.fields.iter().find(is_taken) {
            let why = format!(
                "the index and the field `{}` have one constant, `{constant}`: rename the index",
                field.name
            );
            ctxt.error(&index.name, why);
        }
        if index.covers && index.unique {
            ctxt.error(
                &attr.name,
                "a unique index finds one row, which `get` reads: remove `covers`",
            );
        }
        let hides = |field: &&Field<'_>| {
            matches!(field.form(), Form::WriteId)
                || matches!(field.role, Role::Etag | Role::Timestamp | Role::Extra | Role::Ignored)
        };
        if let (true, Some(upgrade)) = (index.covers, &base.attrs.upgrade) {
            let why = "`upgrade` reads entities, and no rows of an index: remove it, or `covers`";
            ctxt.error(&upgrade.name, why);
        }
        if let (true, Some(field)) = (index.covers, base.fields.iter().find(hides)) {
            ctxt.error(
                &attr.name,
                format!(
                    "the rows of an index have no `{}` of their entity: remove `covers`, or the field",
                    field.name
                ),
            );
        }
    }
}

fn is_indexable(field: &Field<'_>) -> bool {
    matches!((&field.role, field.form()), (Role::Property(_), Form::Plain))
}
