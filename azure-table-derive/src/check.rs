//! The rules over a whole item.
//!
//! Decides which rules apply to which item. Each rule is a function that examines the finished [`Entity`], [`Struct`],
//! `Variants` or `Choice` and reports violations. Errors of a single attribute or template are reported where it is
//! parsed.

mod field;
mod index;
mod key;
pub(crate) mod name;
mod projection;
mod property;
mod variants;

pub(crate) use self::projection::projection;
pub(crate) use self::property::choice;
pub(crate) use self::variants::variants;
use crate::ast::{Entity, Struct};
use crate::attr::{Attr, FieldAttrs};
use crate::ctxt::Ctxt;
use crate::key::KeyName;

/// Checks the rules of an entity.
pub(crate) fn entity(ctxt: &Ctxt, entity: &Entity<'_>) {
    for key in KeyName::BOTH {
        key::check_source(ctxt, entity, key);
    }
    key::check_count(ctxt, entity);
    let base = &entity.base;
    for field in &base.fields {
        field::check(ctxt, &base.attrs, field);
    }
    check_once(ctxt, base, "timestamp", |attrs| attrs.timestamp.as_ref());
    check_once(ctxt, base, "etag", |attrs| attrs.etag.as_ref());
    check_once(ctxt, base, "extra", |attrs| attrs.extra.as_ref());
    check_once(ctxt, base, "write_id", |attrs| attrs.write_id.as_ref());
    index::check(ctxt, entity);
    check_extra(ctxt, base);
    check_read(ctxt, base);
    name::check_names(ctxt, base, true);
    name::check_count(ctxt, base);
}

/// Checks the rules of a group of properties.
pub(crate) fn group(ctxt: &Ctxt, base: &Struct<'_>) {
    for field in &base.fields {
        field::check(ctxt, &base.attrs, field);
    }
    name::check_names(ctxt, base, false);
    name::check_count(ctxt, base);
}

/// Rejects two fields with, for example, `#[table(etag)]`.
fn check_once(ctxt: &Ctxt, base: &Struct<'_>, name: &str, attr: impl Fn(&FieldAttrs) -> Option<&Attr<()>>) {
    for second in base.fields.iter().filter_map(|field| attr(&field.attrs)).skip(1) {
        ctxt.error(
            &second.name,
            format!("only one field can have `{name}`: remove this one"),
        );
    }
}

/// Rejects `deny_unknown_properties` together with a field that keeps unknown properties.
fn check_extra(ctxt: &Ctxt, base: &Struct<'_>) {
    let Some(deny) = &base.attrs.deny_unknown_properties else {
        return;
    };
    if base.fields.iter().any(|field| field.attrs.extra.is_some()) {
        ctxt.error(
            &deny.name,
            "`extra` keeps the unknown properties and `deny_unknown_properties` rejects them: remove one of the two",
        );
    }
}

/// Rejects options of reading on a struct that borrows.
fn check_read(ctxt: &Ctxt, base: &Struct<'_>) {
    if !base.borrows() {
        return;
    }
    let (deny, upgrade) = (&base.attrs.deny_unknown_properties, &base.attrs.upgrade);
    for name in deny
        .iter()
        .map(|deny| &deny.name)
        .chain(upgrade.iter().map(|upgrade| &upgrade.name))
    {
        ctxt.error(
            name,
            format!("a struct that borrows cannot be read: remove `{name}`, or use owned types"),
        );
    }
}
