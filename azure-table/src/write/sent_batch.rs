//! The operations of a batch, by their position in its body.
//!
//! Defines [`SentBatch`], which grows with its body, interprets the response and reconciles a lost one. No operation is
//! kept as a value: a batch has its body, and the keys in one allocation.

use std::ops::Range;
use std::sync::Arc;

use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::value::etag::ETag;
use azure_table_wire::value::guid::Guid;
use bytes::Bytes;

use crate::write::row_write::{RowWrite, WriteFacts};
use crate::write::table_result::{BatchRowKey, Requested};

/// A batch that was sent, or will be: operations of one partition, in order.
#[derive(Debug, Default)]
pub(crate) struct SentBatch {
    pub partition_key: String,
    /// The RowKeys of all operations.
    row_keys: String,
    places: Vec<Placed>,
    /// The values of the entities' `write_id` fields, in the order of the operations.
    write_ids: Vec<(usize, Guid)>,
    /// The ETags of conditional writes, in the order of the operations.
    etags: Vec<(usize, ETag)>,
    /// Empty until all operations are added.
    pub body: Bytes,
    /// The service reports a missing table with a code of its own.
    pub names_missing_tables: bool,
}

/// One operation.
#[derive(Debug)]
struct Placed {
    kind: OperationKind,
    facts: WriteFacts,
    row_key: Range<usize>,
    /// The operation's own body, as a range of the batch's body.
    body: Range<usize>,
}

/// The expected length of a RowKey in bytes, before the first one is known.
const USUAL_ROW_KEY: usize = 16;

impl SentBatch {
    pub(crate) fn new(names_missing_tables: bool) -> Self {
        Self {
            names_missing_tables,
            ..Self::default()
        }
    }

    /// Sets the body, once all operations are added.
    pub(crate) fn with_body(self, body: Bytes) -> Self {
        Self { body, ..self }
    }

    /// Reserves memory for this number of operations, with RowKeys like those so far.
    pub(crate) fn reserve(&mut self, operations: usize) {
        let row_key = self.row_keys.len().checked_div(self.places.len());
        self.row_keys.reserve(operations * row_key.unwrap_or(USUAL_ROW_KEY));
        self.places.reserve(operations);
    }

    /// Adds an operation of the same partition. `body` is the range of its own body in the batch's body.
    pub(crate) fn add(&mut self, row: &RowWrite<'_>, body: Range<usize>) {
        if self.places.is_empty() {
            row.partition_key.clone_into(&mut self.partition_key);
        }
        if let Some(id) = row.write_id {
            self.write_ids.push((self.places.len(), id));
        }
        if let Some(etag) = row.if_match {
            self.etags.push((self.places.len(), etag.clone()));
        }
        let start = self.row_keys.len();
        self.row_keys.push_str(row.row_key);
        self.places.push(Placed {
            kind: row.kind,
            facts: row.facts,
            row_key: start..self.row_keys.len(),
            body,
        });
    }

    /// Records if the last operation belongs to no other call.
    pub(crate) fn set_last_unshared(&mut self, is_unshared: bool) {
        if let Some(last) = self.places.last_mut() {
            last.facts.is_unshared = is_unshared;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns `true` if this is a single get, not a transaction.
    pub(crate) fn is_retrieve(&self) -> bool {
        self.places
            .first()
            .is_some_and(|first| first.kind == OperationKind::Get)
    }

    /// Returns the expected result of each operation.
    pub(crate) fn requested(&self) -> impl Iterator<Item = Requested> {
        self.places.iter().map(|place| Requested {
            kind: place.kind,
            entity: place.facts.is_echoed || place.kind == OperationKind::Get,
        })
    }

    /// Returns the RowKey of each operation.
    pub(crate) fn row_keys(&self) -> impl Iterator<Item = BatchRowKey> {
        let all: Arc<str> = Arc::from(self.row_keys.as_str());
        let places = self.places.iter();
        places.map(move |place| BatchRowKey {
            all: Arc::clone(&all),
            own: place.row_key.clone(),
        })
    }

    /// Returns the keys of the operation at `index`.
    pub(crate) fn keys(&self, index: usize) -> Option<(&str, &str)> {
        let place = self.places.get(index)?;
        Some((&self.partition_key, &self.row_keys[place.row_key.clone()]))
    }

    /// Returns the operation at `index`.
    pub(crate) fn row_write(&self, index: usize) -> RowWrite<'_> {
        let place = &self.places[index];
        RowWrite {
            kind: place.kind,
            partition_key: &self.partition_key,
            row_key: &self.row_keys[place.row_key.clone()],
            body: &self.body[place.body.clone()],
            write_id: of_operation(&self.write_ids, index).copied(),
            if_match: of_operation(&self.etags, index),
            facts: place.facts,
        }
    }

    pub(crate) fn row_writes(&self) -> impl Iterator<Item = RowWrite<'_>> {
        (0..self.len()).map(|index| self.row_write(index))
    }
}

/// Returns the value of the operation at `index`.
fn of_operation<T>(values: &[(usize, T)], index: usize) -> Option<&T> {
    let found = values.binary_search_by_key(&index, |(at, _)| *at).ok()?;
    Some(&values[found].1)
}
