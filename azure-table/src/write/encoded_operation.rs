//! The encoded form of an operation, as small as possible because many operations wait for their batch.
//!
//! An operation is one allocation: its body, then its keys, and a box for rarely used fields. Compared with handwritten
//! requests, the extra cost of a batch was mostly allocation. Split buffers for several operations were slower because
//! of their reference counts. Fields are moved as whole words (a kind is a word wide, an ETag has one form, rare ids
//! are boxed). A value that is written byte by byte and copied in larger pieces stalls the processor, which cost a
//! tenth of a bulk.

use std::borrow::Cow;
use std::sync::Arc;

use azure_table_wire::codec::odata::metadata_level::MetadataLevel;
use azure_table_wire::error::{Error, Result};
use azure_table_wire::value::etag::Condition;
use http::Method;
use http::header::HeaderName;

use crate::entity::property_writer::{PropertyWriter, Rare};
use crate::entity::unsealed::Unsealed;
use crate::entity::write_json::{self, Written};

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
    /// An earlier call may have applied the operation, with the same write id.
    pub is_shared: bool,
}

impl Default for More {
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

#[cfg(feature = "encryption")]
impl More {
    fn is_default(&self) -> bool {
        let Rare {
            write_id,
            exceeds,
            unsealed,
        } = &self.rare;
        let is_rare = write_id.is_some() || exceeds.is_some() || unsealed.is_some();
        !is_rare && !self.is_echoed && !self.needs_write_id && self.condition == Condition::Exists
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
        self.text.len() + self.unsealed().map_or(0, Unsealed::bytes)
    }

    /// Returns the encrypted properties that the body lacks.
    pub(super) fn unsealed(&self) -> Option<&Unsealed> {
        self.more.as_ref()?.rare.unsealed.as_deref()
    }

    /// Checks that all properties are encrypted.
    ///
    /// # Errors
    /// - `InvalidInput`: some are not.
    pub(super) fn check_sealed(&self) -> Result<()> {
        let Some(unsealed) = self.unsealed() else { return Ok(()) };
        let (partition_key, row_key) = self.keys();
        Err(Error::invalid_input(unsealed.without_key()).at_entity(partition_key, row_key))
    }

    /// Replaces the body with one that has the encrypted properties. `exceeds` is a limit that the new body exceeds.
    #[cfg(feature = "encryption")]
    pub(super) fn complete(&mut self, body: &[u8], exceeds: Option<String>) -> Result<()> {
        let (partition_key, row_key) = self.keys();
        let text = [body, partition_key.as_bytes(), row_key.as_bytes()].concat();
        let text = String::from_utf8(text).map_err(|e| Error::invalid_input(format!("the entity's JSON: {e}")))?;
        let written = Written {
            text: text.into(),
            body: body.len(),
            rare: None,
        };
        let completed = Self::of(written, row_key, Condition::Exists);
        if let Some(more) = &mut self.more {
            more.rare.unsealed = None;
            exceeds.into_iter().for_each(|why| more.rare.exceed(why));
        }
        self.more.take_if(|more| more.is_default());
        (self.text, self.partition_key, self.row_key) = (completed.text, completed.partition_key, completed.row_key);
        Ok(())
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
    write: impl FnOnce(&mut PropertyWriter<'_>) -> Result<()>,
) -> Result<Encoded> {
    let (partition_key, row_key) = keys;
    let written = write_json::properties(keys, write).map_err(|e| e.at_entity(partition_key, row_key))?;
    Ok(Encoded::of(written, row_key, condition))
}
