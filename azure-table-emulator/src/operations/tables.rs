//! Operations on tables.
//!
//! A table that is being deleted counts as missing. In the live service, other operations may see a conflict or even
//! work for a while.
//!
//! Source: REST "Query Tables", "Create Table", "Delete Table".

use azure_table_wire::filter::expression::Expression;
use azure_table_wire::value::datetime::DateTime;
use azure_table_wire::value::edm::EdmValue;

use crate::operations::OperationCall;
use crate::operations::payload::{PayloadShape, table_address};
use crate::operations::scan::{RowFilter, ScanTurn};
use crate::request::body;
use crate::request::continuation;
use crate::response::format::{Level, Prefer};
use crate::response::{OperationResponse, Trace};
use crate::rules::service_error::{Result, ServiceError};
use crate::rules::{Continuation, ServiceRules};
use crate::store::row::time_text;
use crate::store::{SharedStore, Store};

/// The only property of a table.
const TABLE_NAME: &str = "TableName";

/// Handles `GET /Tables`.
pub(crate) async fn list(shared: &SharedStore, call: &OperationCall<'_>) -> Result<OperationResponse> {
    let level = call.level()?;
    let rules = call.site().rules;
    let filter = call.filter()?.map(|filter| compared(filter, rules));
    let condition = RowFilter::new(filter.as_ref(), rules);
    let earlier = call.options.next_table_name.as_deref();
    let start = earlier
        .map(|earlier| continuation::table_name(earlier, rules))
        .transpose()?;
    let start = start.unwrap_or_default();
    let choices = &call.site().choices;
    let limit = call.caller.page_size(call.options.top);
    let limit = choices.rows.map_or(limit, |rows| rows.min(limit));
    let begins_empty = choices.begins_empty && earlier.is_none();
    let limit = if begins_empty { 0 } else { limit };
    let page = continuation::Page {
        earlier,
        items: limit,
        is_filtered: call.options.filter.is_some(),
    };
    // A copy, so that the filter is evaluated while others use the store. Without a filter, one table after the page is
    // enough.
    let shuffled = call.caller.settings.adverse.as_ref();
    let shuffled = shuffled.filter(|_| rules.continuation == Continuation::Places);
    let most = match condition.comparisons() {
        _ if limit == 0 && !begins_empty => 0,
        0 if shuffled.is_none() => limit.saturating_add(1),
        _ => usize::MAX,
    };
    let mut tables: Vec<Listed> = {
        let store = shared.read();
        let from = if shuffled.is_some() {
            String::new()
        } else {
            start.clone()
        };
        let tables = store
            .account(call.replica())
            .map(|account| account.tables.range(from..));
        let listed = tables.into_iter().flatten().map(|(position, table)| Listed {
            position: position.clone(),
            name: table.name.clone(),
            created: table.created,
        });
        listed.take(most).collect()
    };
    if let Some(adverse) = shuffled {
        let place = |name: &str| (adverse.place_of(name.trim_end_matches('\0')), name.to_owned());
        let first = (!start.is_empty()).then(|| place(&start));
        tables.retain(|table| first.as_ref().is_none_or(|first| place(&table.position) >= *first));
        tables.sort_by_cached_key(|table| place(&table.position));
    }

    let mut found: Vec<Listed> = Vec::new();
    let mut next = Vec::new();
    let mut turn = ScanTurn::new();
    for table in tables {
        if !turn.take(condition.comparisons(), table.name.len()) {
            tokio::task::yield_now().await;
            turn = ScanTurn::new();
        }
        if !condition.accepts_table(&table.position) {
            continue;
        }
        if found.len() == limit {
            next = continuation::of_table(&table.position, table.created, page, rules);
            break;
        }
        found.push(table);
    }

    let is_full = rules.has_empty_last_page && page.is_filtered && found.len() == limit;
    if let (Some(last), true) = (found.last(), next.is_empty() && (is_full || choices.ends_empty)) {
        next = continuation::of_table(&format!("{}\0", last.position), last.created, page, rules);
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

/// Returns a filter that compares the form of a name by which tables are ordered.
///
/// On Storage this is without case: the suite of fast-azure-storage finds a table `AAAAAAAA` from `aa` on, on live
/// accounts.
fn compared(filter: &Expression, rules: &ServiceRules) -> Expression {
    filter.clone().map_comparisons(&|name, value| match value {
        EdmValue::String(text) if name == TABLE_NAME => (TABLE_NAME, rules.table_key(&text).into()),
        // A table has no other property.
        value => ("", value),
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
    let (rules, settings) = (call.site().rules, call.caller.settings);
    rules.table_names.check_deleted(table)?;
    store.delete_table(call.replica(), table, trace.time, settings.deletion_time(rules))?;
    Ok(OperationResponse::no_content())
}

/// Returns the parameters of the JSON of tables. `$select` has no effect on it.
fn shape<'s>(call: &'s OperationCall<'_>, level: Level) -> PayloadShape<'s> {
    PayloadShape {
        select: None,
        ..call.shape("Tables", level)
    }
}
