//! One request and its outcome in stored form, without secrets.
//!
//! Defines [`Exchange`] and [`Outcome`]. `secrets.rs` defines the secrets; `spy.rs` and `recorder.rs` keep exchanges.
//!
//! Only values that are known to be harmless are kept. For headers, a list of names decides. The credential of a
//! request is removed from the response too, because a rejection may repeat it.

use std::borrow::Cow;
use std::fmt;

use azure_table_wire::codec::url;
use azure_table_wire::error::Result;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::request::inbound::Inbound;
use azure_table_wire::transport::{Delivery, TransportError};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};

use crate::address::Address;
use crate::secrets::Secrets;

/// One request and its outcome.
///
/// These parts are hidden or omitted:
///
/// - the `Authorization` header and the parameters of a shared access signature, even where a response repeats them
/// - the values of headers that are not part of the protocol
/// - the value of a user delegation key
///
/// The account is not part of [`path`](Self::path).
///
/// ```
/// use azure_table::operation::OperationKind;
/// use azure_table::testing::Spy;
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let spy = Spy::new(Emulator::new());
/// let blogs = TableServiceClient::from_transport(spy.clone()).dynamic_table("Blogs")?;
/// blogs.create_table().await?;
/// blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
/// blogs.query().partition("Channel9").page_size(5).all().await?;
///
/// let [create, insert, query] = &spy.exchanges()[..] else { panic!("{:?}", spy.exchanges()) };
/// assert_eq!((create.kind(), insert.path()), (Some(OperationKind::CreateTable), "/Blogs"));
/// assert!(insert.body().contains(r#""RowKey":"1""#));
/// assert_eq!(query.parameter("$top").as_deref(), Some("5"));
/// assert_eq!((insert.status(), query.status()), (Some(204), Some(200)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Exchange {
    pub(crate) number: u64,
    kind: Option<OperationKind>,
    table: Option<String>,
    pub(crate) method: Method,
    pub(crate) address: Address,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) outcome: Outcome,
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// No response yet, or never because the client stopped waiting.
    NoResponse,
    Responded(Response<Bytes>),
    Failed(Delivery),
}

impl Exchange {
    /// Creates the exchange of a request about to be sent, and the secrets to remove from its response.
    pub(crate) fn of(number: u64, request: &Request<Bytes>) -> (Self, Secrets) {
        let address = Address::of(request.uri());
        let secrets = Secrets::of(request, &address);
        let inbound = Inbound::of(request);
        let exchange = Self {
            number,
            kind: inbound.kind(),
            table: inbound.table(),
            method: request.method().clone(),
            headers: secrets.of_request(request.headers()),
            body: secrets.of_body(request.body()),
            address: Address {
                signature: None,
                ..address
            },
            outcome: Outcome::NoResponse,
        };
        (exchange, secrets)
    }

    /// Returns the position among all requests, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the operation, or `None` if the client has no such operation. A ping counts as a list of tables.
    pub fn kind(&self) -> Option<OperationKind> {
        self.kind
    }

    /// Returns the table of the request; for a batch, the table of its first operation.
    pub fn table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// Returns the method as it was sent, such as `POST`.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// Returns the path below the account, as it appears in the URL: `/Blogs(PartitionKey='Channel9',RowKey='1')`.
    pub fn path(&self) -> &str {
        &self.address.path
    }

    /// Returns the query without the parameters of a signature.
    pub fn query(&self) -> &str {
        &self.address.query
    }

    /// Returns an option of the query as plain text, such as `$filter`.
    pub fn parameter(&self, name: &str) -> Option<String> {
        url::parameter(self.query(), name)
    }

    /// Returns a header of the request; `(hidden)` if its value may be a secret.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the client request ID, which is the same for all attempts of a call.
    pub fn client_request_id(&self) -> Option<&str> {
        self.header("x-ms-client-request-id")
    }

    /// Returns `true` if the request was sent to the secondary.
    pub fn is_secondary(&self) -> bool {
        self.address.is_secondary
    }

    /// Returns the body of the request: JSON, XML, or the parts of a batch.
    pub fn body(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    fn response(&self) -> Option<&Response<Bytes>> {
        match &self.outcome {
            Outcome::Responded(response) => Some(response),
            Outcome::NoResponse | Outcome::Failed(_) => None,
        }
    }

    /// Returns the status of the response, or `None` if none arrived.
    pub fn status(&self) -> Option<u16> {
        self.response().map(|response| response.status().as_u16())
    }

    /// Returns a header of the response.
    pub fn response_header(&self, name: &str) -> Option<&str> {
        self.response()?.headers().get(name)?.to_str().ok()
    }

    /// Returns the body of the response, or `None` if none arrived.
    pub fn response_body(&self) -> Option<Cow<'_, str>> {
        self.response().map(|response| String::from_utf8_lossy(response.body()))
    }

    /// Returns how far the request got, if it failed without a complete response.
    ///
    /// If the client stopped waiting, both this and [`status`](Self::status) are `None`.
    pub fn failure(&self) -> Option<Delivery> {
        match self.outcome {
            Outcome::Failed(reached) => Some(reached),
            Outcome::Responded(_) | Outcome::NoResponse => None,
        }
    }
}

impl Outcome {
    pub(crate) fn of(outcome: &Result<Response<Bytes>, TransportError>, secrets: &Secrets) -> Self {
        match outcome {
            Err(e) => Self::Failed(e.delivery()),
            Ok(response) => {
                let mut kept = Response::new(secrets.of_body(response.body()));
                *kept.status_mut() = response.status();
                *kept.headers_mut() = secrets.of_response(response.headers());
                Self::Responded(kept)
            }
        }
    }
}

/// Returns the name of an operation in the texts of the test kit.
pub(crate) fn name(operation: Option<OperationKind>) -> String {
    operation.map_or_else(|| "Other".to_owned(), |operation| format!("{operation:?}"))
}

/// Writes one line: number, kind, method, path and outcome.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = name(self.kind);
        write!(f, "{} {operation} {} {}", self.number, self.method, self.path())?;
        if !self.query().is_empty() {
            write!(f, "?{}", self.query())?;
        }
        match &self.outcome {
            Outcome::Responded(response) => write!(f, " {}", response.status().as_u16()),
            Outcome::Failed(reached) => write!(f, " {reached:?}"),
            Outcome::NoResponse => f.write_str(" unanswered"),
        }
    }
}
