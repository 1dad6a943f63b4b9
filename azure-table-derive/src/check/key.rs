//! The rules about the two keys of an entity.

use crate::ast::{Entity, Field};
use crate::attr::Attr;
use crate::ctxt::Ctxt;
use crate::key::KeyName;

/// The most fields of both keys together: the longest key tuple that `azure_table` takes.
const MAX_KEY_FIELDS: usize = 8;

/// Two fields with `#[table(row_key)]`, a field and a template, or none of both.
pub(crate) fn check_source(ctxt: &Ctxt, entity: &Entity<'_>, key: KeyName) {
    let (service, attribute) = (key.service(), key.attribute());
    let base = &entity.base;
    let marks = base
        .fields
        .iter()
        .filter_map(|field| Some((field, own_key(field, key)?)));
    if base.attrs.template(key).is_some() {
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
        if ctxt.count() == 0 || !base.says(attribute) {
            ctxt.error(
                &base.input.ident,
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

/// The attribute by which a field is this key.
pub(crate) fn own_key<'e>(field: &'e Field<'_>, key: KeyName) -> Option<&'e Attr<()>> {
    match key {
        KeyName::Partition => field.attrs.partition_key.as_ref(),
        KeyName::Row => field.attrs.row_key.as_ref(),
    }
}

/// `#[table(row_key = "{a};{b};{c};{d};{e};{f};{g};{h}")]` beside a PartitionKey of a field.
pub(crate) fn check_count(ctxt: &Ctxt, entity: &Entity<'_>) {
    let count = KeyName::BOTH.into_iter().flat_map(|key| entity.key_fields(key)).count();
    if count > MAX_KEY_FIELDS {
        ctxt.error(
            &entity.base.input.ident,
            format!(
                "the keys have {count} fields, at most {MAX_KEY_FIELDS} are possible: join some in one field of a type \
                 that implements TableKey"
            ),
        );
    }
}
