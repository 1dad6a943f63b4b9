//! The encoded form of an operation, as small as possible because many operations wait for their batch.
//!
//! An operation is one allocation: its body, then its keys, and a box for rarely used fields. The cost of a batch
//! beyond hand-made requests was mostly allocation. Split buffers for several operations were slower because of their
//! reference counts. Fields are moved as whole words (a kind is a word wide, an ETag has one form, rare ids are boxed).
//! A value that is written byte by byte and copied in larger pieces stalls the processor, which cost a tenth of a bulk.

use std::sync::Arc;

use crate::codec::json::write::Written;
use crate::model::etag::Condition;
use crate::model::property_writer::Rare;

/// The encoded form of an operation.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    /// The entity (empty for a delete or a get), then the PartitionKey and the RowKey. Clones share it.
    text: Arc<str>,
    /// The offset of the keys.
    partition_key: u32,
    row_key: u32,
    /// Rarely used fields, boxed because many operations wait and are moved.
    pub more: Option<Box<More>>,
}

/// The fields that few operations need.
#[derive(Clone, Debug)]
pub(super) struct More {
    pub rare: Rare,
    pub condition: Condition,
    /// The response to the insert must contain the entity.
    pub is_echoed: bool,
    /// Only the write id can show that the write was applied.
    pub needs_write_id: bool,
}

impl Default for More {
    fn default() -> Self {
        Self {
            rare: Rare::default(),
            condition: Condition::Exists,
            is_echoed: false,
            needs_write_id: false,
        }
    }
}

impl Encoded {
    #[inline]
    pub(super) fn of(written: Written, row_key: &str, condition: Condition) -> Self {
        let is_plain = written.rare.is_none() && condition == Condition::Exists;
        let more = (!is_plain).then(|| {
            Box::new(More {
                rare: written.rare.map(|rare| *rare).unwrap_or_default(),
                condition,
                ..More::default()
            })
        });
        // A body has at most 4 MiB.
        let at = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        Self {
            partition_key: at(written.body),
            row_key: at(written.text.len() - row_key.len()),
            text: written.text,
            more,
        }
    }

    pub(super) fn keys(&self) -> (&str, &str) {
        let (partition_key, row_key) = (self.partition_key as usize, self.row_key as usize);
        (&self.text[partition_key..row_key], &self.text[row_key..])
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.text.as_bytes()[..self.partition_key as usize]
    }

    pub(super) fn condition(&self) -> &Condition {
        self.more.as_ref().map_or(&Condition::Exists, |more| &more.condition)
    }

    pub(super) fn exceeds(&self) -> Option<&str> {
        self.more.as_ref()?.rare.exceeds.as_deref()
    }

    pub(super) fn needs_write_id(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.needs_write_id)
    }

    pub(super) fn is_echoed(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.is_echoed)
    }
}

/// The body as bytes that own their operation, so that it is sent without a copy.
pub(super) struct SentBody(pub Encoded);

impl AsRef<[u8]> for SentBody {
    fn as_ref(&self) -> &[u8] {
        self.0.body()
    }
}
