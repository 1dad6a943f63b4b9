//! The place of a stream, and the calls that need no stream.

use azure_table::entity::ReadPropertyGroup;
use azure_table::{
    DynamicEntity, ETag, Error, Key, PropertyGroup, Result, TableClient, TableEntity, TableOperation, Versioned,
};
use futures::future::try_join;

use super::rows::{EventRow, Header};
use super::session::Event;
use super::stream::{Stream, WriteError};

/// The place of one stream: a partition, or a part of one that begins with a prefix.
#[derive(Clone, Debug)]
pub struct Partition {
    table: TableClient<DynamicEntity>,
    pub(super) partition_key: String,
    /// The prefix of each RowKey, with its separator.
    pub(super) prefix: String,
}

/// Consecutive events of a stream, and the stream at that moment.
#[derive(Clone, Debug)]
pub struct Slice<E> {
    /// The stream. It writes from here on.
    pub stream: Stream,
    /// The events in their order, each with its version.
    pub events: Vec<(u32, E)>,
    /// The slice has the last event of the stream, or begins behind it.
    pub is_end: bool,
}

impl Partition {
    /// Creates the place of the stream `key`: a PartitionKey, which `|` and a name make a virtual partition.
    pub fn new<T: TableEntity>(table: &TableClient<T>, key: &str) -> Self {
        let (partition_key, prefix) = match key.split_once('|') {
            Some((partition_key, name)) => (partition_key, format!("{name}|")),
            None => (key, String::new()),
        };
        Self {
            table: table.typed(),
            partition_key: partition_key.to_owned(),
            prefix,
        }
    }

    /// Creates a stream that is not stored yet. It sends nothing: the first write inserts the header.
    pub fn new_stream(&self) -> Stream {
        Stream::new(self)
    }

    /// Creates the stream of a version and an ETag that the caller kept. It sends nothing, and keeps the metadata.
    pub fn stream_at(&self, version: u32, etag: ETag) -> Stream {
        Stream::at(self, version, etag)
    }

    /// Reads the header. Returns `None` if the stream does not exist.
    ///
    /// # Errors
    /// - The errors of [`TableClient::get`].
    pub async fn open(&self) -> Result<Option<Stream>> {
        Ok(self.header().await?.map(|header| Stream::stored(self, header)))
    }

    /// Reads up to `count` events from a version on, and the header beside them. Returns `None` if the stream does not
    /// exist.
    ///
    /// # Errors
    /// - [`InvalidInput`](azure_table::ErrorKind::InvalidInput): `from` or `count` is 0; the first version is 1.
    /// - [`Other`](azure_table::ErrorKind::Other): an event is missing between others.
    /// - The errors of [`TableClient::get`] and [`azure_table::TableQuery`].
    pub async fn read<E: PropertyGroup + ReadPropertyGroup>(&self, from: u32, count: u32) -> Result<Option<Slice<E>>> {
        if from == 0 || count == 0 {
            return Err(Error::invalid_input(format!(
                "a slice of {count} events from version {from}: both are at least 1"
            )));
        }
        let at = |version| Key::<EventRow<E>>::prefix((&self.partition_key, &self.prefix, version));
        let rows = self.table.typed::<EventRow<E>>();
        let rows = rows.query().between(at(from)?, at(from.saturating_add(count - 1))?);
        let (header, rows) = try_join(self.header(), rows.all()).await?;
        let Some(header) = header else { return Ok(None) };
        let stream = Stream::stored(self, header);
        // Events that were written after the header was read belong to a later slice.
        let events = rows.into_iter().map(|row| (row.number, row.data));
        let events: Vec<_> = events.take_while(|(version, _)| *version <= stream.version()).collect();
        if let Some((missing, (found, _))) = (from..).zip(&events).find(|(expected, (found, _))| expected != found) {
            return Err(Error::other(format!(
                "the stream has event {found}, and {missing} is missing"
            )));
        }
        let next = events.last().map_or(from, |(version, _)| version + 1);
        Ok(Some(Slice {
            is_end: next > stream.version(),
            stream,
            events,
        }))
    }

    /// Writes events if the stream has this version. Returns the stream after them.
    ///
    /// # Errors
    /// - [`WriteError::Conflict`]: the stream has another version.
    /// - The errors of [`open`](Self::open) and [`Stream::write`].
    ///
    /// If the events take several transactions, the first ones may be written after any error: [`open`](Self::open) the
    /// stream, and compare its version.
    pub async fn write_at<E: PropertyGroup>(
        &self,
        version: u32,
        events: impl IntoIterator<Item = Event<E>>,
    ) -> Result<Stream, WriteError> {
        let stream = match version {
            0 => Some(self.new_stream()),
            _ => self.open().await?,
        };
        let mut stream = stream
            .filter(|stream| stream.version() == version)
            .ok_or(WriteError::Conflict)?;
        stream.write(events).await?;
        Ok(stream)
    }

    pub(super) fn headers(&self) -> TableClient<Header> {
        self.table.typed()
    }

    pub(super) async fn header(&self) -> Result<Option<Versioned<Header>>> {
        self.headers()
            .get((&self.partition_key, &self.prefix))
            .versioned()
            .await
    }

    /// Returns the operation if it could be encoded.
    pub(super) fn check(&self, operation: TableOperation) -> Result<TableOperation> {
        match operation.keys() {
            Some((partition_key, _)) if partition_key == self.partition_key => Ok(operation),
            Some(_) => Err(Error::invalid_input(format!(
                "{operation} is not in the partition {:?} of the stream",
                self.partition_key
            ))),
            None => match self.table.batch().push(operation) {
                Err(rejected) => Err(rejected.into()),
                Ok(_) => Err(Error::invalid_input("the operation has no keys")),
            },
        }
    }
}
