//! The fields of a key.
//!
//! Matches a template's names with the fields of the struct: every field that a template names becomes part of that
//! key.

use syn::LitStr;

use crate::ast::field::{Field, Role};
use crate::attr::{Attr, similar};
use crate::ctxt::Ctxt;
use crate::key::{KeyName, KeyPiece};
use crate::template::{Piece, Template};

/// Returns the pieces of a key: its own field, or the fields of its template.
pub(crate) fn key_pieces(
    ctxt: &Ctxt,
    key: KeyName,
    template: Option<&Attr<LitStr>>,
    fields: &mut [Field<'_>],
) -> Vec<KeyPiece> {
    let Some(Attr { value: text, .. }) = template else {
        let own = fields.iter().position(|field| field.role == Role::Key(key));
        return own.map(KeyPiece::Field).into_iter().collect();
    };
    let report = |message: String| ctxt.error(text, format!("{}: {message}", key.attribute()));
    let Template { pieces, faults } = Template::parse(&text.value());
    faults.into_iter().for_each(report);
    let pieces = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Literal(literal) => Some(KeyPiece::Literal(literal)),
        Piece::Guess(name) => guessed(key, &name, fields).map(KeyPiece::Field),
        Piece::Field(name) => named(key, &name, fields, report).map(KeyPiece::Field),
        Piece::Padded(name, width) => named(key, &name, fields, report).map(|index| KeyPiece::Padded(index, width)),
    });
    pieces.collect()
}

/// Returns the field of this name, which becomes part of the key.
fn named(key: KeyName, name: &str, fields: &mut [Field<'_>], report: impl Fn(String)) -> Option<usize> {
    let Some(index) = fields.iter().position(|field| field.name == name) else {
        let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
        let meant = similar(name, names.iter().map(String::as_str));
        report(match meant {
            Some(meant) => format!("no field is named `{name}`: did you mean `{{{meant}}}`?"),
            None => format!("no field is named `{name}`: name a field of the struct, or write `{{{{` for a brace"),
        });
        return guessed(key, meant?, fields);
    };
    let role = &mut fields[index].role;
    if let Role::KeyPart(other) = role {
        let place = if *other == key { "twice" } else { "in both keys" };
        report(format!("`{{{name}}}` occurs {place}: name a field only once"));
        return None;
    }
    *role = Role::KeyPart(key);
    Some(index)
}

/// Returns the field that a faulty template probably means. It is treated as part of the key, to avoid further errors
/// about it.
fn guessed(key: KeyName, name: &str, fields: &mut [Field<'_>]) -> Option<usize> {
    let index = fields.iter().position(|field| {
        let plain = field.attrs.rename.is_none() && field.attrs.column.is_none();
        field.name == name && plain && matches!(field.role, Role::Property(_))
    })?;
    fields[index].role = Role::KeyPart(key);
    Some(index)
}
