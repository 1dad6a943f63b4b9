//! The handle to a table: the pipeline of its client, the name of the table and the type of its entities.
//!
//! Its operations are in `table.rs` and in the builders themselves.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use azure_table_wire::codec::url;
use azure_table_wire::error::Result;

use crate::account::table_name::TableName;
use crate::entity::dynamic::DynamicEntity;
use crate::key::entity_key::IntoKey;
use crate::pipeline::Pipeline;
use crate::write::path;

/// A client for one table, whose rows are entities of type `E`. Clones are cheap.
///
/// Every operation returns a builder that is a future. Set its options, then await it, or pass it to `spawn` or
/// `join_all`. Nothing is sent before the first poll.
///
/// ```
/// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
/// # #[tokio::main]
/// # async fn main() -> azure_table::Result<()> {
/// let table = TableServiceClient::from_transport(Emulator::new()).dynamic_table("Blogs")?;
/// table.create_table_if_not_exists().await?;
/// let mut blog = DynamicEntity::new("Channel9", "1");
/// blog.insert("Text", "Hello");
/// table.insert(&blog).await?;
/// let read = table.get(("Channel9", "1")).await?.unwrap();
/// assert_eq!(read.get("Text"), Some(&"Hello".into()));
/// # Ok(())
/// # }
/// ```
///
/// # Cancel safety
/// Dropping the future of a call cancels it, as `tokio::select!` and `timeout` do. No further attempt, page or batch is
/// sent, and its permit of [`max_in_flight`](crate::TableServiceClient::max_in_flight) is released. A future that was
/// never polled has sent nothing.
///
/// The service may still apply a write whose request was in flight, at most once. Read the row before you write it
/// again.
///
/// An operation with several requests stops between two of them. Rows that a [`bulk`](Self::bulk) or
/// [`delete_where`](Self::delete_where) has written stay written. A table that [`recreate_table`](Self::recreate_table)
/// has deleted stays deleted.
///
/// These methods lose no row and no outcome if you drop their future and call them again:
/// - the `try_next` of a stream;
/// - the `next` of a bulk's outcomes;
/// - the methods of a [`Writer`](crate::Writer) except `close`. A dropped `send` did not accept its operation.
///
/// # Errors
/// All operations can fail with:
/// - `InvalidInput`: a key, name, value or size that the service would reject. Nothing is sent.
/// - `Unauthenticated`, `Forbidden`: the service rejects the credential, or the credential does not permit the
///   operation.
/// - `TableNotFound`: the table does not exist.
/// - `Connection`, `Timeout`, `ServerFault`, `Throttled`: no usable response after the retries.
/// - [`InDoubt`](crate::ErrorKind::InDoubt), in place of any other kind: the write may have been applied. Read the
///   entity before you repeat it.
///
/// Each method lists its further errors.
#[doc(alias = "CloudTable")]
pub struct TableClient<E = DynamicEntity> {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) table: TableName,
    entity: PhantomData<fn() -> E>,
}

impl<E> TableClient<E> {
    pub(crate) fn new(pipeline: &Arc<Pipeline>, table: TableName) -> Self {
        Self {
            pipeline: Arc::clone(pipeline),
            table,
            entity: PhantomData,
        }
    }

    /// Returns the table's name.
    pub fn name(&self) -> &TableName {
        &self.table
    }

    /// Returns the table's URL without a signature. For a URL with one, see [`SasUrl`](crate::auth::SasUrl).
    pub fn url(&self) -> String {
        format!("{}/{}", self.pipeline.endpoint.base(), url::encode(self.table.as_str()))
    }

    /// Returns the URL of an entity as requests use it, without a signature.
    ///
    /// ```
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// let blogs = TableServiceClient::from_transport(Emulator::new()).table::<DynamicEntity>("Blogs")?;
    /// let url = blogs.entity_url(("it's", "1"))?;
    /// assert!(url.ends_with("/Blogs(PartitionKey='it%27%27s',RowKey='1')"));
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - `InvalidInput`: a key that the service would reject.
    pub fn entity_url(&self, key: impl IntoKey<E>) -> Result<String> {
        let (key, base) = (key.into_key()?, self.pipeline.endpoint.base());
        let path = path::entity(self.table.as_str(), key.partition_key(), key.row_key());
        Ok(format!("{base}/{path}"))
    }

    pub(crate) fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// Returns the same handle with a changed pipeline.
    pub(super) fn changed(&self, change: impl FnOnce(&mut Pipeline)) -> Self {
        let mut pipeline = Pipeline::clone(&self.pipeline);
        change(&mut pipeline);
        Self::new(&Arc::new(pipeline), self.table.clone())
    }
}

impl<E> Clone for TableClient<E> {
    fn clone(&self) -> Self {
        Self::new(&self.pipeline, self.table.clone())
    }
}

impl<E> fmt::Debug for TableClient<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableClient")
            .field("endpoint", &self.pipeline.endpoint.base())
            .field("table", &self.table.as_str())
            .finish_non_exhaustive()
    }
}
