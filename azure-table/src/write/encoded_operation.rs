//! The encoded form of an operation, as small as possible because many operations wait for their batch.
//!
//! An operation is one allocation: its body, then its keys, and a box for rarely used fields. Compared with handwritten
//! requests, the extra cost of a batch was mostly allocation. Split buffers for several operations were slower because
//! of their reference counts. Fields are moved as whole words (a kind is a word wide, an ETag has one form, rare ids
//! are boxed). A value that is written byte by byte and copied in larger pieces stalls the processor, which cost a
//! tenth of a bulk.
//!
//! An operation in a batch that was sent is only its index in that batch. Otherwise each operation of a bulk would be
//! in memory twice, and the batches in flight would fall out of the processor's cache.

use std::borrow::Cow;
use std::sync::Arc;

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::Result;
use azure_table_wire::value::etag::Condition;
use http::Method;
use http::header::HeaderName;

use crate::entity::property_writer::{PropertyWriter, Rare};
use crate::entity::write_json::{self, Written};
use crate::write::sent_batch::SentBatch;

/// The encoded form of an operation.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    text: Text,
    /// Rarely used fields, boxed because many operations wait and are moved.
    pub extras: Option<Box<WriteExtras>>,
}

/// The body of an operation, and its keys. Clones share them.
#[derive(Clone, Debug)]
enum Text {
    Own {
        /// The entity (empty for a delete or a get), then the PartitionKey and the RowKey.
        text: Arc<str>,
        /// The offset of the keys.
        partition_key: u32,
        row_key: u32,
    },
    /// The body and keys of the operation at this index of a batch.
    InBatch(Arc<SentBatch>, usize),
}

/// The fields that few operations need.
#[derive(Clone, Debug)]
pub(super) struct WriteExtras {
    pub rare: Rare,
    pub condition: Condition,
    /// The response to the insert must contain the entity.
    pub is_echoed: bool,
    /// Only the write id can show that the write was applied.
    pub needs_write_id: bool,
    /// An earlier call may have applied the operation, with the same write id.
    pub is_shared: bool,
}

impl Default for WriteExtras {
    fn default() -> Self {
        Self {
            rare: Rare::default(),
            condition: Condition::Exists,
            is_echoed: false,
            needs_write_id: false,
            is_shared: false,
        }
    }
}

impl Encoded {
    #[inline]
    pub(super) fn of(written: Written, row_key: &str, condition: Condition) -> Self {
        let is_plain = written.rare.is_none() && condition == Condition::Exists;
        let extras = (!is_plain).then(|| {
            Box::new(WriteExtras {
                rare: written.rare.map(|rare| *rare).unwrap_or_default(),
                condition,
                ..WriteExtras::default()
            })
        });
        Self {
            text: Text::own(written.text, written.body, row_key),
            extras,
        }
    }

    /// Creates the operation at this index of a batch, which has no rarely used fields.
    pub(super) fn in_batch(batch: &Arc<SentBatch>, index: usize) -> Self {
        Self {
            text: Text::InBatch(Arc::clone(batch), index),
            extras: None,
        }
    }

    /// Keeps only the index of this operation in a batch.
    pub(super) fn place_in(&mut self, batch: &Arc<SentBatch>, index: usize) {
        self.text = Text::InBatch(Arc::clone(batch), index);
    }

    /// Copies its text out of its batch, so that the body of the batch does not stay in memory for a few operations.
    pub(super) fn detach(&mut self) {
        if let Text::InBatch(batch, index) = &self.text {
            let row = batch.row_write(*index);
            self.text = Text::of(row.body, (row.partition_key, row.row_key));
        }
    }

    pub(super) fn keys(&self) -> (&str, &str) {
        match &self.text {
            Text::Own {
                text,
                partition_key,
                row_key,
            } => {
                let (partition_key, row_key) = (*partition_key as usize, *row_key as usize);
                (&text[partition_key..row_key], &text[row_key..])
            }
            Text::InBatch(batch, index) => batch.keys(*index).unwrap_or_default(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match &self.text {
            Text::Own { text, .. } => text.len(),
            Text::InBatch(..) => self.body().len() + self.keys().0.len() + self.keys().1.len(),
        }
    }

    pub(super) fn body(&self) -> &[u8] {
        match &self.text {
            Text::Own {
                text, partition_key, ..
            } => &text.as_bytes()[..*partition_key as usize],
            Text::InBatch(batch, index) => batch.row_write(*index).body,
        }
    }

    pub(super) fn condition(&self) -> &Condition {
        self.extras
            .as_ref()
            .map_or(&Condition::Exists, |extras| &extras.condition)
    }

    pub(super) fn exceeds(&self) -> Option<&str> {
        self.extras.as_ref()?.rare.exceeds.as_deref()
    }

    pub(super) fn needs_write_id(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.needs_write_id)
    }

    pub(super) fn is_echoed(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.is_echoed)
    }
}

impl Text {
    /// Copies a body and keys. The body is JSON that this client wrote.
    fn of(body: &[u8], (partition_key, row_key): (&str, &str)) -> Self {
        let json = String::from_utf8_lossy(body);
        let text = [&*json, partition_key, row_key].concat();
        Self::own(text.into(), json.len(), row_key)
    }

    #[inline]
    fn own(text: Arc<str>, body: usize, row_key: &str) -> Self {
        // A body has at most 4 MiB.
        let at = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        Self::Own {
            partition_key: at(body),
            row_key: at(text.len() - row_key.len()),
            text,
        }
    }
}

/// The request of an operation, relative to the base URL.
#[derive(Debug)]
pub(super) struct OperationParts<'a> {
    pub method: Method,
    pub path: Cow<'a, str>,
    pub metadata: MetadataLevel,
    /// The headers that select the variant of the operation and the ETag.
    pub headers: [Option<(HeaderName, &'a str)>; 2],
    pub body: &'a [u8],
}

/// The body as bytes that own their operation, so that it is sent without a copy.
pub(super) struct SentBody(pub Encoded);

impl AsRef<[u8]> for SentBody {
    fn as_ref(&self) -> &[u8] {
        self.0.body()
    }
}

/// Encodes the properties that a closure writes.
pub(super) fn of_properties(
    keys: (&str, &str),
    condition: Condition,
    write: &mut dyn FnMut(&mut PropertyWriter<'_>) -> Result<()>,
) -> Result<Encoded> {
    let (partition_key, row_key) = keys;
    let written = write_json::properties(keys, write).map_err(|e| e.at_entity(partition_key, row_key))?;
    Ok(Encoded::of(written, row_key, condition))
}
