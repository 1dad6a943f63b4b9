//! A run as a story: one line for each request.
//!
//! Defines [`StoryLine`], the line of an event, and the table of all lines. Bodies are shortened. A condition names the
//! line in which the task received the ETag.

use std::fmt::{self, Write as _};

use azure_table_wire::codec::multipart::HttpParts;
use azure_table_wire::codec::url;
use azure_table_wire::response;
use azure_table_wire::transport::TransportError;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG, IF_MATCH};
use http::{HeaderMap, Request, Response};

use crate::address::Address;
use crate::explore::event::{Choice, RequestOutcome, Step};

/// The maximum number of characters of a body.
const MAX_OF_BODY: usize = 120;
/// The members of a row that a story omits. The line of a request begins with the keys.
const LEFT_OUT: [&str; 3] = ["PartitionKey", "RowKey", "Timestamp"];

/// An event as its task saw it.
#[derive(Clone, Debug, Default)]
pub struct StoryLine {
    task: String,
    request: String,
    if_match: Option<String>,
    response_text: String,
    etag: Option<String>,
}

impl StoryLine {
    /// Returns the line of a jump of the clock.
    pub fn clock() -> Self {
        Self {
            task: "clock".to_owned(),
            request: "time advances".to_owned(),
            ..Self::default()
        }
    }

    /// Returns the line of the crash of a process that waits for a timer.
    pub fn death(process: &str) -> Self {
        Self {
            task: process.to_owned(),
            request: "waits for a timer".to_owned(),
            response_text: "its process crashes".to_owned(),
            ..Self::default()
        }
    }

    /// Returns the line of an executed request.
    pub fn of(choice: &Choice, request: &Request<Bytes>, response: &Result<Response<Bytes>, TransportError>) -> Self {
        let address = Address::of(request.uri());
        let path = short(&address.path, request.body());
        let query = url::decode(&address.query).unwrap_or(address.query);
        let mark = if query.is_empty() { "" } else { "?" };
        let mut line = Self {
            request: format!(
                "{} {path}{mark}{query}{}",
                request.method(),
                body_of(request.headers(), request.body())
            ),
            if_match: text_of(request.headers(), IF_MATCH),
            ..Self::default()
        };
        line.response_text = match (choice.outcome, response) {
            (RequestOutcome::RequestLost, _) => "never arrived".to_owned(),
            (RequestOutcome::ResponseLost, _) => "carried out, the response lost".to_owned(),
            (RequestOutcome::Crash, _) => "in flight, its process crashes".to_owned(),
            (RequestOutcome::CrashAfter, _) => "carried out, its process crashes".to_owned(),
            (RequestOutcome::Delivered, Err(e)) => e.to_string(),
            (RequestOutcome::Delivered, Ok(response)) => {
                line.etag = text_of(response.headers(), ETAG).or_else(|| etag_of(response.body()));
                response_text(response)
            }
        };
        match &choice.step {
            Step::Request(id) => line.task = id.client.to_string(),
            Step::Late(id) => {
                line.task = id.client.to_string();
                line.response_text += ", arrived late";
            }
            Step::Death(_) | Step::Clock => {}
        }
        line
    }
}

/// The lines of a run.
#[derive(Debug)]
pub struct Story<'a>(pub(crate) &'a [StoryLine]);

impl fmt::Display for Story<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = Vec::with_capacity(self.0.len());
        for (number, line) in self.0.iter().enumerate() {
            let mut request = line.request.clone();
            if let Some(condition) = &line.if_match {
                let _ = write!(request, " {}", self.condition(condition, number));
            }
            rows.push((line.task.as_str(), request, line.response_text.as_str()));
        }
        let width = |text: &str| text.chars().count();
        let task = rows.iter().map(|(task, ..)| width(task)).max().unwrap_or_default();
        let request = rows.iter().map(|(_, request, _)| width(request)).max();
        let request = request.unwrap_or_default().min(90);
        for (number, (own_task, own_request, response_text)) in rows.iter().enumerate() {
            let line = format!(
                "{:>4}  {own_task:task$}  {own_request:request$}  {response_text}",
                number + 1
            );
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl Story<'_> {
    /// Describes the condition of a request.
    fn condition(&self, etag: &str, number: usize) -> String {
        if etag == "*" {
            return "if it exists".to_owned();
        }
        let has_seen = |line: &&StoryLine| line.etag.as_deref() == Some(etag);
        let is_own = |line: &&StoryLine| line.task == self.0[number].task;
        let earlier = || self.0[..number].iter();
        let own = earlier().rposition(|line| has_seen(&line) && is_own(&line));
        match own.or_else(|| earlier().rposition(|line| has_seen(&line))) {
            Some(at) => format!("if unchanged since {}", at + 1),
            None => format!("if {etag}"),
        }
    }
}

/// Returns a path in short notation: `Blogs('p','r')`. An insert has the keys in its body.
fn short(path: &str, body: &[u8]) -> String {
    let path = url::decode(path.trim_start_matches('/')).unwrap_or_else(|| path.to_owned());
    let path = path
        .replacen("(PartitionKey='", "('", 1)
        .replacen("',RowKey='", "','", 1);
    let row: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    match (row["PartitionKey"].as_str(), row["RowKey"].as_str()) {
        (Some(partition_key), Some(row_key)) if !path.contains('(') => format!("{path}('{partition_key}','{row_key}')"),
        _ => path,
    }
}

fn text_of(headers: &HeaderMap, name: http::HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// Returns the ETag in the body of a row.
fn etag_of(body: &[u8]) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    body.get("odata.etag")?.as_str().map(str::to_owned)
}

fn response_text(response: &Response<Bytes>) -> String {
    let status = response.status().as_u16();
    let body = response.body();
    if !response.status().is_success() {
        let error = response::error(response);
        return format!("{status} {}", error.code().unwrap_or_default())
            .trim_end()
            .to_owned();
    }
    format!("{status}{}", body_of(response.headers(), body))
}

/// Returns a body with a space before it, or an empty text.
fn body_of(headers: &HeaderMap, body: &[u8]) -> String {
    if body.is_empty() {
        return String::new();
    }
    let content_type = text_of(headers, CONTENT_TYPE).unwrap_or_default();
    if content_type.starts_with("multipart/")
        && let Some(lines) = parts(body, &content_type)
    {
        return format!(" [{lines}]");
    }
    let text = match serde_json::from_slice::<serde_json::Value>(body) {
        Ok(serde_json::Value::Object(mut members)) => {
            let rows = members.remove("value");
            members.retain(|name, _| !name.contains("odata.") && !LEFT_OUT.contains(&&**name));
            match rows {
                Some(serde_json::Value::Array(rows)) => format!("{} rows", rows.len()),
                _ if members.is_empty() => return String::new(),
                _ => serde_json::Value::Object(members).to_string(),
            }
        }
        _ => String::from_utf8_lossy(body).into_owned(),
    };
    match text.char_indices().nth(MAX_OF_BODY) {
        Some((end, _)) => format!(" {}…", &text[..end]),
        None => format!(" {text}"),
    }
}

/// Returns the parts of a batch: the first lines of its requests with their bodies, or the statuses of its responses.
fn parts(body: &[u8], content_type: &str) -> Option<String> {
    let parts = HttpParts::of(body, content_type).ok()?;
    let line = |part: azure_table_wire::codec::multipart::Message<'_>| match part.start_line.strip_suffix(" HTTP/1.1") {
        Some(request) => {
            let (method, address) = request.split_once(' ')?;
            let path = Address::of(&address.parse().ok()?).path;
            Some(format!(
                "{method} {}{}",
                short(&path, part.body),
                body_of(&HeaderMap::new(), part.body)
            ))
        }
        None => part.start_line.split(' ').nth(1).map(str::to_owned),
    };
    let lines: Option<Vec<String>> = parts.map(|part| line(part.ok()?)).collect();
    Some(lines?.join("; "))
}
