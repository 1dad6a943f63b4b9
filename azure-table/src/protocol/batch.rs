//! Entity group transactions: the rules, and the request.
//!
//! Owns what makes a set of operations one transaction, checked as it grows, so that [`Rejected`] can give the
//! operation back. The answer is `batch_answer.rs`; multipart text is `codec/multipart.rs`.
//! Source: REST "Performing entity group transactions".

use std::collections::HashSet;
use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request};

use crate::codec::multipart::{BatchBody, InnerRequest};
use crate::model::entity::MetadataLevel;
use crate::model::error::{Error, Result};
use crate::model::guid::Guid;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::operation::{OperationKind, OperationParts, TableOperation};
use crate::protocol::request::{Call, JSON, header_value, odata};
use crate::protocol::table_result::Asked;

pub(crate) const OPERATION: &str = "batch";

/// The most operations of a transaction.
pub const MAX_BATCH_OPERATIONS: usize = 100;

/// The operations of one transaction, with the body of its request; or a retrieve alone.
#[derive(Debug)]
pub(crate) struct ChangeSet {
    endpoint: Endpoint,
    table: String,
    partition_key: Option<String>,
    row_keys: HashSet<String>,
    operations: Vec<TableOperation>,
    /// Taken when the request is made.
    body: Option<BatchBody>,
}

/// A rule of transactions that an operation would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BatchRule {
    /// At most [`MAX_BATCH_OPERATIONS`] operations.
    Operations,
    /// At most 4 MiB of request body (2 MB on Cosmos DB).
    Bytes,
    /// All operations have one PartitionKey.
    OnePartition,
    /// Each entity occurs once.
    EachRowOnce,
    /// A retrieve is the only operation of its batch.
    RetrieveAlone,
    /// The operation itself cannot be sent.
    Valid,
}

/// An operation that does not fit into a batch. The batch is as it was before.
///
/// One word wide; holds the operation, so that it can go into the next batch.
pub struct Rejected(Box<RejectedInner>);

struct RejectedInner {
    rule: BatchRule,
    index: usize,
    error: Error,
    operation: Option<TableOperation>,
}

impl Rejected {
    fn new(rule: BatchRule, table: &str, index: usize, why: String, operation: TableOperation) -> Self {
        let (partition_key, row_key) = operation.keys().unwrap_or_default();
        let error = Error::invalid_input(why)
            .in_operation(OPERATION, Some(table))
            .at_entity(partition_key, row_key)
            .at_batch_index(Some(index));
        Self(Box::new(RejectedInner {
            rule,
            index,
            error,
            operation: Some(operation),
        }))
    }

    /// The rule that the operation would break.
    pub fn rule(&self) -> BatchRule {
        self.0.rule
    }

    /// The place that the operation would have had.
    pub fn index(&self) -> usize {
        self.0.index
    }

    /// The operation, to be used elsewhere. `None` if it could not be encoded at all.
    pub fn into_operation(self) -> Option<TableOperation> {
        self.0.operation
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.error.fmt(f)
    }
}

impl fmt::Debug for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected")
            .field("rule", &self.0.rule)
            .field("index", &self.0.index)
            .field("text", &format_args!("{self}"))
            .finish()
    }
}

impl std::error::Error for Rejected {}

impl From<Rejected> for Error {
    fn from(rejected: Rejected) -> Self {
        rejected.0.error
    }
}

impl ChangeSet {
    pub(crate) fn new(endpoint: &Endpoint, table: &str) -> Self {
        Self {
            endpoint: endpoint.clone(),
            table: table.to_owned(),
            partition_key: None,
            row_keys: HashSet::new(),
            operations: Vec::new(),
            body: Some(changes()),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.operations.len()
    }

    /// How many bytes the request's body has so far, its end included.
    pub(crate) fn bytes(&self) -> usize {
        self.body.as_ref().map_or(0, BatchBody::len)
    }

    /// The most that it may have.
    pub(crate) fn most_bytes(&self) -> usize {
        self.endpoint.profile().rules().max_batch_bytes
    }

    /// Whether no other operation can be added, whatever it is.
    pub(crate) fn is_full(&self) -> bool {
        self.len() == MAX_BATCH_OPERATIONS || self.is_retrieve()
    }

    /// Whether it is no transaction, but a retrieve alone.
    fn is_retrieve(&self) -> bool {
        let first = self.operations.first();
        first.is_some_and(|first| first.kind() == OperationKind::Retrieve)
    }

    pub(crate) fn operations(&self) -> impl ExactSizeIterator<Item = &TableOperation> {
        self.operations.iter()
    }

    /// Adds an operation if the service would take the batch with it.
    pub(crate) fn add(&mut self, operation: TableOperation) -> Result<(), Rejected> {
        let operation = operation
            .check()
            .map_err(|refused| self.invalid(refused.0, refused.1))?;
        if self.len() == MAX_BATCH_OPERATIONS {
            let why = format!("the batch is full: the limit is {MAX_BATCH_OPERATIONS} operations");
            return Err(self.rejected(BatchRule::Operations, why, operation));
        }
        let parts = match operation.parts(&self.table, self.endpoint.profile()) {
            Ok(parts) => parts,
            Err(e) => return Err(self.invalid(e, Some(operation))),
        };
        if let Some((rule, why)) = self.broken(&operation) {
            return Err(self.rejected(rule, why, operation));
        }
        let headers = match parts.inner_headers() {
            Ok(headers) => headers,
            Err(e) => return Err(self.invalid(e, Some(operation))),
        };
        // The absolute address: the form that every service and emulator takes.
        let url = format!("{}/{}", self.endpoint.base(), parts.path);
        let request = InnerRequest {
            method: parts.method.as_str(),
            url: &url,
            headers: &headers,
            body: &parts.body,
        };
        let limit = self.most_bytes();
        let is_retrieve = operation.kind() == OperationKind::Retrieve;
        let body = self.body.get_or_insert_with(changes);
        if is_retrieve {
            *body = BatchBody::of_query(batch_boundary());
        }
        if let Err(bytes) = body.add_within(limit, &request) {
            if is_retrieve {
                *body = changes();
            }
            let why = format!("the batch would have {bytes} bytes, the limit is {limit}");
            return Err(self.rejected(BatchRule::Bytes, why, operation));
        }
        let (partition_key, row_key) = operation.keys().unwrap_or_default();
        self.partition_key.get_or_insert_with(|| partition_key.to_owned());
        self.row_keys.insert(row_key.to_owned());
        self.operations.push(operation);
        Ok(())
    }

    /// The rule that the operation would break beside those that are there, and what it says.
    fn broken(&self, operation: &TableOperation) -> Option<(BatchRule, String)> {
        let (partition_key, row_key) = operation.keys().unwrap_or_default();
        let first = self.partition_key.as_deref()?;
        if self.is_retrieve() || operation.kind() == OperationKind::Retrieve {
            let why = match self.is_retrieve() {
                true => "the batch is a retrieve, which must be alone",
                false => "a retrieve must be alone in a batch",
            };
            return Some((BatchRule::RetrieveAlone, why.to_owned()));
        }
        if first != partition_key {
            let why = format!("all operations of a batch have one PartitionKey, this batch has {first:?}");
            return Some((BatchRule::OnePartition, why));
        }
        self.row_keys.contains(row_key).then(|| {
            let why = "the batch has an operation on this entity already";
            (BatchRule::EachRowOnce, why.to_owned())
        })
    }

    fn rejected(&self, rule: BatchRule, why: String, operation: TableOperation) -> Rejected {
        Rejected::new(rule, &self.table, self.len(), why, operation)
    }

    /// The operation cannot be sent at all.
    fn invalid(&self, error: Error, operation: Option<TableOperation>) -> Rejected {
        let index = self.len();
        let error = error
            .in_operation(OPERATION, Some(&self.table))
            .at_batch_index(Some(index));
        Rejected(Box::new(RejectedInner {
            rule: BatchRule::Valid,
            index,
            error,
            operation,
        }))
    }

    /// `POST /$batch`. Made once.
    pub(crate) fn call(&mut self) -> Result<Call> {
        let body = self
            .body
            .take()
            .ok_or_else(|| Error::invalid_input("the call was made before"))?;
        let request = request(&self.endpoint, body)?;
        if self.is_retrieve() {
            return Ok(Call::read(OPERATION, request).in_table(&self.table).expecting(404));
        }
        let rows = self.operations().filter_map(TableOperation::row_write).collect();
        Ok(Call::write(OPERATION, request).in_table(&self.table).writing(rows))
    }

    /// What is asked of each operation, for its result.
    pub(crate) fn asked(&self) -> impl ExactSizeIterator<Item = Asked> {
        self.operations().map(TableOperation::asked)
    }

    /// The keys of the operation at `index`, for errors.
    pub(crate) fn keys(&self, index: usize) -> Option<(&str, &str)> {
        self.operations.get(index)?.keys()
    }

    pub(crate) fn table(&self) -> &str {
        &self.table
    }
}

/// The body of a batch of changes, with boundaries that no other has.
pub(crate) fn changes() -> BatchBody {
    BatchBody::of_changes(batch_boundary(), format!("changeset_{}", Guid::random()))
}

pub(crate) fn batch_boundary() -> String {
    format!("batch_{}", Guid::random())
}

/// The request around the body of a batch.
pub(crate) fn request(endpoint: &Endpoint, body: BatchBody) -> Result<Request<Bytes>> {
    let mut request = odata(endpoint, Method::POST, "$batch", MetadataLevel::None.accept())?;
    let content_type = format!("multipart/mixed; boundary={}", body.boundary());
    let content_type = header_value("Content-Type", &content_type)?;
    request.headers_mut().insert(CONTENT_TYPE, content_type);
    *request.body_mut() = Bytes::from(body.finish());
    Ok(request)
}

impl OperationParts {
    /// The headers inside of a batch.
    fn inner_headers(&self) -> Result<Vec<(&'static str, &str)>> {
        let mut headers = vec![("Accept", self.metadata.accept()), ("DataServiceVersion", "3.0")];
        if !self.body.is_empty() {
            headers.push(("Content-Type", JSON));
        }
        for (name, value) in &self.headers {
            headers.push((spelled(name.as_str())?, text(value)?));
        }
        Ok(headers)
    }
}

/// A header's name in the spelling of the documentation: an emulator may look for that.
pub(crate) fn spelled(name: &str) -> Result<&'static str> {
    Ok(match name {
        "accept" => "Accept",
        "dataserviceversion" => "DataServiceVersion",
        "content-type" => "Content-Type",
        "if-match" => "If-Match",
        "prefer" => "Prefer",
        "x-http-method" => "X-HTTP-Method",
        other => {
            return Err(Error::invalid_input(format!(
                "header {other:?} has no place in a batch"
            )));
        }
    })
}

pub(crate) fn text(value: &HeaderValue) -> Result<&str> {
    value
        .to_str()
        .map_err(|_| Error::invalid_input(format!("header value {value:?}: only ASCII can stand in a batch")))
}
