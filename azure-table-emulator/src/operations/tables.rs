//! Operations on tables.
//!
//! A table that is being deleted counts as missing. In the live service, other operations may see a conflict or even
//! work for a while.
//!
//! Source: REST "Query Tables", "Create Table", "Delete Table".

use azure_table_core::model::datetime::DateTime;

use crate::operations::OperationCall;
use crate::operations::payload::{PayloadShape, table_address};
use crate::operations::scan::{RowFilter, ScanTurn};
use crate::request::body;
use crate::request::continuation;
use crate::response::format::{Level, Prefer};
use crate::response::{OperationResponse, Trace};
use crate::rules::service_error::{Result, ServiceError};
use crate::store::row::time_text;
use crate::store::{SharedStore, Store};

/// Handles `GET /Tables`.
pub(crate) async fn list(shared: &SharedStore, call: &OperationCall<'_>) -> Result<OperationResponse> {
    let level = call.level()?;
    let condition = RowFilter::new(call.filter()?);
    let rules = call.site().rules;
    let earlier = call.options.next_table_name.as_deref();
    let start = earlier
        .map(|earlier| continuation::table_name(earlier, rules))
        .transpose()?;
    let start = start.unwrap_or_default();
    let limit = call.caller.page_size(call.options.top);
    let page = continuation::Page {
        earlier,
        items: limit,
        is_filtered: call.options.filter.is_some(),
    };
    // A copy, so that the filter is evaluated while others use the store. Without a filter, one table after the page is
    // enough.
    let most = match condition.comparisons() {
        _ if limit == 0 => 0,
        0 => limit.saturating_add(1),
        _ => usize::MAX,
    };
    let tables: Vec<Listed> = {
        let store = shared.read();
        let tables = store
            .account(call.replica())
            .map(|account| account.tables.range(start..));
        let listed = tables.into_iter().flatten().map(|(position, table)| Listed {
            position: position.clone(),
            name: table.name.clone(),
            created: table.created,
        });
        listed.take(most).collect()
    };

    let mut found: Vec<Listed> = Vec::new();
    let mut next = Vec::new();
    let mut turn = ScanTurn::new();
    for table in tables {
        if !turn.take(condition.comparisons(), table.name.len()) {
            tokio::task::yield_now().await;
            turn = ScanTurn::new();
        }
        if !condition.accepts_table(&table.name) {
            continue;
        }
        if found.len() == limit {
            next = continuation::of_table(&table.position, table.created, page, rules);
            break;
        }
        found.push(table);
    }

    let is_full = next.is_empty() && found.len() == limit;
    if let (Some(last), true) = (found.last(), rules.has_empty_last_page && is_full) {
        next = continuation::of_table(&format!("{}\0", last.name), last.created, page, rules);
    }

    let shape = shape(call, level);
    let mut out = shape.page();
    for table in found {
        shape.listed_table(&mut out, &table.name);
    }
    shape.end(&mut out);
    Ok(OperationResponse {
        more: next,
        ..OperationResponse::json(200, out, level)
    })
}

/// A table in a list.
struct Listed {
    /// The form of its name by which tables are ordered.
    position: String,
    name: String,
    created: DateTime,
}

/// Handles `GET /Tables('name')`.
pub(crate) fn get(store: &Store, call: &OperationCall<'_>, table: &str) -> Result<OperationResponse> {
    let level = call.level()?;
    let table = store
        .table(call.replica(), table)
        .ok_or(ServiceError::RESOURCE_NOT_FOUND)?;
    Ok(OperationResponse::json(
        200,
        shape(call, level).table(&table.name),
        level,
    ))
}

/// Handles `POST /Tables`.
pub(crate) fn create(store: &mut Store, call: &OperationCall<'_>, trace: &Trace) -> Result<OperationResponse> {
    let table = body::table_name(call.json()?)?;
    call.site().rules.table_names.check_new(&table)?;
    let response = if call.prefer == Some(Prefer::NoContent) {
        OperationResponse::no_content()
    } else {
        let level = call.level()?;
        OperationResponse::json(201, shape(call, level).table(&table), level)
    };
    store.create_table(call.replica(), &table, trace.time)?;
    let location = format!("{}/{}", call.site().base, table_address(&table));
    let rules = call.site().rules;
    Ok(OperationResponse {
        etag: rules.has_table_etags.then(|| time_text(trace.time, rules).etag()),
        location: Some(location),
        prefer: call.prefer,
        ..response
    })
}

/// Returns the error of `GET /table/Tables`. That a missing table is reported first was not seen.
pub(crate) fn list_below(store: &Store, call: &OperationCall<'_>, table: &str) -> ServiceError {
    match store.table(call.replica(), table) {
        Some(_) => ServiceError::NO_TABLES_BELOW,
        None => ServiceError::TABLE_NOT_FOUND,
    }
}

/// Returns the error for an entity with a wrong number of keys. A missing table is reported first (recorded).
pub(crate) fn wrong_keys(store: &Store, call: &OperationCall<'_>, table: &str) -> ServiceError {
    match store.table(call.replica(), table) {
        Some(_) => ServiceError::number_of_keys(&call.site().account, table),
        None => ServiceError::TABLE_NOT_FOUND,
    }
}

/// Handles `DELETE /Tables('name')`.
pub(crate) fn delete(
    store: &mut Store,
    call: &OperationCall<'_>,
    table: &str,
    trace: &Trace,
) -> Result<OperationResponse> {
    let caller = call.caller;
    caller.site.rules.table_names.check_deleted(table)?;
    store.delete_table(call.replica(), table, trace.time, caller.settings.deletion_time)?;
    Ok(OperationResponse::no_content())
}

/// Returns the parameters of the JSON of tables. `$select` has no effect on it.
fn shape<'s>(call: &'s OperationCall<'_>, level: Level) -> PayloadShape<'s> {
    PayloadShape {
        select: None,
        ..call.shape("Tables", level)
    }
}
