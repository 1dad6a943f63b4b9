//! The client of an account: its constructors, handles and settings. Its operations are in `service/operations.rs`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use azure_table_wire::account::endpoint::Endpoint;
use azure_table_wire::account::profile::Profile;
use azure_table_wire::error::{Error, ErrorKind, Result};
use azure_table_wire::transport::Transport;

use crate::account::account_key::{self, AccountKey};
use crate::account::connection_string::{ConnectionString, Identity};
use crate::account::table_name::TableName;
use crate::client::table_handle::TableClient;
use crate::entity::dynamic::DynamicEntity;
use crate::entity::table_entity::NamedTable;
use crate::pipeline::Pipeline;
use crate::pipeline::auth::shared_key::SharedKeyLite;
use crate::pipeline::auth::{Credential, IntoCredential};
use crate::pipeline::transport::default_transport::{MaybeTransport, default_transport};

mod operations;

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
    /// an [`AccountKey`], a [`SasToken`](crate::SasToken) or another [`Credential`]; with the feature `azure-core-1`, also
    /// an `Arc` of a `TokenCredential`, such as azure_identity's, for Entra ID.
    ///
    /// If the build has no default [transport](crate::transport), or no TLS for an `https` address, set one with
    /// [`transport`](Self::transport). Otherwise every call fails with [`Unsupported`](crate::ErrorKind::Unsupported),
    /// and the error names the missing feature.
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
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the address does not belong to a Table service, or the key
    ///   belongs to another account.
    pub fn new(endpoint: &str, credential: impl IntoCredential) -> Result<Self> {
        Self::with_credential(endpoint, credential.into_credential())
    }

    pub(crate) fn with_credential(endpoint: &str, credential: Arc<dyn Credential>) -> Result<Self> {
        let account = key_of(&*credential).map(AccountKey::account);
        let endpoint = Endpoint::parse(endpoint, account)?;
        let transport = default_transport(&endpoint);
        Ok(Self::of(endpoint, credential, transport))
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
    ///   names the setting but never shows its value.
    ///
    /// Source: "Configure Azure Storage connection strings".
    #[doc(alias = "CloudStorageAccount")]
    pub fn from_connection_string(connection_string: &str) -> Result<Self> {
        let parsed = ConnectionString::parse(connection_string)?;
        let transport = default_transport(&parsed.endpoint);
        Ok(Self::from_parsed(parsed, transport))
    }

    /// Creates a client whose transport answers requests itself, such as the `Emulator` (feature `emulator`).
    ///
    /// Requests are signed with the well-known key of the development account, `devstoreaccount1`.
    ///
    /// To change the transport of an existing client, use [`transport`](Self::transport).
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

    /// Returns the account key of this client, or `None` if it has another credential.
    ///
    /// Use it to [`rotate`](AccountKey::rotate) the key. To sign URLs, use [`sas_url`](Self::sas_url).
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
    /// For a table with rows of several kinds, use their enum as `E`.
    ///
    /// A handle for a single variant knows nothing about the enum: it reads and deletes any row that fits, its queries
    /// select rows of all kinds, and its writes lack the tag.
    ///
    /// # Errors
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the service does not accept the name; see [`TableName`].
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
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the service does not accept the name with the prefix that
    ///   [`prefixed`](Self::prefixed) adds. The derive already rejects names that no service accepts.
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
