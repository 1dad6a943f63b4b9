//! One write or read of one entity, as a value.
//!
//! Defines [`TableOperation`] and the request of each kind, alone or in a batch. `table_result.rs` has its result.
//!
//! A merge is sent as `PATCH`, which proxies know, not as `MERGE`. On Cosmos DB it is tunnelled through `POST`. Bodies
//! repeat the keys because a body without properties is known to be accepted only in that form. Writes accept
//! `AsEntity<E>`, not `&E`: a `&Versioned<E>` would be dereferenced and lose its ETag.
//!
//! Source: REST "Insert Entity", "Update Entity", "Merge Entity", "Insert Or Replace Entity", "Insert Or Merge Entity",
//! "Delete Entity", "Query Entities".

mod combined;
pub(crate) mod shared;

use std::fmt;
use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::account::profile::Profile;
use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::codec::url;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::request::http_request::{PREFER, X_HTTP_METHOD, header_value, odata, set_json};
use azure_table_wire::value::etag::{self, Condition, ETag};
use azure_table_wire::value::guid::Guid;
use bytes::Bytes;
use http::Method;
use http::header::IF_MATCH;

use crate::entity::dynamic::DynamicEntity;
use crate::entity::property_writer::PropertyWriter;
use crate::entity::read_json;
use crate::entity::table_entity::{ReadEntity as _, TableEntity};
use crate::entity::write_json::{self, Written};
use crate::filter::assignment::{AssignedProperties, Assignments};
use crate::key::entity_key::{IntoKey, key_texts};
use crate::key::key_texts::KeyTexts;
use crate::write::encoded_operation::{Encoded, OperationParts, SentBody, WriteExtras, of_properties};
use crate::write::entity_limits::{check_entity, check_size};
use crate::write::operation_request::{OperationRequest, RowWrites};
use crate::write::path;
use crate::write::row_write::{RowWrite, WriteFacts, is_conditional};
use crate::write::sent_batch::SentBatch;
use crate::write::table_result::Requested;

/// A write or read of one entity, as a value.
///
/// The operation is encoded when it is created. It owns its data and does not depend on the entity's type. Run it with
/// `TableClient::execute`, or add it to a `TableBatch`, which can mix entity types. Both reject an operation that the
/// service would reject.
///
/// Merge and replace require the entity to exist; `insert_or_…` do not. A replace drops the properties that it does not
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
    /// The encoded operation, or the error that prevents sending it.
    pub(super) encoded: Result<Encoded>,
}

impl TableOperation {
    /// Inserts a new entity.
    ///
    /// Fails with [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if its key exists.
    pub fn insert<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::Insert, entity)
    }

    /// Inserts a new entity and returns it as stored, in
    /// [`TableResult::entity`](crate::TableResult::entity).
    ///
    /// Only inserts can return the stored entity.
    pub fn insert_returning<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::insert(entity).with(|extras| extras.is_echoed = true)
    }

    /// Replaces the stored entity with `entity`.
    ///
    /// If `entity` holds an ETag, the stored one must match.
    pub fn replace<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::Replace, entity)
    }

    /// Merges the properties of `entity` into the stored entity.
    ///
    /// If `entity` holds an ETag, the stored one must match.
    pub fn merge<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::Merge, entity)
    }

    /// Inserts the entity, or replaces the stored one.
    pub fn insert_or_replace<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::InsertOrReplace, entity)
    }

    /// Inserts the entity, or merges its properties into the stored one.
    pub fn insert_or_merge<E: TableEntity + ?Sized>(entity: &E) -> Self {
        Self::with_body(OperationKind::InsertOrMerge, entity)
    }

    /// Sets the named columns of the stored entity and leaves all others unchanged.
    ///
    /// The entity must exist. If `key` holds an ETag, the stored one must match. If a column has two values, the last
    /// one counts.
    ///
    /// A patch cannot remove a property: see [`Assignment`](crate::filter::Assignment).
    pub fn patch<E>(key: impl IntoKey<E>, columns: impl Assignments<E>) -> Self {
        let condition = key.condition();
        let encoded = key.into_key().and_then(|key| {
            let keys = (key.partition_key(), key.row_key());
            let columns = AssignedProperties::of(columns).map_err(|e| e.at_entity(keys.0, keys.1))?;
            of_properties(keys, condition, &mut |writer| columns.write(writer))
        });
        Self::new(OperationKind::Merge, encoded)
    }

    /// Deletes an entity.
    ///
    /// If `key` holds an ETag, the stored one must match.
    ///
    /// A tuple does not show the entity type of its key, so name the type:
    /// `TableOperation::delete::<Blog>(("Channel9", posted))`.
    pub fn delete<E>(key: impl IntoKey<E>) -> Self {
        let condition = key.condition();
        Self::with_key(OperationKind::Delete, key, condition)
    }

    /// Reads an entity.
    ///
    /// [`TableResult::entity`](crate::TableResult::entity) returns it as the requested type, or `None` with status 404
    /// if no entity has the key. For a tuple, name the entity type as in [`delete`](Self::delete). A get must be alone
    /// in its batch.
    ///
    /// `TableClient::get` reads an entity of the table's own type with fewer bytes.
    #[doc(alias = "retrieve")]
    pub fn get<E>(key: impl IntoKey<E>) -> Self {
        Self::with_key(OperationKind::Get, key, Condition::Exists)
    }

    fn with_key<E>(kind: OperationKind, key: impl IntoKey<E>, condition: Condition) -> Self {
        let encoded = key.into_key().map(|key| {
            let written = Written {
                text: [key.partition_key(), key.row_key()].concat().into(),
                body: 0,
                rare: None,
            };
            Encoded::of(written, key.row_key(), condition)
        });
        Self::new(kind, encoded)
    }

    fn with_body<E: TableEntity + ?Sized>(kind: OperationKind, entity: &E) -> Self {
        Self::with_keys(kind, entity, key_texts(entity))
    }

    fn with_keys<E: TableEntity + ?Sized>(kind: OperationKind, entity: &E, keys: Result<KeyTexts>) -> Self {
        let encoded = keys.and_then(|keys| {
            let (partition_key, row_key) = keys.pair();
            let written = write_json::entity(entity, keys.pair()).map_err(|e| e.at_entity(partition_key, row_key))?;
            let condition = if is_conditional(kind) {
                entity.condition()
            } else {
                Condition::Exists
            };
            let encoded = Encoded::of(written, row_key, condition);
            keys.done();
            Ok(encoded)
        });
        Self::new(kind, encoded)
    }

    /// Returns the place of an operation that its source could not read.
    pub(crate) fn unreadable(error: Error) -> Self {
        Self::new(OperationKind::Bulk, Err(error))
    }

    fn new(kind: OperationKind, encoded: Result<Encoded>) -> Self {
        Self { kind, encoded }
    }

    fn with(mut self, change: impl FnOnce(&mut WriteExtras)) -> Self {
        if let Ok(encoded) = &mut self.encoded {
            change(encoded.extras.get_or_insert_default());
        }
        self
    }

    /// Requires the stored entity to have this ETag.
    ///
    /// Applies to replace, merge and delete only.
    pub fn if_match(self, etag: ETag) -> Self {
        self.with(|extras| extras.condition = Condition::Matches(etag))
    }

    /// Requires only that the entity exists, with any ETag.
    pub fn unconditionally(self) -> Self {
        let is_set = |encoded: &Encoded| *encoded.condition() == Condition::Exists;
        if self.encoded.as_ref().is_ok_and(is_set) {
            self
        } else {
            self.with(|extras| extras.condition = Condition::Exists)
        }
    }

    /// Returns the kind of the operation.
    pub fn kind(&self) -> OperationKind {
        self.kind
    }

    /// Returns the PartitionKey and RowKey, or `None` if the operation could not be encoded.
    pub fn keys(&self) -> Option<(&str, &str)> {
        Some(self.encoded.as_ref().ok()?.keys())
    }

    /// Returns the entity that the operation writes, with its ETag if the operation requires one.
    ///
    /// It has the properties as they are sent: a [`patch`](Self::patch) has its columns alone. Its serde form keeps all
    /// types, so it can be written to a file and read back. `None` for a delete or a get, which only have
    /// [`keys`](Self::keys), and for an operation that could not be encoded.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, TableOperation};
    /// let mut blog = DynamicEntity::new("Channel9", "1");
    /// blog.insert("Views", 5_i64);
    /// assert_eq!(TableOperation::insert(&blog).entity(), Some(blog));
    /// assert_eq!(TableOperation::delete::<DynamicEntity>(("Channel9", "1")).entity(), None);
    /// ```
    pub fn entity(&self) -> Option<DynamicEntity> {
        let encoded = self.encoded.as_ref().ok()?;
        let mut entity = read_json::entity(encoded.body(), MetadataLevel::Minimal, None, DynamicEntity::read).ok()?;
        if let Condition::Matches(etag) = encoded.condition() {
            entity.etag = Some(etag.clone());
        }
        Some(entity)
    }

    /// Returns the id that this write put into the entity's `write_id` field, or `None` without such a field.
    ///
    /// No other write has the same id.
    pub fn write_id(&self) -> Option<Guid> {
        self.encoded.as_ref().ok()?.extras.as_ref()?.rare.write_id
    }

    /// Checks that this service can store the entity.
    pub(crate) fn check_for(&self, profile: Profile) -> Result<()> {
        let encoded = self.encoded.as_ref().map_err(Error::copy)?;
        let (partition_key, row_key) = encoded.keys();
        check_size(profile, encoded.body().len(), encoded.exceeds())
            .and_then(|()| check_entity(profile, partition_key, row_key, encoded.body()))
            .map_err(|e| e.at_entity(partition_key, row_key))
    }

    /// Returns the parts of the request. Only for an operation that passed [`check`](Self::check) and
    /// [`check_for`](Self::check_for).
    pub(super) fn parts<'a>(&'a self, table: &'a str, profile: Profile) -> Result<OperationParts<'a>> {
        let encoded = self.encoded.as_ref().map_err(Error::copy)?;
        let (partition_key, row_key) = encoded.keys();
        let tunnels_merge = profile.rules().tunnels_merge;
        let mut headers = [None, None];
        let method = match self.kind {
            OperationKind::Insert => {
                let wanted = if encoded.is_echoed() {
                    "return-content"
                } else {
                    "return-no-content"
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
        if is_conditional(self.kind) {
            let value = match encoded.condition() {
                Condition::Matches(etag) => etag.as_str(),
                _ => "*",
            };
            // Checked here because code that adds the operation to a body does not check it again.
            header_value("ETag", value)?;
            headers[1] = Some((IF_MATCH, value));
        }
        // The caller may read the version and types that plain JSON does not show.
        let metadata = if self.requested().entity {
            MetadataLevel::Minimal
        } else {
            MetadataLevel::None
        };
        Ok(OperationParts {
            method,
            path,
            metadata,
            headers,
            body: encoded.body(),
        })
    }

    /// Returns the row of the operation, or `None` if it could not be encoded.
    pub(crate) fn row(&self) -> Option<RowWrite<'_>> {
        let encoded = self.encoded.as_ref().ok()?;
        let ((partition_key, row_key), if_match) = (encoded.keys(), self.if_match_etag());
        Some(RowWrite {
            kind: self.kind,
            partition_key,
            row_key,
            body: encoded.body(),
            write_id: self.write_id(),
            if_match,
            facts: WriteFacts {
                is_echoed: encoded.is_echoed(),
                needs_write_id: if_match.is_some() || encoded.needs_write_id(),
                is_unshared: false,
            },
        })
    }

    /// Returns the row of a write, or `None` for a read.
    pub(crate) fn row_write(&self) -> Option<RowWrite<'_>> {
        self.row().filter(|_| self.kind != OperationKind::Get)
    }

    /// Returns the ETag that the stored entity must have, unless any will do.
    fn if_match_etag(&self) -> Option<&ETag> {
        match self.encoded.as_ref().ok()?.condition() {
            Condition::Matches(etag) if is_conditional(self.kind) && etag.as_str() != "*" => Some(etag),
            _ => None,
        }
    }
}

// The internals of an operation, for the client.
impl TableOperation {
    /// Creates the insert of an entity with these keys.
    pub(crate) fn insert_with_keys<E: TableEntity + ?Sized>(entity: &E, keys: Result<KeyTexts>) -> Self {
        Self::with_keys(OperationKind::Insert, entity, keys)
    }

    /// Creates the merge of these properties.
    pub(crate) fn merge_properties(
        keys: (&str, &str),
        write: &mut dyn FnMut(&mut PropertyWriter<'_>) -> Result<()>,
    ) -> Self {
        Self::new(OperationKind::Merge, of_properties(keys, Condition::Exists, write))
    }

    /// Returns this operation so that only the entity's write id shows that it was applied.
    ///
    /// Other callers may insert the same content, and each depends on its own insert.
    pub(crate) fn known_by_write_id(self) -> Self {
        self.with(|extras| extras.needs_write_id = true)
    }

    /// Returns the operations of a batch, all of them [plain](Self::is_plain), as their indices in it.
    pub(crate) fn all_in_batch(batch: &Arc<SentBatch>) -> impl Iterator<Item = Self> {
        let kinds = batch.requested().enumerate();
        kinds.map(|(index, requested)| Self::new(requested.kind, Ok(Encoded::in_batch(batch, index))))
    }

    /// Keeps only the index of the operation in a batch that was sent with it.
    pub(crate) fn place_in(&mut self, batch: &Arc<SentBatch>, index: usize) {
        if let Ok(encoded) = &mut self.encoded {
            encoded.place_in(batch, index);
        }
    }

    /// Copies the operation out of its batch, if it is only an index.
    pub(crate) fn detach(&mut self) {
        if let Ok(encoded) = &mut self.encoded {
            encoded.detach();
        }
    }

    /// Returns `true` if kind, body and keys are all of the operation.
    pub(crate) fn is_plain(&self) -> bool {
        self.encoded.as_ref().is_ok_and(|encoded| encoded.extras.is_none())
    }

    /// Returns the size of the operation in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.encoded.as_ref().map_or(0, Encoded::bytes)
    }

    /// Returns the body; empty if the operation could not be encoded.
    pub(crate) fn body(&self) -> &[u8] {
        self.encoded.as_ref().map_or(&[], Encoded::body)
    }

    /// Returns a copy for another attempt. The copies share the bytes.
    pub(crate) fn copy(&self) -> Self {
        Self {
            kind: self.kind,
            encoded: match &self.encoded {
                Ok(encoded) => Ok(encoded.clone()),
                Err(e) => Err(e.copy()),
            },
        }
    }

    /// Checks that the operation can be sent.
    pub(crate) fn check(&self) -> Result<()> {
        let encoded = match &self.encoded {
            Ok(encoded) => encoded,
            Err(e) => return Err(e.copy().in_operation(self.kind, None)),
        };
        let checked = match encoded.condition() {
            Condition::Matches(etag) if is_conditional(self.kind) => etag::check(etag),
            Condition::MissingETag if is_conditional(self.kind) => Err(Error::invalid_input(
                "the entity's etag field is empty: read the entity first, or call `.unconditionally()`",
            )),
            _ => return Ok(()),
        };
        let (partition_key, row_key) = encoded.keys();
        checked.map_err(|e| e.at_entity(partition_key, row_key).in_operation(self.kind, None))
    }

    /// Returns `true` if it was encoded, so that the caller can correct and send it.
    pub(crate) fn is_encoded(&self) -> bool {
        self.encoded.is_ok()
    }

    /// Returns the expected content of the response.
    pub(crate) fn requested(&self) -> Requested {
        Requested {
            kind: self.kind,
            entity: self.kind == OperationKind::Get || self.encoded.as_ref().is_ok_and(Encoded::is_echoed),
        }
    }

    /// Builds the request of the operation alone.
    pub(crate) fn into_request(self, endpoint: &Endpoint, table: &str) -> Result<OperationRequest> {
        self.check_for(endpoint.profile())?;
        let parts = self.parts(table, endpoint.profile())?;
        let mut request = odata(endpoint, parts.method, &parts.path, parts.metadata)?;
        for (name, value) in parts.headers.into_iter().flatten() {
            request.headers_mut().insert(name, header_value("ETag", value)?);
        }
        if let Ok(encoded) = &self.encoded
            && !encoded.body().is_empty()
        {
            set_json(&mut request, Bytes::from_owner(SentBody(encoded.clone())));
        }
        let mut sent = OperationRequest::new(self.kind, request).in_table(table);
        if let Some(keys) = self.keys() {
            sent = sent.at_entity(keys);
        }
        sent.rows = RowWrites::One(self);
        Ok(sent)
    }
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
