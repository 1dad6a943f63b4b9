//! Operations on one entity: reads and changes.
//!
//! Translates a call into a change of a row, and the outcome into a response. `store.rs` changes the row.
//! `operations/batch.rs` makes many changes together with both halves of a write from here.
//!
//! Source: REST "Insert Entity", "Update Entity", "Merge Entity", "Insert Or Replace Entity", "Insert Or Merge
//! Entity", "Delete Entity", "Query Entities".

use crate::emulator::load::{Demand, PartitionKey, Work};
use crate::emulator::operations::Call;
use crate::emulator::operations::payload::entity_address;
use crate::emulator::operations::query;
use crate::emulator::request::Verb;
use crate::emulator::request::body;
use crate::emulator::request::options::Prefer;
use crate::emulator::response::{Answer, Content};
use crate::emulator::rules::refusal::{Refusal, Result};
use crate::emulator::site::Resource;
use crate::emulator::store::row::RowId;
use crate::emulator::store::{Action, Applied, Change, SharedStore, Store};

/// Handles `GET /table(PartitionKey='…',RowKey='…')`.
pub(crate) fn get(store: &Store, call: &Call<'_>, table: &str, id: &RowId) -> Result<Answer> {
    let level = call.level()?;
    body::check_keys(id, call.site().rules)?;
    let stored = store.table(call.replica(), table).ok_or(Refusal::TABLE_NOT_FOUND)?;
    let row = stored.rows.get(id).filter(|_| call.caller.grant.rows.contains(id));
    let row = row.ok_or(Refusal::RESOURCE_NOT_FOUND)?;
    let mut answer = Answer::json(200, call.shape(table, level).entity(id, row), level);
    answer.etag = Some(row.etag(call.site().rules));
    Ok(answer)
}

/// Applies the only change of a request, and returns the response.
pub(crate) fn write(shared: &SharedStore, call: &Call<'_>) -> Result<Answer> {
    let read = change(call);
    let mut store = shared.write();
    let (table, change) = read.map_err(|refusal| {
        // Faults of an entity are reported after a missing table (recorded).
        let table = call.resource.table().unwrap_or_default();
        match refusal == Refusal::PROPERTIES_NEED_VALUE && store.table(call.replica(), table).is_none() {
            true => Refusal::TABLE_NOT_FOUND,
            false => refusal,
        }
    })?;
    let caller = call.caller;
    let timestamp = |time| caller.settings.timestamp(time);
    let applied = store
        .apply_stamped(call.replica(), table, vec![change], caller.now, timestamp)
        .map_err(|(_, refusal)| refusal)?;
    match applied.into_iter().next() {
        Some(applied) => written(&store, call, table, applied),
        None => Ok(Answer::no_content()),
    }
}

/// Returns the change of a call: its table and row.
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
        (Resource::WrongKeys(table), _) => return Err(Refusal::number_of_keys(&call.site().account, table)),
        _ => return Err(Refusal::METHOD_NOT_ALLOWED),
    };
    body::check_keys(&id, call.site().rules)?;
    // Seen for an insert. Here a row that may not be read appears missing, one that may not be written does not.
    if !call.caller.grant.rows.contains(&id) {
        return Err(Refusal::AUTHORIZATION_FAILURE);
    }
    Ok((table, Change { id, action }))
}

/// Returns the response to an applied change.
pub(crate) fn written(store: &Store, call: &Call<'_>, table: &str, applied: Applied) -> Result<Answer> {
    if call.verb != Verb::Post {
        let is_upsert = call.verb != Verb::Delete && call.condition()?.is_none();
        let media_type = match is_upsert {
            true => call.site().rules.upsert_media_type,
            false => "",
        };
        return Ok(Answer {
            etag: applied.etag,
            prefer: call.prefer,
            content: Content::Other(media_type.to_owned()),
            ..Answer::no_content()
        });
    }
    let location = format!(
        "{}/{}",
        call.site().base,
        entity_address(table, &applied.id, call.site().rules)
    );
    let answer = if call.prefer == Some(Prefer::NoContent) {
        Answer::no_content()
    } else {
        let level = call.level()?;
        let stored = store
            .table(call.site().primary(), table)
            .and_then(|table| table.rows.get(&applied.id));
        let row = stored.ok_or(Refusal::RESOURCE_NOT_FOUND)?;
        Answer::json(201, call.shape(table, level).entity(&applied.id, row), level)
    };
    Ok(Answer {
        etag: applied.etag,
        location: Some(location),
        prefer: call.prefer,
        ..answer
    })
}

/// Returns the demand of an operation on entities. A query belongs to the partition where it begins; the rows that it
/// examined are counted once it is done.
pub(crate) fn demand(call: &Call<'_>) -> Result<Demand> {
    let site = call.site();
    let (table, partition, work) = match (&call.resource, call.verb) {
        (Resource::Entity(table, id), Verb::Get) => (table, id.partition_key.clone(), Work::Read),
        (Resource::Entity(table, id), _) => (table, id.partition_key.clone(), Work::Write(1)),
        (Resource::Entities(table), Verb::Get) => (table, query::first_partition(call)?, Work::Read),
        (Resource::Entities(table), Verb::Post) => {
            let (id, _) = body::insert(call.json()?, site.rules)?;
            (table, id.partition_key, Work::Write(1))
        }
        _ => return Err(Refusal::METHOD_NOT_ALLOWED),
    };
    let region = if site.is_secondary { "-secondary" } else { "" };
    Ok(Demand {
        account: format!("{}{region}", site.account),
        table: site.rules.table_key(table),
        partition: PartitionKey::new(partition),
        work,
    })
}
