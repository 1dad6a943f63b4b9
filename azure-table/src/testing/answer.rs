//! An answer that a fault gives in the service's place.
//!
//! Owns [`FaultAnswer`]: its status, code and headers, as an answer of its own and as the one part of a batch's answer.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};

/// An answer in the service's form: a status, and with a code the error as JSON.
///
/// ```
/// use azure_table::testing::FaultAnswer;
/// let gone = FaultAnswer::new(404).code("TableNotFound").message("The table specified does not exist.");
/// let slow_down = FaultAnswer::new(503).header("Retry-After", "2");
/// ```
///
/// Source: REST "Status and error codes".
#[derive(Clone, Debug)]
#[must_use = "an answer does nothing until a rule gives it"]
pub struct FaultAnswer {
    status: u16,
    error: Option<(String, String)>,
    headers: Vec<(String, String)>,
}

impl FaultAnswer {
    /// An answer without code, headers and body. A status outside of 100 to 999 fails the request as if it had never been
    /// sent.
    pub fn new(status: u16) -> Self {
        Self {
            status,
            error: None,
            headers: Vec::new(),
        }
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

    /// The service's code of the error.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        let message = self.error.take().map(|(_, message)| message).unwrap_or_default();
        self.error = Some((code.into(), message));
        self
    }

    /// The service's text of the error, beside a [`code`](Self::code). In a batch's answer Storage writes the index of the
    /// operation before it: `2:The …`.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        let code = self.error.take().map(|(code, _)| code).unwrap_or_default();
        self.error = Some((code, message.into()));
        self
    }

    /// One more header. One that HTTP cannot have fails the request as if it had never been sent.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn response(&self) -> Result<Response<Bytes>, http::Error> {
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        if self.error.is_some() {
            response = response.header(CONTENT_TYPE, "application/json");
        }
        response.body(Bytes::from(self.body()))
    }

    /// The answer to a batch whose only part is this one.
    pub(crate) fn batch_response(&self) -> Result<Response<Bytes>, http::Error> {
        const OUTER: &str = "batchresponse_fault";
        const INNER: &str = "changesetresponse_fault";
        let part = self.response()?;
        let mut body = format!(
            "--{OUTER}\r\nContent-Type: multipart/mixed; boundary={INNER}\r\n\r\n\
             --{INNER}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n\
             HTTP/1.1 {}\r\n",
            part.status()
        );
        for (name, value) in part.headers() {
            // Writing to a String cannot fail.
            let _ = write!(body, "{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes()));
        }
        let _ = write!(
            body,
            "\r\n{}\r\n--{INNER}--\r\n--{OUTER}--\r\n",
            String::from_utf8_lossy(part.body())
        );
        Response::builder()
            .status(StatusCode::ACCEPTED)
            .header(CONTENT_TYPE, format!("multipart/mixed; boundary={OUTER}"))
            .body(Bytes::from(body))
    }

    fn body(&self) -> String {
        let Some((code, message)) = &self.error else {
            return String::new();
        };
        serde_json::json!({ "odata.error": { "code": code, "message": { "lang": "en-US", "value": message } } })
            .to_string()
    }
}
