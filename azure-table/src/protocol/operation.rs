//! One write or read of one entity, as a value.
//!
//! Owns [`TableOperation`], and the request that each kind is, alone or in a batch. What comes of it is
//! `table_result.rs`.
//!
//! Merges are `PATCH`, which proxies know, not `MERGE`; they are tunnelled through `POST` on Cosmos DB. Bodies repeat
//! the keys: a body without properties is known to be accepted in that form only. Writes take `AsEntity<E>`, not `&E`:
//! a `&Versioned<E>` would be dereferenced on the way in and lose its ETag.
//!
//! Source: REST "Insert Entity", "Update Entity", "Merge Entity", "Insert Or Replace Entity", "Insert Or Merge Entity",
//! "Delete Entity", "Query Entities".

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use http::Method;
use http::header::{HeaderName, IF_MATCH};

use crate::codec::json::write::{self, Written};
use crate::codec::odata::path;
use crate::codec::url;
use crate::filter::assignment::AssignmentOf;
use crate::model::entity::{MetadataLevel, TableEntity};
use crate::model::entity_key::{IntoKey, key_texts};
use crate::model::error::{Error, Result};
use crate::model::etag::{Condition, ETag};
use crate::model::guid::Guid;
use crate::model::operation_kind::OperationKind;
use crate::protocol::encoded_operation::{Encoded, More, SentBody};
use crate::protocol::endpoint::Endpoint;
use crate::protocol::http_request::{PREFER, X_HTTP_METHOD, header_value, odata, set_json};
use crate::protocol::profile::Profile;
use crate::protocol::request::{Call, RowWrites};
use crate::protocol::row_write::{RowWrite, WriteFacts};
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
    encoded: Result<Encoded>,
}

impl TableOperation {
    /// Makes a new entity; [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if its key is taken.
    pub fn insert<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::Insert, entity)
    }

    /// The same, with the entity as it was stored in the answer: [`TableResult::entity`](crate::TableResult::entity).
    /// Only inserts have that.
    pub fn insert_echo<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::insert(entity).with(|more| more.is_echoed = true)
    }

    /// The same operation, of which only the entity's write id can show that it was applied: other callers may insert
    /// the same content, and each relies on its own insert.
    pub(crate) fn known_by_write_id(self) -> Self {
        self.with(|more| more.needs_write_id = true)
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
    /// There is no way to remove a property so: see [`Assignment`](crate::filter::Assignment).
    pub fn patch<E>(key: impl IntoKey<E>, columns: impl IntoIterator<Item: AssignmentOf<E>>) -> Self {
        let condition = key.condition();
        let encoded = key.into_key().and_then(|key| {
            let (partition_key, row_key) = (key.partition_key(), key.row_key());
            let mut values = BTreeMap::new();
            for column in columns {
                let (name, value) = column
                    .into_assignment()
                    .into_property()
                    .map_err(|e| e.at_entity(partition_key, row_key))?;
                values.insert(name, value);
            }
            let written = write::properties((partition_key, row_key), |writer| {
                values.iter().try_for_each(|(name, value)| writer.value(name, value))
            });
            let written = written.map_err(|e| e.at_entity(partition_key, row_key))?;
            Ok(Encoded::of(written, row_key, condition))
        });
        Self::new(OperationKind::Merge, encoded)
    }

    /// Removes an entity; demands the version that `key` holds, if it holds one. A tuple does not say of which entity
    /// type it is the key, so the type is named: `TableOperation::delete::<Blog>(("Channel9", posted))`.
    pub fn delete<E>(key: impl IntoKey<E>) -> Self {
        let condition = key.condition();
        Self::with_key(OperationKind::Delete, key, condition)
    }

    /// Reads an entity, which is then in [`TableResult::entity`](crate::TableResult::entity), as whatever type that is
    /// asked for; nothing is in it if there is none, with the status 404. The type of a tuple's entity is named, as in
    /// a [`delete`](Self::delete). In a batch it must be alone.
    ///
    /// [`TableClient::get`](crate::TableClient::get) reads an entity of the table's own type with fewer bytes.
    #[doc(alias = "retrieve")]
    pub fn get<E>(key: impl IntoKey<E>) -> Self {
        Self::with_key(OperationKind::Get, key, Condition::Exists)
    }

    fn with_key<E>(kind: OperationKind, key: impl IntoKey<E>, condition: Condition) -> Self {
        let encoded = key.into_key().map(|key| {
            let written = Written {
                text: [key.partition_key(), key.row_key()].concat().into(),
                body: 0,
                write_id: None,
            };
            Encoded::of(written, key.row_key(), condition)
        });
        Self::new(kind, encoded)
    }

    fn with_body<E: TableEntity + ?Sized>(kind: OperationKind, entity: &E) -> Self {
        let encoded = key_texts(entity).and_then(|keys| {
            let (partition_key, row_key) = keys.pair();
            let written = write::entity(entity, keys.pair()).map_err(|e| e.at_entity(partition_key, row_key))?;
            let condition = match kind.is_conditional() {
                true => entity.condition(),
                false => Condition::Exists,
            };
            let encoded = Encoded::of(written, row_key, condition);
            keys.done();
            Ok(encoded)
        });
        Self::new(kind, encoded)
    }

    fn new(kind: OperationKind, encoded: Result<Encoded>) -> Self {
        Self { kind, encoded }
    }

    fn with(mut self, change: impl FnOnce(&mut More)) -> Self {
        if let Ok(encoded) = &mut self.encoded {
            change(encoded.more.get_or_insert_default());
        }
        self
    }

    /// Demands that the stored entity has this version. Only replace, merge and delete look at it.
    pub fn if_match(self, etag: ETag) -> Self {
        self.with(|more| more.condition = Condition::Matches(etag))
    }

    /// Demands only that the entity exists, whatever version was read.
    pub fn unconditionally(self) -> Self {
        match &self.encoded {
            Ok(encoded) if *encoded.condition() != Condition::Exists => {
                self.with(|more| more.condition = Condition::Exists)
            }
            _ => self,
        }
    }

    /// What it does.
    pub fn kind(&self) -> OperationKind {
        self.kind
    }

    /// PartitionKey and RowKey; `None` if the operation could not be encoded.
    pub fn keys(&self) -> Option<(&str, &str)> {
        Some(self.encoded.as_ref().ok()?.keys())
    }

    /// The id that this write gave the entity's `write_id` field, if it has one: no other write has the same.
    pub fn write_id(&self) -> Option<Guid> {
        self.encoded.as_ref().ok()?.more.as_ref()?.write_id
    }

    /// How many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.encoded.as_ref().map_or(0, Encoded::bytes)
    }

    /// Its body; empty if it could not be encoded.
    pub(crate) fn body(&self) -> &[u8] {
        self.encoded.as_ref().map_or(&[], Encoded::body)
    }

    /// The same once more, to be sent again. What is sent is shared.
    pub(crate) fn copy(&self) -> Self {
        Self {
            kind: self.kind,
            encoded: match &self.encoded {
                Ok(encoded) => Ok(encoded.clone()),
                Err(e) => Err(e.copy()),
            },
        }
    }

    /// Whether it can be sent.
    pub(crate) fn check(&self) -> Result<()> {
        let encoded = match &self.encoded {
            Ok(encoded) => encoded,
            Err(e) => return Err(e.copy().in_operation(self.kind, None)),
        };
        if self.kind.is_conditional() && *encoded.condition() == Condition::Unread {
            let (partition_key, row_key) = encoded.keys();
            let why = "the entity's etag field is empty: read the entity first, or say `.unconditionally()`";
            return Err(Error::invalid_input(why)
                .at_entity(partition_key, row_key)
                .in_operation(self.kind, None));
        }
        Ok(())
    }

    /// Itself if it was encoded, so that it can be put right.
    pub(crate) fn if_encoded(self) -> Option<Self> {
        self.encoded.is_ok().then_some(self)
    }

    /// Whether this service can hold what it writes.
    pub(crate) fn check_for(&self, profile: Profile) -> Result<()> {
        let encoded = self.encoded.as_ref().map_err(Error::copy)?;
        let (partition_key, row_key) = encoded.keys();
        profile
            .check_entity(partition_key, row_key, encoded.body())
            .map_err(|e| e.at_entity(partition_key, row_key))
    }

    /// The parts of its request. Only for an operation that passed [`check`](Self::check) and
    /// [`check_for`](Self::check_for).
    pub(crate) fn parts<'a>(&'a self, table: &'a str, profile: Profile) -> Result<OperationParts<'a>> {
        let encoded = self.encoded.as_ref().map_err(Error::copy)?;
        let (partition_key, row_key) = encoded.keys();
        let tunnels_merge = profile.rules().tunnels_merge;
        let mut headers = [None, None];
        let method = match self.kind {
            OperationKind::Insert => {
                let wanted = match encoded.is_echoed() {
                    true => "return-content",
                    false => "return-no-content",
                };
                headers[0] = Some((PREFER, wanted));
                Method::POST
            }
            OperationKind::Replace | OperationKind::InsertOrReplace => Method::PUT,
            OperationKind::Merge | OperationKind::InsertOrMerge if tunnels_merge => {
                headers[0] = Some((X_HTTP_METHOD, "MERGE"));
                Method::POST
            }
            OperationKind::Merge | OperationKind::InsertOrMerge => Method::PATCH,
            OperationKind::Delete => Method::DELETE,
            _ => Method::GET,
        };
        let path = match self.kind {
            OperationKind::Insert => url::encode(table).into(),
            _ => path::entity(table, partition_key, row_key).into(),
        };
        if self.kind.is_conditional() {
            let value = match encoded.condition() {
                Condition::Matches(etag) => etag.as_str(),
                Condition::Exists | Condition::Unread => "*",
            };
            // Whoever puts it into a body asks no further.
            header_value("ETag", value)?;
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
            body: encoded.body(),
        })
    }

    /// What its answer is to have.
    pub(crate) fn asked(&self) -> Asked {
        Asked {
            kind: self.kind,
            entity: self.kind == OperationKind::Get || self.encoded.as_ref().is_ok_and(Encoded::is_echoed),
        }
    }

    /// The row that it works on; `None` if it could not be encoded.
    pub(crate) fn row(&self) -> Option<RowWrite<'_>> {
        let encoded = self.encoded.as_ref().ok()?;
        let (partition_key, row_key) = encoded.keys();
        Some(RowWrite {
            kind: self.kind,
            partition_key,
            row_key,
            body: encoded.body(),
            write_id: self.write_id(),
            facts: self.facts(),
        })
    }

    /// The same, unless it only reads.
    pub(crate) fn row_write(&self) -> Option<RowWrite<'_>> {
        self.row().filter(|_| self.kind != OperationKind::Get)
    }

    /// What else is to be known of it when its answer is lost.
    fn facts(&self) -> WriteFacts {
        let encoded = self.encoded.as_ref().ok();
        let condition = encoded.map(Encoded::condition);
        let is_of_one_version =
            self.kind.is_conditional() && matches!(condition, Some(Condition::Matches(etag)) if etag.as_str() != "*");
        WriteFacts {
            is_echoed: encoded.is_some_and(Encoded::is_echoed),
            is_of_one_version,
            needs_write_id: is_of_one_version || encoded.is_some_and(Encoded::needs_write_id),
        }
    }

    /// The request of the operation alone.
    pub(crate) fn call(self, endpoint: &Endpoint, table: &str) -> Result<Call> {
        self.check_for(endpoint.profile())?;
        let parts = self.parts(table, endpoint.profile())?;
        let mut request = odata(endpoint, parts.method, &parts.path, parts.metadata.accept())?;
        for (name, value) in parts.headers.into_iter().flatten() {
            request.headers_mut().insert(name, header_value("ETag", value)?);
        }
        if let Ok(encoded) = &self.encoded
            && !encoded.body().is_empty()
        {
            set_json(&mut request, Bytes::from_owner(SentBody(encoded.clone())));
        }
        let call = Call::new(self.kind, request);
        let call = match self.keys() {
            Some(keys) => call.in_table(table).at_entity(keys),
            None => call.in_table(table),
        };
        Ok(call.writing(RowWrites::One(self)))
    }
}

/// The request of an operation, below the base address.
#[derive(Debug)]
pub(crate) struct OperationParts<'a> {
    pub(crate) method: Method,
    pub(crate) path: Cow<'a, str>,
    pub(crate) metadata: MetadataLevel,
    /// What it is, and of which version.
    pub(crate) headers: [Option<(HeaderName, &'a str)>; 2],
    pub(crate) body: &'a [u8],
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
