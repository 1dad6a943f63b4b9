//! Entity group transactions: the rules, and the request.
//!
//! Owns what makes a set of operations one transaction, checked as it grows, so that [`Rejected`] can give the
//! operation back. The answer is `batch_answer.rs`; multipart text is `codec/multipart.rs`.
//! Source: REST "Performing entity group transactions".

use std::collections::HashSet;
use std::fmt;

use bytes::Bytes;
use http::Method;
use http::header::{CONTENT_TYPE, HeaderValue};

use crate::codec::multipart::{InnerRequest, inner_request_overhead, write_change_set};
use crate::model::entity::MetadataLevel;
use crate::model::error::{Error, Result};
use crate::model::guid::Guid;
use crate::protocol::endpoint::Endpoint;
use crate::protocol::operation::{OperationKind, OperationParts, TableOperation};
use crate::protocol::request::{Call, JSON, header_value, odata};

pub(crate) const OPERATION: &str = "batch";

/// The most operations of a transaction.
pub const MAX_BATCH_OPERATIONS: usize = 100;

/// The operations of one transaction, with their requests already made.
#[derive(Debug)]
pub(crate) struct ChangeSet {
    endpoint: Endpoint,
    table: String,
    batch_boundary: String,
    change_set_boundary: String,
    partition_key: Option<String>,
    row_keys: HashSet<String>,
    operations: Vec<(TableOperation, OperationParts)>,
    bytes: usize,
    most_bytes: usize,
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
            batch_boundary: format!("batch_{}", Guid::random()),
            change_set_boundary: format!("changeset_{}", Guid::random()),
            partition_key: None,
            row_keys: HashSet::new(),
            operations: Vec::new(),
            bytes: 0,
            most_bytes: endpoint.profile().rules().max_batch_bytes,
        }
    }

    /// With a shorter body than the service takes.
    pub(crate) fn at_most(mut self, bytes: Option<usize>) -> Self {
        self.most_bytes = bytes.map_or(self.most_bytes, |bytes| bytes.min(self.most_bytes));
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.operations.len()
    }

    pub(crate) fn operations(&self) -> impl ExactSizeIterator<Item = &TableOperation> {
        self.operations.iter().map(|(operation, _)| operation)
    }

    /// Adds an operation if the service would take the batch with it.
    pub(crate) fn add(&mut self, operation: TableOperation) -> Result<(), Rejected> {
        let index = self.len();
        let invalid = |error: Error, operation: Option<TableOperation>| {
            let error = error
                .in_operation(OPERATION, Some(&self.table))
                .at_batch_index(Some(index));
            Rejected(Box::new(RejectedInner {
                rule: BatchRule::Valid,
                index,
                error,
                operation,
            }))
        };
        let operation = operation.check().map_err(|refused| invalid(refused.0, refused.1))?;
        if index == MAX_BATCH_OPERATIONS {
            let why = format!("the batch is full: the limit is {MAX_BATCH_OPERATIONS} operations");
            return Err(Rejected::new(BatchRule::Operations, &self.table, index, why, operation));
        }
        let parts = match operation.parts(&self.table, self.endpoint.profile()) {
            Ok(parts) => parts,
            Err(e) => return Err(invalid(e, Some(operation))),
        };
        let (partition_key, row_key) = operation.keys().unwrap_or_default();
        if self
            .partition_key
            .as_deref()
            .is_some_and(|first| first != partition_key)
        {
            let why = format!(
                "all operations of a batch have one PartitionKey, this batch has {:?}",
                self.partition_key.as_deref().unwrap_or_default()
            );
            return Err(Rejected::new(
                BatchRule::OnePartition,
                &self.table,
                index,
                why,
                operation,
            ));
        }
        if self.row_keys.contains(row_key) {
            let why = "the batch has an operation on this entity already".to_owned();
            return Err(Rejected::new(
                BatchRule::EachRowOnce,
                &self.table,
                index,
                why,
                operation,
            ));
        }
        let bytes = match self.bytes_of(&parts) {
            Ok(bytes) => bytes,
            Err(e) => return Err(invalid(e, Some(operation))),
        };
        let limit = self.most_bytes;
        let total = self.framing() + self.bytes + bytes;
        if total > limit {
            let why = format!("the batch would have {total} bytes, the limit is {limit}");
            return Err(Rejected::new(BatchRule::Bytes, &self.table, index, why, operation));
        }
        self.partition_key.get_or_insert_with(|| partition_key.to_owned());
        self.row_keys.insert(row_key.to_owned());
        self.bytes += bytes;
        self.operations.push((operation, parts));
        Ok(())
    }

    /// The bytes of the body around its operations.
    fn framing(&self) -> usize {
        write_change_set(&self.batch_boundary, &self.change_set_boundary, []).len()
    }

    fn bytes_of(&self, parts: &OperationParts) -> Result<usize> {
        let url = self.url(parts);
        let headers = inner_headers(parts)?;
        let request = inner_request(parts, &url, &headers);
        Ok(inner_request_overhead(&self.change_set_boundary, &request) + parts.body.len())
    }

    /// The absolute address: the form that every service and emulator takes.
    fn url(&self, parts: &OperationParts) -> String {
        format!("{}/{}", self.endpoint.base(), parts.path)
    }

    /// `POST /$batch`.
    pub(crate) fn call(&self) -> Result<Call> {
        let mut inner = Vec::with_capacity(self.len());
        for (_, parts) in &self.operations {
            inner.push((self.url(parts), inner_headers(parts)?, parts));
        }
        let body = write_change_set(
            &self.batch_boundary,
            &self.change_set_boundary,
            inner
                .iter()
                .map(|(url, headers, parts)| inner_request(parts, url, headers)),
        );
        let mut request = odata(&self.endpoint, Method::POST, "$batch", MetadataLevel::None.accept())?;
        let content_type = format!("multipart/mixed; boundary={}", self.batch_boundary);
        request
            .headers_mut()
            .insert(CONTENT_TYPE, header_value("Content-Type", &content_type)?);
        *request.body_mut() = Bytes::from(body);
        let rows = self.operations().filter_map(TableOperation::row_write).collect();
        Ok(Call::write(OPERATION, request).in_table(&self.table).writing(rows))
    }

    /// What each operation is, for its result.
    pub(crate) fn kinds(&self) -> Vec<OperationKind> {
        self.operations().map(TableOperation::kind).collect()
    }

    /// The keys of the operation at `index`, for errors.
    pub(crate) fn keys(&self, index: usize) -> Option<(&str, &str)> {
        self.operations.get(index)?.0.keys()
    }

    pub(crate) fn table(&self) -> &str {
        &self.table
    }
}

/// Header names in the spelling of the documentation: an emulator may look for that.
fn inner_headers(parts: &OperationParts) -> Result<Vec<(&'static str, String)>> {
    let mut headers = vec![
        ("Accept", MetadataLevel::None.accept().to_owned()),
        ("DataServiceVersion", "3.0".into()),
    ];
    if !parts.body.is_empty() {
        headers.push(("Content-Type", JSON.into()));
    }
    for (name, value) in &parts.headers {
        let name = match name.as_str() {
            "if-match" => "If-Match",
            "prefer" => "Prefer",
            "x-http-method" => "X-HTTP-Method",
            other => {
                return Err(Error::invalid_input(format!(
                    "header {other:?} has no place in a batch"
                )));
            }
        };
        headers.push((name, text(value)?.to_owned()));
    }
    Ok(headers)
}

fn text(value: &HeaderValue) -> Result<&str> {
    value
        .to_str()
        .map_err(|_| Error::invalid_input(format!("header value {value:?}: only ASCII can stand in a batch")))
}

fn inner_request<'a>(
    parts: &'a OperationParts,
    url: &'a str,
    headers: &'a [(&'static str, String)],
) -> InnerRequest<'a> {
    InnerRequest {
        method: parts.method.as_str(),
        url,
        headers,
        body: &parts.body,
    }
}
