//! A response that a test returns instead of the service's.
//!
//! Defines [`ResponseTemplate`]: its status, code, headers and rows, as a separate response or as a part of the
//! response to a batch.
//!
//! Faults and scripts share this type: a rule replaces the service's response with it, and a step of a `Script` is a
//! `Fault`. So a script needs no second list of failures. To delay a response of a script, wrap the script in `Faults`.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use azure_table_wire::codec::json::write;
use azure_table_wire::error::Result;
use azure_table_wire::value::etag::ETag;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderMap, Request, Response};

/// The ETag of a row without one.
const SOME_ETAG: &str = "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"";
/// The Timestamp of such a row.
const SOME_TIMESTAMP: &str = "2020-01-01T00:00:00Z";
/// The content type. The service adds the charset, which the client ignores.
const JSON: &str = "application/json";

/// The boundaries of a batch and of its change set.
const OUTER: &str = "batchresponse_test";
const INNER: &str = "changesetresponse_test";

/// A response in the service's form: a status, and an error as JSON, rows from Rust values, or the parts of a batch.
///
/// A [`Script`](crate::Script) and [`Faults`](crate::Faults) respond with it in place of the service.
/// If the response is invalid HTTP, or contains a row that the service would reject, the request
/// fails as if it had never been sent. The error names the reason.
///
/// ```
/// use azure_table::DynamicEntity;
/// use azure_table::testing::{EntityResponse as _, ResponseTemplate};
/// let gone = ResponseTemplate::new(404).code("TableNotFound").message("The table specified does not exist.");
/// let slow_down = ResponseTemplate::new(503).header("Retry-After", "2");
/// let stored = ResponseTemplate::row(&DynamicEntity::new("Channel9", "1"));
/// let page = ResponseTemplate::page([&DynamicEntity::new("Channel9", "2")]).continuation("Channel9", "3");
/// ```
///
/// Source: REST "Status and error codes", "Query Entities", "Query timeout and pagination".
#[derive(Clone, Debug)]
#[must_use = "a response template does nothing until a rule or a script returns it"]
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
    /// A complete response, with its headers.
    Whole(Box<HeaderMap>, Bytes),
    /// The parts of a batch.
    Parts(Vec<ResponseTemplate>),
    /// Depends on the request.
    Computed(Compute),
    /// The reason why the response cannot be built.
    Impossible(String),
}

type ComputeResponse = dyn Fn(&Request<Bytes>) -> Response<Bytes> + Send + Sync;

/// The function that computes a response.
#[derive(Clone)]
struct Compute(Arc<ComputeResponse>);

impl fmt::Debug for Compute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Compute")
    }
}

impl ResponseTemplate {
    /// Creates a response without code, headers and body. The status is from 100 to 999.
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

    /// Creates the response to a write: 204 and an ETag, which [`etag`](Self::etag) changes.
    ///
    /// Source: REST "Insert Entity", "Update Entity".
    pub fn written() -> Self {
        Self::new(204).etag(SOME_ETAG)
    }

    /// Creates the response to a batch of writes: 202 and a part for each operation.
    ///
    /// A batch that fails as a whole has one part, an error.
    ///
    /// ```
    /// use azure_table::testing::ResponseTemplate;
    /// let written = ResponseTemplate::written;
    /// let applied = ResponseTemplate::batch([written(), written().etag("W/\"2\"")]);
    ///
    /// let conflict = ResponseTemplate::new(409).code("EntityAlreadyExists").message("1:It exists.");
    /// let failed = ResponseTemplate::batch([conflict]);
    /// ```
    ///
    /// Source: REST "Performing entity group transactions".
    pub fn batch(parts: impl IntoIterator<Item = Self>) -> Self {
        Self::of(202, Content::Parts(parts.into_iter().collect()))
    }

    /// Creates a 503 `ServerBusy` with a retry time.
    ///
    /// Whole seconds are sent as `Retry-After`, other times as `x-ms-retry-after-ms`.
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

    /// Creates a 429 `TooManyRequests`, the throttling response of Cosmos DB.
    ///
    /// It has no retry time, because Cosmos DB's table endpoint sends none: all 12 recorded responses lack it. So a test
    /// sees the client's own backoff. If a gateway in front of your account names a time, add its
    /// [`header`](Self::header), for example `x-ms-retry-after-ms`.
    ///
    /// Source: azure-sdk-for-net issues 13554 and 26960.
    pub fn too_many_requests() -> Self {
        Self::new(429).code("TooManyRequests").message(
            "Message: {\"Errors\":[\"Request rate is large. More Request Units may be needed, so no changes were made. \
             Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429\"]}",
        )
    }

    /// Creates a 500 `InternalError`.
    pub fn internal_error() -> Self {
        Self::new(500)
            .code("InternalError")
            .message("The server encountered an internal error. Please retry the request.")
    }

    /// Sets the service's error code, which replaces any rows.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        let (_, message) = self.error();
        self.content = Content::Error {
            code: code.into(),
            message,
        };
        self
    }

    /// Sets the service's error message, in addition to a [`code`](Self::code).
    ///
    /// In a batch response Storage puts the index of the operation before it: `2:The …`.
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

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the ETag of the row that was written or read. Replaces the previous one.
    ///
    /// The rows of a page have their own ETags.
    pub fn etag(mut self, etag: impl Into<String>) -> Self {
        self.headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case(ETAG.as_str()));
        self.header("ETag", etag)
    }

    /// Sets the continuation token: the position of the next page, opaque to clients and never empty here.
    ///
    /// Source: REST "Query timeout and pagination".
    pub fn continuation(self, next_partition_key: impl Into<String>, next_row_key: impl Into<String>) -> Self {
        self.header("x-ms-continuation-NextPartitionKey", next_partition_key)
            .header("x-ms-continuation-NextRowKey", next_row_key)
    }

    /// Builds the response to a request, or returns why it cannot be built.
    pub(crate) fn response_to(
        &self,
        request: &Request<Bytes>,
    ) -> Result<Response<Bytes>, Box<dyn std::error::Error + Send + Sync>> {
        match &self.content {
            Content::Computed(compute) => Ok((compute.0)(request)),
            _ => self.response(),
        }
    }

    /// Builds the response to a batch whose only part this is. A computed response has its parts.
    pub(crate) fn batch_response_to(
        &self,
        request: &Request<Bytes>,
    ) -> Result<Response<Bytes>, Box<dyn std::error::Error + Send + Sync>> {
        match &self.content {
            Content::Computed(_) => self.response_to(request),
            _ => Self::batch([self.clone()]).response(),
        }
    }

    /// Builds the response, or returns why it cannot be built.
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
            Content::Computed(_) => return Err("the response depends on its request".into()),
            Content::Impossible(why) => return Err(why.clone().into()),
        };
        if let Some(content_type) = content_type {
            response = response.header(CONTENT_TYPE, content_type);
        }
        Ok(response.body(body)?)
    }
}

/// Uses any response unchanged.
impl From<Response<Bytes>> for ResponseTemplate {
    fn from(response: Response<Bytes>) -> Self {
        let (head, body) = response.into_parts();
        Self::of(head.status.as_u16(), Content::Whole(Box::new(head.headers), body))
    }
}

/// Writes an error in the service's form.
fn error(code: &str, message: &str) -> String {
    serde_json::json!({ "odata.error": { "code": code, "message": { "lang": "en-US", "value": message } } }).to_string()
}

/// An encoded entity: its ETag, unless any will do, and its JSON.
#[doc(hidden)]
pub type EncodedRow = (Option<ETag>, Vec<u8>);

/// Creates a response that depends on the request. As the part of a failed batch it is the whole response.
#[doc(hidden)]
pub fn computed_response(
    compute: impl Fn(&Request<Bytes>) -> Response<Bytes> + Send + Sync + 'static,
) -> ResponseTemplate {
    ResponseTemplate::of(200, Content::Computed(Compute(Arc::new(compute))))
}

/// Creates the response to a read of one entity. An error makes a response that cannot be built.
#[doc(hidden)]
pub fn row_response(row: Result<EncodedRow>) -> ResponseTemplate {
    match row.map(stored) {
        Ok((etag, body)) => ResponseTemplate::of(200, Content::Json(body.into())).etag(etag),
        Err(e) => ResponseTemplate::of(200, Content::Impossible(e.to_string())),
    }
}

/// Creates the response to a query: these entities in this order.
#[doc(hidden)]
pub fn page_response(rows: Result<Vec<EncodedRow>>) -> ResponseTemplate {
    match rows {
        Ok(rows) => {
            let rows: Vec<Vec<u8>> = rows.into_iter().map(|row| stored(row).1).collect();
            let body = [&b"{\"value\":["[..], &rows.join(&b','), b"]}"].concat();
            ResponseTemplate::of(200, Content::Json(body.into()))
        }
        Err(e) => ResponseTemplate::of(200, Content::Impossible(e.to_string())),
    }
}

/// Returns an entity's ETag, and its JSON with it.
fn stored((etag, body): EncodedRow) -> (String, Vec<u8>) {
    let etag = etag.map_or_else(|| SOME_ETAG.to_owned(), |etag| etag.as_str().to_owned());
    let mut row = b"{\"odata.etag\":".to_vec();
    write::quoted(&mut row, &etag);
    row.extend_from_slice(format!(",\"Timestamp\":\"{SOME_TIMESTAMP}\",").as_bytes());
    row.extend_from_slice(body.strip_prefix(b"{").unwrap_or(&body));
    (etag, row)
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
