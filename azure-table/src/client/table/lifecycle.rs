//! Creating, finding and deleting the table itself.

use std::time::Duration;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::error::Result;
use azure_table_wire::error::operation_kind::OperationKind;
use bytes::Bytes;
use http::Response;

use crate::client::ops::call::Call;
use crate::client::ops::recreate_table::RecreateTable;
use crate::client::table_handle::TableClient;
use crate::request::tables::{self, Creation, Deletion};
use crate::write::operation_request::OperationRequest;

/// Operations on the table itself.
impl<E> TableClient<E> {
    /// Creates the table.
    ///
    /// Requests: 1. Lost response: [repeated, not checked](crate::guide::operations).
    ///
    /// # Errors
    /// - `AlreadyExists`: a table has this name.
    /// - `Conflict`: the table is being deleted, which takes at least 40 s.
    ///
    /// Source: REST "Create Table".
    pub fn create_table(&self) -> Call<()> {
        self.request(OperationKind::CreateTable, tables::create, |response, _| {
            tables::created(response)
        })
    }

    /// Creates the table unless it exists. Returns a [`Creation`](crate::service::Creation).
    ///
    /// Requests: 1. Lost response: [`Creation::InDoubt`](crate::service::Creation::InDoubt).
    ///
    /// # Errors
    /// - `Conflict`: the table is being deleted, which takes at least 40 s.
    ///
    /// Source: REST "Create Table".
    #[doc(alias = "CreateIfNotExists")]
    pub fn create_table_if_not_exists(&self) -> Call<Creation> {
        self.request(
            OperationKind::CreateTable,
            tables::create_if_not_exists,
            tables::created_or_existed,
        )
    }

    /// Deletes the table with all its rows.
    ///
    /// The service rejects a new table of this name for at least 40 s.
    ///
    /// Requests: 1. Lost response: [repeated, not checked](crate::guide::operations).
    ///
    /// # Errors
    /// - `TableNotFound`: the table does not exist.
    ///
    /// Source: REST "Delete Table".
    pub fn delete_table(&self) -> Call<()> {
        self.request(OperationKind::DeleteTable, tables::delete, |response, _| {
            tables::deleted(response)
        })
    }

    /// Deletes the table if it exists. Returns a [`Deletion`](crate::Deletion).
    ///
    /// Requests: 1. Lost response: [`Deletion::InDoubt`](crate::Deletion::InDoubt).
    ///
    /// Source: REST "Delete Table".
    #[doc(alias = "DeleteIfExists")]
    pub fn delete_table_if_exists(&self) -> Call<Deletion> {
        self.request(
            OperationKind::DeleteTable,
            tables::delete_if_exists,
            tables::deleted_or_missing,
        )
    }

    /// Returns `true` if the table exists.
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    ///
    /// Source: REST "Query Tables".
    pub fn table_exists(&self) -> Call<bool> {
        self.request(OperationKind::GetTable, tables::get, |response, _| {
            tables::is_there(response)
        })
    }

    /// Deletes the table with all its rows and creates it again.
    ///
    /// The service rejects the creation for at least 40 s. The client retries it every 5 s, and also retries transient
    /// failures. See [`on_progress`](RecreateTable::on_progress).
    ///
    /// `total_timeout` bounds the whole operation, from the first request on. If it is below about 45 s, the call fails
    /// on Azure Storage, and the table stays deleted. The timeout of the client or of the table limits each request. A
    /// timeout set on this call must not be below `total_timeout`.
    ///
    /// If you cannot wait, use a new name instead, for example with a generation number from the configuration
    /// (`Orders7`), and delete the old table afterwards. Do the same if you cannot risk the new rows: a delete request
    /// whose response was lost, or whose process crashed, may arrive up to 3 minutes late and delete the new table.
    ///
    /// Requests: 1, then 1 every 5 s until the name is free. Lost response: [in doubt](crate::guide::operations).
    ///
    /// # Errors
    /// The table may be gone after any error but `InvalidInput`, not only after `InDoubt`.
    /// - `InvalidInput`: this call's timeout is below `total_timeout`. Nothing was deleted.
    /// - `Conflict`: the service was still deleting the table after `total_timeout`. The table is gone.
    /// - `AlreadyExists`: another client created the table after it was deleted. It may have rows.
    /// - [`InDoubt`](crate::ErrorKind::InDoubt) after which [`last_failure`](crate::Error::last_failure) is
    ///   `AlreadyExists`: a response to the creation was lost, and then a table existed. It is this call's, or another
    ///   client's, with its rows.
    /// - `Timeout`, or the kind of the last failure: `total_timeout` has passed.
    ///
    /// Source: REST "Delete Table".
    pub fn recreate_table(&self, total_timeout: Duration) -> RecreateTable {
        RecreateTable::new(&self.pipeline, &self.table, total_timeout)
    }

    /// Returns a handle to the same table whose writes create the table if it is missing.
    ///
    /// If a write finds no table, the client creates it and repeats the write. Reads never create it. Use this for
    /// tables that come and go. Create permanent tables at the start, with
    /// [`create_table_if_not_exists`](Self::create_table_if_not_exists).
    ///
    /// If the creation fails, the write fails with its error. That is [`InDoubt`](crate::ErrorKind::InDoubt) if an attempt
    /// of the write or of the creation has no result.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use azure_table::{DynamicEntity, Emulator, TableServiceClient};
    /// let service = TableServiceClient::from_transport(Emulator::new());
    /// let log = service.dynamic_table("Log202611")?.create_missing_table();
    /// log.insert(&DynamicEntity::new("a", "1")).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn create_missing_table(&self) -> Self {
        self.changed(|pipeline| pipeline.settings.creates_missing_tables = true)
    }

    /// Returns the call of one request on this table.
    pub(super) fn request<T: 'static>(
        &self,
        kind: OperationKind,
        request: fn(&Endpoint, &str) -> Result<OperationRequest>,
        read: fn(Response<Bytes>, bool) -> Result<T>,
    ) -> Call<T> {
        let request = request(&self.pipeline.endpoint, self.table.as_str());
        Call::request(&self.pipeline, kind, Some(&self.table), request, read)
    }
}
