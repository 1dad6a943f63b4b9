//! The operations on the account: tables, the service's settings, keys, writes in doubt.

use azure_table_wire::error::Result;
use azure_table_wire::error::in_doubt_write::InDoubtWrite;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::service::service_properties::ServiceProperties;
use azure_table_wire::service::service_statistics::ServiceStatistics;
use azure_table_wire::value::datetime::DateTime;
use bytes::Bytes;
use http::Response;

#[cfg(doc)]
use crate::account::table_name::TableName;
use crate::client::ops::call::Call;
use crate::client::ops::ensure_tables::ensure_tables;
use crate::client::ops::resolve::resolve;
use crate::client::ops::user_delegation_key::GetUserDelegationKey;
use crate::client::ops::warm_up::warm_up;
use crate::client::query::list_tables::ListTables;
use crate::client::service::TableServiceClient;
#[cfg(doc)]
use crate::client::table_handle::TableClient;
use crate::pipeline::lost_write::outcome::Resolution;
use crate::request::service_operations;
use crate::request::tables::Creation;
use crate::write::operation_request::OperationRequest;

impl TableServiceClient {
    /// Lists the names of all tables in the service's order, on Storage by lower-case name.
    ///
    /// Await it for all names, or read them one by one from its [`stream`](ListTables::stream).
    ///
    /// ```
    /// # use azure_table::{Emulator, TableServiceClient};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let service = TableServiceClient::from_transport(Emulator::new());
    /// # service.dynamic_table("Log2026")?.create_table().await?;
    /// let mut logs = service.list_tables().starting_with("Log").stream();
    /// while let Some(name) = logs.try_next().await? {
    ///     println!("{name}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per page. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `Unauthenticated`, `Forbidden`: the service rejects the credential, or the credential does not permit the
    ///   operation.
    /// - `Connection`, `Timeout`, `ServerFault`: no response after the retries.
    ///
    /// Source: REST "Query Tables".
    #[doc(alias("ListTablesSegmented", "QueryTables"))]
    pub fn list_tables(&self) -> ListTables {
        ListTables::new(&self.pipeline, self.namespace())
    }

    /// Creates the tables that do not exist yet.
    ///
    /// Returns each name as passed in, with its outcome, in the same order. Lists the tables first, then creates the
    /// missing ones.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// use azure_table::{Emulator, TableServiceClient};
    /// use azure_table::service::Creation;
    /// let service = TableServiceClient::from_transport(Emulator::new());
    /// let created = service.ensure_tables(["Orders", "Customers"]).await?;
    /// assert!(created.iter().all(|(_, creation)| *creation == Creation::Created));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per page of names, 1 per missing table. Lost response:
    /// [`Creation::InDoubt`](crate::service::Creation::InDoubt).
    ///
    /// # Errors
    /// - `InvalidInput`: the service does not accept a name, see [`TableName`]. Nothing is sent.
    /// - The errors of [`list_tables`](Self::list_tables) and
    ///   [`create_table_if_not_exists`](TableClient::create_table_if_not_exists). Tables created before the error stay.
    pub fn ensure_tables<N: AsRef<str>>(&self, names: impl IntoIterator<Item = N>) -> Call<Vec<(String, Creation)>> {
        let tables = names.into_iter().map(|name| self.full_name(name.as_ref())).collect();
        ensure_tables(&self.pipeline, self.namespace(), tables)
    }

    /// Checks that the service is reachable and accepts the credential.
    ///
    /// Sends a Query Tables request with `$top=1`, on every service. A SAS for a single table does not permit this
    /// request.
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// The errors of [`list_tables`](Self::list_tables).
    ///
    /// Source: REST "Query Tables".
    pub fn ping(&self) -> Call<()> {
        let ping = service_operations::ping(&self.pipeline.endpoint);
        self.request(OperationKind::Ping, ping, service_operations::pinged)
    }

    /// Opens connections to the service, including TLS, before the first request needs them.
    ///
    /// Sends `connections` [pings](Self::ping) concurrently, waits for the responses, and returns `connections`. The
    /// transport's pool then holds up to that many idle connections, including any that were already idle. It may hold
    /// fewer: a ping whose connection is slow to open uses that of another ping, and its own may open later or fail. If
    /// the transport opens no connections, such as the in-process `Emulator`, the method sends nothing and returns 0.
    ///
    /// The transport closes idle connections after its `pool_idle_timeout`, 20 s by default. It keeps at most
    /// `pool_max_idle_per_host` of them, by default as many as `max_connections`, and closes the others immediately.
    /// Only connections to the primary are opened.
    ///
    /// A response that rejects the credential counts as a success, because it came over an open connection. A SAS for a
    /// single table, for example, does not permit a ping. Use [`ping`](Self::ping) to check the credential.
    ///
    /// ```no_run
    /// use azure_table::TableServiceClient;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> azure_table::Result<()> {
    /// # let connection_string = "AccountName=contoso;AccountKey=AAECAwQFBgc=";
    /// let service = TableServiceClient::from_connection_string(connection_string)?;
    /// service.warm_up(8).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Requests: 1 per connection. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `InvalidInput`: `connections` is above the `max_connections` of the transport or the
    ///   [`max_in_flight`](Self::max_in_flight) of the client. Nothing is sent.
    /// - `Connection`, `Timeout`, `ServerFault`, `Throttled`: a ping got no usable response after its retries. The
    ///   connections of the other pings may be open.
    ///
    /// Source: REST "Query Tables".
    pub fn warm_up(&self, connections: usize) -> Call<usize> {
        warm_up(&self.pipeline, connections)
    }

    /// Reads the settings of the service: logging, metrics, CORS.
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `Unsupported`: Cosmos DB has no such settings.
    ///
    /// Source: REST "Get Table Service Properties".
    #[doc(alias = "GetServiceProperties")]
    pub fn properties(&self) -> Call<ServiceProperties> {
        let get = service_operations::get_properties(&self.pipeline.endpoint);
        self.request(OperationKind::GetServiceProperties, get, service_operations::properties)
    }

    /// Changes the settings of the service. Settings that are `None` keep their value.
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `Unsupported`: Cosmos DB has no such settings.
    /// - `InvalidInput`: a limit is exceeded, for example more than 5 CORS rules.
    ///
    /// Source: REST "Set Table Service Properties".
    #[doc(alias = "SetServiceProperties")]
    pub fn set_properties(&self, properties: ServiceProperties) -> Call<()> {
        let set = service_operations::set_properties(&self.pipeline.endpoint, &properties);
        self.request(
            OperationKind::SetServiceProperties,
            set,
            service_operations::properties_set,
        )
    }

    /// Reads the replication status of the secondary.
    ///
    /// The account must have a readable secondary (RA-GRS, RA-GZRS).
    ///
    /// Requests: 1, to the secondary. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `Unsupported`: Cosmos DB has no statistics, or the secondary address of a custom domain is unknown.
    /// - `Connection`: the secondary of the account is not readable.
    ///
    /// Source: REST "Get Table Service Stats".
    #[doc(alias = "GetServiceStats")]
    pub fn statistics(&self) -> Call<ServiceStatistics> {
        let get = service_operations::get_statistics(&self.pipeline.endpoint);
        self.request(OperationKind::GetServiceStatistics, get, service_operations::statistics)
    }

    /// Requests a key that signs shared access signatures until `expiry`, for at most 7 days.
    ///
    /// The key belongs to the identity behind this client's token. Sign with
    /// [`TableSas::sign_delegated`](crate::TableSas::sign_delegated). The identity needs a role such as *Storage Table
    /// Delegator*, and for each permission in a signature a role that grants it.
    ///
    /// Not yet verified against the live service.
    ///
    /// Requests: 1. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `Unsupported`: the client's credential is not a token, or the service is Cosmos DB.
    /// - `InvalidInput`: `expiry` is not after the start of the key, or more than 7 days after it.
    /// - `Unauthenticated`, `Forbidden`: the service rejects the token, or the identity of the token lacks such a role.
    ///
    /// Source: REST "Get User Delegation Key".
    pub fn user_delegation_key(&self, expiry: DateTime) -> GetUserDelegationKey {
        GetUserDelegationKey::new(&self.pipeline, expiry)
    }

    /// Reads the rows of a write in doubt back, to find out whether it was applied.
    ///
    /// The result is that of the table in [`retries`](crate::guide::retries#writes-in-doubt), because the call itself
    /// reads back in the same way:
    /// - `Applied`: a row has the write's id, or all rows have the written content since the write was sent.
    /// - `NotApplied`: a row is older than the write, or still has the ETag that the write required, and no request can
    ///   arrive any more: from 180 s after the error on, a minute later in another process, or as soon as a row has lost
    ///   the required ETag. It is final. Never returned for Cosmos DB, whose reads may lag behind writes.
    /// - `Unknown`: anything else.
    ///
    /// Another process cannot compare the clocks if no response came at all, or if this machine's clock was set during
    /// the call. A write id can still show it that the write was applied, and a lost ETag that it was not. Equal
    /// content that another writer stored while the request was in flight counts as applied. See [`InDoubtWrite`] for an
    /// example.
    ///
    /// Requests: 1, up to 5 for a batch. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `InvalidInput`: the write was sent to another account or service, or this client's address belongs to the
    ///   secondary.
    /// - The errors of [`get`](TableClient::get). Call it again then.
    ///
    /// Source: REST "Query Entities".
    pub fn resolve(&self, write: &InDoubtWrite) -> Call<Resolution> {
        resolve(&self.pipeline, write)
    }

    /// Returns the call of one request on the service.
    fn request<T: 'static>(
        &self,
        kind: OperationKind,
        request: Result<OperationRequest>,
        read: fn(Response<Bytes>) -> Result<T>,
    ) -> Call<T> {
        Call::request(&self.pipeline, kind, None, request, move |response, _| read(response))
    }
}
