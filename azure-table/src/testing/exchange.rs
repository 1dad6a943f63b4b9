//! One request and what came of it, as it is kept: without secrets.
//!
//! Owns [`Exchange`] and [`Outcome`]. What is secret is `secrets.rs`; who keeps them is `spy.rs` and `recorder.rs`.
//!
//! What is kept of a request is what is known to be harmless: headers by a list of names. What authenticated a request
//! is looked for in the response, since a rejection may repeat it.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};

use crate::codec::json::read;
use crate::model::entity::{MetadataLevel, ReadEntity};
use crate::model::error::Result;
use crate::model::operation_kind::OperationKind;
use crate::pipeline::transport::{Delivery, TransportError};
use crate::testing::address::{self, Address};
use crate::testing::request_kind;
use crate::testing::secrets::Secrets;

/// One request that was sent, and what came of it.
///
/// Kept without the proof of who asked, the `Authorization` and what a shared access signature adds to the address,
/// also where an answer repeats it; without the values of headers that the protocol does not have; and without the
/// value of a user delegation key. The account is not part of [`path`](Self::path).
///
/// ```
/// use azure_table::operation::OperationKind;
/// use azure_table::testing::Spy;
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let spy = Spy::new(Emulator::new());
/// let blogs = TableServiceClient::on(spy.clone()).dynamic_table("Blogs")?;
/// blogs.create_table().await?;
/// blogs.insert(&DynamicEntity::new("Channel9", "1")).await?;
/// blogs.query().partition("Channel9").page_size(5).all().await?;
///
/// let [create, insert, query] = &spy.exchanges()[..] else { panic!("{:?}", spy.exchanges()) };
/// assert_eq!((create.kind(), insert.path()), (Some(OperationKind::CreateTable), "/Blogs"));
/// assert_eq!(insert.entity::<DynamicEntity>()?.row_key, "1");
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

/// What came of a request.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// Nothing yet, or never: the client stopped waiting.
    Unanswered,
    Answered(Response<Bytes>),
    Failed(Delivery),
}

impl Exchange {
    /// Of a request that is about to be sent, and what its answer is cleaned with.
    pub(crate) fn of(number: u64, request: &Request<Bytes>) -> (Self, Secrets) {
        let address = Address::of(request.uri());
        let secrets = Secrets::of(request, &address);
        let (kind, table) = request_kind::of(request);
        let exchange = Self {
            number,
            kind,
            table,
            method: request.method().clone(),
            headers: secrets.of_request(request.headers()),
            body: secrets.of_body(request.body()),
            address: Address {
                signature: None,
                ..address
            },
            outcome: Outcome::Unanswered,
        };
        (exchange, secrets)
    }

    /// Its place among all requests, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The operation, or `None` if the client has no such operation. A ping is a list of tables.
    pub fn kind(&self) -> Option<OperationKind> {
        self.kind
    }

    /// The table it was about; of a batch that of its first operation.
    pub fn table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// The method as it was sent, such as `POST`.
    pub fn method(&self) -> &str {
        self.method.as_str()
    }

    /// The path below the account, in the form of an address: `/Blogs(PartitionKey='Channel9',RowKey='1')`.
    pub fn path(&self) -> &str {
        &self.address.path
    }

    /// The query in the form of an address, without its question mark and without what a signature added.
    pub fn query(&self) -> &str {
        &self.address.query
    }

    /// An option of the query as plain text, such as `$filter`.
    pub fn parameter(&self, name: &str) -> Option<String> {
        address::parameter(self.query(), name)
    }

    /// A header of the request; `(hidden)` where its value may be a secret.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The client's id of the call: the same for all attempts of one.
    pub fn client_request_id(&self) -> Option<&str> {
        self.header("x-ms-client-request-id")
    }

    /// Whether the second region was asked.
    pub fn is_secondary(&self) -> bool {
        self.address.is_secondary
    }

    /// The request's body: JSON, XML, or the parts of a batch.
    pub fn body(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The entity that was written: of an insert, a replace or a merge. [`DynamicEntity`](crate::DynamicEntity) takes
    /// any.
    ///
    /// # Errors
    /// `InvalidResponse` — the body is no entity, or does not fit `E`: a merge may have a part of its properties only.
    pub fn entity<E: ReadEntity>(&self) -> Result<E> {
        read::entity(&self.body, MetadataLevel::Minimal, None, E::read)
    }

    fn answer(&self) -> Option<&Response<Bytes>> {
        match &self.outcome {
            Outcome::Answered(answer) => Some(answer),
            Outcome::Unanswered | Outcome::Failed(_) => None,
        }
    }

    /// The status of the answer; `None` if none came.
    pub fn status(&self) -> Option<u16> {
        self.answer().map(|answer| answer.status().as_u16())
    }

    /// A header of the answer.
    pub fn response_header(&self, name: &str) -> Option<&str> {
        self.answer()?.headers().get(name)?.to_str().ok()
    }

    /// The body of the answer; `None` if none came.
    pub fn response_body(&self) -> Option<Cow<'_, str>> {
        self.answer().map(|answer| String::from_utf8_lossy(answer.body()))
    }

    /// How far the request got, if no complete answer came. A client that stopped waiting leaves neither that nor a
    /// status.
    pub fn failure(&self) -> Option<Delivery> {
        match self.outcome {
            Outcome::Failed(reached) => Some(reached),
            Outcome::Answered(_) | Outcome::Unanswered => None,
        }
    }
}

impl Outcome {
    pub(crate) fn of(outcome: &Result<Response<Bytes>, TransportError>, secrets: &Secrets) -> Self {
        match outcome {
            Err(e) => Self::Failed(e.delivery()),
            Ok(answer) => {
                let mut kept = Response::new(secrets.of_body(answer.body()));
                *kept.status_mut() = answer.status();
                *kept.headers_mut() = secrets.of_answer(answer.headers());
                Self::Answered(kept)
            }
        }
    }
}

/// One line: number, kind, method, path and what came of it.
impl fmt::Display for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = request_kind::name(self.kind);
        write!(f, "{} {operation} {} {}", self.number, self.method, self.path())?;
        if !self.query().is_empty() {
            write!(f, "?{}", self.query())?;
        }
        match &self.outcome {
            Outcome::Answered(answer) => write!(f, " {}", answer.status().as_u16()),
            Outcome::Failed(reached) => write!(f, " {reached:?}"),
            Outcome::Unanswered => f.write_str(" unanswered"),
        }
    }
}
