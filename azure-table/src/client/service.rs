//! The client of an account.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::account::profile::Profile;
use azure_table_wire::error::doubt::Doubt;
use azure_table_wire::error::operation_kind::OperationKind;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::service::service_properties::ServiceProperties;
use azure_table_wire::service::service_statistics::ServiceStatistics;
use azure_table_wire::transport::Transport;
use azure_table_wire::value::datetime::DateTime;
use bytes::Bytes;
use http::Response;

use crate::account::account_key::{self, AccountKey};
use crate::account::connection_string::{ConnectionString, Identity};
use crate::account::table_name::TableName;
use crate::client::ops::call::Call;
use crate::client::ops::ensure_tables::ensure_tables;
use crate::client::ops::resolve_doubt::resolve_doubt;
use crate::client::ops::user_delegation_key::GetUserDelegationKey;
use crate::client::ops::warm_up::warm_up;
use crate::client::query::list_tables::ListTables;
use crate::client::table_handle::TableClient;
use crate::doubt::judge::Resolution;
use crate::entity::dynamic::DynamicEntity;
use crate::entity::table_entity::NamedTable;
use crate::pipeline::Pipeline;
use crate::pipeline::auth::Credential;
use crate::pipeline::auth::shared_key::SharedKeyLite;
use crate::pipeline::transport::default_transport::{MaybeTransport, default_transport};
use crate::request::service_operations;
use crate::request::tables::Creation;
use crate::write::operation_request::OperationRequest;

/// A client for the Table service of one account. Clones are cheap and share the connections and the credential.
///
/// Calls need a tokio runtime with I/O and time enabled, such as the runtime of `#[tokio::main]`. Without a runtime
/// they panic.
///
/// ```no_run
/// use azure_table::{DynamicEntity, TableServiceClient};
/// # fn main() -> azure_table::Result<()> {
/// let service = TableServiceClient::from_connection_string("UseDevelopmentStorage=true")?;
/// let blogs = service.table::<DynamicEntity>("Blogs")?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[doc(alias = "CloudTableClient")]
pub struct TableServiceClient {
    pub(crate) pipeline: Arc<Pipeline>,
    /// The prefix of all table names.
    namespace: Arc<str>,
}

impl TableServiceClient {
    /// Creates a client for the account at this address, such as `https://contoso.table.core.windows.net`.
    ///
    /// The address may belong to any Azure cloud, to Cosmos DB, to a custom domain or to an emulator. `credential` is
    /// an [`AccountKey`], [`SasToken`](crate::SasToken), `EntraCredential` (feature `entra`) or another
    /// [`Credential`].
    ///
    /// In a build without a default [transport](crate::transport), or without TLS for an `https` address, each call
    /// fails until [`transport`](Self::transport) sets one. The error of kind
    /// [`Unsupported`](crate::ErrorKind::Unsupported) names the feature.
    ///
    /// ```
    /// use azure_table::{AccountKey, TableServiceClient};
    /// let key = AccountKey::new("contoso", "AAECAwQFBgc=")?;
    /// let service = TableServiceClient::new("https://contoso.table.core.windows.net", key.clone())?;
    /// key.rotate("CAkKCwwNDg8=")?; // in effect from the next attempt on
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the address does not belong to a Table service, or its
    ///   account is not the account of the key.
    pub fn new(endpoint: &str, credential: impl Credential) -> Result<Self> {
        let account = key_of(&credential).map(AccountKey::account);
        let endpoint = Endpoint::parse(endpoint, account)?;
        let transport = default_transport(&endpoint);
        Ok(Self::of(endpoint, Arc::new(credential), transport))
    }

    /// Creates a client from a connection string.
    ///
    /// The string has one of three forms:
    /// - `AccountName` and `AccountKey`, with `EndpointSuffix` or `TableEndpoint` outside the public cloud;
    /// - the same with a `SharedAccessSignature` instead of the key;
    /// - `UseDevelopmentStorage=true`, for an emulator on this machine, port 10002.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): a setting is missing, malformed or duplicated. The error
    ///   names the setting and does not show its value.
    ///
    /// Source: "Configure Azure Storage connection strings".
    #[doc(alias = "CloudStorageAccount")]
    pub fn from_connection_string(connection_string: &str) -> Result<Self> {
        let parsed = ConnectionString::parse(connection_string)?;
        let transport = default_transport(&parsed.endpoint);
        Ok(Self::from_parsed(parsed, transport))
    }

    /// Creates a client on a transport that answers requests itself, such as the `Emulator` (feature `emulator`).
    ///
    /// Requests are signed with the well-known key of the development account, `devstoreaccount1`.
    ///
    /// To send the requests of another client over a transport, use [`transport`](Self::transport).
    pub fn from_transport(transport: impl Transport) -> Self {
        let development = ConnectionString {
            endpoint: Endpoint::development(),
            identity: Identity::Key(account_key::development()),
        };
        Self::from_parsed(development, Ok(Arc::new(transport)))
    }

    pub(super) fn from_parsed(parsed: ConnectionString, transport: MaybeTransport) -> Self {
        let credential: Arc<dyn Credential> = match parsed.identity {
            Identity::Key(key) => Arc::new(key),
            Identity::Sas(token) => Arc::new(token),
        };
        Self::of(parsed.endpoint, credential, transport)
    }

    fn of(endpoint: Endpoint, credential: Arc<dyn Credential>, transport: MaybeTransport) -> Self {
        let endpoint = match transport.as_ref().ok().and_then(|transport| transport.profile()) {
            Some(profile) => endpoint.with_profile(profile),
            None => endpoint,
        };
        Self {
            pipeline: Arc::new(Pipeline::new(endpoint, transport, credential)),
            namespace: Arc::from(""),
        }
    }

    /// Returns the account key of this client. `None` if it has another credential.
    ///
    /// Use it to [`rotate`](AccountKey::rotate) the key. [`sas_url`](Self::sas_url) signs URLs.
    pub fn account_key(&self) -> Option<&AccountKey> {
        key_of(&*self.pipeline.credential)
    }

    /// Returns the connection string of this client, **including its secret**: key or signature.
    ///
    /// The string contains the full endpoints, including the secondary's.
    ///
    /// # Errors
    /// - [`Unsupported`](crate::ErrorKind::Unsupported): the credential is neither an account key nor a shared access
    ///   signature.
    pub fn to_connection_string(&self) -> Result<String> {
        let identity = identity_of(&*self.pipeline.credential).ok_or_else(|| {
            let why = "a connection string has an account key or a shared access signature, this client has another credential";
            Error::new(ErrorKind::Unsupported, why)
        })?;
        let endpoint = self.pipeline.endpoint.clone();
        Ok(ConnectionString { endpoint, identity }.expose().to_string())
    }

    /// Returns a client for the table of this name, whose rows are entities of type `E`. Nothing is sent.
    ///
    /// For a table with rows of several kinds, `E` is their enum.
    ///
    /// If `E` is one variant of it, the handle knows nothing of the enum. It reads and deletes any row that fits, its
    /// queries select rows of all kinds, and its writes lack the tag.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the service of this client does not accept the name, see
    ///   [`TableName`].
    #[doc(alias("GetTableClient", "GetTableReference"))]
    #[doc(alias = "CloudTable")]
    pub fn table<E>(&self, name: impl AsRef<str>) -> Result<TableClient<E>> {
        Ok(TableClient::new(&self.pipeline, self.full_name(name.as_ref())?))
    }

    /// Returns a client for the table that `E` names by `#[table(name = "…")]`. Nothing is sent.
    ///
    /// ```
    /// use azure_table::{Emulator, TableEntity, TableServiceClient};
    /// #[derive(TableEntity)]
    /// #[table(name = "Blogs")]
    /// struct Blog {
    ///     #[table(partition_key)]
    ///     channel: String,
    ///     #[table(row_key)]
    ///     id: u32,
    /// }
    /// let service = TableServiceClient::from_transport(Emulator::new());
    /// assert_eq!(service.table_of::<Blog>()?.name().as_str(), "Blogs");
    /// assert_eq!(service.prefixed("t42")?.table_of::<Blog>()?.name().as_str(), "t42Blogs");
    /// # Ok::<(), azure_table::Error>(())
    /// ```
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the service of this client does not accept the name, with
    ///   the prefix of [`prefixed`](Self::prefixed). The derive rejects names that no service accepts.
    pub fn table_of<E: NamedTable>(&self) -> Result<TableClient<E>> {
        self.table(E::TABLE)
    }

    /// Returns a client for the table of this name, for rows without a struct.
    ///
    /// # Errors
    /// The errors of [`table`](Self::table).
    pub fn dynamic_table(&self, name: impl AsRef<str>) -> Result<TableClient<DynamicEntity>> {
        self.table(name)
    }

    /// Lists the names of all tables, in the order of the service: by lower-case name on Storage.
    ///
    /// Awaiting it returns all names. The [`stream`](ListTables::stream) yields them one by one.
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
    /// Sends `connections` [pings](Self::ping) concurrently, and waits for their responses. Up to `connections`
    /// connections are then idle in the pool of the transport. There may be fewer: a ping whose connection is slow to
    /// open uses that of another ping, and its own may open later or fail. A connection that is idle already counts as
    /// one of them. Returns `connections`. With a transport that opens no connections, such as the in-process
    /// `Emulator`, it sends nothing and returns 0.
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
    /// The key belongs to the identity of this client's token.
    /// [`TableSas::sign_delegated`](crate::TableSas::sign_delegated) signs with it. The identity needs a role such as
    /// *Storage Table Delegator*. For each permission in a signature, it also needs a role that grants this permission.
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

    /// Reads the rows of a write in doubt to determine whether it was applied.
    ///
    /// A write id decides while the row keeps it. Without one:
    /// - `Applied`: the rows have the written content, stored since the write was sent.
    /// - `NotApplied`: a row is older than the write, or keeps the ETag that the write requires. This is final 3
    ///   minutes after the error, when no request is in flight any more.
    /// - `Unknown`: anything else.
    ///
    /// If no response came at all, another process cannot compare the clocks. It can only learn from a write id that
    /// the write was applied, and never that it was not. A `Date` that differs from this machine's clock by more than
    /// 15 minutes shows nothing. Equal content that another writer wrote while the request was in flight counts as
    /// applied. See [`Doubt`] for an example.
    ///
    /// Each read must see all earlier writes. This is not confirmed for Cosmos DB accounts with weaker consistency
    /// levels.
    ///
    /// Requests: 1, and 1 per further row until one decides. Lost response: [harmless](crate::guide::operations).
    ///
    /// # Errors
    /// - `InvalidInput`: the write was sent to another account or service, or this client's address belongs to the
    ///   secondary.
    /// - The errors of [`get`](TableClient::get). The doubt can be resolved again.
    ///
    /// Source: REST "Query Entities".
    pub fn resolve_doubt(&self, doubt: &Doubt) -> Call<Resolution> {
        resolve_doubt(&self.pipeline, doubt)
    }

    /// Returns the account's name, or `None` if a custom domain hides it.
    pub fn account(&self) -> Option<&str> {
        self.pipeline.endpoint.account()
    }

    /// Returns the base address, such as `https://contoso.table.core.windows.net`.
    pub fn endpoint(&self) -> &str {
        self.pipeline.endpoint.base()
    }

    /// Returns the service behind the address: Storage or Cosmos DB.
    pub fn profile(&self) -> Profile {
        self.pipeline.endpoint.profile()
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

    /// Returns the full name of a table, with the prefix of this client.
    pub(crate) fn full_name(&self, name: &str) -> Result<TableName> {
        let name = TableName::new(format!("{}{name}", self.namespace()))?;
        self.profile().check_table_name(name.as_str())?;
        Ok(name)
    }

    /// Returns the same client with a changed pipeline.
    pub(crate) fn changed(&self, change: impl FnOnce(&mut Pipeline)) -> Self {
        let mut pipeline = Pipeline::clone(&self.pipeline);
        change(&mut pipeline);
        Self {
            pipeline: Arc::new(pipeline),
            namespace: Arc::clone(&self.namespace),
        }
    }

    /// Returns the same client with one more prefix on all table names.
    pub(crate) fn in_namespace(&self, prefix: &str) -> Self {
        Self {
            pipeline: Arc::clone(&self.pipeline),
            namespace: Arc::from(format!("{}{prefix}", self.namespace())),
        }
    }

    pub(crate) fn namespace(&self) -> &Arc<str> {
        &self.namespace
    }
}

/// Returns the account key of a credential, if it has one.
pub(super) fn key_of(credential: &dyn Credential) -> Option<&AccountKey> {
    let credential: &dyn Any = credential;
    let of_lite = || credential.downcast_ref().map(|SharedKeyLite(key)| key);
    credential.downcast_ref().or_else(of_lite)
}

/// Returns the part of a credential that a connection string can express.
fn identity_of(credential: &dyn Credential) -> Option<Identity> {
    let token = || (credential as &dyn Any).downcast_ref().cloned().map(Identity::Sas);
    key_of(credential).cloned().map(Identity::Key).or_else(token)
}

impl fmt::Debug for TableServiceClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableServiceClient")
            .field("endpoint", &self.endpoint())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::transport::default_transport::no_transport;

    /// The same as in a build without the features `http` and `reqwest`.
    #[tokio::test]
    async fn client_without_transport_names_the_features() {
        let parsed = ConnectionString::parse("AccountName=contoso;AccountKey=AAECAwQFBgc=").unwrap();
        let service = TableServiceClient::from_parsed(parsed, Err(Arc::new(no_transport())));
        let error = service.ping().await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::Unsupported, 0), "{error}");
        for part in ["`http`", "`reqwest`", "`TableServiceClient::transport`"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
