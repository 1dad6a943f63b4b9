//! The operations of a batch for an observer, read from the bodies of the request and its response.
//!
//! The bodies are shared, and parsed only for an observer that wants the operations.

use std::fmt;

use azure_table_wire::codec::multipart::{HttpParts, Message};
use azure_table_wire::codec::xml;
use azure_table_wire::error::Result;
use azure_table_wire::request::inbound::Inbound;
use azure_table_wire::request::inbound::target::{Paths, Target};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri};
use serde::Deserialize;

use crate::rules::ServiceRules;
use crate::rules::table_name::TableNames;

/// An operation of a batch that an [`Emulator`](crate::Emulator) answered. Feature `emulator`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchedOperation {
    /// The method as it was sent, tunnelled or not.
    pub method: String,
    /// The table.
    pub table: Option<String>,
    /// The PartitionKey in the URL, or in the entity.
    pub partition_key: Option<String>,
    /// The RowKey in the URL, or in the entity.
    pub row_key: Option<String>,
    /// The header If-Match.
    pub if_match: Option<String>,
    /// The status of its response; `None` if another operation failed.
    pub status: Option<StatusCode>,
}

/// The messages of a batch.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct BatchMessages {
    prefix: String,
    names_have_parentheses: bool,
    request: (HeaderValue, Bytes),
    response: Option<(HeaderValue, Bytes)>,
}

#[derive(Deserialize)]
struct Keys {
    #[serde(rename = "PartitionKey")]
    partition_key: Option<String>,
    #[serde(rename = "RowKey")]
    row_key: Option<String>,
}

impl BatchMessages {
    /// Returns the messages of a batch, `None` for another request.
    pub(super) fn of(request: &Request<Bytes>, rules: &ServiceRules) -> Option<Self> {
        let prefix = request.uri().path().strip_suffix("/$batch")?;
        Some(Self {
            prefix: prefix.to_owned(),
            names_have_parentheses: rules.table_names == TableNames::AnyScript,
            request: (request.headers().get(CONTENT_TYPE)?.clone(), request.body().clone()),
            response: None,
        })
    }

    pub(super) fn add_response(&mut self, response: &Response<Bytes>) {
        let content_type = response.headers().get(CONTENT_TYPE).cloned();
        self.response = content_type.map(|content_type| (content_type, response.body().clone()));
    }

    /// Returns the operations. A response with fewer parts is the error of one of them.
    pub(super) fn operations(&self) -> Vec<BatchedOperation> {
        let (content_type, body) = &self.request;
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, content_type.clone())]);
        let paths = Paths {
            prefix: &self.prefix,
            ignores_further_segments: false,
            names_have_parentheses: self.names_have_parentheses,
        };
        let uri = Uri::from_static("/$batch");
        let request = Inbound::at(paths, (&Method::POST, &uri), &headers, body);
        let Some(batch) = request.batch() else {
            return Vec::new();
        };
        let statuses = self.statuses().unwrap_or_default();
        let count = batch.operations.len();
        let status_of = |at: usize| match statuses[..] {
            [(status, index)] if count > 1 => (at == index).then_some(status),
            _ => statuses.get(at).map(|(status, _)| *status),
        };
        let operations = batch.operations.iter().enumerate();
        operations.map(|(at, it)| operation(it, status_of(at))).collect()
    }

    /// Returns the status of each part, and the index in its error.
    fn statuses(&self) -> Option<Vec<(StatusCode, usize)>> {
        let (content_type, body) = self.response.as_ref()?;
        let parts = HttpParts::of(body, content_type.to_str().ok()?).ok()?;
        let status = |part: Result<Message<'_>>| {
            let part = part.ok()?;
            let status = StatusCode::from_u16(part.status().ok()?).ok()?;
            Some((status, index(part.body)))
        };
        parts.map(status).collect()
    }
}

/// Returns the index at the beginning of an error's text, otherwise that of the first operation.
fn index(body: &[u8]) -> usize {
    let text = std::str::from_utf8(body).unwrap_or_default();
    let json = serde_json::from_str::<serde_json::Value>(text).ok();
    let json = json
        .as_ref()
        .and_then(|json| json.pointer("/odata.error/message/value")?.as_str());
    let message = match json {
        Some(message) => Some(message.to_owned()),
        None => xml::error(text).and_then(|(_, message)| message),
    };
    let index = message
        .as_deref()
        .and_then(|message| message.split_once(':')?.0.parse().ok());
    index.unwrap_or_default()
}

fn operation(request: &Inbound<'_>, status: Option<StatusCode>) -> BatchedOperation {
    let (partition_key, row_key) = match &request.target {
        Ok(Target::Entity(_, id)) => (Some(id.partition_key.to_string()), Some(id.row_key.to_string())),
        _ => match serde_json::from_slice::<Keys>(request.body) {
            Ok(keys) => (keys.partition_key, keys.row_key),
            Err(_) => (None, None),
        },
    };
    BatchedOperation {
        method: request.method.to_owned(),
        table: request.table(),
        partition_key,
        row_key,
        if_match: request.headers.get("if-match").map(|etag| etag.into_owned()),
        status,
    }
}

/// Shows no body.
impl fmt::Debug for BatchMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchMessages").finish_non_exhaustive()
    }
}
