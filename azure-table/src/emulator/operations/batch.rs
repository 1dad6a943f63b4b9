//! Entity group transactions: several changes as one, or a single query in a batch.
//!
//! Owns the rules of a batch and the multipart response. Each operation is checked by itself, but only the request
//! around them has a credential. `codec/multipart.rs` parses the text of requests, `operations.rs` each operation, and
//! `store.rs` makes all changes or none.
//!
//! Not confirmed: the index and text for more than 100 changes; the form of the rejection of a second change set; the
//! codes for a query among other parts and for a batch that cannot be parsed (400 InvalidInput); the form in which an
//! operation is rejected that a shared access signature does not permit (here like any other failure of an operation).
//!
//! Source: REST "Performing entity group transactions"; recorded requests and answers of several SDKs.

use std::borrow::Cow;
use std::collections::HashSet;

use memchr::memmem;

use crate::codec::multipart::{self, Message};
use crate::emulator::load::{Demand, Work};
use crate::emulator::operations::entities;
use crate::emulator::operations::query;
use crate::emulator::operations::{Call, Caller};
use crate::emulator::request::{ErrorForm, JsonForm, Request, Verb};
use crate::emulator::response::{Answer, Content, Trace};
use crate::emulator::rules::refusal::{RaisedBy, Refusal, Result};
use crate::emulator::rules::{MAX_BATCH_OPERATIONS, MAX_URL, Rules};
use crate::emulator::site::{Resource, too_long};
use crate::emulator::store::{Change, SharedStore};
use crate::model::guid::Guid;

/// Returns the beginning of a part that contains an HTTP message, from the boundary on.
fn http_part(boundary: &str, rules: &Rules) -> String {
    let end = rules.batch_line_end;
    format!("--{boundary}{end}Content-Type: application/http{end}Content-Transfer-Encoding: binary{end}{end}")
}

/// Executes `POST /$batch`.
pub(crate) async fn run(
    store: &SharedStore,
    caller: Caller<'_>,
    request: &Request<'_>,
    trace: &Trace,
) -> Result<Answer> {
    if request.body.len() > caller.site.rules.max_batch_bytes {
        return Err(Refusal::BODY_TOO_LARGE);
    }
    let content_type = request.headers.header("content-type").unwrap_or_default();
    let body = closed(request.body, boundary(&content_type)?);
    let mut parts = parts(&body, &content_type)?;
    parts.retain(|part| !is_empty(part));
    let (outer, inner) = boundaries();
    let mut out = Vec::new();
    let mut rows = 0;
    let note;
    match parts.as_slice() {
        [] => return Err(Refusal::INVALID_INPUT),
        [only] if !is_change_set(only) => {
            let answer = lone_query(store, caller, only, trace).await?;
            rows = answer.rows;
            note = answer.note.clone().of_batch(1);
            out.extend_from_slice(http_part(&outer, trace.rules).as_bytes());
            answer.write_part(&mut out, None, trace.rules);
        }
        [first, further @ ..] if is_change_set(first) => {
            let (answers, count) = change_set(store, caller, first, trace)?;
            let refused = answers.iter().find(|(answer, _)| answer.refused.is_some());
            let refused = refused.map(|(answer, _)| answer.note.clone());
            note = refused.unwrap_or_default().of_batch(count);
            write_change_set(&mut out, (&outer, &inner), &answers, trace.rules);
            for _ in further {
                // The first is executed, all others are rejected (documented).
                let refused = (
                    Answer::refusal(&Refusal::INVALID_INPUT, request.error_form(), trace),
                    None,
                );
                write_change_set(&mut out, (&outer, &inner), &[refused], trace.rules);
            }
        }
        _ => return Err(Refusal::INVALID_INPUT),
    }
    Ok(Answer {
        rows,
        note,
        ..ended(out, &outer)
    })
}

/// Returns the response to a batch whose only part reports exceeded capacity.
pub(crate) fn refused(answer: Answer, rules: &Rules) -> Answer {
    let (outer, inner) = boundaries();
    let mut out = Vec::new();
    let note = answer.note.clone();
    write_change_set(&mut out, (&outer, &inner), &[(answer, None)], rules);
    Answer {
        note,
        ..ended(out, &outer)
    }
}

/// Returns the demand of a batch: one request for one partition, with as many entities as it has operations. Only the
/// first operation is parsed here. Faults of the others are reported when they are executed.
pub(crate) fn demand(caller: Caller<'_>, request: &Request<'_>) -> Result<Demand> {
    let content_type = request.headers.header("content-type").unwrap_or_default();
    let text = std::str::from_utf8(request.body).map_err(|_| Refusal::INVALID_INPUT)?;
    let (first, _) = pieces(text, boundary(&content_type)?)?;
    let outer = part(first)?;
    if !is_change_set(&outer) {
        return demand_of(caller, &outer);
    }
    let content_type = Message::header(&outer, "content-type").unwrap_or_default();
    let (first, operations) = pieces(text, boundary(content_type)?)?;
    Ok(Demand {
        work: Work::Write(operations),
        ..demand_of(caller, &part(first)?)?
    })
}

/// Returns the text between the first two boundaries, and the number of such pieces.
fn pieces<'a>(text: &'a str, boundary: &str) -> Result<(&'a str, u64)> {
    let delimiter = format!("--{boundary}");
    let mut pieces = text.split(&*delimiter).skip(1);
    let first = pieces.next().ok_or(Refusal::INVALID_INPUT)?;
    // The last piece is after the last boundary.
    Ok((first, pieces.count().max(1) as u64))
}

fn part(piece: &str) -> Result<Message<'_>> {
    let part = multipart::part(piece.trim().as_bytes()).ok();
    part.filter(Message::has_headers).ok_or(Refusal::INVALID_INPUT)
}

fn demand_of(caller: Caller<'_>, part: &Message<'_>) -> Result<Demand> {
    let message = multipart::http_message(part.body).map_err(|_| Refusal::INVALID_INPUT)?;
    let request = request(&message)?;
    entities::demand(&Call::parse(caller, &request)?)
}

/// Creates new boundaries for a response and its change sets.
fn boundaries() -> (String, String) {
    (
        format!("batchresponse_{}", Guid::random()),
        format!("changesetresponse_{}", Guid::random()),
    )
}

fn ended(mut out: Vec<u8>, boundary: &str) -> Answer {
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let content = Content::Other(format!("multipart/mixed; boundary={boundary}"));
    Answer::new(202, out, content)
}

type AnswerPart = (Answer, Option<String>);

fn write_change_set(out: &mut Vec<u8>, (boundary, inner): (&str, &str), answers: &[AnswerPart], rules: &Rules) {
    let head = format!("--{boundary}\r\nContent-Type: multipart/mixed; boundary={inner}\r\n\r\n");
    out.extend_from_slice(head.as_bytes());
    for (answer, content_id) in answers {
        out.extend_from_slice(http_part(inner, rules).as_bytes());
        answer.write_part(out, content_id.as_deref(), rules);
    }
    out.extend_from_slice(format!("--{inner}--{}", rules.batch_line_end).as_bytes());
}

fn is_change_set(part: &Message<'_>) -> bool {
    Message::header(part, "content-type").is_some_and(|value| value.to_ascii_lowercase().starts_with("multipart/mixed"))
}

fn is_empty(part: &Message<'_>) -> bool {
    Message::header(part, "content-type").is_none() && part.body.trim_ascii().is_empty()
}

fn has_invalid_length(message: &Message<'_>) -> bool {
    let length = Message::header(message, "content-length");
    length.is_some_and(|length| length.parse::<u64>().is_err())
}

fn boundary(content_type: &str) -> Result<&str> {
    multipart::boundary(content_type).map_err(|_| Refusal::INVALID_INPUT)
}

fn parts<'a>(body: &'a [u8], content_type: &str) -> Result<Vec<Message<'a>>> {
    let parts = multipart::parts(body, boundary(content_type)?).ok();
    let is_good = |parts: &Vec<Message<'_>>| parts.iter().all(Message::has_headers);
    parts.filter(is_good).ok_or(Refusal::INVALID_INPUT)
}

/// Parses the request line and headers of a part. Its URL may be as long as that of a separate request, although no
/// server receives it.
fn request<'a>(message: &'a Message<'a>) -> Result<Request<'a>> {
    let (method, uri) = request_line(message).ok_or(Refusal::INVALID_INPUT)?;
    if uri.len() > MAX_URL {
        return Err(Refusal::INVALID_INPUT.because(too_long(uri.len())));
    }
    // Absolute URLs and bare paths are both accepted (recorded).
    let path = match uri.split_once("://") {
        Some((_, rest)) => &rest[rest.find('/').ok_or(Refusal::INVALID_INPUT)?..],
        None => uri,
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    Ok(Request {
        method,
        path,
        query,
        headers: message,
        body: message.body,
    })
}

fn request_line<'a>(message: &'a Message<'_>) -> Option<(&'a str, &'a str)> {
    let (method, rest) = message.start_line.split_once(' ').filter(|_| message.has_headers())?;
    let (uri, _version) = rest.rsplit_once(" HTTP/")?;
    Some((method, uri))
}

/// Applies the changes of a change set. Returns a response for each, or a single one for the failed change, and the
/// number of changes.
fn change_set(
    store: &SharedStore,
    caller: Caller<'_>,
    part: &Message<'_>,
    trace: &Trace,
) -> Result<(Vec<AnswerPart>, usize)> {
    let content_type = Message::header(part, "content-type").unwrap_or_default();
    let body = with_line_ends(part.body, boundary(content_type)?);
    let parts = parts(&body, content_type)?;
    if let [only] = parts.as_slice()
        && is_empty(only)
    {
        return match caller.site.rules.answers_empty_parts {
            true => Ok((vec![(Answer::of_unreadable_part(trace), None)], 1)),
            false => Err(Refusal::EMPTY_BATCH),
        };
    }
    if parts.is_empty() && !caller.site.rules.answers_empty_parts {
        return Err(Refusal::EMPTY_BATCH);
    }
    let messages: Vec<Message<'_>> = parts
        .iter()
        .map(|part| multipart::http_message(part.body).map_err(|_| Refusal::INVALID_INPUT))
        .collect::<Result<_>>()?;
    let requests: Vec<Request<'_>> = messages.iter().map(request).collect::<Result<_>>()?;
    let rules = caller.site.rules;
    // Recorded of a C++ SDK that omitted the line end between two headers.
    if rules.answers_empty_parts && messages.iter().any(has_invalid_length) {
        return Ok((vec![(Answer::of_unreadable_part(trace), None)], requests.len()));
    }
    // A content id before the request line, as a header of the part, is not echoed (recorded of azure-data-tables, 12
    // sessions of 2023 to 2026).
    let content_id = |index: usize| {
        let message = messages.get(index).filter(|_| !rules.numbers_changes);
        let id = message.and_then(|message| Message::header(message, "content-id"));
        id.map(str::to_owned)
    };
    let answers = match apply(store, caller, &requests) {
        Ok(answers) => answers
            .into_iter()
            .enumerate()
            .map(|(n, answer)| {
                let own = || rules.numbers_changes.then(|| (n + 1).to_string());
                (answer, content_id(n).or_else(own))
            })
            .collect(),
        Err((_, refusal)) if rules.rejects_whole_batches && refusal.raised_by == RaisedBy::FrontEnd => {
            return Err(refusal);
        }
        Err((index, refusal)) if rules.rejects_whole_batches && refusal == Refusal::DUPLICATE_ROW => {
            return Err(rules.at_index(refusal, index));
        }
        Err((index, refusal)) => {
            let form = form_of_part(requests.get(index).ok_or(Refusal::INVALID_INPUT)?);
            vec![(
                Answer::refusal(&rules.at_index(refusal, index), form, trace),
                content_id(index),
            )]
        }
    };
    Ok((answers, requests.len()))
}

/// Returns the form of an error within the response. On Cosmos DB it ignores the format that the request accepts.
fn form_of_part(request: &Request<'_>) -> ErrorForm {
    match request.error_form() {
        ErrorForm::Json(form) => ErrorForm::Json(JsonForm {
            is_conditional: true,
            ..form
        }),
        ErrorForm::Xml => ErrorForm::Xml,
    }
}

fn apply(
    shared: &SharedStore,
    caller: Caller<'_>,
    requests: &[Request<'_>],
) -> std::result::Result<Vec<Answer>, (usize, Refusal)> {
    if requests.len() > MAX_BATCH_OPERATIONS {
        return Err((MAX_BATCH_OPERATIONS - 1, Refusal::TOO_MANY_CHANGES));
    }
    let calls: Vec<Call<'_>> = requests
        .iter()
        .enumerate()
        .map(|(index, request)| Call::parse(caller, request).map_err(|refusal| (index, refusal)))
        .collect::<std::result::Result<_, _>>()?;
    let mut first_table: Option<&str> = None;
    let mut changes: Vec<Change> = Vec::with_capacity(calls.len());
    let mut row_keys = HashSet::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        let (table, change) = read_change(call).map_err(|refusal| (index, refusal))?;
        let is_same_table = caller.site.is_same_table(first_table.get_or_insert(table), table);
        let is_same_partition = changes
            .first()
            .is_none_or(|first| first.id.partition_key == change.id.partition_key);
        if !is_same_table || !is_same_partition {
            let refusal = caller.site.rules.other_partition.clone();
            let index = if refusal == Refusal::OTHER_PARTITION { 0 } else { index };
            return Err((index, refusal));
        }
        if !row_keys.insert(change.id.row_key.clone()) {
            return Err((index, Refusal::DUPLICATE_ROW));
        }
        changes.push(change);
    }
    let Some(table) = first_table else {
        return Ok(Vec::new());
    };
    let mut store = shared.write();
    let timestamp = |time| caller.settings.timestamp(time);
    let applied = store.apply_stamped(caller.site.replica(), table, changes, caller.now, timestamp)?;
    let answers = calls.iter().zip(applied).enumerate().map(|(index, (call, applied))| {
        entities::written(&store, call, table, applied).map_err(|refusal| (index, refusal))
    });
    answers.collect()
}

fn read_change<'a>(call: &'a Call<'_>) -> Result<(&'a str, Change)> {
    // A query is placed outside of change sets (documented).
    if call.verb == Verb::Get {
        Err(Refusal::INVALID_INPUT)
    } else {
        entities::change(call)
    }
}

/// Executes the query that is the only part of a batch.
async fn lone_query(store: &SharedStore, caller: Caller<'_>, part: &Message<'_>, trace: &Trace) -> Result<Answer> {
    let message = multipart::http_message(part.body).map_err(|_| Refusal::INVALID_INPUT)?;
    let request = request(&message)?;
    let outcome = match Call::parse(caller, &request) {
        Ok(call) => read(store, &call).await,
        Err(refusal) => Err(refusal),
    };
    Ok(outcome.unwrap_or_else(|refusal| {
        // Here the index precedes the text of every error (recorded).
        let refusal = Refusal {
            message: format!("0:{}", refusal.message).into(),
            ..refusal
        };
        Answer::refusal(&refusal, form_of_part(&request), trace)
    }))
}

async fn read(store: &SharedStore, call: &Call<'_>) -> Result<Answer> {
    match (call.verb, &call.resource) {
        (Verb::Get, Resource::Entity(table, id)) => entities::get(&store.read(), call, table, id),
        (Verb::Get, Resource::Entities(table)) => query::page(store, call, table).await,
        _ => Err(Refusal::INVALID_INPUT),
    }
}

/// Returns the text up to its last boundary. One SDK ends a batch with a boundary that opens another, empty part, and
/// the service accepts that (recorded of the C++ SDK).
fn closed<'a>(body: &'a [u8], boundary: &str) -> Cow<'a, [u8]> {
    let last = format!("--{boundary}--");
    if memmem::rfind(body, last.as_bytes()).is_some() {
        return Cow::Borrowed(body);
    }
    Cow::Owned([body, b"\r\n", last.as_bytes()].concat())
}

/// Returns the text with each boundary at the start of a line. The same SDK omits the line end between a body and the
/// next boundary.
fn with_line_ends<'a>(body: &'a [u8], boundary: &str) -> Cow<'a, [u8]> {
    let delimiter = format!("--{boundary}");
    let mut fixed = Vec::new();
    let mut done = 0;
    for at in memmem::find_iter(body, delimiter.as_bytes()) {
        if at > 0 && body[at - 1] != b'\n' {
            fixed.extend_from_slice(&body[done..at]);
            fixed.extend_from_slice(b"\r\n");
            done = at;
        }
    }
    if done == 0 {
        return Cow::Borrowed(body);
    }
    fixed.extend_from_slice(&body[done..]);
    Cow::Owned(fixed)
}
