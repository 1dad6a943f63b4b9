//! The request of an operation with the facts that the pipeline needs, and [`RowWrites`], the writes that it carries
//! until it has its response. `pipeline/lost_write` uses them if the response is lost.

use std::borrow::Cow;
use std::sync::Arc;

use azure_table_wire::account::profile::Profile;
use azure_table_wire::error::operation_kind::{self, Effect, OperationKind};
use azure_table_wire::value::location::Location;
use bytes::Bytes;
use http::Request;

use crate::key::key_texts::KeyTexts;
use crate::write::operation::TableOperation;
use crate::write::row_write::RowWrite;
use crate::write::sent_batch::SentBatch;

/// The request of an operation, with its name and table for errors, and the facts for retries and reconciliation.
#[derive(Clone, Debug)]
pub(crate) struct OperationRequest {
    pub operation: OperationKind,
    pub table: Option<Arc<str>>,
    /// PartitionKey and RowKey, if the request is about one entity.
    pub entity: Option<Arc<KeyTexts>>,
    pub effect: Effect,
    /// The location that the request is addressed to.
    pub location: Location,
    /// The error status that is a regular result, such as 404 for a `get` that finds nothing.
    pub expected: Option<u16>,
    /// The writes to rows, for reconciliation.
    pub rows: RowWrites,
    /// The protocol version that the request needs with a token, if newer than the token's default.
    pub version_with_token: Option<&'static str>,
    /// The operation is the only one of a batch: see `via_batch.rs`.
    pub is_enclosed: bool,
    pub request: Request<Bytes>,
}

impl OperationRequest {
    pub(crate) fn new(operation: OperationKind, request: Request<Bytes>) -> Self {
        Self {
            operation,
            table: None,
            entity: None,
            effect: operation_kind::facts(operation).effect,
            location: Location::Primary,
            expected: operation_kind::facts(operation).expected_status,
            rows: RowWrites::None,
            version_with_token: None,
            is_enclosed: false,
            request,
        }
    }

    pub(crate) fn in_table(self, table: &str) -> Self {
        Self {
            table: Some(table.into()),
            ..self
        }
    }

    /// Sets the error status that is a regular result.
    pub(crate) fn expecting(self, status: u16) -> Self {
        Self {
            expected: Some(status),
            ..self
        }
    }

    /// Returns `true` if a rejection is a regular result.
    ///
    /// An entity may be absent or exist, but its table must exist.
    pub(crate) fn expects(&self, status: u16, code: Option<&str>) -> bool {
        let is_of_table = self.entity.is_some() && matches!(code, Some("TableNotFound" | "TableBeingDeleted"));
        // Without a code it is not from the service.
        self.expected == Some(status) && code.is_some() && !is_of_table
    }

    /// Returns the operation; for a batch, the kind that all of its operations share, if any.
    pub(crate) fn common_operation(&self) -> OperationKind {
        let mut kinds = self.rows.iter().map(|row| row.kind);
        match kinds.next() {
            Some(first) if kinds.all(|kind| kind == first) => first,
            _ => self.operation,
        }
    }

    /// Returns the name of the operation in telemetry. A batch has the registered name of its service, or `BATCH` with
    /// the name that its operations share.
    pub(crate) fn telemetry_name(&self, profile: Profile) -> Cow<'static, str> {
        if !self.is_batch() {
            return Cow::Borrowed(self.operation.name());
        }
        match (profile.rules().batch_operation, self.common_operation()) {
            (Some(registered), _) => Cow::Borrowed(registered),
            (None, mixed) if mixed == self.operation => Cow::Borrowed("BATCH"),
            (None, common) => Cow::Owned(format!("BATCH {}", common.name())),
        }
    }

    /// Returns `true` for a batch.
    pub(crate) fn is_batch(&self) -> bool {
        self.operation == OperationKind::Batch
    }

    /// Returns `true` if sending the request twice has the same effect as sending it once.
    ///
    /// Source: RFC 9110, section 9.2.2.
    pub(crate) fn is_idempotent(&self) -> bool {
        match self.effect {
            Effect::Read => true,
            Effect::Write if self.rows.is_empty() => operation_kind::facts(self.operation).is_idempotent,
            Effect::Write => self
                .rows
                .iter()
                .all(|row| operation_kind::facts(row.kind).is_idempotent && row.if_match.is_none()),
        }
    }

    /// Returns `true` if the response contains responses to operations.
    pub(crate) fn has_responses_inside(&self) -> bool {
        self.is_enclosed || self.is_batch()
    }

    pub(crate) fn at_entity(self, (partition_key, row_key): (&str, &str)) -> Self {
        Self {
            entity: Some(Arc::new(KeyTexts::new(partition_key, row_key))),
            ..self
        }
    }
}

/// The writes of a call.
#[derive(Debug, Default)]
pub(crate) enum RowWrites {
    #[default]
    None,
    /// A single operation, of any kind.
    One(TableOperation),
    Batch(Arc<SentBatch>),
}

impl Clone for RowWrites {
    fn clone(&self) -> Self {
        match self {
            Self::None => Self::None,
            Self::One(operation) => Self::One(operation.copy()),
            Self::Batch(batch) => Self::Batch(Arc::clone(batch)),
        }
    }
}

impl RowWrites {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(operation) => operation.row_write().iter().len(),
            Self::Batch(batch) => batch.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = RowWrite<'_>> {
        let one = match self {
            Self::One(operation) => operation.row_write(),
            _ => None,
        };
        let batch = match self {
            Self::Batch(batch) => Some(batch.row_writes()),
            _ => None,
        };
        one.into_iter().chain(batch.into_iter().flatten())
    }
}
