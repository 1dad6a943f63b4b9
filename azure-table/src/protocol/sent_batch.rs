//! The operations of a batch, by where they stand in its body.
//!
//! Owns [`SentBatch`], by which an answer is read and a lost one found out about. No operation is kept as a value: of a
//! batch there is its body, and the keys in one piece.

use std::collections::BTreeMap;
use std::ops::Range;

use bytes::Bytes;

use crate::model::guid::Guid;
use crate::model::operation_kind::OperationKind;
use crate::protocol::row_write::{RowWrite, WriteFacts};
use crate::protocol::table_result::Asked;

/// A batch as it was sent.
#[derive(Debug)]
pub(crate) struct SentBatch {
    pub(crate) operations: Operations,
    pub(crate) body: Bytes,
}

/// Operations of one partition, in order.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    pub(crate) partition_key: String,
    /// All of them.
    row_keys: String,
    pub(crate) places: Vec<Placed>,
    /// What those entities that have a `write_id` field gave it, by their place.
    write_ids: BTreeMap<usize, Guid>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Placed {
    pub(crate) kind: OperationKind,
    facts: WriteFacts,
    row_key: Range<usize>,
    /// Its own body, in that of the batch.
    body: Range<usize>,
}

impl Operations {
    /// Adds an operation of the same partition. Its own body stands at `body` in that of the batch.
    pub(crate) fn add(&mut self, row: &RowWrite<'_>, body: Range<usize>) {
        if self.places.is_empty() {
            row.partition_key.clone_into(&mut self.partition_key);
        }
        if let Some(id) = row.write_id {
            self.write_ids.insert(self.places.len(), id);
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

    pub(crate) fn row_key(&self, place: &Placed) -> &str {
        &self.row_keys[place.row_key.clone()]
    }
}

impl SentBatch {
    pub(crate) fn len(&self) -> usize {
        self.operations.places.len()
    }

    /// What is asked of each operation, for its result.
    pub(crate) fn asked(&self) -> impl Iterator<Item = Asked> {
        self.operations.places.iter().map(|place| Asked {
            kind: place.kind,
            entity: place.facts.is_echoed || place.kind == OperationKind::Get,
        })
    }

    /// The keys of the operation at `index`.
    pub(crate) fn keys(&self, index: usize) -> Option<(&str, &str)> {
        let place = self.operations.places.get(index)?;
        Some((&self.operations.partition_key, self.operations.row_key(place)))
    }

    pub(crate) fn row_writes(&self) -> impl Iterator<Item = RowWrite<'_>> {
        let places = self.operations.places.iter().enumerate();
        places.map(|(index, place)| RowWrite {
            kind: place.kind,
            partition_key: &self.operations.partition_key,
            row_key: self.operations.row_key(place),
            body: &self.body[place.body.clone()],
            write_id: self.operations.write_ids.get(&index).copied(),
            facts: place.facts,
        })
    }
}
