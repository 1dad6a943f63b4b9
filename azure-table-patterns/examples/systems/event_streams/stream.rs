//! A stream at one version, and its writes.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use azure_table::operation::OperationKind;
use azure_table::{DateTime, ETag, Error, ErrorKind, PropertyGroup, Result, Versioned};

use super::partition::Partition;
use super::rows::{Header, Metadata};
use super::session::{Event, Row, Transaction, transactions};

/// A stream as it was last read or written.
///
/// Each write is based on this version. After a write that fails, the stream is at the last version that it knows: the
/// caller [opens](Partition::open) it again after a [`Conflict`](WriteError::Conflict), and can correct the events
/// after another conflict.
#[derive(Clone, Debug)]
pub struct Stream {
    partition: Partition,
    version: u32,
    /// The ETag of the header, or `None` if it is not stored.
    etag: Option<ETag>,
    /// The metadata, or `None` if the header was not read.
    metadata: Option<Metadata>,
}

impl Stream {
    pub(super) fn new(partition: &Partition) -> Self {
        Self {
            partition: partition.clone(),
            version: 0,
            etag: None,
            metadata: Some(Metadata::new()),
        }
    }

    pub(super) fn at(partition: &Partition, version: u32, etag: ETag) -> Self {
        Self {
            partition: partition.clone(),
            version,
            etag: Some(etag),
            metadata: None,
        }
    }

    pub(super) fn stored(partition: &Partition, header: Versioned<Header>) -> Self {
        Self {
            partition: partition.clone(),
            version: header.version.unsigned_abs(),
            etag: Some(header.etag.clone()),
            metadata: Some(header.entity.metadata),
        }
    }

    /// Sets the metadata that the next write stores.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = Some(metadata);
        self
    }

    /// Returns the version of the last event, or 0.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Returns the ETag of the header, or `None` if it is not stored.
    pub fn etag(&self) -> Option<&ETag> {
        self.etag.as_ref()
    }

    /// Returns the metadata, or `None` if the header was not read.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }

    /// Inserts the header without events.
    ///
    /// # Errors
    /// - [`WriteError::Conflict`]: the stream exists.
    pub async fn provision(&mut self) -> Result<(), WriteError> {
        let inserted = self.partition.headers().insert(&self.header(self.version)).await;
        self.etag = Some(inserted.map_err(|e| failed(e, &[]))?);
        Ok(())
    }

    /// Appends events with their ids and included operations. Returns their versions.
    ///
    /// More than 99 operations are several transactions. If a later one fails, the stream is at the version of the last
    /// one that was written.
    ///
    /// # Errors
    /// - [`WriteError::Conflict`], [`WriteError::EventExists`], [`WriteError::Duplicate`] and [`WriteError::Included`]:
    ///   the transaction was not written.
    /// - [`WriteError::Other`] with [`InvalidInput`](ErrorKind::InvalidInput), before the first request: an event has
    ///   more than 99 operations, an operation cannot follow another on the same row, or is in another partition.
    ///   Later: an earlier transaction included the row, and after a lost response its ETag is not known.
    /// - [`WriteError::Other`] with [`InDoubt`](ErrorKind::InDoubt): the transaction may have been written.
    pub async fn write<E: PropertyGroup>(
        &mut self,
        events: impl IntoIterator<Item = Event<E>>,
    ) -> Result<Range<u32>, WriteError> {
        let first = self.version + 1;
        let mut written = HashMap::new();
        for transaction in transactions(&self.partition, self.version, events)? {
            self.submit(transaction, &mut written).await?;
        }
        Ok(first..self.version + 1)
    }

    /// Replaces the metadata.
    ///
    /// # Errors
    /// - [`WriteError::Conflict`]: anyone wrote the header since it was read.
    /// - [`WriteError::Other`] with [`InvalidInput`](ErrorKind::InvalidInput): the stream is not stored.
    pub async fn set_metadata(&mut self, metadata: Metadata) -> Result<(), WriteError> {
        let Some(etag) = self.etag.clone() else {
            return Err(Error::invalid_input("the stream is not stored: provision it with its metadata").into());
        };
        let changed = self.clone().with_metadata(metadata);
        let header = changed.header(self.version);
        let replaced = self.partition.headers().replace(&header).if_match(etag).await;
        self.etag = Some(replaced.map_err(|e| failed(e, &[]))?);
        self.metadata = changed.metadata;
        Ok(())
    }

    /// Writes one transaction. `written` has the ETags of the rows that earlier ones included.
    async fn submit(
        &mut self,
        transaction: Transaction,
        written: &mut HashMap<String, ETag>,
    ) -> Result<(), WriteError> {
        let version = self.version + transaction.events;
        let header = self.header(version);
        let mut batch = self.partition.headers().batch();
        match self.etag.clone() {
            None => batch.insert(&header),
            Some(etag) => {
                let header = Versioned {
                    entity: header,
                    etag,
                    timestamp: DateTime::MIN,
                };
                match self.metadata {
                    // A merge keeps the metadata that was not read.
                    None => batch.merge(&header),
                    Some(_) => batch.replace(&header),
                }
            }
        }
        .map_err(Error::from)?;
        let mut rows = Vec::with_capacity(transaction.operations.len());
        for (row, mut operation) in transaction.operations {
            if let Row::Included(row_key) = &row
                && let Some(etag) = written.remove(row_key)
                && matches!(operation.kind(), OperationKind::Replace | OperationKind::Delete)
            {
                operation = operation.if_match(etag);
            }
            batch.push(operation).map_err(Error::from)?;
            rows.push(row);
        }
        let results = batch.submit().await.map_err(|e| failed(e, &rows))?;
        let mut etags = results.iter().map(|result| result.etag().cloned());
        let etag = etags.next().flatten();
        self.version = version;
        self.etag = match etag {
            // After a lost response, the header has metadata that this stream has not read, perhaps newer.
            None if self.metadata.is_none() => self.merged().await.or_else(|| self.etag.take()),
            None => self.etag.take(),
            etag => etag,
        };
        written.extend(rows.into_iter().zip(etags).filter_map(|(row, etag)| match row {
            Row::Included(row_key) => Some((row_key, etag?)),
            Row::Event(_) | Row::Id(_) => None,
        }));
        Ok(())
    }

    /// Reads the ETag of the header, unless another writer has written events since: then the next write is a conflict.
    async fn merged(&self) -> Option<ETag> {
        let header = self.partition.header().await.ok().flatten()?;
        (header.version == self.version.cast_signed()).then_some(header.etag)
    }

    fn header(&self, version: u32) -> Header {
        Header {
            partition: self.partition.partition_key.clone(),
            prefix: self.partition.prefix.clone(),
            version: version.cast_signed(),
            write: None,
            metadata: self.metadata.clone().unwrap_or_default(),
        }
    }
}

/// The reason why a write failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// Another writer came first, or the stream exists. This transaction was not written: open the stream again.
    Conflict,
    /// The row of this version exists although the header does not count it.
    EventExists(u32),
    /// An event with this id was written before. This transaction was not written.
    Duplicate(String),
    /// The included operation on this row failed. This transaction was not written.
    Included(String, Error),
    /// Any other error.
    Other(Error),
}

/// Translates the error of a header, or of a transaction of a header and these rows.
fn failed(error: Error, rows: &[Row]) -> WriteError {
    let is_conflict = match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::ConditionNotMet => true,
        // Not if the table is missing.
        _ => error.code() == Some("ResourceNotFound"),
    };
    let row = error.batch_index().and_then(|index| rows.get(index.checked_sub(1)?));
    match row {
        _ if !is_conflict => error.into(),
        None => WriteError::Conflict,
        Some(Row::Event(version)) => WriteError::EventExists(*version),
        Some(Row::Id(id)) => WriteError::Duplicate(id.clone()),
        Some(Row::Included(row_key)) => WriteError::Included(row_key.clone(), error),
    }
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("the stream was written by another writer: open it again"),
            Self::EventExists(version) => write!(f, "the row of version {version} exists"),
            Self::Duplicate(id) => write!(f, "an event with the id {id:?} was written before"),
            Self::Included(row_key, _) => write!(f, "the included operation on {row_key:?} failed"),
            Self::Other(_) => f.write_str("the write of the stream failed"),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Included(_, error) | Self::Other(error) => Some(error),
            Self::Conflict | Self::EventExists(_) | Self::Duplicate(_) => None,
        }
    }
}
