//! The operations of a batch, by their position in its body.
//!
//! Defines [`SentBatch`], which interprets the response and reconciles a lost one. No operation is kept as a value: a
//! batch has its body, and the keys in one allocation.

use std::ops::Range;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::value::etag::ETag;
use azure_table_wire::value::guid::Guid;
use bytes::Bytes;

use crate::write::row_write::{RowWrite, WriteFacts};
use crate::write::table_result::Requested;

/// A batch that was sent.
#[derive(Debug)]
pub(crate) struct SentBatch {
    pub operations: Operations,
    pub body: Bytes,
    /// The service reports a missing table with a code of its own.
    pub names_missing_tables: bool,
}

/// Operations of one partition, in order.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    pub partition_key: String,
    /// The RowKeys of all operations.
    row_keys: String,
    pub places: Vec<Placed>,
    /// The values of the entities' `write_id` fields, in the order of the operations.
    write_ids: Vec<(usize, Guid)>,
    /// The ETags of conditional writes, in the order of the operations.
    etags: Vec<(usize, ETag)>,
}

/// One operation.
#[derive(Debug)]
pub(crate) struct Placed {
    pub kind: OperationKind,
    facts: WriteFacts,
    row_key: Range<usize>,
    /// The operation's own body, as a range of the batch's body.
    body: Range<usize>,
}

/// The expected length of a RowKey in bytes, before the first one is known.
const USUAL_ROW_KEY: usize = 16;

impl Operations {
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

    fn write_id(&self, index: usize) -> Option<Guid> {
        of_operation(&self.write_ids, index).copied()
    }

    pub(crate) fn row_key(&self, place: &Placed) -> &str {
        &self.row_keys[place.row_key.clone()]
    }
}

/// Returns the value of the operation at `index`.
fn of_operation<T>(values: &[(usize, T)], index: usize) -> Option<&T> {
    let found = values.binary_search_by_key(&index, |(at, _)| *at).ok()?;
    Some(&values[found].1)
}

impl SentBatch {
    pub(crate) fn new(operations: Operations, body: Bytes, endpoint: &Endpoint) -> Self {
        Self {
            operations,
            body,
            names_missing_tables: endpoint.profile().rules().names_missing_tables,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.operations.places.len()
    }

    /// Returns the expected result of each operation.
    pub(crate) fn requested(&self) -> impl Iterator<Item = Requested> {
        self.operations.places.iter().map(|place| Requested {
            kind: place.kind,
            entity: place.facts.is_echoed || place.kind == OperationKind::Get,
        })
    }

    /// Returns the keys of the operation at `index`.
    pub(crate) fn keys(&self, index: usize) -> Option<(&str, &str)> {
        let place = self.operations.places.get(index)?;
        Some((&self.operations.partition_key, self.operations.row_key(place)))
    }

    /// Returns the operation at `index`.
    pub(crate) fn row_write(&self, index: usize) -> RowWrite<'_> {
        let place = &self.operations.places[index];
        RowWrite {
            kind: place.kind,
            partition_key: &self.operations.partition_key,
            row_key: self.operations.row_key(place),
            body: &self.body[place.body.clone()],
            write_id: self.operations.write_id(index),
            if_match: of_operation(&self.operations.etags, index),
            facts: place.facts,
        }
    }

    pub(crate) fn row_writes(&self) -> impl Iterator<Item = RowWrite<'_>> {
        (0..self.len()).map(|index| self.row_write(index))
    }
}
