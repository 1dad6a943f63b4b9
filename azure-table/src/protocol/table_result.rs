//! What an operation gave.
//!
//! Owns [`TableResult`], from the answer to an operation alone, from a part of a batch's, or from the rows that show
//! what became of a write whose answer was lost. Source: REST "Insert Entity", "Query Entities", "Performing entity
//! group transactions".
//!
//! A retrieved or echoed entity stays JSON, at minimal metadata, until its type is known. For an echo whose response
//! was lost it is the row that was read back.

use std::fmt;

use bytes::Bytes;
use http::{Response, StatusCode};

use crate::codec::json::read;
use crate::model::entity::{MetadataLevel, ReadEntity};
use crate::model::error::{Error, Result};
use crate::model::etag::ETag;
use crate::model::operation_kind::OperationKind;
use crate::model::row::Row;
use crate::model::variant_mark::MarkedVariant;
use crate::protocol::answer;
use crate::protocol::row_write::WrittenRow;

/// What the answer to an operation is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) kind: OperationKind,
    /// Whether the entity is asked for.
    pub(crate) entity: bool,
}

impl Asked {
    /// The entity that an answer has.
    fn entity_in(self, status: u16, body: Bytes) -> Result<Option<Bytes>> {
        // A write without an echo was applied all the same.
        let may_be_empty = self.kind != OperationKind::Get && body.is_empty();
        if !matches!(status, 200 | 201) || may_be_empty {
            return Ok(None);
        }
        if !answer::is_json_object(&body) {
            return Err(Error::invalid_response(format!(
                "the answer to the {} has no entity",
                self.kind.name()
            )));
        }
        Ok(Some(body))
    }
}

/// What an operation gave.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableOperation, TableServiceClient, Versioned};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::on(Emulator::new()).dynamic_table("Blogs")?;
/// table.create_table().await?;
/// let blog = DynamicEntity::new("Channel9", "1");
/// let inserted = table.execute(TableOperation::insert_echo(&blog)).await?;
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
    /// As JSON, at minimal metadata.
    entity: Option<Bytes>,
    /// The variant that the entity is read as.
    variant: Option<&'static MarkedVariant>,
}

impl TableResult {
    /// Of an answer that is no refusal.
    #[inline]
    pub(crate) fn answered(asked: Asked, status: u16, etag: Option<ETag>, body: Bytes) -> Result<Self> {
        let entity = match asked.entity {
            true => asked.entity_in(status, body)?,
            false => None,
        };
        Ok(Self {
            kind: asked.kind,
            status,
            etag,
            entity,
            variant: None,
        })
    }

    /// Of a read that found nothing.
    pub(crate) fn missing(kind: OperationKind) -> Self {
        Self {
            kind,
            status: StatusCode::NOT_FOUND.as_u16(),
            etag: None,
            entity: None,
            variant: None,
        }
    }

    /// Of an operation whose answer was lost, and which was applied.
    pub(crate) fn applied(kind: OperationKind, row: Option<WrittenRow>) -> Self {
        let row = row.unwrap_or_default();
        let status = match row.entity {
            Some(_) => StatusCode::CREATED,
            None => StatusCode::NO_CONTENT,
        };
        Self {
            kind,
            status: status.as_u16(),
            etag: row.etag.map(ETag::new),
            entity: row.entity,
            variant: None,
        }
    }

    /// The same, by a handle to the rows of a variant.
    pub(crate) fn of_variant(self, variant: Option<&'static MarkedVariant>) -> Self {
        Self { variant, ..self }
    }

    /// What the operation was.
    pub fn kind(&self) -> OperationKind {
        self.kind
    }

    /// The HTTP status: 204 of a write, 201 of an insert that the service echoed; 200 of a retrieve, or 404 if it found
    /// nothing.
    pub fn status(&self) -> u16 {
        self.status
    }

    pub(crate) fn into_etag(self) -> Option<ETag> {
        self.etag
    }

    /// The entity's version: the new one after a write, the stored one of a retrieve. `None` after a delete, and where
    /// there is no entity.
    pub fn etag(&self) -> Option<&ETag> {
        self.etag.as_ref()
    }

    /// The entity as it is stored, with its Timestamp: of a retrieve, and of an insert that was asked to echo it.
    /// `None` of all other operations, of a retrieve that found nothing, and where the service echoed nothing, as
    /// Azurite in batches.
    ///
    /// # Errors
    /// `InvalidResponse` — the stored entity does not fit `E`: a property is missing or of another type.
    pub fn entity<E: ReadEntity>(&self) -> Result<Option<E>> {
        let Some(body) = &self.entity else { return Ok(None) };
        let etag = self.etag.as_ref().map(ETag::as_str);
        let read = |row: &Row<'_>| match self.variant {
            None => E::read(row),
            Some(variant) => {
                variant.check(row)?;
                variant.read(row, E::read)
            }
        };
        read::entity(body, MetadataLevel::Minimal, etag, read)
            .map(Some)
            .map_err(|e| e.in_operation(self.kind, None))
    }
}

impl fmt::Debug for TableResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableResult")
            .field("kind", &self.kind)
            .field("status", &self.status)
            .field("etag", &self.etag)
            .field("has_entity", &self.entity.is_some())
            .finish()
    }
}

/// The result of an operation alone.
pub(crate) fn answer(asked: Asked, response: Response<Bytes>) -> Result<TableResult> {
    let is_read = asked.kind == OperationKind::Get;
    if is_read && response.status() == StatusCode::NOT_FOUND {
        let error = answer::error(&response);
        return if answer::is_missing_entity(&error) {
            Ok(TableResult::missing(asked.kind))
        } else {
            Err(error)
        };
    }
    let expected: &[StatusCode] = match is_read {
        true => &[StatusCode::OK],
        false => &[StatusCode::NO_CONTENT, StatusCode::CREATED],
    };
    let response = answer::expect(response, expected)?;
    let (status, etag, request_id) = (
        response.status().as_u16(),
        answer::etag(&response),
        answer::request_id(&response),
    );
    TableResult::answered(asked, status, etag, response.into_body())
        .map_err(|e| e.with_status(status).with_request_id(request_id))
}
