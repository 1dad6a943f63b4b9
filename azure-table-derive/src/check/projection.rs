//! The rules of a projection.

use crate::ast::{Field, Role, Struct, borrows};
use crate::check::field::{check_one_role, check_options};
use crate::ctxt::Ctxt;

/// Checks a projection.
pub(crate) fn projection(ctxt: &Ctxt, base: &Struct<'_>) {
    if base.attrs.of.is_none() && !base.says("of") {
        ctxt.error(
            &base.input.ident,
            "a projection has some columns of an entity: write #[table(of = Entity)] with the entity's type",
        );
    }
    if borrows(base.input) {
        ctxt.error(
            &base.input.generics,
            "Projection is derived for structs that own what they read: remove the lifetime",
        );
    }
    for field in &base.fields {
        check_one_role(ctxt, &base.attrs, field);
        check_options(ctxt, field);
        check_source(ctxt, field);
    }
}

/// Rejects `#[table(etag, column = "X")]`: only a column can be read from a constant.
fn check_source(ctxt: &Ctxt, field: &Field<'_>) {
    if matches!(field.role, Role::Property(_)) {
        return;
    }
    if let Some(column) = &field.attrs.column {
        ctxt.error(
            &column.name,
            "`column` names the entity's constant whose property the field reads, and this field reads none: remove it",
        );
    }
}
