//! One write or read of one entity, as a value.
//!
//! Owns [`TableOperation`], and the request that each kind is, alone or in a batch. What comes of it is `table_result.rs`.
//! Source: REST "Insert Entity", "Update Entity", "Merge Entity", "Insert Or Replace Entity", "Insert Or Merge Entity",
//! "Delete Entity", "Query Entities".

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use http::header::{HeaderName, HeaderValue, IF_MATCH};

use crate::codec::json::write;
use crate::codec::url;
use crate::filter::assignment::AssignmentOf;
use crate::model::entity::{MetadataLevel, TableEntity};
use crate::model::entity_key::{IntoKey, key_texts};
use crate::model::error::{Error, Result};
use crate::model::etag::{Condition, ETag};
use crate::model::guid::Guid;
use crate::protocol::endpoint::Endpoint;
pub use crate::protocol::operation_kind::OperationKind;
use crate::protocol::profile::Profile;
use crate::protocol::read_back::RowWrite;
use crate::protocol::request::{Call, PREFER, X_HTTP_METHOD, header_value, odata, set_json};
use crate::protocol::table_result::Asked;

/// A write or read of one entity: encoded when it is made, owned, free of the entity's type.
///
/// Run it with [`TableClient::execute`](crate::TableClient::execute) or add it to a [`TableBatch`](crate::TableBatch),
/// which may so mix entity types. A value that the service would refuse is reported there.
///
/// Merge and replace need the entity to exist; `insert_or_…` do not. A replace drops the properties that it does not
/// name, a merge keeps them.
///
/// ```
/// use azure_table::{DynamicEntity, TableOperation};
/// let operation = TableOperation::insert_or_merge(&DynamicEntity::new("pk", "rk"));
/// assert_eq!(operation.to_string(), "insert or merge (\"pk\", \"rk\")");
/// ```
#[must_use = "an operation does nothing until it is executed"]
pub struct TableOperation {
    kind: OperationKind,
    /// Why it cannot be sent, or what is.
    encoded: Result<Arc<Encoded>>,
    condition: Condition,
    /// Whether the answer to an insert is to have the entity.
    is_echoed: bool,
}

/// What is sent of it. Shared with who reads it back, and with copies.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) partition_key: String,
    pub(crate) row_key: String,
    /// The entity; empty of a delete or a retrieve.
    pub(crate) body: Bytes,
    /// What the entity's `write_id` field was given.
    pub(crate) write_id: Option<Guid>,
}

impl TableOperation {
    /// Makes a new entity; [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if its key is taken.
    pub fn insert<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::Insert, entity)
    }

    /// The same, with the entity as it was stored in the answer: [`TableResult::entity`](crate::TableResult::entity). Only
    /// inserts have that.
    pub fn insert_echo<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self {
            is_echoed: true,
            ..Self::insert(entity)
        }
    }

    /// Puts `entity` in the place of the stored one; demands the version it holds, if it holds one.
    pub fn replace<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::Replace, entity)
    }

    /// Writes the properties of `entity` into the stored one; demands the version it holds, if it holds one.
    pub fn merge<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::Merge, entity)
    }

    /// Makes the entity or puts it in the place of the stored one.
    pub fn insert_or_replace<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::InsertOrReplace, entity)
    }

    /// Makes the entity or writes its properties into the stored one.
    pub fn insert_or_merge<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::InsertOrMerge, entity)
    }

    /// Writes the named columns into the stored entity and leaves all others as they are; it must exist, in the version
    /// that `key` holds, if it holds one. The last of two values for one column counts.
    ///
    /// There is no way to remove a property so: see [`Assignment`](crate::Assignment).
    pub fn patch<E>(key: impl IntoKey<E>, columns: impl IntoIterator<Item: AssignmentOf<E>>) -> Self {
        let condition = key.condition();
        let encoded = key.into_key().and_then(|key| {
            let (partition_key, row_key) = (key.partition_key().to_owned(), key.row_key().to_owned());
            let mut values = BTreeMap::new();
            for column in columns {
                let (name, value) = column
                    .into_assignment()
                    .into_property()
                    .map_err(|e| e.at_entity(&partition_key, &row_key))?;
                values.insert(name, value);
            }
            let (body, write_id) = write::properties(&partition_key, &row_key, |writer| {
                values.iter().try_for_each(|(name, value)| writer.value(name, value))
            })
            .map_err(|e| e.at_entity(&partition_key, &row_key))?;
            Ok(Encoded {
                partition_key,
                row_key,
                body,
                write_id,
            })
        });
        Self {
            condition,
            ..Self::new(OperationKind::Merge, encoded)
        }
    }

    /// Removes an entity; demands the version that `key` holds, if it holds one. A tuple does not say of which entity
    /// type it is the key, so the type is named: `TableOperation::delete::<Blog>(("Channel9", posted))`.
    pub fn delete<E>(key: impl IntoKey<E>) -> Self {
        let condition = key.condition();
        Self {
            condition,
            ..Self::with_key(OperationKind::Delete, key)
        }
    }

    /// Reads an entity, which is then in [`TableResult::entity`](crate::TableResult::entity), as whatever type that is asked
    /// for; nothing is in it if there is none, with the status 404. The type of a tuple's entity is named, as in a
    /// [`delete`](Self::delete). In a batch it must be alone.
    ///
    /// [`TableClient::get`](crate::TableClient::get) reads an entity of the table's own type with fewer bytes.
    pub fn retrieve<E>(key: impl IntoKey<E>) -> Self {
        Self::with_key(OperationKind::Retrieve, key)
    }

    fn with_key<E>(kind: OperationKind, key: impl IntoKey<E>) -> Self {
        let encoded = key.into_key().map(|key| Encoded {
            partition_key: key.partition_key().to_owned(),
            row_key: key.row_key().to_owned(),
            body: Bytes::new(),
            write_id: None,
        });
        Self::new(kind, encoded)
    }

    fn with_body<E: TableEntity + ?Sized>(kind: OperationKind, entity: &E) -> Self {
        let encoded = key_texts(entity).and_then(|(partition_key, row_key)| {
            let (body, write_id) =
                write::entity(entity, &partition_key, &row_key).map_err(|e| e.at_entity(&partition_key, &row_key))?;
            Ok(Encoded {
                partition_key,
                row_key,
                body,
                write_id,
            })
        });
        Self {
            condition: entity.condition(),
            ..Self::new(kind, encoded)
        }
    }

    fn new(kind: OperationKind, encoded: Result<Encoded>) -> Self {
        let encoded = encoded.map(Arc::new);
        Self {
            kind,
            encoded,
            condition: Condition::Exists,
            is_echoed: false,
        }
    }

    /// Demands that the stored entity has this version. Only replace, merge and delete look at it.
    pub fn if_match(mut self, etag: ETag) -> Self {
        self.condition = Condition::Matches(etag);
        self
    }

    /// Demands only that the entity exists, whatever version was read.
    pub fn unconditionally(mut self) -> Self {
        self.condition = Condition::Exists;
        self
    }

    /// What it does.
    pub fn kind(&self) -> OperationKind {
        self.kind
    }

    /// PartitionKey and RowKey; `None` if the operation could not be encoded.
    pub fn keys(&self) -> Option<(&str, &str)> {
        let encoded = self.encoded.as_ref().ok()?;
        Some((&encoded.partition_key, &encoded.row_key))
    }

    /// The id that this write gave the entity's `write_id` field, if it has one: no other write has the same.
    pub fn write_id(&self) -> Option<Guid> {
        self.encoded.as_ref().ok()?.write_id
    }

    /// What is sent of it; `None` if it could not be encoded.
    pub(crate) fn encoded(&self) -> Option<&Arc<Encoded>> {
        self.encoded.as_ref().ok()
    }

    /// The bytes of its body; 0 if it could not be encoded.
    pub(crate) fn body_bytes(&self) -> usize {
        self.encoded.as_ref().map_or(0, |encoded| encoded.body.len())
    }

    /// The same once more, to be sent again; `None` if it could not be encoded. Its body is shared.
    pub(crate) fn copy(&self) -> Option<Self> {
        let encoded = self.encoded.as_ref().ok()?;
        Some(Self {
            kind: self.kind,
            encoded: Ok(Arc::clone(encoded)),
            condition: self.condition.clone(),
            is_echoed: self.is_echoed,
        })
    }

    /// Splits off what cannot be sent: the error, and the operation if it was encoded, so that it can be put right.
    pub(crate) fn check(self) -> Result<Self, Box<(Error, Option<Self>)>> {
        let kind = self.kind;
        match self.encoded {
            Err(e) => Err(Box::new((e.in_operation(kind.name(), None), None))),
            Ok(encoded) if kind.is_conditional() && self.condition == Condition::Unread => {
                let why = "the entity's etag field is empty: read the entity first, or say `.unconditionally()`";
                let error = Error::invalid_input(why)
                    .at_entity(&encoded.partition_key, &encoded.row_key)
                    .in_operation(kind.name(), None);
                let operation = Self {
                    encoded: Ok(encoded),
                    ..self
                };
                Err(Box::new((error, Some(operation))))
            }
            encoded => Ok(Self { encoded, ..self }),
        }
    }

    /// The parts of its request. Only for an operation that passed [`check`](Self::check).
    pub(crate) fn parts<'a>(&self, table: &'a str, profile: Profile) -> Result<OperationParts<'a>> {
        let encoded = self.encoded.as_ref().map_err(|e| Error::invalid_input(e.to_string()))?;
        let (partition_key, row_key) = (&*encoded.partition_key, &*encoded.row_key);
        profile
            .check_entity(partition_key, row_key, &encoded.body)
            .map_err(|e| e.at_entity(partition_key, row_key))?;
        let entity = || Cow::Owned(url::entity(table, partition_key, row_key));
        let mut headers = [None, None];
        let (method, path) = match self.kind {
            OperationKind::Insert => {
                let wanted = match self.is_echoed {
                    true => "return-content",
                    false => "return-no-content",
                };
                headers[0] = Some((PREFER, HeaderValue::from_static(wanted)));
                (Method::POST, url::encode(table).into())
            }
            OperationKind::Replace | OperationKind::InsertOrReplace => (Method::PUT, entity()),
            OperationKind::Merge | OperationKind::InsertOrMerge if profile.rules().tunnels_merge => {
                headers[0] = Some((X_HTTP_METHOD, HeaderValue::from_static("MERGE")));
                (Method::POST, entity())
            }
            OperationKind::Merge | OperationKind::InsertOrMerge => (Method::PATCH, entity()),
            OperationKind::Delete => (Method::DELETE, entity()),
            OperationKind::Retrieve => (Method::GET, entity()),
        };
        if self.kind.is_conditional() {
            let value = match &self.condition {
                Condition::Matches(etag) => header_value("ETag", etag.as_str())?,
                Condition::Exists | Condition::Unread => HeaderValue::from_static("*"),
            };
            headers[1] = Some((IF_MATCH, value));
        }
        // Whoever reads the entity then may ask for its version and for types that JSON does not show.
        let metadata = match self.asked().entity {
            true => MetadataLevel::Minimal,
            false => MetadataLevel::None,
        };
        Ok(OperationParts {
            method,
            path,
            metadata,
            headers,
            body: encoded.body.clone(),
        })
    }

    /// What its answer is to have.
    pub(crate) fn asked(&self) -> Asked {
        Asked {
            kind: self.kind,
            entity: self.is_echoed || self.kind == OperationKind::Retrieve,
        }
    }

    /// What it does to its row; `None` if it could not be encoded, or only reads.
    pub(crate) fn row_write(&self) -> Option<RowWrite> {
        let encoded = self.encoded.as_ref().ok()?;
        if self.kind == OperationKind::Retrieve {
            return None;
        }
        Some(RowWrite {
            kind: self.kind,
            encoded: Arc::clone(encoded),
            is_echoed: self.is_echoed,
            is_of_one_version: self.kind.is_conditional()
                && matches!(&self.condition, Condition::Matches(etag) if etag.as_str() != "*"),
        })
    }

    /// The request of the operation alone.
    pub(crate) fn call(&self, endpoint: &Endpoint, table: &str) -> Result<Call> {
        let parts = self.parts(table, endpoint.profile())?;
        let mut request = odata(endpoint, parts.method, &parts.path, parts.metadata.accept())?;
        request.headers_mut().extend(parts.headers.into_iter().flatten());
        if !parts.body.is_empty() {
            set_json(&mut request, parts.body);
        }
        let call = match self.kind {
            OperationKind::Retrieve => Call::read(self.kind.name(), request).expecting(404),
            _ => Call::write(self.kind.name(), request).writing(self.row_write().into_iter().collect()),
        };
        let call = call.in_table(table);
        Ok(match self.keys() {
            Some(keys) => call.at_entity(keys),
            None => call,
        })
    }
}

/// The request of an operation, below the base address.
#[derive(Debug)]
pub(crate) struct OperationParts<'a> {
    pub(crate) method: Method,
    pub(crate) path: Cow<'a, str>,
    pub(crate) metadata: MetadataLevel,
    /// What it is, and of which version.
    pub(crate) headers: [Option<(HeaderName, HeaderValue)>; 2],
    pub(crate) body: Bytes,
}

impl fmt::Display for TableOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match self.keys() {
            Some((partition_key, row_key)) => write!(f, " ({partition_key:?}, {row_key:?})"),
            None => f.write_str(" (not encoded)"),
        }
    }
}

impl fmt::Debug for TableOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableOperation({self})")
    }
}
