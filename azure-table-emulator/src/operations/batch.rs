//! Entity group transactions: several changes as one, or a single query in a batch.
//!
//! Applies the rules of a batch and writes the multipart response. Each operation is checked on its own, with the
//! credential of the request around them. `request/inbound/batch.rs` parses the parts, `operations.rs` each operation,
//! and `store.rs` makes all changes or none.
//!
//! Not confirmed: the index and text for more than 100 changes; the form of the rejection of a second change set; the
//! codes for a query among other parts and for a batch that cannot be parsed (400 InvalidInput); the form in which an
//! operation is rejected that a shared access signature does not permit (here like any other failure of an operation).
//!
//! Source: REST "Performing entity group transactions"; recorded requests and answers of several SDKs.

use std::borrow::Cow;
use std::collections::HashSet;

use azure_table_wire::request::inbound::batch::Batch;
use azure_table_wire::request::inbound::target::Target;
use azure_table_wire::request::inbound::{Inbound, Verb};
use azure_table_wire::value::guid::Guid;
use http::HeaderMap;

use crate::load::{Demand, Work};
use crate::operations::entities;
use crate::operations::query;
use crate::operations::{Caller, OperationCall};
use crate::response::format::ErrorForm;
use crate::response::{Content, OperationResponse, Trace};
use crate::rules::service_error::{RaisedBy, Result, ServiceError};
use crate::rules::{MAX_BATCH_OPERATIONS, MAX_URL, ServiceRules, url_too_long};
use crate::store::{Change, SharedStore};

/// Returns the beginning of a part that contains an HTTP message, from the boundary on.
fn http_part(boundary: &str, rules: &ServiceRules) -> String {
    let end = rules.batch_line_end;
    format!("--{boundary}{end}Content-Type: application/http{end}Content-Transfer-Encoding: binary{end}{end}")
}

/// The calls of a batch.
pub(crate) struct BatchCalls<'a> {
    caller: &'a Caller<'a>,
    request: &'a Inbound<'a>,
    /// `None` if the body is not a batch.
    batch: Option<&'a Batch<'a>>,
    calls: Vec<Result<(OperationCall<'a>, Result<Change<'a>>)>>,
}

impl<'a> BatchCalls<'a> {
    /// Parses the operations of a batch. Faults are reported when it is executed.
    pub(crate) fn parse(caller: &'a Caller<'a>, request: &'a Inbound<'a>, batch: Option<&'a Batch<'a>>) -> Self {
        let parse = |operation: &'a Inbound<'a>| {
            // Cosmos DB accepts a MERGE here (recorded once).
            if operation.method == "PATCH" && !caller.site.takes_merge() {
                return Err(ServiceError::METHOD_NOT_ALLOWED);
            }
            let call = OperationCall::parse(caller, operation)?;
            let change = match call.verb {
                // A query is placed outside of change sets (documented).
                Verb::Get => Err(ServiceError::INVALID_INPUT),
                _ => entities::change(&call),
            };
            Ok((call, change))
        };
        let operations = batch.map_or(&[][..], |batch| &batch.operations);
        Self {
            caller,
            request,
            batch,
            calls: operations.iter().map(parse).collect(),
        }
    }

    /// Returns the demand: one request for one partition, with as many entities as there are operations.
    pub(crate) fn demand(&self) -> Option<Demand> {
        let (call, change) = self.calls.first()?.as_ref().ok()?;
        let first = entities::demand(call, change.as_ref().ok())?;
        Some(match self.batch?.change_sets {
            0 => first,
            _ => Demand {
                work: Work::Write(self.calls.len() as u64),
                ..first
            },
        })
    }

    /// Executes `POST /$batch`.
    pub(crate) async fn execute(mut self, store: &SharedStore, trace: &Trace) -> Result<OperationResponse> {
        if self.request.method != "POST" {
            return Err(ServiceError::METHOD_NOT_ALLOWED);
        }
        if self.request.body.len() > self.caller.site.rules.max_batch_bytes {
            return Err(ServiceError::BODY_TOO_LARGE);
        }
        let batch = self.batch.ok_or(ServiceError::INVALID_INPUT)?;
        if batch.longest_url > MAX_URL {
            return Err(ServiceError::INVALID_INPUT.because(url_too_long(batch.longest_url)));
        }
        let (outer, inner) = boundaries();
        let mut out = Vec::new();
        if batch.change_sets == 0 {
            let response = self.lone_query(store, batch, trace).await?;
            let note = response.note.clone().of_batch(1);
            out.extend_from_slice(http_part(&outer, trace.rules).as_bytes());
            response.write_part(&mut out, None, trace.rules);
            return Ok(OperationResponse {
                rows: response.rows,
                note,
                ..ended(out, &outer)
            });
        }
        let count = self.calls.len() + usize::from(batch.has_empty_part);
        let responses = self.change_set(store, batch, trace)?;
        let rejected = responses.iter().find(|(response, _)| response.rejected.is_some());
        let note = rejected.map(|(response, _)| response.note.clone()).unwrap_or_default();
        write_change_set(&mut out, (&outer, &inner), &responses, trace.rules);
        for _ in 1..batch.change_sets {
            // The first is executed, all others are rejected (documented).
            let response =
                OperationResponse::service_error(&ServiceError::INVALID_INPUT, ErrorForm::of(self.request), trace);
            write_change_set(&mut out, (&outer, &inner), &[(response, None)], trace.rules);
        }
        Ok(OperationResponse {
            note: note.of_batch(count),
            ..ended(out, &outer)
        })
    }

    /// Applies the changes of the change set. Returns a response for each, or a single one for the failed change.
    fn change_set(&mut self, store: &SharedStore, batch: &Batch<'_>, trace: &Trace) -> Result<Vec<ResponsePart>> {
        let rules = self.caller.site.rules;
        let operations = &batch.operations;
        if operations.is_empty() && rules.rejects_whole_batches {
            return Err(ServiceError::EMPTY_BATCH);
        }
        // Recorded of a C++ SDK that omitted the line end between two headers.
        let is_unreadable = batch.has_empty_part || operations.iter().any(has_invalid_length);
        if is_unreadable && !rules.rejects_whole_batches {
            return Ok(vec![(OperationResponse::unreadable_part(trace), None)]);
        }
        // A content id before the request line, as a header of the part, is not echoed (recorded of azure-data-tables,
        // 12 sessions of 2023 to 2026).
        let content_id = |index: usize| {
            let operation = operations.get(index).filter(|_| !rules.numbers_changes)?;
            operation.headers.get("content-id").map(Cow::into_owned)
        };
        match self.apply(store, trace) {
            Ok(responses) => Ok((1..)
                .zip(responses)
                .map(|(n, response)| {
                    let own = || rules.numbers_changes.then(|| n.to_string());
                    (response, content_id(n - 1).or_else(own))
                })
                .collect()),
            Err((_, service_error)) if rules.rejects_whole_batches && service_error.raised_by == RaisedBy::FrontEnd => {
                Err(service_error)
            }
            Err((index, service_error))
                if rules.rejects_whole_batches && service_error == ServiceError::DUPLICATE_ROW =>
            {
                Err(rules.at_index(service_error, index, operations.len()))
            }
            Err((index, service_error)) => {
                let form = form_of_part(operations.get(index).ok_or(ServiceError::INVALID_INPUT)?);
                let service_error = rules.at_index(service_error, index, operations.len());
                let response = OperationResponse::service_error(&service_error, form, trace);
                Ok(vec![(response, content_id(index))])
            }
        }
    }

    fn apply(
        &mut self,
        shared: &SharedStore,
        trace: &Trace,
    ) -> std::result::Result<Vec<OperationResponse>, (usize, ServiceError)> {
        if self.calls.len() > MAX_BATCH_OPERATIONS {
            return Err((MAX_BATCH_OPERATIONS - 1, ServiceError::TOO_MANY_CHANGES));
        }
        let site = self.caller.site;
        let parsed = std::mem::take(&mut self.calls).into_iter().enumerate();
        let (calls, read): (Vec<OperationCall<'_>>, Vec<Result<Change<'_>>>) = parsed
            .map(|(index, call)| call.map_err(|service_error| (index, service_error)))
            .collect::<std::result::Result<_, _>>()?;
        let Some(table) = calls.first().map(|call| call.target.table().unwrap_or_default()) else {
            return Ok(Vec::new());
        };
        let mut changes: Vec<Change<'_>> = Vec::with_capacity(calls.len());
        let mut fault = None;
        for (index, (call, change)) in calls.iter().zip(read).enumerate() {
            let partition = changes.first().map(|first| &first.id.partition_key);
            match change {
                Err(service_error) => fault = Some((index, service_error)),
                Ok(change)
                    if !site.is_same_table(table, call.target.table().unwrap_or_default())
                        || partition.is_some_and(|partition| *partition != change.id.partition_key) =>
                {
                    let service_error = site.rules.other_partition.clone();
                    let is_of_all = service_error == ServiceError::OTHER_PARTITION;
                    fault = Some((if is_of_all { 0 } else { index }, service_error));
                }
                Ok(change) => changes.push(change),
            }
            if fault.is_some() {
                break;
            }
        }
        let mut row_keys = HashSet::with_capacity(changes.len());
        // These are before the other fault, if there is one.
        if let Some(index) = changes.iter().position(|change| !row_keys.insert(&*change.id.row_key)) {
            return Err((index, ServiceError::DUPLICATE_ROW));
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        let mut store = shared.write();
        let partition = changes.first().map_or("", |change| &*change.id.partition_key);
        let timestamp = self.caller.settings.timestamps(partition);
        let applied = store.apply_stamped(site.replica(), table, changes, trace.time, timestamp)?;
        let responses = calls.iter().zip(applied).enumerate().map(|(index, (call, applied))| {
            entities::written(&store, call, applied).map_err(|service_error| (index, service_error))
        });
        responses.collect()
    }

    /// Executes the query that is the only part of a batch.
    async fn lone_query(&self, store: &SharedStore, batch: &Batch<'_>, trace: &Trace) -> Result<OperationResponse> {
        let (Some(call), Some(operation)) = (self.calls.first(), batch.operations.first()) else {
            return Err(ServiceError::INVALID_INPUT);
        };
        let outcome = match call {
            Ok((call, _)) => read(store, call).await,
            Err(service_error) => Err(service_error.clone()),
        };
        Ok(outcome.unwrap_or_else(|service_error| {
            // Here the index precedes the text of every error (recorded).
            let service_error = ServiceError {
                message: format!("0:{}", service_error.message).into(),
                ..service_error
            };
            OperationResponse::service_error(&service_error, form_of_part(operation), trace)
        }))
    }
}

/// Returns the response to a batch in which the operation at an index fails, or the last one if there are fewer.
pub(crate) fn failed_at(
    index: usize,
    service_error: ServiceError,
    headers: HeaderMap,
    (request, trace): (&Inbound<'_>, &Trace),
) -> OperationResponse {
    let batch = request.batch();
    let operations = batch.as_ref().map_or(&[][..], |batch| &batch.operations);
    let index = index.min(operations.len().saturating_sub(1));
    let form = operations.get(index).map(form_of_part).unwrap_or_default();
    let service_error = trace.rules.at_index(service_error, index, operations.len());
    let failed = OperationResponse::service_error(&service_error, form, trace);
    let failed = OperationResponse {
        note: failed.note.clone().of_batch(operations.len()),
        injected: Some(Box::new(headers)),
        ..failed
    };
    with_only_part(failed, trace.rules)
}

/// Returns the response to a batch with an error as its only part.
pub(crate) fn with_only_part(response: OperationResponse, rules: &ServiceRules) -> OperationResponse {
    let (outer, inner) = boundaries();
    let mut out = Vec::new();
    let note = response.note.clone();
    write_change_set(&mut out, (&outer, &inner), &[(response, None)], rules);
    OperationResponse {
        note,
        ..ended(out, &outer)
    }
}

/// Creates new boundaries for a response and its change sets.
fn boundaries() -> (String, String) {
    (
        format!("batchresponse_{}", Guid::random()),
        format!("changesetresponse_{}", Guid::random()),
    )
}

fn ended(mut out: Vec<u8>, boundary: &str) -> OperationResponse {
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let content = Content::Other(format!("multipart/mixed; boundary={boundary}"));
    OperationResponse::new(202, out, content)
}

type ResponsePart = (OperationResponse, Option<String>);

fn write_change_set(
    out: &mut Vec<u8>,
    (boundary, inner): (&str, &str),
    responses: &[ResponsePart],
    rules: &ServiceRules,
) {
    let head = format!("--{boundary}\r\nContent-Type: multipart/mixed; boundary={inner}\r\n\r\n");
    out.extend_from_slice(head.as_bytes());
    let part = http_part(inner, rules);
    for (response, content_id) in responses {
        out.extend_from_slice(part.as_bytes());
        response.write_part(out, content_id.as_deref(), rules);
    }
    out.extend_from_slice(format!("--{inner}--{}", rules.batch_line_end).as_bytes());
}

fn has_invalid_length(operation: &Inbound<'_>) -> bool {
    let length = operation.headers.get("content-length");
    length.is_some_and(|length| length.parse::<u64>().is_err())
}

/// Returns the form of an error within the response. On Cosmos DB it ignores the format that the request accepts.
fn form_of_part(request: &Inbound<'_>) -> ErrorForm {
    ErrorForm {
        is_conditional: true,
        is_data_xml: false,
        ..ErrorForm::of(request)
    }
}

async fn read(store: &SharedStore, call: &OperationCall<'_>) -> Result<OperationResponse> {
    match (call.verb, call.target) {
        (Verb::Get, Target::Entity(table, id)) => entities::get(&store.read(), call, table, id),
        (Verb::Get, Target::Entities(table)) => query::page(store, call, table).await,
        _ => Err(ServiceError::INVALID_INPUT),
    }
}
