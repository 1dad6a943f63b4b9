//! The result of one operation.
//!
//! Defines [`TableResult`]. It comes from the response to a single operation or from a part of a batch response. If the
//! response to a write was lost, it comes from the rows that were read back. Source: REST "Insert Entity", "Query
//! Entities", "Performing entity group transactions".
//!
//! A retrieved or echoed entity stays JSON, at minimal metadata, until its type is known. For an echo whose response
//! was lost, it is the row that was read back.

use std::fmt;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::response;
use azure_table_wire::value::etag::ETag;
use bytes::Bytes;
use http::{Response, StatusCode};

use crate::entity::read_json;
use crate::entity::row::context::RowContext;
use crate::entity::table_entity::ReadEntity;
use crate::write::requested_key;
use crate::write::row_write::WrittenRow;

/// The expected content of a response.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Requested {
    pub kind: OperationKind,
    /// The response must contain the entity.
    pub entity: bool,
}

impl Requested {
    /// Returns the entity of a response.
    fn entity_in(self, status: u16, body: Bytes) -> Result<Option<Bytes>> {
        // A write without an echo was applied as well.
        let may_be_empty = self.kind != OperationKind::Get && body.is_empty();
        if !matches!(status, 200 | 201) || may_be_empty {
            return Ok(None);
        }
        if !response::is_json_object(&body) {
            return Err(Error::invalid_response(format!(
                "the response to the {} has no entity",
                self.kind.name()
            )));
        }
        Ok(Some(body))
    }
}

/// The RowKey of an operation, as a part of a text that the operations of its batch share.
#[derive(Clone)]
pub(crate) struct BatchRowKey {
    pub all: Arc<str>,
    pub own: Range<usize>,
}

impl BatchRowKey {
    fn as_str(&self) -> &str {
        &self.all[self.own.clone()]
    }
}

impl PartialEq for BatchRowKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for BatchRowKey {}

/// The result of one operation.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableOperation, TableServiceClient, Versioned};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// table.create_table().await?;
/// let blog = DynamicEntity::new("Channel9", "1");
/// let inserted = table.execute(TableOperation::insert_returning(&blog)).await?;
/// assert_eq!(inserted.status(), 201);
/// let stored: Option<Versioned<DynamicEntity>> = inserted.entity()?;
/// assert_eq!(stored.map(|stored| stored.etag).as_ref(), inserted.etag());
///
/// let missing = table.execute(TableOperation::get::<DynamicEntity>(("Channel9", "2"))).await?;
/// assert_eq!((missing.status(), missing.entity::<DynamicEntity>()?), (404, None));
/// # Ok(())
/// # }
/// ```
///
/// Source: REST "Insert Entity", "Query Entities", "Performing entity group transactions".
#[derive(Clone, PartialEq, Eq)]
pub struct TableResult {
    kind: OperationKind,
    status: u16,
    etag: Option<ETag>,
    /// The response was lost, and the stored row shows that the write was applied.
    is_read_back: bool,
    /// An earlier attempt of the write may still be applied.
    pub(crate) may_recur: bool,
    /// The entity as JSON, at minimal metadata.
    entity: Option<Bytes>,
    /// The RowKey of an operation of a batch.
    row_key: Option<BatchRowKey>,
    context: RowContext,
}

impl TableResult {
    /// Creates the result of a successful response.
    #[inline]
    pub(crate) fn of_response(
        requested: Requested,
        status: u16,
        etag: Option<ETag>,
        body: Bytes,
        context: RowContext,
    ) -> Result<Self> {
        let entity = if requested.entity {
            requested.entity_in(status, body)?
        } else {
            None
        };
        Ok(Self {
            kind: requested.kind,
            status,
            etag,
            is_read_back: false,
            may_recur: false,
            entity,
            row_key: None,
            context,
        })
    }

    /// Creates the result of a read that found nothing.
    pub(crate) fn missing(kind: OperationKind) -> Self {
        Self {
            kind,
            status: StatusCode::NOT_FOUND.as_u16(),
            etag: None,
            is_read_back: false,
            may_recur: false,
            entity: None,
            row_key: None,
            context: RowContext::default(),
        }
    }

    /// Returns the kind of the operation.
    pub fn kind(&self) -> OperationKind {
        self.kind
    }

    /// Returns the RowKey of the operation in its batch, to find a result by its key. `None` for a single operation.
    pub fn row_key(&self) -> Option<&str> {
        self.row_key.as_ref().map(BatchRowKey::as_str)
    }

    /// Returns the HTTP status.
    ///
    /// - 204 for a write.
    /// - 201 for an insert that the service echoed.
    /// - 200 for a get, or 404 if it found nothing.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the ETag of the entity: the new one after a write, the stored one after a get.
    ///
    /// `None` after a delete, and if no entity was found. Also `None` if the response was lost and the stored row has
    /// other content, although it shows that the write was applied: others have changed it since, or a merge kept other
    /// properties. In a batch, other rows may have shown it while short pages hid this one.
    pub fn etag(&self) -> Option<&ETag> {
        self.etag.as_ref()
    }

    /// Returns the entity as stored, with its Timestamp.
    ///
    /// A get and an insert with echo return it. Returns `None` for all other operations, for a get that found nothing,
    /// and for an insert if the service echoed nothing, as Azurite does in batches.
    ///
    /// # Errors
    /// - `InvalidResponse`: the stored entity does not fit `E`. A property is missing or has another type.
    pub fn entity<E: ReadEntity>(&self) -> Result<Option<E>> {
        let Some(body) = &self.entity else { return Ok(None) };
        let etag = self.etag.as_ref().map(ETag::as_str);
        read_json::entity_in(Some(&self.context), body, MetadataLevel::Minimal, etag, E::read)
            .map(Some)
            .map_err(|e| e.in_operation(self.kind, None))
    }
}

// The internals of a result: the client creates it.
impl TableResult {
    /// Creates the result of an operation that was applied but whose response was lost.
    pub(crate) fn applied(kind: OperationKind, row: Option<WrittenRow>) -> Self {
        let row = row.unwrap_or_default();
        let status = match row.entity {
            Some(_) => StatusCode::CREATED,
            None => StatusCode::NO_CONTENT,
        };
        Self {
            status: status.as_u16(),
            etag: row.etag.map(ETag::new),
            is_read_back: true,
            entity: row.entity,
            context: row.context,
            ..Self::missing(kind)
        }
    }

    /// Returns this result as that of one operation of a batch.
    pub(crate) fn in_batch(self, row_key: BatchRowKey) -> Self {
        let row_key = Some(row_key);
        Self { row_key, ..self }
    }

    /// Returns this result of a write; `may_recur` if an earlier attempt may still be applied.
    pub(crate) fn after_attempts(self, may_recur: bool) -> Self {
        Self { may_recur, ..self }
    }

    pub(crate) fn into_etag(self) -> Option<ETag> {
        self.etag
    }

    /// Returns `true` if the response was lost, and the stored row shows that the write was applied.
    pub(crate) fn is_read_back(&self) -> bool {
        self.is_read_back
    }
}

impl fmt::Debug for TableResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableResult")
            .field("kind", &self.kind)
            .field("row_key", &self.row_key())
            .field("status", &self.status)
            .field("etag", &self.etag)
            .field("has_entity", &self.entity.is_some())
            .finish()
    }
}

/// Returns the result of a single operation. `key` is that of a get.
pub(crate) fn read_response(
    requested: Requested,
    key: Option<(&str, &str)>,
    response: Response<Bytes>,
) -> Result<TableResult> {
    let is_read = requested.kind == OperationKind::Get;
    if is_read && response.status() == StatusCode::NOT_FOUND {
        let error = response::error(&response);
        return if response::is_missing_entity(&error) {
            Ok(TableResult::missing(requested.kind))
        } else {
            Err(error)
        };
    }
    let expected: &[StatusCode] = match requested.kind {
        OperationKind::Get => &[StatusCode::OK],
        OperationKind::Insert => &[StatusCode::NO_CONTENT, StatusCode::CREATED],
        _ => &[StatusCode::NO_CONTENT],
    };
    let mut response = response::expect(response, expected)?;
    let key = key.filter(|_| !requested_key::is_masked(&response) && response::is_json_object(response.body()));
    let checked = key.map_or(Ok(()), |key| requested_key::check_keys(response.body(), key));
    let (status, etag) = (response.status().as_u16(), response::etag(&response).map(ETag::new));
    let (body, context) = (mem::take(response.body_mut()), RowContext::of(&response));
    checked
        .and_then(|()| TableResult::of_response(requested, status, etag, body, context))
        .map_err(|e| e.with_status(status).with_request_id(response::request_id(&response)))
}
