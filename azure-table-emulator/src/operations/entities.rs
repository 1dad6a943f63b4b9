//! Operations on one entity: reads and changes.
//!
//! Translates a call into a change of a row, and the outcome into a response. `store.rs` changes the row.
//! `operations/batch.rs` applies many changes together, with [`change`] and [`written`], the two halves of a write.
//!
//! Source: REST "Insert Entity", "Update Entity", "Merge Entity", "Insert Or Replace Entity", "Insert Or Merge
//! Entity", "Delete Entity", "Query Entities".

use azure_table_wire::request::inbound::Verb;
use azure_table_wire::request::inbound::target::Target;

use crate::load::{Demand, PartitionKey, Work};
use crate::operations::OperationCall;
use crate::operations::payload::entity_address;
use crate::operations::query;
use crate::operations::scan::RowFilter;
use crate::request::body;
use crate::response::format::Prefer;
use crate::response::{Content, OperationResponse, Trace};
use crate::rules::service_error::{Result, ServiceError};
use crate::store::row::RowId;
use crate::store::{Action, Applied, Change, SharedStore, Store};

/// Handles `GET /table(PartitionKey='…',RowKey='…')`.
pub(crate) fn get(store: &Store, call: &OperationCall<'_>, table: &str, id: &RowId) -> Result<OperationResponse> {
    let level = call.level()?;
    body::check_keys(id, call.site().rules)?;
    let stored = store
        .table(call.replica(), table)
        .ok_or_else(|| call.replica().missing_table())?;
    let row = stored.rows.get(id).filter(|_| call.caller.grant.rows.contains(id));
    // A read may have a condition (the tests of fast-azure-storage, on live accounts).
    let condition = RowFilter::new(call.filter()?, call.site().rules);
    let row = row.filter(|row| condition.accepts(id, row));
    let row = row.ok_or(ServiceError::RESOURCE_NOT_FOUND)?;
    let mut response = OperationResponse::json(200, call.shape(table, level).entity(id, row), level);
    response.etag = Some(row.etag(call.site().rules));
    Ok(response)
}

/// Applies the only change of a request, and returns the response.
pub(crate) fn write(
    shared: &SharedStore,
    call: &OperationCall<'_>,
    change: Result<Change<'_>>,
    trace: &Trace,
) -> Result<OperationResponse> {
    let table = call.target.table().unwrap_or_default();
    let mut store = shared.write();
    let change = change.map_err(|service_error| {
        // Faults of an entity are reported after a missing table (recorded).
        if service_error == ServiceError::PROPERTIES_NEED_VALUE && store.table(call.replica(), table).is_none() {
            ServiceError::TABLE_NOT_FOUND
        } else {
            service_error
        }
    })?;
    let timestamp = call.caller.settings.timestamps(&change.id.partition_key);
    let applied = store
        .apply_stamped(call.replica(), table, vec![change], trace.time, timestamp)
        .map_err(|(_, service_error)| service_error)?;
    match applied.into_iter().next() {
        Some(applied) => written(&store, call, applied),
        None => Ok(OperationResponse::no_content()),
    }
}

/// Returns the change of a call.
pub(crate) fn change<'a>(call: &OperationCall<'a>) -> Result<Change<'a>> {
    let rules = call.site().rules;
    let (id, action) = match (call.target, call.verb) {
        (Target::Entities(_), Verb::Post) => {
            let (id, properties) = body::insert(call.json()?, rules)?;
            if call.prefer != Some(Prefer::NoContent) {
                call.level()?;
            }
            (id, Action::Insert(properties))
        }
        (Target::Entity(_, id), verb) => {
            let action = match verb {
                Verb::Put => Action::Replace(body::update(call.json()?, rules)?, call.condition()?),
                Verb::Merge => Action::Merge(body::update(call.json()?, rules)?, call.condition()?),
                Verb::Delete => Action::Delete(
                    call.condition()?
                        .ok_or(ServiceError::INVALID_INPUT.because("no If-Match"))?,
                ),
                Verb::Get | Verb::Post => return Err(ServiceError::METHOD_NOT_ALLOWED),
            };
            (id.clone(), action)
        }
        (Target::WrongKeys(table), _) => return Err(ServiceError::number_of_keys(&call.site().account, table)),
        _ => return Err(ServiceError::METHOD_NOT_ALLOWED),
    };
    body::check_keys(&id, rules)?;
    // Seen for an insert. Here a row that may not be read appears missing; a row that may not be written gets this
    // error.
    if !call.caller.grant.rows.contains(&id) {
        return Err(ServiceError::AUTHORIZATION_FAILURE);
    }
    Ok(Change { id, action })
}

/// Returns the response to an applied change.
pub(crate) fn written(store: &Store, call: &OperationCall<'_>, applied: Applied) -> Result<OperationResponse> {
    let table = call.target.table().unwrap_or_default();
    if call.verb != Verb::Post {
        let is_upsert = call.verb != Verb::Delete && call.condition()?.is_none();
        let media_type = call.site().rules.empty_media_type.filter(|_| is_upsert);
        return Ok(OperationResponse {
            etag: applied.etag,
            prefer: call.prefer,
            content: Content::Other(media_type.unwrap_or_default().to_owned()),
            ..OperationResponse::no_content()
        });
    }
    let address = entity_address(table, &applied.id, call.site().rules);
    let location = [&*call.site().base, "/", &*address].concat();
    let response = if call.prefer == Some(Prefer::NoContent) {
        OperationResponse::no_content()
    } else {
        let level = call.level()?;
        let stored = store
            .table(call.site().primary(), table)
            .and_then(|table| table.rows.get(&applied.id));
        let row = stored.ok_or(ServiceError::RESOURCE_NOT_FOUND)?;
        OperationResponse::json(201, call.shape(table, level).entity(&applied.id, row), level)
    };
    Ok(OperationResponse {
        etag: applied.etag,
        location: Some(location),
        prefer: call.prefer,
        ..response
    })
}

/// Returns the demand of an operation on entities. A query belongs to the partition where it begins; the rows that it
/// examined are counted once it is done.
pub(crate) fn demand(call: &OperationCall<'_>, change: Option<&Change<'_>>) -> Option<Demand> {
    let (partition, work) = match (call.target, call.verb) {
        (Target::Entity(_, id), Verb::Get) => (id.partition_key.clone(), Work::Read),
        (Target::Entity(_, id), _) => (id.partition_key.clone(), Work::Write(1)),
        (Target::Entities(_), Verb::Get) => (query::first_partition(call).ok()?, Work::Read),
        (Target::Entities(_), Verb::Post) => (change?.id.partition_key.clone(), Work::Write(1)),
        _ => return None,
    };
    let site = call.site();
    let region = if site.is_secondary { "-secondary" } else { "" };
    Some(Demand {
        account: format!("{}{region}", site.account),
        table: site.rules.table_key(call.target.table()?),
        partition: PartitionKey::new(partition),
        work,
    })
}
