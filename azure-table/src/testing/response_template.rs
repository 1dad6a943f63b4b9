//! An answer that a test gives in the service's place.
//!
//! Owns [`ResponseTemplate`]: its status, code, headers and rows, as an answer of its own and as a part of a batch's.
//!
//! One answer serves faults and scripts: a rule puts it in the service's place, and a step of a `Script` is a `Fault`.
//! So a script has no second list of failures. A late answer of a script is `Faults` in front of it.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderMap, Response};

use crate::codec::json::write;
use crate::model::entity::TableEntity;
use crate::model::entity_key::key_texts;
use crate::model::error::{Error, Result};
use crate::model::etag::Condition;

/// The version of a row that does not say its own.
const SOME_ETAG: &str = "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"";
/// When such a row was last written.
const SOME_TIMESTAMP: &str = "2020-01-01T00:00:00Z";
/// The service writes the charset too; nobody looks at it.
const JSON: &str = "application/json";

/// The boundaries of a batch and of its change set.
const OUTER: &str = "batchresponse_test";
const INNER: &str = "changesetresponse_test";

/// An answer in the service's form: a status, and an error as JSON, rows from Rust values, or the parts of a batch.
///
/// It is what a [`Script`](crate::testing::Script) says and what [`Faults`](crate::testing::Faults) put in the
/// service's place. One that HTTP cannot have, and a row that the service would refuse, fail the request as if it had
/// never been sent, with the reason.
///
/// ```
/// use azure_table::DynamicEntity;
/// use azure_table::testing::ResponseTemplate;
/// let gone = ResponseTemplate::new(404).code("TableNotFound").message("The table specified does not exist.");
/// let slow_down = ResponseTemplate::new(503).header("Retry-After", "2");
/// let stored = ResponseTemplate::row(&DynamicEntity::new("Channel9", "1"));
/// let page = ResponseTemplate::page([&DynamicEntity::new("Channel9", "2")]).continuation("Channel9", "3");
/// ```
///
/// Source: REST "Status and error codes", "Query Entities", "Query timeout and pagination".
#[derive(Clone, Debug)]
#[must_use = "an answer does nothing until a rule or a script gives it"]
pub struct ResponseTemplate {
    status: u16,
    headers: Vec<(String, String)>,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    None,
    Error {
        code: String,
        message: String,
    },
    Json(Bytes),
    /// As it came, with its headers.
    Whole(Box<HeaderMap>, Bytes),
    /// Of a batch.
    Parts(Vec<ResponseTemplate>),
    /// It cannot be written: why.
    Impossible(String),
}

impl ResponseTemplate {
    /// An answer without code, headers and body; the status is one from 100 to 999.
    pub fn new(status: u16) -> Self {
        Self::of(status, Content::None)
    }

    fn of(status: u16, content: Content) -> Self {
        Self {
            status,
            headers: Vec::new(),
            content,
        }
    }

    /// What a write is answered with: 204, and an ETag, which [`etag`](Self::etag) changes.
    ///
    /// Source: REST "Insert Entity", "Update Entity".
    pub fn written() -> Self {
        Self::new(204).etag(SOME_ETAG)
    }

    /// What a get is answered with: 200 and the entity as it would be stored, at minimal metadata. Its version is the
    /// ETag that the entity holds, or any; it was last written at the beginning of 2020.
    ///
    /// Source: REST "Query Entities".
    pub fn row<E: TableEntity + ?Sized>(entity: &E) -> Self {
        match row(entity) {
            Ok((etag, body)) => Self::of(200, Content::Json(body.into())).etag(etag),
            Err(e) => Self::of(200, Content::Impossible(e.to_string())),
        }
    }

    /// What a query is answered with: 200 and these entities in this order, as [`row`](Self::row) writes each.
    /// [`continuation`](Self::continuation) says that there is more.
    ///
    /// Source: REST "Query Entities".
    pub fn page<'e, E: TableEntity + 'e>(entities: impl IntoIterator<Item = &'e E>) -> Self {
        let rows: Result<Vec<Vec<u8>>> = entities.into_iter().map(|it| row(it).map(|(_, row)| row)).collect();
        match rows {
            Ok(rows) => {
                let body = [&b"{\"value\":["[..], &rows.join(&b','), b"]}"].concat();
                Self::of(200, Content::Json(body.into()))
            }
            Err(e) => Self::of(200, Content::Impossible(e.to_string())),
        }
    }

    /// What a batch of writes is answered with: 202 and a part for each operation. One that fails as a whole has one
    /// part, an error.
    ///
    /// ```
    /// use azure_table::testing::ResponseTemplate;
    /// let applied = ResponseTemplate::batch([ResponseTemplate::written(), ResponseTemplate::written().etag("W/\"2\"")]);
    /// let failed = ResponseTemplate::batch([ResponseTemplate::new(409).code("EntityAlreadyExists").message("1:It exists.")]);
    /// ```
    ///
    /// Source: REST "Performing entity group transactions".
    pub fn batch(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::of(202, Content::Parts(parts.into_iter().collect()))
    }

    /// 503 `ServerBusy`, which asks to wait: in whole seconds, and in milliseconds if it is not such.
    ///
    /// Source: REST "Status and error codes", "Retry-After".
    pub fn server_busy(wait: Duration) -> Self {
        let busy = Self::new(503).code("ServerBusy").message("The server is busy.");
        if wait.subsec_nanos() == 0 {
            busy.header("Retry-After", wait.as_secs().to_string())
        } else {
            busy.header("x-ms-retry-after-ms", wait.as_millis().to_string())
        }
    }

    /// 429 as Cosmos DB throttles, which asks to wait so many milliseconds.
    ///
    /// Source: "Diagnose and troubleshoot Azure Cosmos DB request rate too large (429) exceptions".
    pub fn too_many_requests(wait: Duration) -> Self {
        Self::new(429)
            .code("TooManyRequests")
            .message("The request rate is too large.")
            .header("x-ms-retry-after-ms", wait.as_millis().to_string())
    }

    /// 500 `InternalError`.
    pub fn internal_error() -> Self {
        Self::new(500)
            .code("InternalError")
            .message("The server encountered an internal error. Please retry the request.")
    }

    /// The service's code of the error, which takes the place of rows.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        let (_, message) = self.error();
        self.content = Content::Error {
            code: code.into(),
            message,
        };
        self
    }

    /// The service's text of the error, beside a [`code`](Self::code). In a batch's answer Storage writes the index of
    /// the operation before it: `2:The …`.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        let (code, _) = self.error();
        self.content = Content::Error {
            code,
            message: message.into(),
        };
        self
    }

    fn error(&mut self) -> (String, String) {
        match std::mem::replace(&mut self.content, Content::None) {
            Content::Error { code, message } => (code, message),
            _ => Default::default(),
        }
    }

    /// One more header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The version of the row that was written or read, in place of the one before. The rows of a page have theirs by
    /// themselves.
    pub fn etag(mut self, etag: impl Into<String>) -> Self {
        self.headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case(ETAG.as_str()));
        self.header("ETag", etag)
    }

    /// The position of the page after this one, as the service gives it: opaque to clients, and never empty here.
    ///
    /// Source: REST "Query timeout and pagination".
    pub fn continuation(self, next_partition_key: impl Into<String>, next_row_key: impl Into<String>) -> Self {
        self.header("x-ms-continuation-NextPartitionKey", next_partition_key)
            .header("x-ms-continuation-NextRowKey", next_row_key)
    }

    /// The answer, or why it cannot be one.
    pub(crate) fn response(&self) -> Result<Response<Bytes>, Box<dyn std::error::Error + Send + Sync>> {
        let mut response = Response::builder().status(self.status);
        if let (Content::Whole(all, _), Some(headers)) = (&self.content, response.headers_mut()) {
            headers.clone_from(all);
        }
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        let (content_type, body) = match &self.content {
            Content::None => (None, Bytes::new()),
            Content::Whole(_, body) => (None, body.clone()),
            Content::Json(body) => (Some(JSON.to_owned()), body.clone()),
            Content::Error { code, message } => (Some(JSON.to_owned()), error(code, message).into()),
            Content::Parts(parts) => {
                let (content_type, body) = batch_body(parts)?;
                (Some(content_type), body)
            }
            Content::Impossible(why) => return Err(why.clone().into()),
        };
        if let Some(content_type) = content_type {
            response = response.header(CONTENT_TYPE, content_type);
        }
        Ok(response.body(body)?)
    }
}

/// Any answer as it is.
impl From<Response<Bytes>> for ResponseTemplate {
    fn from(response: Response<Bytes>) -> Self {
        let (head, body) = response.into_parts();
        Self::of(head.status.as_u16(), Content::Whole(Box::new(head.headers), body))
    }
}

/// An error as the service writes it.
fn error(code: &str, message: &str) -> String {
    serde_json::json!({ "odata.error": { "code": code, "message": { "lang": "en-US", "value": message } } }).to_string()
}

/// An entity's version, and its JSON with that.
fn row<E: TableEntity + ?Sized>(entity: &E) -> Result<(String, Vec<u8>), Error> {
    let etag = match entity.condition() {
        Condition::Matches(etag) => etag.as_str().to_owned(),
        Condition::Exists | Condition::Unread => SOME_ETAG.to_owned(),
    };
    let written = write::entity(entity, key_texts(entity)?.pair())?;
    let body = &written.text.as_bytes()[..written.body];
    let mut row = b"{\"odata.etag\":".to_vec();
    write::quoted(&mut row, &etag);
    row.extend_from_slice(format!(",\"Timestamp\":\"{SOME_TIMESTAMP}\",").as_bytes());
    row.extend_from_slice(body.strip_prefix(b"{").unwrap_or(body));
    Ok((etag, row))
}

/// Returns the content type and the body of a batch: one change set with these parts.
fn batch_body(parts: &[ResponseTemplate]) -> Result<(String, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let mut body = format!("--{OUTER}\r\nContent-Type: multipart/mixed; boundary={INNER}\r\n\r\n");
    for part in parts {
        let part = part.response()?;
        // Writing to a String cannot fail.
        let _ = write!(
            body,
            "--{INNER}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 {}\r\n",
            part.status()
        );
        for (name, value) in part.headers() {
            let _ = write!(body, "{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes()));
        }
        let _ = write!(body, "\r\n{}\r\n", String::from_utf8_lossy(part.body()));
    }
    let _ = write!(body, "--{INNER}--\r\n--{OUTER}--\r\n");
    Ok((format!("multipart/mixed; boundary={OUTER}"), body.into()))
}
