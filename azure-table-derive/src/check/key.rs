//! The rules for the two keys of an entity.

use crate::ast::{Entity, Field};
use crate::attr::Attr;
use crate::ctxt::Ctxt;
use crate::key::KeyName;

/// The maximum number of fields in both keys together: the longest key tuple that `azure_table` supports.
const MAX_KEY_FIELDS: usize = 8;

/// Rejects two fields with `#[table(row_key)]`, a field together with a template, and a missing key.
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
                    "the template on the struct already sets {service}: add `{{{}}}` to it and remove this attribute, \
                     or remove the template",
                    field.name
                ),
            );
        }
        return;
    }
    let mut marks = marks.peekable();
    if marks.peek().is_none() {
        // The key may be among attributes that could not be parsed.
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
                "only one field can be the {service}: remove this attribute, or combine both fields in a template on \
                 the struct, #[table({attribute} = \"{{a}};{{b}}\")]"
            ),
        );
    }
}

/// Returns the attribute that makes a field this key.
pub(crate) fn own_key<'e>(field: &'e Field<'_>, key: KeyName) -> Option<&'e Attr<()>> {
    match key {
        KeyName::Partition => field.attrs.partition_key.as_ref(),
        KeyName::Row => field.attrs.row_key.as_ref(),
    }
}

/// Rejects, for example, `#[table(row_key = "{a};{b};{c};{d};{e};{f};{g};{h}")]` with a PartitionKey that is a field.
pub(crate) fn check_count(ctxt: &Ctxt, entity: &Entity<'_>) {
    let count = KeyName::BOTH.into_iter().flat_map(|key| entity.key_fields(key)).count();
    if count > MAX_KEY_FIELDS {
        ctxt.error(
            &entity.base.input.ident,
            format!(
                "the keys have {count} fields, more than the limit of {MAX_KEY_FIELDS}: combine some in one field, with a type \
                 that implements TableKey"
            ),
        );
    }
}
