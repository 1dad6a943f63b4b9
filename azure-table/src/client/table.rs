//! The client of one table: its constructor and options.
//!
//! The type itself is in `table_handle.rs`, below the operations that hold one. Operations on entities are in
//! `table/operations.rs` and `table/entity_verbs.rs`, operations on the table itself in `table/lifecycle.rs` and
//! `table/access_policies.rs`. `table/typed_handles.rs` creates handles of other types.

use azure_table_wire::error::Result;

use crate::client::service::TableServiceClient;
use crate::client::table_handle::TableClient;
use crate::pipeline::options::CallOptions;

// rustdoc lists a type's methods in the order of the modules, so the methods of entities come first.
mod operations;

mod entity_verbs;

mod access_policies;
mod lifecycle;
mod query_writes;
mod typed_handles;

impl<E> TableClient<E> {
    /// Creates a client for a table of the account in a connection string.
    ///
    /// # Errors
    /// The errors of [`TableServiceClient::from_connection_string`] and [`TableServiceClient::table`].
    pub fn from_connection_string(connection_string: &str, table: impl AsRef<str>) -> Result<Self> {
        TableServiceClient::from_connection_string(connection_string)?.table(table)
    }

    /// Returns a handle to the same table that applies `options` to every call.
    ///
    /// Options that are set override this handle's options; headers are merged by name. See [`CallOptions`].
    #[must_use]
    pub fn with(&self, options: &CallOptions) -> Self {
        self.changed(|pipeline| {
            pipeline.settings.defaults = std::mem::take(&mut pipeline.settings.defaults).with(options);
        })
    }
}
