//! Operations on one entity: read it, or change it.
//!
//! Owns what a call means for a row and what is answered. How a row changes is `store.rs`; many changes at once are
//! `batch.rs`, which uses both halves of a write from here.
//!
//! Source: REST "Insert Entity", "Update Entity", "Merge Entity", "Insert Or Replace Entity", "Insert Or Merge
//! Entity", "Delete Entity", "Query Entities".

use crate::emulator::Emulator;
use crate::emulator::operations::call::{Call, Verb};
use crate::emulator::request::address::Resource;
use crate::emulator::request::body;
use crate::emulator::request::options::{Level, Prefer};
use crate::emulator::response::answer::Answer;
use crate::emulator::response::payload::{Shape, entity_address};
use crate::emulator::rules::refusal::{Refusal, Result};
use crate::emulator::store::row::RowId;
use crate::emulator::store::{Action, Applied, Change, Store};

/// `GET /table(PartitionKey='…',RowKey='…')`.
pub(crate) fn get(store: &Store, call: &Call<'_>, table: &str, id: &RowId) -> Result<Answer> {
    let level = call.level()?;
    body::check_keys(id, call.site().rules)?;
    let stored = store.table(call.site(), table).ok_or(Refusal::TABLE_NOT_FOUND)?;
    let row = stored.rows.get(id).filter(|_| call.caller.grant.rows.contains(id));
    let row = row.ok_or(Refusal::RESOURCE_NOT_FOUND)?;
    let mut answer = Answer::json(200, shape(call, table, level).entity(id, row), level);
    answer.etag = Some(row.etag(call.site().rules));
    Ok(answer)
}

/// The only change of a request: made and answered.
pub(crate) fn write(emulator: &Emulator, call: &Call<'_>) -> Result<Answer> {
    let (table, change) = change(call)?;
    let mut store = emulator.store_mut();
    let applied = store
        .apply(call.site(), table, vec![change], call.caller.now)
        .map_err(|(_, refusal)| refusal)?;
    match applied.into_iter().next() {
        Some(applied) => written(&store, call, table, applied),
        None => Ok(Answer::no_content()),
    }
}

/// What a call changes: the table and the row.
pub(crate) fn change<'a>(call: &'a Call<'_>) -> Result<(&'a str, Change)> {
    let (table, id, action) = match (&call.resource, call.verb) {
        (Resource::Entities(table), Verb::Post) => {
            let (id, properties) = body::insert(call.json()?, call.site().rules)?;
            if call.prefer != Some(Prefer::NoContent) {
                call.level()?;
            }
            (table, id, Action::Insert(properties))
        }
        (Resource::Entity(table, id), Verb::Put) => (
            table,
            id.clone(),
            Action::Replace(body::update(call.json()?, call.site().rules)?, call.condition()?),
        ),
        (Resource::Entity(table, id), Verb::Merge) => (
            table,
            id.clone(),
            Action::Merge(body::update(call.json()?, call.site().rules)?, call.condition()?),
        ),
        (Resource::Entity(table, id), Verb::Delete) => (
            table,
            id.clone(),
            Action::Delete(call.condition()?.ok_or(Refusal::INVALID_INPUT.because("no If-Match"))?),
        ),
        _ => return Err(Refusal::METHOD_NOT_ALLOWED),
    };
    body::check_keys(&id, call.site().rules)?;
    // Seen of an insert; a row that cannot be read is not there, one that cannot be written is.
    if !call.caller.grant.rows.contains(&id) {
        return Err(Refusal::AUTHORIZATION_FAILURE);
    }
    Ok((table, Change { id, action }))
}

/// The answer to a change that was made.
pub(crate) fn written(store: &Store, call: &Call<'_>, table: &str, applied: Applied) -> Result<Answer> {
    if call.verb != Verb::Post {
        return Ok(Answer {
            etag: applied.etag,
            ..Answer::no_content()
        });
    }
    let location = format!("{}/{}", call.site().base, entity_address(table, &applied.id));
    let answer = if call.prefer == Some(Prefer::NoContent) {
        Answer::no_content()
    } else {
        let level = call.level()?;
        let stored = store
            .table(call.site(), table)
            .and_then(|table| table.rows.get(&applied.id));
        let row = stored.ok_or(Refusal::RESOURCE_NOT_FOUND)?;
        Answer::json(201, shape(call, table, level).entity(&applied.id, row), level)
    };
    Ok(Answer {
        etag: applied.etag,
        location: Some(location),
        prefer: call.prefer,
        ..answer
    })
}

/// How the call's answer looks. Writes have no selection.
pub(crate) fn shape<'a>(call: &'a Call<'_>, table: &'a str, level: Level) -> Shape<'a> {
    let select = call.options.select.as_ref().filter(|_| call.verb == Verb::Get);
    Shape {
        site: call.site(),
        table,
        level,
        select,
    }
}
