//! Entity group transactions: the rules, and the operations.
//!
//! The rules of a transaction are checked as it grows, so that a [`RejectedOperation`] can return the operation.
//! `batch_request.rs` builds the request, and `batch_response.rs` reads the response. `write/batch_body.rs` and
//! `codec/multipart.rs` handle the multipart text.
//!
//! The body grows with the batch, so its limit applies to the bytes that are sent. An operation that breaks a rule is
//! cut off again.
//!
//! Source: REST "Performing entity group transactions".

use std::fmt;
use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::{self, Effect, OperationKind};
use azure_table_wire::error::{Error, Result};

use crate::entity::table_entity::TableEntity;
use crate::entity::write_json::append;
use crate::key::entity_key::key_texts;
use crate::write::batch_body::{BatchBody, BodyRange, InnerRequest};
use crate::write::batch_request::{batch_boundary, changes, content_type, post};
use crate::write::entity_limits::{check_entity, check_size};
use crate::write::operation::TableOperation;
use crate::write::operation::shared::is_shared;
use crate::write::operation_request::{OperationRequest, RowWrites};
use crate::write::row_hash::{RowHash, RowHashes};
use crate::write::row_write::{RowWrite, WriteFacts};
use crate::write::sent_batch::SentBatch;
use crate::write::table_result::Requested;

/// The maximum number of operations in a batch.
pub const MAX_BATCH_OPERATIONS: usize = 100;

/// The number of operations after which capacity for a full batch is reserved.
const SOME_OPERATIONS: usize = 8;
/// The maximum capacity that is reserved, in bytes.
const MAX_EXPECTED: usize = 256 << 10;

/// The operations of one transaction with the body of its request, or a single get.
#[derive(Debug)]
pub(crate) struct ChangeSet {
    endpoint: Endpoint,
    table: String,
    /// `None` if the caller knows that the rows are distinct.
    rows: Option<RowHashes>,
    operations: SentBatch,
    body: BatchBody,
    /// The first insert in the body. Its head contains no key, so other inserts reuse it.
    insert: Option<(Requested, BodyRange)>,
    /// The maximum body, if smaller than the service's limit.
    max_bytes: Option<usize>,
    /// The number of operations that it will probably have, once it has several.
    expected: usize,
}

/// A rule of batches that an operation would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BatchRule {
    /// A batch has at most [`MAX_BATCH_OPERATIONS`] operations.
    Operations,
    /// The request body has at most 4 MiB (2 MB on Cosmos DB).
    Bytes,
    /// All operations of a batch have the same PartitionKey.
    OnePartition,
    /// Each entity occurs only once in a batch.
    EachRowOnce,
    /// A get must be the only operation of its batch.
    GetAlone,
    /// The operation itself must be valid.
    Valid,
}

/// An operation that a batch rejected. The batch is unchanged.
///
/// It holds the operation, so that you can add it to the next batch.
pub struct RejectedOperation(Box<RejectedInner>);

struct RejectedInner {
    rule: BatchRule,
    index: usize,
    error: Error,
    operation: Option<TableOperation>,
}

impl RejectedOperation {
    /// Returns the rule that the operation would break.
    pub fn rule(&self) -> BatchRule {
        self.0.rule
    }

    /// Returns the index that the operation would have had.
    pub fn index(&self) -> usize {
        self.0.index
    }

    /// Returns the operation for use elsewhere, or `None` if it could not be encoded at all.
    pub fn into_operation(self) -> Option<TableOperation> {
        self.0.operation
    }
}

impl fmt::Display for RejectedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.error.fmt(f)
    }
}

impl fmt::Debug for RejectedOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectedOperation")
            .field("rule", &self.0.rule)
            .field("index", &self.0.index)
            .field("text", &format_args!("{self}"))
            .finish()
    }
}

impl std::error::Error for RejectedOperation {}

impl From<RejectedOperation> for Error {
    fn from(rejected: RejectedOperation) -> Self {
        rejected.0.error
    }
}

impl ChangeSet {
    /// Creates an empty change set.
    pub(crate) fn new(endpoint: &Endpoint, table: &str) -> Self {
        Self {
            endpoint: endpoint.clone(),
            table: table.to_owned(),
            rows: Some(RowHashes::default()),
            operations: SentBatch::new(endpoint.profile().rules().names_missing_tables),
            body: changes(),
            insert: None,
            max_bytes: None,
            expected: MAX_BATCH_OPERATIONS,
        }
    }

    /// Sets a smaller limit for the body than the service's.
    pub(crate) fn at_most(mut self, bytes: Option<usize>) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Skips the check for distinct rows because the caller guarantees them.
    ///
    /// `expected` is the probable number of operations, or 0 if the caller reserves their capacity.
    pub(crate) fn with_distinct_rows(mut self, expected: usize) -> Self {
        self.rows = None;
        self.expected = expected;
        self
    }

    /// Reserves capacity for further operations, within the limits of a batch.
    pub(crate) fn reserve(&mut self, operations: usize, bytes: usize) {
        self.operations.reserve(operations);
        if let Some(rows) = &mut self.rows {
            rows.reserve(operations);
        }
        self.body.reserve(operations, bytes.min(self.max_bytes()));
    }

    /// Returns the number of operations.
    pub(crate) fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns the current size of the request body in bytes, including its end.
    pub(crate) fn bytes(&self) -> usize {
        self.body.len()
    }

    /// Returns the maximum size of the request body in bytes.
    pub(crate) fn max_bytes(&self) -> usize {
        let limit = self.endpoint.profile().rules().max_batch_bytes;
        self.max_bytes.map_or(limit, |bytes| bytes.min(limit))
    }

    /// Returns `true` if no other operation can be added.
    pub(crate) fn is_full(&self) -> bool {
        self.len() == MAX_BATCH_OPERATIONS || self.operations.is_retrieve()
    }

    /// Returns the kind, PartitionKey and RowKey of each operation.
    pub(crate) fn operations(&self) -> impl Iterator<Item = (OperationKind, &str, &str)> {
        let requested = self.operations.requested().enumerate();
        requested.map(|(index, requested)| {
            let (partition_key, row_key) = self.operations.keys(index).unwrap_or_default();
            (requested.kind, partition_key, row_key)
        })
    }

    /// Adds an operation if the service would accept the batch with it.
    pub(crate) fn add(&mut self, operation: TableOperation) -> Result<(), RejectedOperation> {
        self.put(&operation)
            .map_err(|Broken { rule, error }| self.reject(operation, rule, error))
    }

    /// Adds an operation that no other call will send.
    pub(crate) fn add_own(&mut self, operation: TableOperation) -> Result<(), RejectedOperation> {
        let is_shared = is_shared(&operation);
        self.add(operation)?;
        self.operations.set_last_unshared(!is_shared);
        Ok(())
    }

    /// Returns an operation that is not added.
    fn reject(&self, operation: TableOperation, rule: BatchRule, error: Error) -> RejectedOperation {
        RejectedOperation(Box::new(RejectedInner {
            rule,
            index: self.len(),
            error,
            operation: operation.is_encoded().then_some(operation),
        }))
    }

    /// Adds a borrowed operation if the service would accept the batch with it.
    pub(crate) fn put(&mut self, operation: &TableOperation) -> Result<(), Broken> {
        operation.check().map_err(|e| self.invalid(e))?;
        if self.len() == MAX_BATCH_OPERATIONS {
            let why = format!(
                "the batch is full: it can have {MAX_BATCH_OPERATIONS} operations; `bulk` makes several batches"
            );
            return Err(self.rejected(BatchRule::Operations, why, operation));
        }
        operation
            .check_for(self.endpoint.profile())
            .map_err(|e| self.invalid(e))?;
        let row = self
            .rows
            .as_ref()
            .map(|_| RowHash::of(operation.keys().map_or("", |(_, row_key)| row_key)));
        let keys = operation.keys().unwrap_or_default();
        if let Some((rule, why)) = self.broken(operation.kind(), keys, row) {
            return Err(self.rejected(rule, why, operation));
        }
        let limit = self.max_bytes();
        let place = match self.write(operation, limit) {
            Ok(Ok(place)) => place,
            Ok(Err(bytes)) => {
                let why = format!("the batch would have {bytes} bytes, more than the limit of {limit}");
                return Err(self.rejected(BatchRule::Bytes, why, operation));
            }
            Err(e) => return Err(self.invalid(e)),
        };
        if let Some(written) = operation.row() {
            self.placed(&written, row, place);
        }
        Ok(())
    }

    /// Adds an insert by writing the entity straight into the body, after a copy of the first insert's head.
    ///
    /// Returns `false`, and leaves the batch unchanged, if that is impossible for any reason:
    /// [`add`](Self::add) then adds the operation, or reports the rule that it breaks.
    pub(crate) fn insert<E: TableEntity + ?Sized>(&mut self, entity: &E) -> bool {
        key_texts(entity).is_ok_and(|keys| {
            let is_added = self.insert_alike(entity, keys.pair(), true).is_ok();
            keys.done();
            is_added
        })
    }

    /// Adds an insert of an entity with these keys, as [`insert`](Self::insert) does.
    ///
    /// Returns the number of its bytes in the body. An entity with a write id cannot be added this way either: its
    /// operation could not be rebuilt as a value.
    ///
    /// # Errors
    /// [`BatchRule::Bytes`] if the entity does not fit, or else [`BatchRule::Valid`].
    pub(crate) fn insert_plain<E: TableEntity + ?Sized>(
        &mut self,
        entity: &E,
        keys: (&str, &str),
    ) -> Result<usize, BatchRule> {
        self.insert_alike(entity, keys, false)
    }

    fn insert_alike<E: TableEntity + ?Sized>(
        &mut self,
        entity: &E,
        keys: (&str, &str),
        may_have_id: bool,
    ) -> Result<usize, BatchRule> {
        let kind = OperationKind::Insert;
        let first = self.insert.as_ref().filter(|(requested, _)| !requested.entity);
        let (_, first) = first.ok_or(BatchRule::Valid)?;
        let (partition_key, row_key) = keys;
        let row = self.rows.as_ref().map(|_| RowHash::of(row_key));
        if self.len() == MAX_BATCH_OPERATIONS || self.broken(kind, keys, row).is_some() {
            return Err(BatchRule::Valid);
        }
        let profile = self.endpoint.profile();
        let limit = self.max_bytes();
        let add = |body: &mut BatchBody| {
            let write = |bytes: &mut Vec<u8>| append(bytes, keys, &mut |writer| entity.write_properties(writer));
            let (place, rare) = body.add_alike(first, write)?;
            let rare = rare.as_deref();
            let entity = body.body_of(&place);
            check_size(profile, entity.len(), rare.and_then(|rare| rare.exceeds.as_deref()))?;
            check_entity(profile, partition_key, row_key, entity)?;
            let Some(rare) = rare else { return Ok((place, None)) };
            match rare.write_id {
                Some(_) if !may_have_id => Err(Error::invalid_input("the entity has a write id")),
                write_id => Ok((place, write_id)),
            }
        };
        let added = self.body.within(limit, add).map_err(|_| BatchRule::Valid)?;
        let (place, write_id) = added.map_err(|_| BatchRule::Bytes)?;
        let written = RowWrite {
            kind,
            partition_key,
            row_key,
            // The entity is in the body of the batch only.
            body: b"",
            write_id,
            if_match: None,
            facts: WriteFacts {
                is_unshared: may_have_id,
                ..WriteFacts::default()
            },
        };
        let bytes = place.bytes();
        self.placed(&written, row, place);
        Ok(bytes)
    }

    /// Records an operation that has been written to the body.
    fn placed(&mut self, written: &RowWrite<'_>, row: Option<RowHash>, place: BodyRange) {
        if let (Some(rows), Some(row)) = (&mut self.rows, row) {
            rows.insert(row);
        }
        let bytes = place.body.len();
        self.operations.add(written, place.body);
        // Operations like the last one follow.
        if self.len() == SOME_OPERATIONS && self.expected > SOME_OPERATIONS {
            let more = self.expected - SOME_OPERATIONS;
            self.reserve(more, (more * bytes).min(MAX_EXPECTED));
        }
    }

    /// Writes the operation into the body and returns its position, or the size of the body if that exceeds the limit.
    fn write(&mut self, operation: &TableOperation, limit: usize) -> Result<Result<BodyRange, usize>> {
        if let Some((_, insert)) = self
            .insert
            .iter()
            .find(|(requested, _)| *requested == operation.requested())
        {
            let write = |bytes: &mut Vec<u8>| {
                bytes.extend_from_slice(operation.body());
                Ok(())
            };
            let add = |body: &mut BatchBody| Ok(body.add_alike(insert, write)?.0);
            return self.body.within(limit, add);
        }
        let parts = operation.parts(&self.table, self.endpoint.profile())?;
        let (headers, count) = parts.inner_headers()?;
        let request = InnerRequest {
            method: parts.method.as_str(),
            // The absolute URL: the form that every service and emulator accepts.
            url: (self.endpoint.base(), &parts.path),
            headers: &headers[..count],
            body: parts.body,
        };
        let is_retrieve = operation.kind() == OperationKind::Get;
        if is_retrieve {
            self.body = BatchBody::from_query(batch_boundary());
        }
        Ok(match self.body.within(limit, |body| Ok(body.add(&request)))? {
            Ok(place) => {
                if operation.kind() == OperationKind::Insert {
                    self.insert = Some((operation.requested(), place.clone()));
                }
                Ok(place)
            }
            Err(bytes) => {
                if is_retrieve {
                    self.body = changes();
                }
                Err(bytes)
            }
        })
    }

    /// Returns the rule that the operation would break, with a message.
    fn broken(
        &self,
        kind: OperationKind,
        (partition_key, row_key): (&str, &str),
        row: Option<RowHash>,
    ) -> Option<(BatchRule, String)> {
        if self.len() == 0 {
            return None;
        }
        let first = &*self.operations.partition_key;
        if self.operations.is_retrieve() || kind == OperationKind::Get {
            let why = if self.operations.is_retrieve() {
                "the batch is a get, which must be alone"
            } else {
                "a get must be alone in a batch"
            };
            return Some((BatchRule::GetAlone, why.to_owned()));
        }
        if first != partition_key {
            let why = format!("all operations of a batch have one PartitionKey, this batch has {first:?}; use `bulk`");
            return Some((BatchRule::OnePartition, why));
        }
        let may_have_row = matches!((&self.rows, row), (Some(rows), Some(row)) if rows.contains(&row));
        let has_row = || self.operations().any(|(_, _, other)| other == row_key);
        (may_have_row && has_row()).then(|| {
            let why = "the batch already has an operation on this entity".to_owned();
            (BatchRule::EachRowOnce, why)
        })
    }

    fn rejected(&self, rule: BatchRule, why: String, operation: &TableOperation) -> Broken {
        let (partition_key, row_key) = operation.keys().unwrap_or_default();
        let error = Error::invalid_input(why).at_entity(partition_key, row_key);
        Broken {
            rule,
            ..self.invalid(error)
        }
    }

    /// Reports an operation that cannot be sent.
    fn invalid(&self, error: Error) -> Broken {
        let error = error
            .in_operation(OperationKind::Batch, Some(&self.table))
            .at_batch_index(Some(self.len()));
        let rule = BatchRule::Valid;
        Broken { rule, error }
    }

    /// Returns its operations as values, if all of them are [plain](TableOperation::is_plain).
    pub(crate) fn into_operations(self) -> Vec<TableOperation> {
        let sent = Arc::new(self.operations.with_body(self.body.finish().into()));
        let mut operations: Vec<_> = TableOperation::all_in_batch(&sent).collect();
        operations.iter_mut().for_each(TableOperation::detach);
        operations
    }

    /// Builds `POST /$batch`, and returns it with its operations.
    pub(crate) fn into_request(self) -> (Result<OperationRequest>, Arc<SentBatch>) {
        let content_type = content_type(&self.body);
        let sent = Arc::new(self.operations.with_body(self.body.finish().into()));
        let request = content_type.and_then(|content_type| post(&self.endpoint, content_type, sent.body.clone()));
        let operation = request.map(|request| {
            let mut operation = OperationRequest::new(OperationKind::Batch, request).in_table(&self.table);
            if sent.is_retrieve() {
                operation.effect = Effect::Read;
                operation.expected = operation_kind::facts(OperationKind::Get).expected_status;
            } else {
                operation.rows = RowWrites::Batch(Arc::clone(&sent));
            }
            operation
        });
        (operation, sent)
    }
}

/// A rule that an operation would break, with the error.
#[doc(hidden)]
#[derive(Debug)]
pub(crate) struct Broken {
    pub rule: BatchRule,
    pub error: Error,
}

#[cfg(test)]
mod tests {
    use azure_table_wire::account::profile::Profile;
    use azure_table_wire::codec::multipart::{boundary, http_message, parts};
    use bytes::Bytes;
    use http::Request;
    use http::header::CONTENT_TYPE;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::entity::dynamic::DynamicEntity;
    use crate::write::batch_request::text;

    /// Of each kind of character that JSON, XML or UTF-8 encodes. `any::<String>()` would take most of the test's time.
    const TEXTS: &[&str] = &["", "text", "\"\\/\u{1}\n", "<&>'", "é\u{10000}"];

    fn set_of(profile: Profile) -> ChangeSet {
        let host = match profile {
            Profile::Cosmos => "contoso.table.cosmos.azure.com",
            _ => "contoso.table.core.windows.net",
        };
        let endpoint = Endpoint::parse(&format!("https://{host}"), None).unwrap();
        assert_eq!(endpoint.profile(), profile);
        ChangeSet::new(&endpoint, "Things")
    }

    fn sent(set: ChangeSet) -> Request<Bytes> {
        set.into_request().0.unwrap().request
    }

    /// Parses a batch and writes it again.
    fn written_anew(request: &Request<Bytes>) -> Vec<u8> {
        let batch = boundary(text(&request.headers()[CONTENT_TYPE]).unwrap()).unwrap();
        let outer = parts(request.body(), batch, false).unwrap();
        let [part] = &outer[..] else {
            panic!("{} parts", outer.len())
        };
        let part_type = part.header("content-type").unwrap();
        let inner = if part_type.starts_with("multipart/mixed") {
            parts(part.body, boundary(part_type).unwrap(), false).unwrap()
        } else {
            parts(request.body(), batch, false).unwrap()
        };
        let mut anew = if part_type.starts_with("multipart/mixed") {
            BatchBody::from_changes(batch.to_owned(), boundary(part_type).unwrap().to_owned())
        } else {
            BatchBody::from_query(batch.to_owned())
        };
        for part in &inner {
            let message = http_message(part.body).unwrap();
            let (method, rest) = message.start_line.split_once(' ').unwrap();
            anew.add(&InnerRequest {
                method,
                url: rest.strip_suffix(" HTTP/1.1").unwrap().rsplit_once('/').unwrap(),
                headers: &message.headers().collect::<Vec<_>>(),
                body: message.body,
            });
        }
        anew.finish()
    }

    fn key() -> impl Strategy<Value = String> {
        proptest::collection::vec(any::<char>(), 0..8).prop_map(|chars| {
            chars
                .into_iter()
                .filter(|c| !c.is_control() && !"/\\#?".contains(*c))
                .collect()
        })
    }

    fn operation(kind: usize, entity: &DynamicEntity) -> TableOperation {
        let key = (&entity.partition_key, &entity.row_key);
        match kind {
            0 => TableOperation::insert(entity),
            1 => TableOperation::insert_returning(entity),
            2 => TableOperation::replace(entity),
            3 => TableOperation::merge(entity),
            4 => TableOperation::insert_or_replace(entity),
            5 => TableOperation::insert_or_merge(entity),
            6 => TableOperation::delete::<DynamicEntity>(key),
            _ => TableOperation::get::<DynamicEntity>(key),
        }
    }

    proptest! {
        #[test]
        fn inserted_entity_has_the_body_of_its_operation(
            is_cosmos in any::<bool>(),
            entities in proptest::collection::vec(("[a-c/]?", select(TEXTS)), 1..130),
        ) {
            let profile = if is_cosmos { Profile::Cosmos } else { Profile::Storage };
            let (mut straight, mut by_operation) = (set_of(profile), set_of(profile));
            for (n, (row, text)) in entities.into_iter().enumerate() {
                // Some rows are repeated or have an invalid key, some are of another partition or have a reserved name.
                let row = if row.is_empty() { n.to_string() } else { row };
                let mut entity = DynamicEntity::new(if n % 7 == 6 { "q" } else { "p" }, row);
                entity.insert(if n % 11 == 10 { "id" } else { "Text" }, text);
                let is_straight = straight.insert(&entity);
                let result = if is_straight { Ok(()) } else { straight.add(TableOperation::insert(&entity)) };
                let expected = by_operation.add(TableOperation::insert(&entity));
                prop_assert_eq!(is_straight, expected.is_ok() && by_operation.len() > 1);
                prop_assert_eq!(result.map_err(|e| format!("{e:?}")), expected.map_err(|e| format!("{e:?}")));
            }
            prop_assert_eq!(straight.bytes(), by_operation.bytes());
            let shown = |set: ChangeSet| {
                let (_, sent) = set.into_request();
                // Only the batch knows that no other call has an operation.
                let unmarked = |row: RowWrite<'_>| format!("{row:?}").replace("is_unshared: true", "is_unshared: false");
                sent.row_writes().map(unmarked).collect::<Vec<_>>()
            };
            prop_assert_eq!(shown(straight), shown(by_operation));
        }

        #[test]
        fn parsed_batch_is_written_back_byte_for_byte(
            is_cosmos in any::<bool>(),
            partition in key(),
            rows in proptest::collection::vec((0..7_usize, key(), any::<String>(), any::<i64>()), 1..20),
            is_retrieve in proptest::bool::weighted(0.1),
        ) {
            let mut set = set_of(if is_cosmos { Profile::Cosmos } else { Profile::Storage });
            for (index, (kind, row, text, number)) in rows.into_iter().enumerate() {
                // Cosmos DB rejects empty keys.
                let mut entity = DynamicEntity::new(format!("p{partition}"), format!("{index}_{row}"));
                entity.insert("Text", text.as_str());
                entity.insert("Number", number);
                set.add(operation(if is_retrieve { 7 } else { kind }, &entity)).unwrap();
                if is_retrieve {
                    break;
                }
            }
            let bytes = set.bytes();
            let request = sent(set);
            prop_assert_eq!(request.body().len(), bytes);
            prop_assert_eq!(&request.body()[..], written_anew(&request));
        }
    }

    /// Returns an entity that fills a batch up to its limit, or less.
    fn filling(row: &str, characters: usize) -> TableOperation {
        let mut entity = DynamicEntity::new("p", row);
        let mut left = characters;
        for part in 0.. {
            let length = left.min(30_000);
            entity.insert(format!("P{part:02}"), "x".repeat(length).as_str());
            left -= length;
            if left == 0 {
                break;
            }
        }
        TableOperation::insert(&entity)
    }

    /// pains 2: the limit applies to the bytes that are sent, and its last byte can be used.
    #[test]
    fn batch_of_exactly_the_maximum_size_is_accepted() {
        for (profile, most) in [(Profile::Storage, 4_194_304), (Profile::Cosmos, 2_000_000)] {
            let mut set = set_of(profile);
            let mut rows = 0..;
            let mut row = || rows.next().map(|n: u32| format!("r{n}")).unwrap();
            while set.bytes() + 500_000 < most {
                set.add(filling(&row(), 300_000)).unwrap();
            }
            let (before, last) = (set.bytes(), row());
            // The number of bytes around the characters.
            set.add(filling(&last, 20_000)).unwrap();
            let around = set.bytes() - before - 20_000;
            let fill = row();
            let mut left = most - set.bytes() - around;
            // Each further property also has a name.
            left -= "\"P00\":\"\",".len() * (left / 30_000);
            let rejected = set.add(filling(&fill, left + 1)).unwrap_err();
            assert_eq!(rejected.rule(), BatchRule::Bytes);
            let why = format!("the batch would have {} bytes, more than the limit of {most}", most + 1);
            assert!(rejected.to_string().contains(&why), "{rejected}");
            set.add(filling(&fill, left)).unwrap();
            assert_eq!(set.bytes(), most);
            assert_eq!(sent(set).body().len(), most);
        }
    }

    /// Two rows may have the same hash.
    #[test]
    fn rows_with_equal_hashes_are_told_apart_by_key() {
        let mut set = set_of(Profile::Storage);
        set.rows.as_mut().unwrap().insert(RowHash::of("a"));
        set.add(filling("b", 1)).unwrap();
        set.add(filling("a", 1)).unwrap();
        assert_eq!(set.add(filling("a", 1)).unwrap_err().rule(), BatchRule::EachRowOnce);
    }

    #[test]
    fn rejected_operation_leaves_batch_unchanged() {
        let mut set = set_of(Profile::Storage);
        set.add(filling("a", 10)).unwrap();
        let (bytes, retrieve) = (set.bytes(), TableOperation::get::<DynamicEntity>(("p", "b")));
        let rejected = set.add(retrieve).unwrap_err();
        assert_eq!(
            rejected.to_string(),
            "batch in table Things: operation 1 of the batch: entity (\"p\", \"b\"): a get must be alone in a batch"
        );
        set.add(filling("a", 10)).unwrap_err();
        set.add(TableOperation::delete::<DynamicEntity>(("q", "b")))
            .unwrap_err();
        assert_eq!((set.bytes(), set.len()), (bytes, 1));
        assert_eq!(written_anew(&sent(set)).len(), bytes);
    }

    /// Entities may be written while a thread ends.
    #[test]
    fn entities_are_written_while_a_thread_ends() {
        struct Last;
        impl Drop for Last {
            fn drop(&mut self) {
                let operation = TableOperation::insert(&DynamicEntity::new("p", "r"));
                assert_eq!(operation.keys(), Some(("p", "r")));
            }
        }
        thread_local!(static LAST: Last = const { Last });
        let thread = std::thread::spawn(|| {
            LAST.with(|_| {});
            drop(TableOperation::insert(&DynamicEntity::new("p", "r")));
        });
        assert!(thread.join().is_ok());
    }
}
