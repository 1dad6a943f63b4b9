//! The rules of a projection.

use crate::ast::{Field, Role, Struct, borrows};
use crate::check::field::{check_one_role, check_options};
use crate::ctxt::Ctxt;

/// Checks a projection.
pub(crate) fn projection(ctxt: &Ctxt, base: &Struct<'_>) {
    if base.attrs.of.is_none() && !base.says("of") {
        ctxt.error(
            &base.input.ident,
            "a projection reads columns of an entity: name the entity's type with #[table(of = Entity)]",
        );
    }
    if borrows(base.input) {
        ctxt.error(
            &base.input.generics,
            "Projection can only be derived for structs that own their data: remove the lifetime",
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
            "`column` names a constant of the entity, but this field is not read from a column: remove `column`",
        );
    }
}
